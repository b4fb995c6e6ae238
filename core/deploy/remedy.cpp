// SPDX-License-Identifier: Apache-2.0
//
// What can be done about findings without asking anything: each remedy is a value that a front end may offer.

#include "core/deploy/remedy.h"

#include "core/base/text.h"
#include "core/image/elfpatch.h"
#include "core/package/amend.h"
#include "core/package/teeny.h"
#include "core/preflight/binarychecks.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

/// Subjects of the findings of some checks that are worse than a pass.
std::set<std::string> subjectsOf(const Verdict &verdict, const std::set<std::string> &checks) {
    std::set<std::string> subjects;
    for (const auto &finding : verdict.findings) {
        if (checks.contains(finding.id) && (finding.status == Status::fail || finding.status == Status::warn))
            subjects.insert(finding.subject);
    }
    return subjects;
}

bool failed(const Verdict &verdict, const std::set<std::string> &checks) {
    return std::any_of(verdict.findings.begin(), verdict.findings.end(),
                       [&](const auto &f) { return checks.contains(f.id) && f.status == Status::fail; });
}

/// Options without those that say for which GPU and PTX version: the board decides these.
std::string withoutGpu(const std::string &options) {
    std::vector<std::string> kept;
    for (const auto option : split(options, ',')) {
        const auto key = trimmed(option.substr(0, option.find('=')));
        if (!key.empty() && key != "capability" && key != "ptx-version")
            kept.emplace_back(trimmed(option));
    }
    return fmt::format("{}", fmt::join(kept, ","));
}

/// The cache's own environment fits what it was built with, and only conf/env says otherwise.
std::map<std::string, std::string> rightEnv(const Package &package) {
    auto env = package.env;
    auto wanted = cacheEnv(package.manifest.ptx);
    if (!package.manifest.ptx)
        env.erase("TEENYC_PTX_VERSION");
    if (const auto set = env.find("TEENYC_PATH"); set != env.end() && !set->second.empty())
        wanted.erase("TEENYC_PATH");
    for (const auto &[name, value] : wanted)
        env[name] = value;
    env.erase("CUDA_CACHE_DISABLE");
    return env;
}

Result<void> stripPaths(Package &package, const std::set<std::string> &files, Progress &progress) {
    std::map<std::string, std::string> changed;
    for (const auto &path : files) {
        auto bytes = TRY(readFile(package.directory / path, std::uint64_t(2) << 30));
        changed[path] = TRY_IN(withRpath(std::move(bytes), isPathForBoards), path);
    }
    return amendPackage(package, changed, progress);
}

/// A script as a board's kernel starts it: without the carriage returns of Windows, which would be part of the interpreter's name.
std::string startable(std::string bytes) {
    if (bytes.starts_with("#!")) {
        for (auto at = bytes.find("\r\n"); at != std::string::npos; at = bytes.find("\r\n", at))
            bytes.erase(at, 1);
    }
    return bytes;
}

Result<void> makeStartable(Package &package, const std::set<std::string> &files, Progress &progress) {
    std::map<std::string, std::string> changed;
    for (const auto &path : files)
        changed[path] = startable(TRY(readFile(package.directory / path, std::uint64_t(2) << 30)));
    return amendPackage(package, changed, progress);
}

Remedy rebuildRemedy(Package &package, const Evidence &evidence, AssembleRequest request) {
    const auto capability = capabilityFor(request.target, request.facts);
    const auto ptx = capability ? evidence.catalog.choosePtx(capability->baseline(), evidence.driver()) : fail("");
    request.destination = package.directory;
    request.facts.cudaDriver = evidence.driver();
    request.options = withoutGpu(package.manifest.options);
    return {.id = "rebuild",
            .description = fmt::format("compile the kernels for {}{} and pack again", capability ? capability->sm() : "the board",
                                       ptx ? fmt::format(" with PTX {}", ptx->text()) : ""),
            .checks = {"capability", "ptx-version", "cache-present", "kernel-integrity", "cache-keys", "elf-arch"},
            .perform = [&package, request](Progress &progress) -> Result<void> {
                package = TRY(assemblePackage(request, progress)).package;
                return {};
            }};
}

} // namespace

std::vector<Remedy> remediesFor(const Verdict &verdict, Package &package, const Evidence &evidence,
                                const std::optional<AssembleRequest> &rebuild) {
    std::vector<Remedy> remedies;
    const std::set<std::string> kernels{"capability", "ptx-version", "cache-present", "kernel-integrity", "elf-arch"};
    const bool env = !subjectsOf(verdict, {"runtime-env"}).empty();
    // Keys that miss only because of conf/env need no compiler.
    if (rebuild && (failed(verdict, kernels) || (failed(verdict, {"cache-keys"}) && !env)))
        remedies.push_back(rebuildRemedy(package, evidence, *rebuild));
    else if (env && rightEnv(package) != package.env)
        remedies.push_back({.id = "env",
                            .description = "write conf/env as the cache needs it",
                            .checks = {"runtime-env", "cache-keys"},
                            .perform = [&package](Progress &progress) {
                                return amendPackage(package, {{"conf/env", envFileText(rightEnv(package))}}, progress);
                            }});
    if (const auto files = subjectsOf(verdict, {"rpath"}); !files.empty())
        remedies.push_back({.id = "rpath",
                            .description = fmt::format("strip library paths of this machine from {}", fmt::join(files, ", ")),
                            .checks = {"rpath"},
                            .perform = [&package, files](Progress &progress) { return stripPaths(package, files, progress); }});
    std::set<std::string> startable;
    for (const auto &finding : verdict.findings) {
        if (finding.id == "executable" && (finding.found.starts_with("mode ") || finding.found.starts_with("lines that end")))
            startable.insert(finding.subject);
    }
    if (!startable.empty())
        remedies.push_back({.id = "modes",
                            .description = fmt::format("set modes and line ends of {}", fmt::join(startable, ", ")),
                            .checks = {"executable"},
                            .perform = [&package, startable](Progress &progress) { return makeStartable(package, startable, progress); }});
    return remedies;
}

Result<AssembleRequest> rebuildFrom(const fs::path &project, const Evidence &evidence, const Workspace &workspace) {
    if (!evidence.target)
        return std::unexpected(Error{.kind = ErrorKind::usage,
                                     .message = "the package cannot be rebuilt: it is not known which kind of board this is",
                                     .hint = "name it with --target"});
    return AssembleRequest{.project = TRY(Project::open(project)),
                           .target = *evidence.target,
                           .facts = evidence.facts,
                           .catalog = evidence.catalog,
                           .workspace = workspace,
                           .tools = findKernelTools(workspace.bin, workspace.resources, workspace.cudaPreludeDirectory()),
                           .sysroot = evidence.sysroot,
                           .ptx = {},
                           .options = {},
                           .force = false,
                           .destination = {}};
}

Result<std::vector<std::string>> performRemedies(const std::vector<Remedy> &remedies, Progress &progress) {
    std::vector<std::string> done;
    for (const auto &remedy : remedies) {
        TRY_IN(remedy.perform(progress), remedy.id);
        done.push_back(remedy.description);
    }
    return done;
}

} // namespace slipway
