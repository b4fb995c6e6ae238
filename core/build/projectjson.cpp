// SPDX-License-Identifier: Apache-2.0
//
// The parts of slipway.json. Every error is one line that names the key, what was found and what is needed.

#include "core/build/projectjson.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

/// A path or pattern below the root; a final '/' says that a folder is meant and is dropped.
Result<std::string> insidePath(std::string path, std::string_view what) {
    auto given = path;
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    if (path.starts_with("./"))
        path.erase(0, 2);
    if (!isInsidePath(path))
        return fail("{}: \"{}\" is not inside the project (needed a relative path without \"..\")", what, printable(given));
    return path;
}

Result<std::vector<std::string>> insidePaths(std::vector<std::string> paths, std::string_view what) {
    for (auto &path : paths)
        path = TRY(insidePath(path, what));
    return paths;
}

/// What becomes an argument of a build tool must not read as one of its options.
Result<std::vector<std::string>> plainWords(std::vector<std::string> words, std::string_view what) {
    for (const auto &word : words) {
        if (word.empty() || word.front() == '-' || word != printable(word, word.size() + 1))
            return fail("{}: \"{}\" is not a name (needed a text that does not begin with '-')", what, printable(word));
    }
    return words;
}

Result<std::string> plainWord(std::string word, std::string_view what) {
    if (!word.empty())
        TRY(plainWords({word}, what));
    return word;
}

Result<std::string> oneLine(std::string text, std::string_view what) {
    if (text.find_first_of(std::string_view("\n\r\0", 3)) != std::string::npos)
        return fail("{}: the text has more than one line (needed one)", what);
    return text;
}

Result<std::string> oneOf(std::string word, const std::vector<std::string> &allowed, std::string_view what) {
    if (std::ranges::find(allowed, word) == allowed.end())
        return fail("{} is \"{}\", needed {}", what, printable(word), fmt::join(allowed, ", "));
    return word;
}

Result<void> readCMake(const Json &json, BuildSettings &build, std::string_view what) {
    TRY(knownKeys(json, {"kind", "targets", "defines", "profile"}, what));
    build.targets = TRY(plainWords(TRY(member(json, "targets", build.targets, what)), "slipway.json: build.targets"));
    build.defines = TRY(member(json, "defines", build.defines, what));
    for (const auto &[name, value] : build.defines)
        TRY(plainWords({name}, "slipway.json: build.defines"));
    build.profile = TRY(plainWord(TRY(member(json, "profile", std::string("Release"), what)), "slipway.json: build.profile"));
    return {};
}

Result<void> readCargo(const Json &json, BuildSettings &build, std::string_view what) {
    TRY(knownKeys(json, {"kind", "bins", "examples", "package", "features", "profile", "tool"}, what));
    if (json.contains("examples") && !json.contains("bins"))
        build.bins.clear(); // who names examples only wants these
    build.bins = TRY(plainWords(TRY(member(json, "bins", build.bins, what)), "slipway.json: build.bins"));
    build.examples = TRY(plainWords(TRY(member(json, "examples", build.examples, what)), "slipway.json: build.examples"));
    build.features = TRY(plainWords(TRY(member(json, "features", build.features, what)), "slipway.json: build.features"));
    build.package = TRY(plainWord(TRY(member(json, "package", build.package, what)), "slipway.json: build.package"));
    build.profile = TRY(plainWord(TRY(member(json, "profile", std::string("release"), what)), "slipway.json: build.profile"));
    build.tool = TRY(oneOf(TRY(member(json, "tool", std::string("cargo"), what)), {"cargo", "cross"}, "slipway.json: build.tool"));
    return {};
}

Result<KernelSettings> readKernel(const Json &json, const std::string &what) {
    KernelSettings kernel;
    TRY(knownKeys(json, {"kind", "files", "bin", "arguments", "compiler", "flags"}, what));
    kernel.kind = TRY_IN(parseSourceKind(TRY(required<std::string>(json, "kind", what))), what);
    const bool isProgram = kernel.kind == SourceKind::program;
    const bool isCuda = kernel.kind == SourceKind::cuda;
    for (const char *key : {"bin", "arguments"}) {
        if (json.contains(key) && !isProgram)
            return fail("{}: \"{}\" belongs to the kind program, found {}", what, key, sourceKindName(kernel.kind));
    }
    for (const char *key : {"compiler", "flags"}) {
        if (json.contains(key) && !isCuda)
            return fail("{}: \"{}\" belongs to the kind cuda, found {}", what, key, sourceKindName(kernel.kind));
    }
    if (isProgram) {
        if (json.contains("files"))
            return fail("{}: \"files\" does not belong to the kind program, which takes \"bin\"", what);
        kernel.bin = TRY(insidePath(TRY(required<std::string>(json, "bin", what)), what + ".bin"));
        kernel.arguments = TRY(member(json, "arguments", kernel.arguments, what));
        return kernel;
    }
    kernel.files = TRY(insidePaths(TRY(required<std::vector<std::string>>(json, "files", what)), what + ".files"));
    if (kernel.files.empty())
        return fail("{}: \"files\" is empty, needed at least one file or pattern", what);
    if (isCuda)
        kernel.compiler = TRY(oneOf(TRY(member(json, "compiler", std::string("clang"), what)), {"clang", "nvcc"}, what + ".compiler"));
    kernel.flags = TRY(member(json, "flags", kernel.flags, what));
    return kernel;
}

Result<void> needList(const Json &json, const char *key) {
    if (!json.is_array())
        return fail("slipway.json: \"{}\" is {}, needed a list", key, json.type_name());
    return {};
}

bool isVariableName(std::string_view name) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    return !name.empty() && !(name.front() >= '0' && name.front() <= '9') && name.find_first_not_of(letters) == std::string_view::npos;
}

} // namespace

Result<void> knownKeys(const Json &object, const std::vector<std::string> &known, std::string_view what) {
    if (!object.is_object())
        return fail("{}: found {}, needed an object", what, object.type_name());
    for (const auto &[key, value] : object.items()) {
        if (std::ranges::find(known, key) != known.end())
            continue;
        const auto near = nearestWord(key, known);
        return fail("{}: unknown key \"{}\" ({})", what, printable(key),
                    near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : fmt::format("did you mean \"{}\"?", near));
    }
    return {};
}

Result<void> readBuild(const Json &json, BuildSettings &build) {
    constexpr std::string_view what = "slipway.json: build";
    if (!json.is_object())
        return fail("{}: found {}, needed an object", what, json.type_name());
    const auto kind = TRY(oneOf(TRY(member(json, "kind", std::string(buildKindName(build.kind)), what)),
                                {"cmake", "cargo", "prebuilt"}, "slipway.json: build.kind"));
    if (kind != buildKindName(build.kind))
        build = {}; // the proposal was for another kind
    if (kind == "cmake") {
        build.kind = BuildKind::cmake;
        return readCMake(json, build, what);
    }
    if (kind == "cargo") {
        build.kind = BuildKind::cargo;
        return readCargo(json, build, what);
    }
    build.kind = BuildKind::prebuilt;
    TRY(knownKeys(json, {"kind", "files"}, what));
    build.targets = TRY(insidePaths(TRY(required<std::vector<std::string>>(json, "files", what)), "slipway.json: build.files"));
    return {};
}

Result<std::vector<KernelSettings>> readKernels(const Json &json) {
    TRY(needList(json, "kernels"));
    std::vector<KernelSettings> kernels;
    for (std::size_t i = 0; i < json.size(); ++i)
        kernels.push_back(TRY(readKernel(json[i], fmt::format("slipway.json: kernels[{}]", i))));
    return kernels;
}

Result<std::vector<ModelSettings>> readModels(const Json &json) {
    TRY(needList(json, "models"));
    std::vector<ModelSettings> models;
    for (std::size_t i = 0; i < json.size(); ++i) {
        const auto what = fmt::format("slipway.json: models[{}]", i);
        TRY(knownKeys(json[i], {"file", "dtype"}, what));
        models.push_back({.file = TRY(insidePath(TRY(required<std::string>(json[i], "file", what)), what + ".file")),
                          .dtype = TRY(member(json[i], "dtype", std::string(), what))});
    }
    return models;
}

Result<std::vector<std::string>> readData(const Json &json) {
    if (!detail::JsonType<std::vector<std::string>>::fits(json))
        return fail("slipway.json: \"data\" is {}, needed a list of texts", json.is_array() ? "a list of other things" : json.type_name());
    return insidePaths(json.get<std::vector<std::string>>(), "slipway.json: data");
}

Result<void> readRun(const Json &json, Project &project) {
    constexpr std::string_view what = "slipway.json: run";
    TRY(knownKeys(json, {"command", "health", "env"}, what));
    project.runCommand = TRY(oneLine(TRY(member(json, "command", project.runCommand, what)), "slipway.json: run.command"));
    project.healthCommand = TRY(oneLine(TRY(member(json, "health", project.healthCommand, what)), "slipway.json: run.health"));
    project.env = TRY(member(json, "env", project.env, what));
    for (const auto &[name, value] : project.env) {
        if (!isVariableName(name))
            return fail("{}: env: \"{}\" is not the name of a variable", what, printable(name));
        TRY(oneLine(value, fmt::format("{}: env.{}", what, name)));
    }
    return {};
}

Result<void> readDeploy(const Json &json, Project &project) {
    constexpr std::string_view what = "slipway.json: deploy";
    TRY(knownKeys(json, {"dest", "keep"}, what));
    project.dest = TRY(oneLine(TRY(member(json, "dest", project.dest, what)), "slipway.json: deploy.dest"));
    while (project.dest.size() > 1 && project.dest.ends_with('/'))
        project.dest.pop_back();
    if (!project.dest.starts_with('/') || !isInsidePath(std::string_view(project.dest).substr(1)))
        return fail("{}: \"dest\" is \"{}\", needed an absolute path below / without \"..\"", what, printable(project.dest));
    project.keep = TRY(member(json, "keep", project.keep, what));
    if (project.keep < 1 || project.keep > 1000)
        return fail("{}: \"keep\" is {}, needed 1 to 1000 releases", what, project.keep);
    return {};
}

} // namespace slipway
