// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/project.h"

namespace slipway {

/// The parts of slipway.json, each into its place. Keys that are absent leave what is there (the proposal). Private to
/// this folder.
[[nodiscard]] Result<void> readBuild(const Json &json, BuildSettings &build);
[[nodiscard]] Result<std::vector<KernelSettings>> readKernels(const Json &json);
[[nodiscard]] Result<std::vector<ModelSettings>> readModels(const Json &json);
[[nodiscard]] Result<std::vector<std::string>> readData(const Json &json);
[[nodiscard]] Result<void> readRun(const Json &json, Project &project);
[[nodiscard]] Result<void> readDeploy(const Json &json, Project &project);

/// Adds kernels/*.ll, *.bc and *.cu, and data/, where they exist.
void proposeFiles(Project &project);

/// Refuses a key that is not among `known`, naming the nearest one.
[[nodiscard]] Result<void> knownKeys(const Json &object, const std::vector<std::string> &known, std::string_view what);

} // namespace slipway
