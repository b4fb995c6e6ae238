// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/build/build.h"

namespace slipway::cli {

/// PROJECT, --target and --device, as every verb on a project takes them.
struct ProjectOptions {
    std::string path, target, device;
};
void addProjectOptions(CLI::App &command, ProjectOptions &options);

struct ChosenProject {
    Project project;
    Target target;
    std::optional<BoardFacts> facts; ///< the last ones read of the device, if there are any
};
[[nodiscard]] Result<ChosenProject> chooseProject(const Context &context, const Catalog &catalog, const ProjectOptions &options);

/// The synced sysroot of a device, if there is a finished one.
[[nodiscard]] std::optional<Sysroot> sysrootFor(const Workspace &workspace, const std::string &device);

} // namespace slipway::cli
