// SPDX-License-Identifier: Apache-2.0
//
// Building a project: the kind decides who builds; what comes out is checked and compared with the last time by content.

#include "core/build/build.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/build/buildparts.h"
#include "core/image/elfimage.h"

#include <algorithm>

namespace slipway {

namespace {

fs::path recordFile(const BuildRequest &request) { return request.directory / "artifacts.json"; }

/// Digests of the last build, by name. A record that cannot be read only makes everything "built".
std::map<std::string, std::string> lastDigests(const BuildRequest &request) {
    std::error_code error;
    if (!fs::exists(recordFile(request), error))
        return {};
    const auto json = readJsonFile(recordFile(request));
    return json && detail::JsonType<std::map<std::string, std::string>>::fits(*json)
               ? json->get<std::map<std::string, std::string>>()
               : std::map<std::string, std::string>{};
}

/// A binary for another machine would only fail on the board: say it here, where it can be explained.
Result<void> checkMachine(const BuildRequest &request, const BuiltFile &built) {
    const auto head = TRY(readHead(built.file, 64));
    if (!isElf(head)) {
        if (request.project.build.kind == BuildKind::prebuilt || head.starts_with("#!"))
            return {};
        return fail("the build made {}, which is no ELF program", built.file.string());
    }
    if (request.project.build.kind == BuildKind::prebuilt)
        return {}; // pre-flight's elf-arch reports it together with everything else
    const auto elf = TRY_IN(readElfFile(built.file), built.file.string());
    const auto needed = builtArch(request);
    if (elf.machine != needed)
        return std::unexpected(Error{.message = fmt::format("the build made {} for {}, needed {}", built.name, elf.machine, needed),
                                     .hint = "the project may set its own compiler: leave CMAKE_C_COMPILER, CMAKE_CXX_COMPILER "
                                             "and the target's linker to Slipway"});
    return {};
}

Result<std::vector<Artifact>> finishArtifacts(const BuildRequest &request, const std::vector<BuiltFile> &files, Progress &progress) {
    const auto before = lastDigests(request);
    std::vector<Artifact> artifacts;
    Json record = Json::object();
    for (const auto &built : files) {
        TRY(checkMachine(request, built));
        Artifact artifact{.name = built.name, .file = built.file, .why = "built", .sha256 = TRY(sha256OfFile(built.file, progress))};
        if (const auto last = before.find(built.name); last != before.end())
            artifact.why = last->second == artifact.sha256 ? "unchanged" : "rebuilt";
        if (request.project.build.kind == BuildKind::prebuilt)
            artifact.why = "prebuilt";
        record[artifact.name] = artifact.sha256;
        artifacts.push_back(std::move(artifact));
    }
    TRY(writeJsonFile(recordFile(request), record));
    return artifacts;
}

} // namespace

Result<std::vector<Artifact>> buildProject(const BuildRequest &given, Progress &progress) {
    auto request = given;
    request.directory = fs::absolute(given.directory).lexically_normal(); // the tools run elsewhere
    const auto &toolchain = request.toolchain;
    const auto &project = request.project;
    if (project.build.kind == BuildKind::prebuilt && request.verb != BuildVerb::build)
        return failAs(ErrorKind::usage, "{} is prebuilt: there are no sources to check", project.name);
    auto step = progress.step(toolchain.isForThisMachine() ? fmt::format("build {} for this machine", project.name)
                                                           : fmt::format("build {} for {}", project.name, request.target.name));
    TRY(checkSysroot(toolchain));
    std::vector<BuiltFile> files;
    switch (project.build.kind) {
    case BuildKind::cmake: files = TRY(buildCMake(request, progress)); break;
    case BuildKind::cargo: files = TRY(buildCargo(request, progress)); break;
    case BuildKind::prebuilt: files = TRY(prebuiltFiles(request)); break;
    }
    if (request.verb != BuildVerb::build) {
        step.done("no errors");
        return std::vector<Artifact>{};
    }
    auto artifacts = TRY(finishArtifacts(request, files, progress));
    std::string summary;
    for (const auto &artifact : artifacts)
        summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", artifact.name, artifact.why);
    step.done(summary);
    return artifacts;
}

Result<std::vector<BuiltFile>> prebuiltFiles(const BuildRequest &request) {
    std::vector<BuiltFile> files;
    std::error_code error;
    for (const auto &pattern : request.project.build.targets) {
        for (const auto &path : TRY_IN(expandPattern(request.project.root, pattern), "build.files")) {
            const auto file = request.project.root / path;
            if (fs::is_regular_file(file, error))
                files.push_back({.name = file.filename().string(), .file = file});
        }
    }
    std::ranges::sort(files, {}, &BuiltFile::name);
    const auto twice = std::ranges::adjacent_find(files, {}, &BuiltFile::name);
    if (twice != files.end())
        return fail("build.files: {} and {} would both be bin/{}", twice->file.string(), (twice + 1)->file.string(), twice->name);
    return files;
}

} // namespace slipway
