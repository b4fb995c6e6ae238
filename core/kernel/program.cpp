// SPDX-License-Identifier: Apache-2.0
//
// Kernels of kind `program`: teenygrad's contract. The program writes its own cache; it runs into a directory of its
// own, so that a half-written or outdated file can never be taken for a kernel, and what is good moves over.

#include "core/kernel/unit.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

Command commandFor(const CompileUnit &unit, const CompileContext &context, const fs::path &directory) {
    auto options = fmt::format("capability={},ptx-version={}", unit.capability.sm(), unit.ptx.code());
    if (!context.options.others.empty())
        options += "," + context.options.others;
    Command command{.program = unit.source.file.string(),
                    .arguments = unit.source.arguments,
                    .directory = projectRoot(unit.source),
                    .environment = {{"TEENYC_PTX_VERSION", std::to_string(unit.ptx.code())},
                                    {"TEENYC_CACHE_DIR", directory.string()}}};
    command.arguments.insert(command.arguments.end(),
                             {"--device", "cuda", "--options", options, "--cache-dir", directory.string()});
    if (context.request.force)
        command.arguments.emplace_back("--force");
    return command;
}

/// The element types of the kernel's pointers, from the .mlir beside its image.
std::vector<std::string> dtypesFrom(const fs::path &mlir) {
    const auto text = readFile(mlir, std::uint64_t(64) << 20);
    if (!text)
        return {};
    const auto functions = readMlirFunctions(*text);
    return functions.empty() ? std::vector<std::string>() : functions.front().pointers;
}

/// One image that the program wrote: checked, put under its name, recorded.
Result<StoredRecord> takeImage(const fs::path &file, const CacheFileName &name, const StoredRecord &common,
                               const CompileUnit &unit, CompileContext &context) {
    auto stored = common;
    const auto bytes = TRY(readFile(file));
    const auto shown = file.filename().string();
    const auto image = TRY_IN(readKernelImage(bytes), shown);
    if (!image.damage.empty())
        return fail("{}: {}", shown, image.damage.front());
    const bool isCubin = name.extension == ".cubin";
    if (image.kind != (isCubin ? ImageKind::cubin : ImageKind::ptx))
        return fail("{} holds a {}, needed {}", shown, imageKindName(image.kind), isCubin ? "a cubin" : "PTX text");
    TRY_IN(checkLoadable(image, unit, context), shown);
    stored.record.name = name.name;
    stored.record.hash = name.hash;
    if (const auto id = image.meta.find("id"); id != image.meta.end())
        stored.record.id = id->second;
    for (const auto &entry : image.entries)
        stored.record.entries.push_back(entry.name);
    auto mlir = file;
    stored.record.dtypes = dtypesFrom(mlir.replace_extension(".mlir"));
    (isCubin ? stored.cubin : stored.image) = TRY(context.publish(shown, bytes));
    return stored;
}

/// A cubin beside a PTX image belongs to its record.
void addRecord(std::vector<StoredRecord> &all, StoredRecord stored) {
    const auto same = std::find_if(all.begin(), all.end(), [&](const StoredRecord &other) {
        return other.record.name == stored.record.name && other.record.hash == stored.record.hash;
    });
    if (same == all.end()) {
        all.push_back(std::move(stored));
        return;
    }
    if (same->image.file.empty())
        std::swap(*same, stored);
    if (same->cubin.file.empty())
        same->cubin = stored.cubin;
}

Result<std::vector<StoredRecord>> takeOver(const fs::path &directory, const CompileUnit &unit,
                                           CompileContext &context) {
    std::vector<StoredRecord> all;
    std::vector<fs::path> files;
    for (const auto &entry : fs::directory_iterator(directory)) {
        if (entry.is_regular_file())
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto &file : files) {
        const auto name = parseCacheFileName(file.filename().string());
        const bool isImage = name.extension == ".o" || name.extension == ".cubin";
        if (isImage && !name.hash.empty())
            addRecord(all, TRY(takeImage(file, name, unit.made.front(), unit, context)));
        else if (!name.hash.empty() && (name.extension == ".mlir" || name.extension == ".rs"))
            TRY(context.publish(file.filename().string(), TRY(readFile(file))));
        else if (name.extension != ".lock")
            context.note(fmt::format("{} left {}, which is not named NAME_HASH.o: it is not used", unit.source.label,
                                     printable(file.filename().string())));
    }
    return all;
}

} // namespace

Result<void> runKernelProgram(CompileUnit &unit, CompileContext &context, Progress &progress) {
    const auto directory = TRY(ScratchDir::in(context.scratch));
    auto finished = runChecked(commandFor(unit, context, directory.path()), progress,
                               [&](std::string_view line) { progress.note(printable(line)); });
    if (!finished)
        return std::unexpected(std::move(finished).error());
    auto made = TRY(takeOver(directory.path(), unit, context));
    if (made.empty())
        return std::unexpected(
            Error{.message = fmt::format("{} ended well but wrote no NAME_HASH.o", unit.source.label),
                  .hint = "it must write its kernels into the directory that --cache-dir names",
                  .detail = tailLines(finished->output + finished->errors, 20)});
    unit.made = std::move(made);
    return {};
}

} // namespace slipway
