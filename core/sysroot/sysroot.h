// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/device/session.h"
#include "core/target/target.h"

namespace slipway {

/// A copy of a board's libraries and headers on the host.
struct Sysroot {
    fs::path path;
    std::string device;
    std::string target;
    std::string machineId;
    std::string l4t;
    std::string glibc;
    std::string cudaToolkit;
    long syncedAt = 0;
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
};

struct SyncRequest {
    fs::path path;
    std::string device;
    Target target;
    BoardFacts facts;
    fs::path rsync; ///< local rsync
    fs::path rsh;   ///< slipway-rsh
};

/// Mirrors the profile's folders by rsync over the session that is open already, repairs absolute links inside the copy and
/// linker scripts, and writes the stamp `.slipway-sysroot.json` last. Resumes what an interrupted run left.
[[nodiscard]] Result<Sysroot> syncSysroot(Session &session, const SyncRequest &request, Progress &progress);

/// Reads the stamp. An error says "not a sysroot" or "sync was interrupted".
[[nodiscard]] Result<Sysroot> openSysroot(const fs::path &path);

/// One thing that is wrong in a sysroot, or the proof that it links.
struct SysrootFinding {
    bool good = false;
    std::string subject;
    std::string text;
};
/// Looks for links that dangle or leave the root, linker scripts with missing parts, libraries for another machine; then
/// compiles and links a C and a C++ program against it.
[[nodiscard]] Result<std::vector<SysrootFinding>> verifySysroot(const Sysroot &sysroot, const Target &target, Progress &progress);

} // namespace slipway
