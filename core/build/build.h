// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/project.h"
#include "core/sysroot/sysroot.h"
#include "core/target/target.h"

namespace slipway {

/// The cross tools for a target, found before a build.
struct Toolchain {
    std::string triple; ///< "aarch64-linux-gnu"; empty fields below = native
    fs::path cc, cxx, ar, strip;
    fs::path cmake, ninja, cargo, cross;
    std::optional<Sysroot> sysroot;
    fs::path cudaRoot;
    std::string rustTarget; ///< "aarch64-unknown-linux-gnu"
};
/// Says what is missing and which package brings it.
[[nodiscard]] Result<Toolchain> findToolchain(const Target &target, const std::optional<Sysroot> &sysroot);

/// A binary that a build made.
struct Artifact {
    std::string name; ///< its name in bin/
    fs::path file;
    std::string why; ///< "built" or why it was not rebuilt
};

enum class BuildVerb { build, check, clippy };

struct BuildRequest {
    Project project;
    Target target;
    Toolchain toolchain;
    fs::path directory; ///< build tree of this project and target (or the host)
    std::optional<Capability> capability;
    BuildVerb verb = BuildVerb::build;
    std::vector<std::string> extra; ///< after "--" on the command line
    fs::path runtimeInclude;        ///< resources/runtime
};

/// Builds for the target (or for the host, with a native toolchain). CMake gets a generated toolchain file, Cargo its linker
/// and sysroot by environment. The outcome lists the binaries to ship.
[[nodiscard]] Result<std::vector<Artifact>> buildProject(const BuildRequest &request, Progress &progress);

} // namespace slipway
