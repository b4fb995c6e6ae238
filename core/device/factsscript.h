// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// What stands before each part of the script's output, alone on a line. Whatever comes before the first one was
/// printed by the login shell.
inline constexpr std::string_view factsMark = "@@slipway:";

/// A command line and what its stdin gets: a script that the board's own POSIX shell runs, and the probes behind it.
struct RemoteScript {
    std::string line;
    std::string input;
};

/// The probes as they are sent; an empty one is not there.
struct ProbeBytes {
    std::string aarch64;
    std::string x86_64;
};

/// Reads everything that BoardFacts holds, in one go, as sections "@@slipway:NAME"; runs the probe when there is one.
[[nodiscard]] RemoteScript factsScript(const ProbeBytes &probes);

/// Runs `slipway-probe load` on `directory` with `environment`; prints the section "load" with the probe's lines.
[[nodiscard]] RemoteScript loadScript(const ProbeBytes &probes, const std::string &directory,
                                      const std::map<std::string, std::string> &environment);

/// The sections by name, in the script's words; `preamble` gets what the shell printed before. An error when the first
/// mark is missing: then the script did not run.
[[nodiscard]] Result<std::map<std::string, std::string_view>> factsSections(std::string_view output,
                                                                            std::string &preamble);

} // namespace slipway
