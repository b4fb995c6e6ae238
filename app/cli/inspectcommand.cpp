// SPDX-License-Identifier: Apache-2.0
//
// slipway inspect FILE: what is in a PTX, cubin, fatbin, ELF or model file.

#include "app/cli/context.h"
#include "core/base/text.h"
#include "core/image/elfimage.h"
#include "core/image/modelfile.h"

namespace slipway::cli {

namespace {

Json toJson(const KernelImage &image) {
    Json json{{"kind", imageKindName(image.kind)},
              {"target", image.target ? Json(image.target->sm()) : Json(nullptr)},
              {"ptx_version", image.ptxVersion ? Json(image.ptxVersion->text()) : Json(nullptr)},
              {"bytes", image.bytes}, {"meta", image.meta}, {"unresolved", image.unresolved}, {"damage", image.damage}};
    json["entries"] = Json::array();
    for (const auto &entry : image.entries)
        json["entries"].push_back({{"name", entry.name}, {"parameters", entry.parameters},
                                   {"threads", entry.threads ? Json(*entry.threads) : Json(nullptr)}});
    if (!image.members.empty()) {
        json["members"] = Json::array();
        for (const auto &member : image.members)
            json["members"].push_back(toJson(member));
    }
    return json;
}

Json toJson(const ElfImage &elf, const std::vector<KernelImage> &fatbins) {
    Json versions = Json::array();
    for (const auto &version : elf.versions)
        versions.push_back({{"library", version.library}, {"version", version.version}, {"symbols", version.symbols}, {"weak", version.weak}});
    Json json{{"kind", "elf"}, {"machine", elf.machine}, {"bits", elf.bits}, {"type", elf.type}, {"interpreter", elf.interpreter},
              {"soname", elf.soname}, {"needed", elf.needed}, {"rpath", elf.rpath}, {"runpath", elf.runpath}, {"versions", versions},
              {"static", elf.isStatic}, {"bytes", elf.bytes}, {"damage", elf.damage}};
    json["fatbins"] = Json::array();
    for (const auto &fatbin : fatbins)
        json["fatbins"].push_back(toJson(fatbin));
    return json;
}

Json toJson(const ModelFile &model) {
    Json tensors = Json::array();
    for (const auto &tensor : model.tensors)
        tensors.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}, {"bytes", tensor.bytes}});
    return {{"kind", "model"}, {"format", model.format}, {"dtypes", model.dtypes}, {"metadata", model.metadata},
            {"bytes", model.bytes}, {"damage", model.damage}, {"tensors", tensors}};
}

Result<Json> describe(const fs::path &file) {
    const auto head = TRY(readHead(file, 64));
    if (isElf(head)) {
        const auto bytes = TRY(readFile(file, std::uint64_t(4) << 30));
        const auto elf = TRY(readElf(bytes));
        if (elf.machine == "cuda")
            return toJson(TRY(readKernelImage(bytes)));
        return toJson(elf, elf.hasFatbin ? fatbinsInElf(bytes) : std::vector<KernelImage>{});
    }
    // Models can be many gigabytes: only their headers are read, so they are asked first.
    if (auto model = readModelFile(file); model && model->format != "unknown")
        return toJson(*model);
    return toJson(TRY(readKernelImage(TRY(readFile(file)))));
}

/// JSON as indented "key: value" lines for people.
void printLines(const Json &json, int indent) {
    for (const auto &[key, value] : json.items()) {
        const std::string pad(std::size_t(indent) * 2, ' ');
        if (value.is_object() || (value.is_array() && !value.empty() && value.front().is_object())) {
            std::fputs(fmt::format("{}{}:\n", pad, key).c_str(), stdout);
            for (const auto &child : value.is_array() ? value : Json::array({value}))
                printLines(child, indent + 1);
        } else if (!value.is_null() && !(value.is_array() && value.empty())) {
            std::fputs(fmt::format("{}{}: {}\n", pad, key, value.is_string() ? printable(value.get<std::string>()) : value.dump()).c_str(), stdout);
        }
    }
}

Result<int> inspect(Context &context, const std::string &typed) {
    const auto file = absolutePath(typed);
    const auto json = TRY_IN(describe(file), printable(typed));
    if (context.json)
        context.print(json);
    else
        printLines(json, 0);
    return 0;
}

} // namespace

void addInspect(CLI::App &app, Context &context) {
    auto file = std::make_shared<std::string>();
    auto *command = app.add_subcommand("inspect", "say what is in a PTX, cubin, fatbin, ELF or model file");
    command->add_option("FILE", *file)->required();
    addJson(*command, context);
    command->callback([&context, file] { context.action = [file](Context &c, Progress &) { return inspect(c, *file); }; });
}

} // namespace slipway::cli
