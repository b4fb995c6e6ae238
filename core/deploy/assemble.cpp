// SPDX-License-Identifier: Apache-2.0
//
// From a project to a package: build the CPU program, compile the kernels, lay both out. `slipway package` and `ship` share it.

#include "core/deploy/assemble.h"

#include <algorithm>

namespace slipway {

namespace {

/// The profile of this machine: the one that programs are built for when they run here.
Result<Target> hostTarget(const Catalog &catalog) {
#ifdef __aarch64__
    return catalog.target("generic-aarch64");
#else
    return catalog.target("generic-x86_64");
#endif
}

Result<std::vector<Artifact>> buildFor(const AssembleRequest &request, Capability capability, Progress &progress) {
    return buildProject({.project = request.project,
                         .target = request.target,
                         .toolchain = TRY(findToolchain(request.project.build, request.target, request.sysroot)),
                         .directory = request.workspace.buildDirectory(request.project.root, request.target.id),
                         .capability = capability,
                         .verb = BuildVerb::build,
                         .extra = {},
                         .runtimeInclude = request.workspace.resources / "runtime"},
                        progress);
}

Result<AotReport> compileFor(const AssembleRequest &request, Capability capability, const fs::path &cache, Progress &progress) {
    if (request.project.kernels.empty())
        return AotReport{};
    const auto programs = TRY(buildHostPrograms(request.workspace, request.catalog, request.project, progress));
    auto report = TRY(compileKernels({.sources = TRY(kernelSources(request.project, programs)),
                                      .capabilities = {capability},
                                      .ptx = request.ptx,
                                      .driver = driverFor(request.project, request.facts),
                                      .options = request.options,
                                      .cacheDirectory = cache,
                                      .force = request.force},
                                     request.tools, request.catalog, progress));
    for (const auto &outcome : report.outcomes) {
        if (outcome.error)
            return std::unexpected(Error(*outcome.error).in(fmt::format("kernel {}", outcome.record.name)));
    }
    return report;
}

} // namespace

Result<Capability> capabilityFor(const Target &target, const BoardFacts &facts) {
    if (const auto *gpu = facts.gpu())
        return gpu->capability;
    if (target.capability)
        return *target.capability;
    return std::unexpected(Error{.kind = ErrorKind::usage,
                                 .message = fmt::format("{} has no capability of its own, and no GPU was seen on the board", target.id),
                                 .hint = "read the board's facts first (slipway device facts NAME), or give --capability"});
}

Result<std::map<std::string, fs::path>> buildHostPrograms(const Workspace &workspace, const Catalog &catalog, const Project &project,
                                                          Progress &progress) {
    std::map<std::string, fs::path> programs;
    std::vector<std::string> toBuild;
    for (const auto &kernels : project.kernels) {
        if (kernels.kind != SourceKind::program)
            continue;
        if (fs::exists(project.root / kernels.bin))
            programs[kernels.bin] = project.root / kernels.bin;
        else
            toBuild.push_back(kernels.bin);
    }
    if (toBuild.empty())
        return programs;
    auto step = progress.step("build kernel programs for this machine");
    Project hostProject = project;
    (project.build.kind == BuildKind::cargo ? hostProject.build.bins : hostProject.build.targets) = toBuild;
    const auto target = TRY(hostTarget(catalog));
    const auto artifacts = TRY(buildProject({.project = hostProject,
                                             .target = target,
                                             .toolchain = TRY(hostToolchain(project.build)),
                                             .directory = workspace.buildDirectory(project.root, "host"),
                                             .capability = {},
                                             .verb = BuildVerb::build,
                                             .extra = {},
                                             .runtimeInclude = workspace.resources / "runtime"},
                                            progress));
    for (const auto &name : toBuild) {
        const auto made = std::ranges::find(artifacts, name, &Artifact::name);
        if (made == artifacts.end())
            return fail("kernels of kind program name \"{}\", which the build does not make", name);
        programs[name] = made->file;
    }
    step.done();
    return programs;
}

std::optional<int> driverFor(const Project &project, const BoardFacts &facts) {
    const auto path = project.env.find("LD_LIBRARY_PATH");
    return facts.driverWith(path == project.env.end() ? std::string_view() : path->second);
}

Result<Assembled> assemblePackage(const AssembleRequest &request, Progress &progress) {
    const auto capability = TRY(capabilityFor(request.target, request.facts));
    const auto cache = request.workspace.kernelCacheDirectory(request.project.root, request.target.id);
    Assembled made;
    made.artifacts = TRY(buildFor(request, capability, progress));
    made.kernels = TRY(compileFor(request, capability, cache, progress));
    std::vector<KernelRecord> records;
    for (const auto &outcome : made.kernels.outcomes)
        records.push_back(outcome.record);
    const auto compiled = made.kernels.ptx.find(capability); // what the cache was keyed with, which our LLVM may limit
    const auto ptx = compiled != made.kernels.ptx.end() ? compiled->second
                     : request.ptx                      ? *request.ptx
                                   : TRY(request.catalog.choosePtx(capability, driverFor(request.project, request.facts)));
    made.package = TRY(makePackage({.project = request.project,
                                    .target = request.target,
                                    .capability = capability,
                                    .ptx = ptx,
                                    .options = request.options,
                                    .artifacts = made.artifacts,
                                    .cacheDirectory = cache,
                                    .kernels = records,
                                    .tools = {},
                                    .source = TRY(readSourceState(request.project.root, progress)),
                                    .destination = request.destination},
                                   progress));
    return made;
}

} // namespace slipway
