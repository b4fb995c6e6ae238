// SPDX-License-Identifier: Apache-2.0
//
// The tools that build for a target. What is missing is named together with the Debian package that brings it.

#include "core/build/build.h"

#include "core/build/buildparts.h"

namespace slipway {

namespace {

Result<fs::path> need(const std::string &program, const std::string &package, const std::string &purpose) {
    auto found = findProgram(program);
    if (!found)
        return std::unexpected(Error{.message = fmt::format("{} is not installed here (needed {})", program, purpose),
                                     .hint = fmt::format("install it: apt install {}", package)});
    return found;
}

fs::path orEmpty(const Result<fs::path> &found) { return found ? *found : fs::path(); }

/// Debian's and Ubuntu's names: gcc-aarch64-linux-gnu brings aarch64-linux-gnu-gcc.
Result<void> findCompilers(Toolchain &toolchain, bool needsCxx, const std::string &purpose) {
    const auto prefix = toolchain.isNative() ? "" : toolchain.triple + "-";
    const auto suffix = toolchain.isNative() ? "" : "-" + toolchain.triple;
    toolchain.cc = TRY(need(prefix + "gcc", "gcc" + suffix, purpose));
    const auto cxx = need(prefix + "g++", "g++" + suffix, purpose);
    if (needsCxx && !cxx)
        return std::unexpected(cxx.error());
    toolchain.cxx = orEmpty(cxx);
    toolchain.ar = orEmpty(findProgram(prefix + "ar"));
    toolchain.strip = orEmpty(findProgram(prefix + "strip"));
    return {};
}

Result<void> findCMake(Toolchain &toolchain) {
    toolchain.cmake = TRY(need("cmake", "cmake", "to build this project"));
    toolchain.ninja = orEmpty(findProgram("ninja"));
    if (toolchain.ninja.empty())
        TRY(need("make", "ninja-build", "ninja or make, to build this project"));
    for (const char *name : {"clang-tidy-22", "clang-tidy-19", "clang-tidy"}) {
        if (toolchain.clangTidy.empty())
            toolchain.clangTidy = orEmpty(findProgram(name));
    }
    return {};
}

Result<void> findCross(Toolchain &toolchain) {
    auto cross = findProgram("cross");
    if (!cross)
        return std::unexpected(Error{.message = "cross is not installed here (needed by \"tool\": \"cross\" in slipway.json)",
                                     .hint = "install it: cargo install cross, or set \"tool\": \"cargo\""});
    toolchain.cross = *cross;
    toolchain.container = orEmpty(findProgram("docker"));
    if (toolchain.container.empty())
        toolchain.container = orEmpty(findProgram("podman"));
    if (toolchain.container.empty())
        return std::unexpected(Error{.message = "neither docker nor podman is installed here (cross builds in a container)",
                                     .hint = "install one: apt install podman, or set \"tool\": \"cargo\" in slipway.json"});
    toolchain.cargo = TRY(need("cargo", "cargo", "by cross"));
    return {};
}

Result<void> findBuildTools(Toolchain &toolchain, const BuildSettings &build, const std::string &purpose) {
    switch (build.kind) {
    case BuildKind::prebuilt: return {};
    case BuildKind::cmake:
        TRY(findCompilers(toolchain, true, purpose));
        return findCMake(toolchain);
    case BuildKind::cargo:
        if (build.tool == "cross" && !toolchain.isForThisMachine())
            return findCross(toolchain);
        TRY(findCompilers(toolchain, false, purpose));
        const auto rust = TRY(findRust(toolchain.rustTarget, rustDirectories()));
        toolchain.cargo = rust.cargo;
        toolchain.rustc = rust.rustc;
        return {};
    }
    return {};
}

} // namespace

Result<Toolchain> findToolchain(const BuildSettings &build, const Target &target, const std::optional<Sysroot> &sysroot) {
    Toolchain toolchain;
    if (target.arch != hostArch())
        toolchain.triple = target.triple;
    toolchain.rustTarget = target.arch + "-unknown-linux-gnu";
    toolchain.sysroot = sysroot;
    std::error_code error;
    if (sysroot && fs::is_directory(sysroot->path / "usr/local/cuda", error))
        toolchain.cudaRoot = sysroot->path / "usr/local/cuda";
    TRY(findBuildTools(toolchain, build, "to build for " + target.name));
    if (sysroot && !toolchain.cc.empty())
        toolchain.flags = TRY(crossFlags(sysroot->path, multiarchOf(toolchain), toolchain.cc, toolchain.cxx));
    return toolchain;
}

Result<Toolchain> hostToolchain(const BuildSettings &build) {
    Toolchain toolchain;
    TRY(findBuildTools(toolchain, build, "to build for this machine"));
    return toolchain;
}

} // namespace slipway
