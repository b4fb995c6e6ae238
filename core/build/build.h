// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/project.h"
#include "core/sysroot/crossflags.h"
#include "core/target/target.h"

namespace slipway {

/// The tools that build for a target, found before a build. A tool that the build does not need may be empty.
struct Toolchain {
    std::string triple;      ///< "aarch64-linux-gnu"; empty = this machine
    fs::path cc, cxx, ar, strip;
    fs::path cmake;
    fs::path ninja;          ///< empty = make
    fs::path cargo, rustc;   ///< the pair whose Rust has the target's standard library
    fs::path cross;          ///< cross-rs, with `container` (docker or podman)
    fs::path container;
    fs::path clangTidy;      ///< empty = `clippy` of a CMake project says that it is missing
    std::optional<Sysroot> sysroot;
    CrossFlags flags;       ///< what keeps the compilers inside the sysroot; empty without one
    fs::path cudaRoot;      ///< the sysroot's usr/local/cuda, when it has one
    std::string rustTarget; ///< "aarch64-unknown-linux-gnu"; empty = to be run on this machine (hostToolchain)

    [[nodiscard]] bool isNative() const { return triple.empty(); }
    [[nodiscard]] bool isForThisMachine() const { return rustTarget.empty(); }
};
/// What a project needs to be built for `target`. Says what is missing and which Debian package brings it. A target of this
/// machine's own architecture is built with its own compilers.
[[nodiscard]] Result<Toolchain> findToolchain(const BuildSettings &build, const Target &target, const std::optional<Sysroot> &sysroot);
/// The same for this machine: the host build of a `program` kernel.
[[nodiscard]] Result<Toolchain> hostToolchain(const BuildSettings &build);

/// A binary that a build made.
struct Artifact {
    std::string name; ///< its name in bin/
    fs::path file;
    std::string why;    ///< "built", "rebuilt", "unchanged" (same bytes as before this build) or "prebuilt"
    std::string sha256; ///< of its content
};

/// build: make the binaries. check: `cargo check`; a CMake project is configured and its objects are compiled, which is the
/// build itself (cmake has no cheaper check that works with every generator). clippy: `cargo clippy`; CMake: clang-tidy beside
/// the compiler, in a build tree of its own. check and clippy return no artifacts.
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
/// and sysroot by environment. The outcome lists the binaries to ship, as the build system itself names them (CMake's file
/// API, Cargo's messages), each checked to be an ELF for the target's machine.
[[nodiscard]] Result<std::vector<Artifact>> buildProject(const BuildRequest &request, Progress &progress);

} // namespace slipway
