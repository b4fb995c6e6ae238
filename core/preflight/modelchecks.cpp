// SPDX-License-Identifier: Apache-2.0
//
// Models against what the project declares and its kernels take. Only headers are read.

#include "core/preflight/modelchecks.h"

#include "core/base/text.h"
#include "core/kernel/parallel.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/modelparts.h"

#include <algorithm>
#include <array>

namespace slipway {

namespace {

/// "F16" is "f16" among the kernels' argument types; MLIR writes F8_E4M3 as "f8E4M3FN" and unsigned as "i8" or "ui8".
bool kernelTakes(const std::string &argument, const std::string &dtype) {
    std::string plain = normalisedDtype(argument);
    if (plain.starts_with("UI"))
        plain = plain.substr(1);
    if (dtype.starts_with("F8_"))
        return plain.starts_with("F8") && plain.find(dtype.substr(3)) != std::string::npos;
    if (dtype == "I4" || dtype == "U4") // two in a byte, or eight in a word
        return plain == "I8" || plain == "U8" || plain == "I32" || plain == "I4";
    return plain == dtype || (dtype == "U8" && plain == "I8") || (dtype == "U32" && plain == "I32");
}

std::string histogram(const ModelFile &model) {
    std::vector<std::string> parts;
    for (const auto &[dtype, count] : model.dtypes)
        parts.push_back(fmt::format("{} {} tensor{}", count, dtype, count == 1 ? "" : "s"));
    return parts.empty() ? "no tensors" : fmt::format("{}", fmt::join(parts, ", "));
}

/// The dtype of a tensor as people declare it: packed 4-bit weights are stored as bytes or words.
std::string spokenDtype(const Tensor &tensor, const Quantisation &scheme) {
    const bool packed = tensor.name.ends_with("_packed") || tensor.name.ends_with(".qweight") || scheme.packed.contains(tensor.name);
    return packed && (scheme.bits == 4 || scheme.bits == 0) ? "I4" : normalisedDtype(tensor.dtype);
}

void checkDeclared(const ShippedModel &shipped, const Quantisation &scheme, std::vector<Finding> &findings) {
    const auto &model = *shipped.file;
    const auto wanted = normalisedDtype(shipped.declared);
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    for (const auto &tensor : model.tensors) {
        if (isCompanion(tensor.name) || scheme.ignored.contains(tensor.name))
            continue;
        const bool same = spokenDtype(tensor, scheme) == wanted || normalisedDtype(tensor.dtype) == wanted;
        (same ? right : wrong) += std::max<std::uint64_t>(1, tensor.bytes);
    }
    if (wrong == 0)
        return;
    const bool mostly = right > wrong;
    const auto largest = std::max_element(model.dtypes.begin(), model.dtypes.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
    findings.push_back({.status = mostly ? Status::warn : Status::fail,
                        .subject = shipped.path,
                        .found = histogram(model),
                        .needed = fmt::format("{} as declared", wanted),
                        .why = "kernels read the bytes as the declared type: another one gives wrong numbers without any error",
                        .fix = mostly ? "nothing, if the program expects the others too"
                                      : fmt::format("\"dtype\": \"{}\" in slipway.json, or convert the model to {}", largest->first, wanted)});
}

/// What the kernels take, if every kernel says so: one that does not may take anything.
std::set<std::string> takenTypes(const Evidence &evidence) {
    const auto known = kernelDtypes(evidence);
    const bool all = std::all_of(evidence.package.manifest.kernels.begin(), evidence.package.manifest.kernels.end(),
                                 [&](const auto &record) { return known.contains(record.name); }) &&
                     std::all_of(evidence.kernels.begin(), evidence.kernels.end(),
                                 [&](const auto &kernel) { return known.contains(kernel.entry.name); });
    std::set<std::string> taken;
    for (const auto &[name, types] : all ? known : std::map<std::string, std::set<std::string>>())
        taken.insert(types.begin(), types.end());
    return taken;
}

void checkKernelsTake(const ShippedModel &shipped, const std::set<std::string> &taken, std::vector<Finding> &findings) {
    const auto wanted = normalisedDtype(shipped.declared);
    if (taken.empty() || std::any_of(taken.begin(), taken.end(), [&](const auto &t) { return kernelTakes(t, wanted); }))
        return;
    findings.push_back({.status = Status::fail,
                        .subject = shipped.path,
                        .found = fmt::format("{}, but kernels take {}", wanted, fmt::join(taken, ", ")),
                        .needed = fmt::format("a kernel with {} arguments", wanted),
                        .why = "no kernel of the package takes that type",
                        .fix = "convert the model, or add kernels for its type"});
}

bool looksLikeModel(const std::string &path) {
    constexpr std::array<std::string_view, 7> ends{".safetensors", ".gguf", ".onnx", ".npy", ".engine", ".plan", ".trt"};
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return path.ends_with(end); });
}

} // namespace

std::string normalisedDtype(std::string_view dtype) {
    std::string upper;
    for (const char c : trimmed(dtype))
        upper += char(std::toupper(static_cast<unsigned char>(c)));
    static const std::map<std::string, std::string> aliases{
        {"FLOAT16", "F16"}, {"HALF", "F16"},   {"FP16", "F16"},  {"FLOAT32", "F32"}, {"FLOAT", "F32"},   {"FP32", "F32"},          {"BFLOAT16", "BF16"},
        {"INT8", "I8"},     {"UINT8", "U8"},   {"INT32", "I32"}, {"INT64", "I64"},   {"FLOAT64", "F64"}, {"DOUBLE", "F64"},        {"FLOAT8_E4M3FN", "F8_E4M3"},
        {"INT4", "I4"},     {"UINT4", "U4"},   {"INT16", "I16"}, {"FP64", "F64"},    {"F8E4M3", "F8_E4M3"}, {"F8E5M2", "F8_E5M2"}, {"FLOAT8_E5M2", "F8_E5M2"}};
    const auto alias = aliases.find(upper);
    return alias == aliases.end() ? upper : alias->second;
}

std::shared_ptr<const std::vector<ShippedModel>> readShippedModels(const Evidence &evidence, Progress &progress) {
    if (evidence.models)
        return evidence.models;
    std::map<std::string, std::string> paths;
    for (const auto &declared : evidence.package.manifest.models)
        paths[declared.path] = declared.dtype;
    for (const auto &file : evidence.package.manifest.files) {
        if (looksLikeModel(file.path))
            paths.emplace(file.path, std::string());
    }
    std::vector<ShippedModel> models;
    for (const auto &[path, dtype] : paths)
        models.push_back({path, dtype, fail("it lies outside the package")});
    inParallel(models.size(), 0, progress, [&](std::size_t i) {
        if (isInsidePath(models[i].path))
            models[i].file = readModelFile(evidence.package.directory / models[i].path);
        return true;
    });
    return std::make_shared<const std::vector<ShippedModel>>(std::move(models));
}

std::vector<Finding> checkDtype(const Evidence &evidence, Progress &progress) {
    std::vector<Finding> findings;
    bool any = false;
    const auto taken = takenTypes(evidence);
    const auto models = readShippedModels(evidence, progress);
    for (const auto &shipped : *models) {
        if (progress.cancelled())
            return findings;
        const auto &model = shipped.file;
        const bool readable = model && model->damage.empty() && !model->tensors.empty();
        if (!shipped.declared.empty() && !readable)
            findings.push_back(notKnown(shipped.path, model ? fmt::format("no readable tensors ({})", model->format) : model.error().message,
                                        "see model-file"));
        any = any || !shipped.declared.empty();
        if (!readable)
            continue;
        const auto scheme = readQuantisation(*model, evidence.package.directory / shipped.path);
        any = any || scheme.known;
        if (!shipped.declared.empty()) {
            checkDeclared(shipped, scheme, findings);
            checkKernelsTake(shipped, taken, findings);
        }
        if (model->format == "safetensors") // others keep scales inside their blocks, or in graph nodes
            checkQuantised(shipped.path, *model, scheme, findings);
    }
    return any || !findings.empty() ? findings : skippedBecause("no model with a declared type");
}

} // namespace slipway
