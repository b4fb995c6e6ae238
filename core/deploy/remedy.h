// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/assemble.h"
#include "core/preflight/check.h"

#include <functional>

namespace slipway {

/// One safe way to make findings go away: a front end shows the description and performs it when asked to. What it changes is
/// the package alone; its manifest stays right.
struct Remedy {
    std::string id;          ///< "rebuild", "env", "rpath", "modes"
    std::string description; ///< for people: "write conf/env: TEENYC_PTX_VERSION=85"
    std::vector<std::string> checks; ///< whose findings it answers
    std::function<Result<void>(Progress &)> perform;
};

/// What can be done about a verdict, in the order in which it should be done:
///   rebuild  compile the kernels for the board's GPU and driver, and pack again (`rebuild` says how; without it, not offered)
///   env      write into conf/env what the cache was built with
///   rpath    strip library paths of this machine from shipped binaries
///   modes    set the executable bit of programs and scripts, and LF line ends of scripts
/// `package` is changed by them and must outlive them.
[[nodiscard]] std::vector<Remedy> remediesFor(const Verdict &verdict, Package &package, const Evidence &evidence,
                                              const std::optional<AssembleRequest> &rebuild);

/// How a project is compiled and packed again for the board that the evidence is about. Usage error: it is not known which kind
/// of board that is.
[[nodiscard]] Result<AssembleRequest> rebuildFrom(const fs::path &project, const Evidence &evidence, const Workspace &workspace);

/// Performs remedies in their order; returns what each did, in words. Ends at the first that fails, which the error names.
[[nodiscard]] Result<std::vector<std::string>> performRemedies(const std::vector<Remedy> &remedies, Progress &progress);

} // namespace slipway
