// SPDX-License-Identifier: Apache-2.0
//
// Which of the Rusts on this machine can build for a target: the first in PATH often lacks its standard library.

#include "core/build/buildparts.h"

#include "core/base/text.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace slipway {

namespace {

bool hasStandardLibrary(const fs::path &sysroot, const std::string &rustTarget) {
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(sysroot / "lib/rustlib" / rustTarget / "lib", error)) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("libstd-") && name.ends_with(".rlib"))
            return true;
    }
    return false;
}

std::unexpected<Error> noRust(const std::string &rustTarget, const std::vector<std::string> &seen) {
    if (seen.empty())
        return std::unexpected(Error{.message = "cargo and rustc are not installed here (needed to build this project)",
                                     .hint = "install them: apt install rustc-web cargo-web, or see rustup.rs"});
    const auto arch = rustTarget.starts_with("aarch64") ? "arm64" : "amd64";
    return std::unexpected(
        Error{.message = fmt::format("no Rust here has the standard library for {} (looked at {})", rustTarget, fmt::join(seen, ", ")),
              .hint = fmt::format("rustup target add {}, or: dpkg --add-architecture {} && apt update && apt install rustc-web cargo-web "
                                  "libstd-rust-web-dev:{}",
                                  rustTarget, arch, arch)});
}

} // namespace

std::vector<fs::path> rustDirectories() {
    std::vector<fs::path> directories;
    if (const char *path = std::getenv("PATH")) {
        for (const auto part : split(path, ':'))
            directories.emplace_back(part);
    }
    directories.insert(directories.end(), {"/usr/bin", "/usr/local/bin"});
    std::error_code error;
    std::vector<fs::path> versions; // Ubuntu's rustc-1.80 and so on
    for (const auto &entry : fs::directory_iterator("/usr/lib", error)) {
        if (entry.path().filename().string().starts_with("rust-"))
            versions.push_back(entry.path() / "bin");
    }
    std::ranges::sort(versions, std::greater());
    directories.insert(directories.end(), versions.begin(), versions.end());
    return directories;
}

Result<Rust> findRust(const std::string &rustTarget, const std::vector<fs::path> &directories) {
    Progress progress;
    std::vector<std::string> seen;
    for (const auto &directory : directories) {
        const Rust rust{.cargo = directory / "cargo", .rustc = directory / "rustc"};
        if (::access(rust.cargo.c_str(), X_OK) != 0 || ::access(rust.rustc.c_str(), X_OK) != 0
            || std::ranges::find(seen, rust.rustc.string()) != seen.end())
            continue;
        seen.push_back(rust.rustc.string());
        const auto sysroot = run({.program = rust.rustc.string(), .arguments = {"--print", "sysroot"}, .timeout = std::chrono::seconds(20)}, progress);
        if (sysroot && sysroot->exitCode == 0
            && (rustTarget.empty() || hasStandardLibrary(std::string(trimmed(sysroot->output)), rustTarget)))
            return rust;
    }
    return noRust(rustTarget, seen);
}

} // namespace slipway
