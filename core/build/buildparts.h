// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/build.h"

namespace slipway {

// Private to this folder: what the kinds of builds share.

/// A binary as the build system names it.
struct BuiltFile {
    std::string name; ///< in bin/
    fs::path file;
};

[[nodiscard]] Result<std::vector<BuiltFile>> buildCMake(const BuildRequest &request, Progress &progress);
[[nodiscard]] Result<std::vector<BuiltFile>> buildCargo(const BuildRequest &request, Progress &progress);
[[nodiscard]] Result<std::vector<BuiltFile>> prebuiltFiles(const BuildRequest &request);

/// What makes pkg-config find the target's libraries, never this machine's; empty for native builds without a sysroot.
[[nodiscard]] std::map<std::string, std::string> pkgConfigEnvironment(const Toolchain &toolchain);
/// Folders of a sysroot where the linker must look for libraries that libraries need.
[[nodiscard]] std::vector<fs::path> rpathLinkFolders(const Toolchain &toolchain);
/// A sysroot without the C library's development files cannot be linked against: says so.
[[nodiscard]] Result<void> checkSysroot(const Toolchain &toolchain);
/// The architecture of what this build makes: "aarch64".
[[nodiscard]] std::string builtArch(const BuildRequest &request);
[[nodiscard]] std::string hostArch();
/// The Debian multiarch name of what a toolchain builds for.
[[nodiscard]] std::string multiarchOf(const Toolchain &toolchain);
/// Options for the linker that come from the sysroot, as the compiler driver takes them.
[[nodiscard]] Result<std::vector<std::string>> linkOptions(const BuildRequest &request);

/// The first compiler or linker errors in a build's output, at most `most`, one line each: "main.cpp:3:5: error: …".
[[nodiscard]] std::vector<std::string> compilerErrors(std::string_view output, std::size_t most = 20);
/// The Error for a build that failed: the first compiler error as the message, the others and the command as detail.
[[nodiscard]] Error buildFailed(const std::string &what, const Command &command, const Finished &finished);

/// The text of slipway's CMake toolchain file.
[[nodiscard]] Result<std::string> toolchainFileText(const BuildRequest &request);

/// A target of a CMake project as the file API describes it.
struct CMakeTarget {
    std::string id;
    std::string name;
    std::string type; ///< "EXECUTABLE", "SHARED_LIBRARY", …
    std::vector<fs::path> artifacts;
    std::vector<std::string> dependencies; ///< ids
};
/// Asks for the model of the next configure run.
[[nodiscard]] Result<void> askFileApi(const fs::path &tree);
[[nodiscard]] Result<std::vector<CMakeTarget>> readFileApi(const fs::path &tree);

/// A Rust whose standard library for `rustTarget` is installed (any, when that is empty).
struct Rust {
    fs::path cargo;
    fs::path rustc;
};
[[nodiscard]] Result<Rust> findRust(const std::string &rustTarget, const std::vector<fs::path> &directories);
/// Where compilers may be: PATH, then where distributions put further ones.
[[nodiscard]] std::vector<fs::path> rustDirectories();

/// Environment and extra arguments that make `cross` see what it does not by itself.
struct ContainerPlan {
    std::map<std::string, std::string> environment;
    std::vector<fs::path> mounts; ///< below the workspace's own
};
[[nodiscard]] Result<ContainerPlan> planContainer(const BuildRequest &request, Progress &progress);

} // namespace slipway
