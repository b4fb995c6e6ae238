// SPDX-License-Identifier: Apache-2.0
//
// Are model files whole, is what they refer to there, and can the board's runtime read them. Reports: OmniParser #34 (Git LFS),
// unsloth #3124 and llama.cpp #11975 (ggml types), onnxruntime #28764 (external data), #15250 and TensorRT #2105 (engines).

#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/modelchecks.h"
#include "core/preflight/modelparts.h"

#include <QFile>

#include <algorithm>

namespace slipway {

namespace {

/// onnxruntime reads external data only from the model's own folder or below.
void checkExternal(const Evidence &evidence, const ShippedModel &shipped, std::vector<Finding> &findings) {
    const auto folder = fs::path(shipped.path).parent_path();
    for (const auto &[location, least] : shipped.file->external) {
        if (!isInsidePath(location)) {
            findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("external data in {}", location), "a file in the model's own folder",
                                  "onnxruntime refuses data outside of the folder of the model", "save the model again with its data beside it"));
            continue;
        }
        const auto path = (folder / location).generic_string();
        const auto &files = evidence.package.manifest.files;
        const auto file = std::find_if(files.begin(), files.end(), [&](const auto &f) { return f.path == path; });
        if (file == files.end())
            findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("no {} in the package", path), "the file that holds its weights",
                                  "ONNX keeps large weights in a second file (external_data)",
                                  fmt::format("add {} to \"data\" in slipway.json, then slipway package", location)));
        else if (file->size < least)
            findings.push_back(makeFinding(Status::fail, path, fmt::format("{} bytes", file->size), fmt::format("{} bytes, which the model refers to", least),
                                  "the data is truncated, or of another export", "export or fetch both files again"));
    }
}

/// What a JSON file beside an engine says of how it was made: MODEL.engine.json, or MODEL.json.
std::map<std::string, std::string> sidecarOf(const fs::path &engine) {
    std::map<std::string, std::string> said;
    for (const auto &file : {fs::path(engine.string() + ".json"), fs::path(engine).replace_extension(".json")}) {
        const auto text = readFile(file, 1U << 20);
        const auto json = text ? parseJson(*text, "sidecar", 16) : fail("none");
        if (!json || !json->is_object())
            continue;
        for (const auto &[key, value] : json->items()) {
            if (value.is_string())
                said[key] = value.get<std::string>();
            else if (value.is_number())
                said[key] = value.dump();
        }
        return said;
    }
    return said;
}

std::string firstOf(const std::map<std::string, std::string> &said, std::initializer_list<const char *> keys) {
    for (const auto *key : keys) {
        if (const auto found = said.find(key); found != said.end())
            return found->second;
    }
    return {};
}

const JetPack *jetpackOf(const Evidence &evidence) {
    const auto *release = evidence.facts.l4t ? evidence.catalog.jetpacks.ofL4t(*evidence.facts.l4t) : nullptr;
    return !release && evidence.facts.jetpack ? evidence.catalog.jetpacks.find(*evidence.facts.jetpack) : release;
}

/// Equal in the first three parts, as far as both have them: "10.3" is "10.3.0".
bool sameRelease(const std::string &a, const std::string &b) {
    const auto left = split(a, '.');
    const auto right = split(b, '.');
    for (std::size_t i = 0; i < std::min<std::size_t>({3, left.size(), right.size()}); ++i) {
        if (left[i] != right[i])
            return false;
    }
    return true;
}

/// Engines run only on the GPU and the TensorRT that built them.
void checkEngine(const Evidence &evidence, const ShippedModel &shipped, std::vector<Finding> &findings) {
    const auto said = sidecarOf(evidence.package.directory / shipped.path);
    constexpr const char *rebuild = "build the engine on the board itself: trtexec --onnx=… --saveEngine=…";
    constexpr const char *rule = "a TensorRT engine runs only on the GPU and the TensorRT version that built it";
    const auto known = shipped.file->metadata.find("tensorrt");
    auto version = known != shipped.file->metadata.end() ? known->second : firstOf(said, {"tensorrt_version", "tensorrt", "trt_version", "trt"});
    const auto built = Capability::parse(firstOf(said, {"compute_capability", "capability", "cc", "sm"}));
    const auto device = evidence.capability();
    const auto *jetpack = jetpackOf(evidence);
    const auto before = findings.size();
    if (built && device && built->number != device->number)
        findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("an engine for compute capability {}", built->dotted()), device->dotted(), rule, rebuild));
    if (!version.empty() && jetpack && !jetpack->tensorrt.empty() && !sameRelease(version, jetpack->tensorrt))
        findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("an engine of TensorRT {}", printable(version, 40)),
                              fmt::format("{} (JetPack {})", jetpack->tensorrt, jetpack->version), rule, rebuild));
    if (findings.size() == before && (!built || version.empty() || !device || !jetpack))
        findings.push_back(makeFinding(Status::unknown, shipped.path, fmt::format("a TensorRT engine{}", version.empty() ? "" : " of TensorRT " + printable(version, 40)),
                              "the GPU and TensorRT version that built it",
                              "engines run only on the GPU and TensorRT version that built them, which the file may not say",
                              fmt::format("write {}.json beside it: {{\"compute_capability\": \"8.7\", \"tensorrt_version\": \"10.3.0\"}}, or try it on the board",
                                          shipped.path)));
}

/// A shipped llama.cpp names its types in its data: "mxfp4" behind a NUL, when it knows the type.
bool namesType(const fs::path &library, const std::string &type) {
    QFile file(QString::fromStdString(library.string()));
    const auto *start = file.open(QIODevice::ReadOnly) && file.size() > 0 ? file.map(0, file.size()) : nullptr;
    if (!start)
        return true; // cannot be told
    std::string word(1, '\0');
    for (const char c : type)
        word += char(std::tolower(static_cast<unsigned char>(c)));
    word += '\0';
    return std::string_view(reinterpret_cast<const char *>(start), std::size_t(file.size())).find(word) != std::string_view::npos;
}

void checkGgmlRuntime(const Evidence &evidence, const ShippedModel &shipped, std::vector<Finding> &findings) {
    const auto runtime = std::find_if(evidence.elves.begin(), evidence.elves.end(), [](const auto &e) {
        const auto name = e.path.substr(e.path.rfind('/') + 1);
        return name.starts_with("libggml-base.so") || name.starts_with("libggml.so");
    });
    if (runtime == evidence.elves.end())
        return;
    for (const auto *type : {"MXFP4", "NVFP4", "Q1_0", "Q2_0", "TQ1_0", "TQ2_0"}) { // those that ggml got last
        if (shipped.file->dtypes.contains(type) && !namesType(evidence.package.directory / runtime->path, type))
            findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("tensors of type {}", type), fmt::format("a runtime that knows it ({} does not)", runtime->path),
                                  "llama.cpp refuses a type that is newer than itself: invalid ggml type", "ship a newer llama.cpp, or convert the model"));
    }
}

void checkFile(const Evidence &evidence, const ShippedModel &shipped, std::vector<Finding> &findings) {
    const auto &[path, declared, model] = shipped;
    if (!model) {
        findings.push_back(makeFinding(Status::fail, path, model.error().message, "a model file that can be read", "the program cannot read it either",
                              "export or fetch it again"));
    } else if (model->format == "git-lfs pointer") {
        findings.push_back(makeFinding(Status::fail, path, "a Git LFS pointer", "the file itself", "git left the placeholder text in its place",
                              "git lfs pull, then slipway package"));
    } else if (!model->damage.empty()) {
        findings.push_back(makeFinding(Status::fail, path, fmt::format("{}", fmt::join(model->damage, "; ")), fmt::format("a whole {} file", model->format),
                              "the program would refuse it or read past its end", "export or fetch it again"));
    } else if (model->format == "tensorrt") {
        checkEngine(evidence, shipped, findings);
    } else if (model->format == "unknown") {
        findings.push_back(makeFinding(Status::unknown, path, "a format that is not known here", "safetensors, GGUF, ONNX, NumPy or a TensorRT engine",
                              "nothing here can tell whether it is whole", "try it on the board"));
    } else {
        checkExternal(evidence, shipped, findings);
        if (model->format == "gguf")
            checkGgmlRuntime(evidence, shipped, findings);
    }
}

/// Pointers that git left in the place of any other file.
void checkPointers(const Evidence &evidence, const std::set<std::string> &models, std::vector<Finding> &findings) {
    constexpr std::string_view start = "version https://git-lfs.github.com/spec/";
    for (const auto &file : evidence.package.manifest.files) {
        if (file.size < start.size() || file.size > 1024 || models.contains(file.path) || !isInsidePath(file.path))
            continue;
        const auto head = readHead(evidence.package.directory / file.path, start.size());
        if (head && *head == start)
            findings.push_back(makeFinding(Status::fail, file.path, "a Git LFS pointer", "the file itself", "git left the placeholder text in its place",
                                  "git lfs pull, then slipway package"));
    }
}

} // namespace

std::vector<Finding> checkModelFile(const Evidence &evidence, Progress &progress) {
    std::vector<Finding> findings;
    std::set<std::string> paths;
    const auto models = readShippedModels(evidence, progress);
    for (const auto &shipped : *models) {
        paths.insert(shipped.path);
        checkFile(evidence, shipped, findings);
    }
    checkPointers(evidence, paths, findings);
    return paths.empty() && findings.empty() ? skippedBecause("the package holds no models") : findings;
}

} // namespace slipway
