// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/package/package.h"
#include "core/workspace/workspace.h"

namespace slipway {

/// Everything that makes a package out of a project, gathered before it begins.
struct AssembleRequest {
    Project project;
    Target target;
    BoardFacts facts; ///< of the board, or Catalog::profileFacts
    Catalog catalog;
    Workspace workspace;
    KernelTools tools;
    std::optional<Sysroot> sysroot; ///< of the board, where one was synced
    std::optional<PtxVersion> ptx;  ///< empty = the newest that GPU and driver have in common
    std::string options;            ///< cargo-teeny's --options text
    bool force = false;             ///< compile also kernels that are unchanged
    fs::path destination;           ///< the package's folder
};

/// The capability that kernels are compiled for: the board's own GPU, else the profile's. Errors when neither is known.
[[nodiscard]] Result<Capability> capabilityFor(const Target &target, const BoardFacts &facts);

/// Host executables of the project's `program` kernels: those that are build targets are built for this machine, others are
/// files of the project. Maps KernelSettings::bin to the executable.
[[nodiscard]] Result<std::map<std::string, fs::path>> buildHostPrograms(const Workspace &workspace, const Catalog &catalog, const Project &project,
                                                                        Progress &progress);

/// What the three steps made.
struct Assembled {
    Package package;
    std::vector<Artifact> artifacts;
    AotReport kernels;
};

/// The driver version (12060 for CUDA 12.6) that the project's program will load on the board: its environment may lead to a
/// cuda-compat driver. Nothing when the board tells none.
[[nodiscard]] std::optional<int> driverFor(const Project &project, const BoardFacts &facts);

/// build + aot + package. A kernel that does not compile is an error that names it.
[[nodiscard]] Result<Assembled> assemblePackage(const AssembleRequest &request, Progress &progress);

} // namespace slipway
