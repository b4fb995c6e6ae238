// SPDX-License-Identifier: Apache-2.0
//
// slipway package: bin/ cache/ conf/ data/ from a project.

#include "app/cli/context.h"
#include "app/cli/projectoptions.h"
#include "core/deploy/ship.h"

namespace slipway::cli {

namespace {

struct Options {
    ProjectOptions project;
    std::string destination, capability, ptx, options;
};

Result<int> package(Context &context, const Options &options, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto chosen = TRY(chooseProject(context, catalog, options.project));
    auto facts = chosen.facts ? *chosen.facts : catalog.profileFacts(chosen.target);
    if (!options.capability.empty()) // the GPU is then the one that the user names, whatever was seen or assumed
        facts.gpus = {GpuFacts{.name = "named on the command line", .capability = TRY(Capability::parse(options.capability))}};
    const auto made = TRY(assemblePackage({.project = chosen.project,
                                           .target = chosen.target,
                                           .facts = facts,
                                           .catalog = catalog,
                                           .workspace = context.workspace,
                                           .tools = findKernelTools(context.workspace.bin, context.workspace.resources, context.workspace.cudaPreludeDirectory()),
                                           .sysroot = sysrootFor(context.workspace, options.project.device),
                                           .ptx = options.ptx.empty() ? std::nullopt : std::optional(TRY(PtxVersion::parse(options.ptx))),
                                           .options = options.options,
                                           .destination = absolutePath(options.destination)},
                                          progress));
    if (context.json)
        context.print({{"directory", made.package.directory.string()}, {"release", made.package.manifest.releaseId()}, {"manifest", made.package.manifest.toJson()}});
    else
        std::fputs(fmt::format("{} ({} files, {} kernels)\n", made.package.directory.string(), made.package.manifest.files.size(), made.package.manifest.kernels.size()).c_str(), stdout);
    return 0;
}

} // namespace

void addPackage(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    auto *command = app.add_subcommand("package", "build, compile the kernels and pack everything for a board");
    addProjectOptions(*command, options->project);
    addJson(*command, context);
    command->add_option("--dest", options->destination, "the package's folder")->required();
    command->add_option("--capability", options->capability, "sm_N instead of the target's or the device's");
    command->add_option("--ptx-version", options->ptx, "85 or 8.5; chosen for target and driver when left out");
    command->add_option("--options", options->options, "cargo-teeny options: sm-count=8,…");
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return package(c, *options, p); }; });
}

} // namespace slipway::cli
