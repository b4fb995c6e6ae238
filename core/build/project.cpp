// SPDX-License-Identifier: Apache-2.0
//
// A user's project: slipway.json over what is proposed for the tree, and the kernel sources it names.

#include "core/build/project.h"

#include "core/base/text.h"
#include "core/build/projectjson.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

/// What holds without any build system: what a slipway.json that leaves things out stands on.
Project plainProject(const fs::path &root) {
    Project project;
    project.root = root;
    project.name = projectNameFrom(root.filename().string());
    project.build.kind = BuildKind::prebuilt;
    proposeFiles(project);
    return project;
}

/// Does the file say itself what to build, so that nothing has to be asked.
bool namesItsBuild(const Json &json) {
    if (!json.contains("name") || !json.contains("build") || !json["build"].is_object() || !json["build"].contains("kind"))
        return false;
    return std::ranges::any_of(std::initializer_list<const char *>{"targets", "bins", "examples", "files"},
                               [&](const char *key) { return json["build"].contains(key); });
}

Result<Project> foundation(const Json &json, const fs::path &root) {
    if (namesItsBuild(json))
        return plainProject(root);
    auto proposal = proposeProject(root);
    if (!proposal && json.contains("build") && json["build"].is_object() && json["build"].contains("kind"))
        return plainProject(root);
    return proposal;
}

/// The commands and places that follow from the name and the build when the file does not give them.
void fillDefaults(Project &project, const Json &json) {
    const auto &build = project.build;
    const auto given = [&](const char *part, const char *key) {
        return json.contains(part) && json[part].is_object() && json[part].contains(key);
    };
    if (!given("run", "command")) {
        const auto &first = !build.bins.empty() ? build.bins : !build.examples.empty() ? build.examples : build.targets;
        project.runCommand = first.empty() ? "" : "bin/" + fs::path(first.front()).filename().string();
    }
    if (!given("deploy", "dest"))
        project.dest = "/opt/" + project.name;
}

/// One source for each file, or the program.
KernelSource sourceOf(const KernelSettings &settings, const fs::path &file, const std::string &label) {
    return {.kind = settings.kind,
            .name = file.stem().string(),
            .file = file,
            .label = label,
            .arguments = settings.arguments,
            .compiler = settings.compiler,
            .flags = settings.flags};
}

Result<KernelSource> programSource(const Project &project, const KernelSettings &settings,
                                   const std::map<std::string, fs::path> &hostPrograms) {
    if (const auto built = hostPrograms.find(settings.bin); built != hostPrograms.end())
        return sourceOf(settings, built->second, settings.bin);
    std::error_code error;
    const auto file = project.root / settings.bin;
    if (fs::is_regular_file(file, error) && (fs::status(file, error).permissions() & fs::perms::owner_exec) != fs::perms::none)
        return sourceOf(settings, file, settings.bin);
    return std::unexpected(
        Error{.message = fmt::format("the kernel program {} was neither built for this machine nor is it an executable file",
                                     printable(settings.bin)),
              .hint = "name a build target of the project, or make the file executable"});
}

Json kernelToJson(const KernelSettings &kernel) {
    Json json{{"kind", sourceKindName(kernel.kind)}};
    if (kernel.kind == SourceKind::program) {
        json["bin"] = kernel.bin;
        if (!kernel.arguments.empty())
            json["arguments"] = kernel.arguments;
        return json;
    }
    json["files"] = kernel.files;
    if (!kernel.compiler.empty() && kernel.compiler != "clang")
        json["compiler"] = kernel.compiler;
    if (!kernel.flags.empty())
        json["flags"] = kernel.flags;
    return json;
}

Json buildToJson(const BuildSettings &build) {
    Json json{{"kind", buildKindName(build.kind)}};
    const auto addList = [&](const char *key, const std::vector<std::string> &list) {
        if (!list.empty())
            json[key] = list;
    };
    const auto addText = [&](const char *key, const std::string &text, std::string_view usual) {
        if (!text.empty() && text != usual)
            json[key] = text;
    };
    switch (build.kind) {
    case BuildKind::cmake:
        addList("targets", build.targets);
        addText("profile", build.profile, "Release");
        if (!build.defines.empty())
            json["defines"] = build.defines;
        break;
    case BuildKind::cargo:
        addList("bins", build.bins);
        addList("examples", build.examples);
        addList("features", build.features);
        addText("package", build.package, "");
        addText("profile", build.profile, "release");
        addText("tool", build.tool, "cargo");
        break;
    case BuildKind::prebuilt: json["files"] = build.targets; break;
    }
    return json;
}

} // namespace

const char *buildKindName(BuildKind kind) {
    switch (kind) {
    case BuildKind::cmake: return "cmake";
    case BuildKind::cargo: return "cargo";
    case BuildKind::prebuilt: return "prebuilt";
    }
    return "";
}

Result<Project> Project::open(const fs::path &root) {
    std::error_code error;
    auto directory = fs::weakly_canonical(fs::absolute(root, error), error);
    if (directory.filename().empty())
        directory = directory.parent_path();
    if (!fs::is_directory(directory, error))
        return failAs(ErrorKind::usage, "there is no directory {} (needed a project)", printable(root.string()));
    const auto file = directory / "slipway.json";
    if (!fs::exists(file, error)) {
        auto project = TRY(proposeProject(directory));
        project.proposed = true;
        return project;
    }
    const auto text = TRY(readFile(file, std::uint64_t(4) << 20));
    return fromJson(TRY(parseJson(text, "slipway.json")), directory);
}

Result<Project> Project::fromJson(const Json &json, const fs::path &root) {
    TRY(knownKeys(json, {"name", "build", "kernels", "models", "data", "run", "deploy"}, "slipway.json"));
    auto project = TRY(foundation(json, root));
    project.name = TRY(member(json, "name", project.name, "slipway.json"));
    if (!isProjectName(project.name))
        return fail("slipway.json: \"name\" is \"{}\", needed letters, digits, '.', '_' or '-', at most 64", printable(project.name));
    if (json.contains("build"))
        TRY(readBuild(json["build"], project.build));
    if (json.contains("kernels"))
        project.kernels = TRY(readKernels(json["kernels"]));
    if (json.contains("models"))
        project.models = TRY(readModels(json["models"]));
    if (json.contains("data"))
        project.data = TRY(readData(json["data"]));
    fillDefaults(project, json);
    if (json.contains("run"))
        TRY(readRun(json["run"], project));
    if (json.contains("deploy"))
        TRY(readDeploy(json["deploy"], project));
    return project;
}

Json Project::toJson() const {
    Json json{{"name", name}, {"build", buildToJson(build)}, {"kernels", Json::array()}, {"models", Json::array()}};
    for (const auto &kernel : kernels)
        json["kernels"].push_back(kernelToJson(kernel));
    for (const auto &model : models) {
        Json entry{{"file", model.file}};
        if (!model.dtype.empty())
            entry["dtype"] = model.dtype;
        json["models"].push_back(entry);
    }
    json["data"] = data;
    json["run"] = {{"command", runCommand}, {"health", healthCommand}, {"env", env}};
    json["deploy"] = {{"dest", dest}, {"keep", keep}};
    return json;
}

Result<std::vector<KernelSource>> kernelSources(const Project &project, const std::map<std::string, fs::path> &hostPrograms) {
    std::vector<KernelSource> sources;
    std::set<std::pair<SourceKind, std::string>> seen; // two patterns may name the same file
    for (const auto &settings : project.kernels) {
        if (settings.kind == SourceKind::program) {
            sources.push_back(TRY(programSource(project, settings, hostPrograms)));
            continue;
        }
        std::set<std::string> files;
        for (const auto &pattern : settings.files) {
            const auto matches = TRY_IN(expandPattern(project.root, pattern), fmt::format("kernels ({})", sourceKindName(settings.kind)));
            files.insert(matches.begin(), matches.end());
        }
        for (const auto &file : files) {
            if (seen.emplace(settings.kind, file).second)
                sources.push_back(sourceOf(settings, project.root / file, file));
        }
    }
    return sources;
}

} // namespace slipway
