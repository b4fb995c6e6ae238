// SPDX-License-Identifier: Apache-2.0
//
// Model files: whole, and of the element type that the project declared and its kernels take. Only headers are read.

#include "core/preflight/modelchecks.h"

#include "core/base/text.h"
#include "core/image/modelfile.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>
#include <array>
#include <set>

namespace slipway {

namespace {

/// Names that people write for safetensors' type names.
std::string normalised(std::string_view dtype) {
    std::string upper;
    for (const char c : trimmed(dtype))
        upper += char(std::toupper(static_cast<unsigned char>(c)));
    static const std::map<std::string, std::string> aliases{{"FLOAT16", "F16"},    {"HALF", "F16"},
                                                            {"FP16", "F16"},       {"FLOAT32", "F32"},
                                                            {"FLOAT", "F32"},      {"FP32", "F32"},
                                                            {"BFLOAT16", "BF16"},  {"INT8", "I8"},
                                                            {"UINT8", "U8"},       {"INT32", "I32"},
                                                            {"INT64", "I64"},      {"FLOAT64", "F64"},
                                                            {"DOUBLE", "F64"},     {"FLOAT8_E4M3FN", "F8_E4M3"},
                                                            {"F8E4M3", "F8_E4M3"}, {"F8E5M2", "F8_E5M2"}};
    const auto alias = aliases.find(upper);
    return alias == aliases.end() ? upper : alias->second;
}

/// "F16" is "f16" among the kernels' argument types; MLIR writes F8_E4M3 as "f8E4M3FN" and unsigned as "i8" or "ui8".
bool kernelTakes(const std::string &argument, const std::string &dtype) {
    std::string plain = normalised(argument);
    if (plain.starts_with("UI"))
        plain = plain.substr(1);
    if (dtype.starts_with("F8_"))
        return plain.starts_with("F8") && plain.find(dtype.substr(3)) != std::string::npos;
    return plain == dtype || (dtype == "U8" && plain == "I8");
}

/// Scales, zero points and the like, which accompany quantised weights and have types of their own.
bool isCompanion(std::string_view name) {
    constexpr std::array<std::string_view, 8> ends{"_scale",  "_scale_inv",  ".scale",      ".scales",
                                                   "_scales", "_zero_point", ".zero_point", ".g_idx"};
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); });
}

std::string histogram(const ModelFile &model) {
    std::vector<std::string> parts;
    for (const auto &[dtype, count] : model.dtypes)
        parts.push_back(fmt::format("{} {} tensor{}", count, dtype, count == 1 ? "" : "s"));
    return parts.empty() ? "no tensors" : fmt::format("{}", fmt::join(parts, ", "));
}

Finding of(Status status, const std::string &subject, std::string found, std::string needed, std::string why,
           std::string fix) {
    return {.status = status,
            .subject = subject,
            .found = std::move(found),
            .needed = std::move(needed),
            .why = std::move(why),
            .fix = std::move(fix)};
}

void checkDeclared(const DeclaredModel &declared, const ModelFile &model, std::vector<Finding> &findings) {
    const auto wanted = normalised(declared.dtype);
    std::uint64_t right = 0;
    std::uint64_t wrong = 0;
    for (const auto &tensor : model.tensors) {
        if (!isCompanion(tensor.name))
            (normalised(tensor.dtype) == wanted ? right : wrong) += std::max<std::uint64_t>(1, tensor.bytes);
    }
    if (wrong == 0)
        return;
    const bool mostly = right > wrong;
    std::string largest;
    std::uint64_t most = 0;
    for (const auto &[dtype, count] : model.dtypes) {
        if (count > most) {
            most = count;
            largest = dtype;
        }
    }
    findings.push_back(
        of(mostly ? Status::warn : Status::fail, declared.path, histogram(model), fmt::format("{} as declared", wanted),
           "kernels read the bytes as the declared type: another one gives wrong numbers without any error",
           mostly ? "nothing, if the program expects the others too"
                  : fmt::format("\"dtype\": \"{}\" in slipway.json, or convert the model to {}", largest, wanted)));
}

/// Quantised weights without their scales are loaded without complaint and give wrong numbers (TensorRT-Model-Connect
/// #1115).
void checkScales(const std::string &path, const ModelFile &model, std::vector<Finding> &findings) {
    std::set<std::string> names;
    for (const auto &tensor : model.tensors)
        names.insert(tensor.name);
    std::vector<std::string> bare;
    for (const auto &tensor : model.tensors) {
        const bool quantised =
            tensor.dtype.starts_with("F8_") || (tensor.dtype == "I8" && tensor.name.ends_with("weight"));
        if (!quantised || isCompanion(tensor.name))
            continue;
        const auto dot = tensor.name.rfind('.');
        const auto base = dot == std::string::npos ? std::string() : tensor.name.substr(0, dot + 1);
        const std::array<std::string, 7> scales{tensor.name + "_scale", tensor.name + "_scale_inv",
                                                tensor.name + ".scale", tensor.name + "_scales",
                                                base + "scale",         base + "scales",
                                                base + "weight_scale"};
        if (std::none_of(scales.begin(), scales.end(), [&](const auto &s) { return names.contains(s); }))
            bare.push_back(tensor.name);
    }
    if (!bare.empty())
        findings.push_back(of(Status::fail, path,
                              fmt::format("{} quantised tensor{} without a scale ({})", bare.size(),
                                          bare.size() == 1 ? "" : "s", bare.front()),
                              fmt::format("a tensor such as {}_scale beside each", bare.front()),
                              "quantised weights mean nothing without their scales",
                              "export the model with its scales"));
}

void checkKernelsTake(const Evidence &evidence, const DeclaredModel &declared, std::vector<Finding> &findings) {
    std::set<std::string> taken;
    for (const auto &record : evidence.package.manifest.kernels) {
        if (record.dtypes.empty())
            return; // a kernel that takes anything, or does not say
        taken.insert(record.dtypes.begin(), record.dtypes.end());
    }
    const auto wanted = normalised(declared.dtype);
    if (taken.empty() || std::any_of(taken.begin(), taken.end(), [&](const auto &t) { return kernelTakes(t, wanted); }))
        return;
    findings.push_back(of(Status::fail, declared.path,
                          fmt::format("{}, but kernels take {}", wanted, fmt::join(taken, ", ")),
                          fmt::format("a kernel with {} arguments", wanted), "no kernel of the package takes that type",
                          "convert the model, or add kernels for its type"));
}

bool looksLikeModel(const std::string &path) {
    constexpr std::array<std::string_view, 6> ends{".safetensors", ".gguf", ".onnx", ".npy", ".engine", ".plan"};
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return path.ends_with(end); });
}

void checkFile(const fs::path &file, const std::string &path, std::vector<Finding> &findings) {
    const auto model = readModelFile(file);
    if (!model) {
        findings.push_back(of(Status::fail, path, model.error().message, "a model file that can be read",
                              "the program cannot read it either", "export or fetch it again"));
    } else if (model->format == "git-lfs pointer") {
        findings.push_back(of(Status::fail, path, "a Git LFS pointer", "the file itself",
                              "git left the placeholder text in its place", "git lfs pull, then slipway package"));
    } else if (!model->damage.empty()) {
        findings.push_back(of(Status::fail, path, fmt::format("{}", fmt::join(model->damage, "; ")),
                              fmt::format("a whole {} file", model->format),
                              "the program would refuse it or read past its end", "export or fetch it again"));
    } else if (model->format == "unknown" || model->format == "tensorrt") {
        findings.push_back(
            of(Status::unknown, path,
               model->format == "tensorrt" ? "a TensorRT engine" : "a format that is not known here",
               "safetensors, GGUF, ONNX or NumPy",
               "engines run only on the GPU and TensorRT version that built them, which the file may not say",
               "try it on the board"));
    }
}

} // namespace

std::vector<Finding> checkDtype(const Evidence &evidence, Progress &progress) {
    std::vector<Finding> findings;
    bool any = false;
    for (const auto &declared : evidence.package.manifest.models) {
        if (declared.dtype.empty() || progress.cancelled())
            continue;
        any = true;
        const auto model = isInsidePath(declared.path) ? readModelFile(evidence.package.directory / declared.path)
                                                       : fail("it lies outside the package");
        if (!model || !model->damage.empty() || model->tensors.empty()) {
            findings.push_back(notKnown(
                declared.path, model ? fmt::format("no readable tensors ({})", model->format) : model.error().message,
                "see model-file"));
            continue;
        }
        checkDeclared(declared, *model, findings);
        checkScales(declared.path, *model, findings);
        checkKernelsTake(evidence, declared, findings);
    }
    return any ? findings : skippedBecause("no model with a declared type");
}

std::vector<Finding> checkModelFile(const Evidence &evidence, Progress &progress) {
    std::vector<Finding> findings;
    std::set<std::string> paths;
    for (const auto &declared : evidence.package.manifest.models)
        paths.insert(declared.path);
    for (const auto &file : evidence.package.manifest.files) {
        if (looksLikeModel(file.path))
            paths.insert(file.path);
    }
    for (const auto &path : paths) {
        if (!progress.cancelled() && isInsidePath(path))
            checkFile(evidence.package.directory / path, path, findings);
    }
    return paths.empty() ? skippedBecause("the package holds no models") : findings;
}

} // namespace slipway
