// SPDX-License-Identifier: Apache-2.0
//
// PROJECT, --target and --device: what every verb on a project begins with.

#include "app/cli/projectoptions.h"

namespace slipway::cli {

void addProjectOptions(CLI::App &command, ProjectOptions &options) {
    command.add_option("PROJECT", options.path, "the project's folder; the current one when left out");
    command.add_option("--target", options.target, "kind of board (see 'slipway targets')");
    command.add_option("--device", options.device, "a saved board: its target and facts are used");
}

Result<ChosenProject> chooseProject(const Context &context, const Catalog &catalog, const ProjectOptions &options) {
    auto target = TRY(targetFor(context, catalog, options.target, options.device));
    ChosenProject chosen{.project = TRY(Project::open(absolutePath(options.path))), .target = std::move(target), .facts = {}};
    if (options.device.empty())
        return chosen;
    if (auto facts = loadFacts(context.workspace, options.device))
        chosen.facts = std::move(*facts);
    return chosen;
}

std::optional<Sysroot> sysrootFor(const Workspace &workspace, const std::string &device) {
    if (device.empty())
        return std::nullopt;
    auto sysroot = openSysroot(workspace.sysrootDirectory(device));
    return sysroot ? std::optional(std::move(*sysroot)) : std::nullopt;
}

} // namespace slipway::cli
