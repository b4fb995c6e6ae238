// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"
#include "core/target/target.h"

namespace slipway {

/// Where the probe programs are: directory with {aarch64,x86_64}/slipway-probe.
struct ProbePrograms {
    fs::path directory;
};

/// Reads everything in BoardFacts: one script over one channel, and the probe (sent in the same stream, run from a
/// temporary directory, nothing left behind).
[[nodiscard]] Result<BoardFacts> readFacts(Session &session, const Catalog &catalog, const ProbePrograms &probes,
                                           Progress &progress);

/// The parser of what the script prints; pure.
[[nodiscard]] Result<BoardFacts> parseFacts(std::string_view scriptOutput, const Catalog &catalog, long now);

/// What the board's driver said of one image of a cache.
struct LoadResult {
    std::string file;   ///< relative to the directory
    std::string status; ///< "ok", "refused", "unreadable", "hung", "crashed"
    int code = 0;       ///< CUresult
    std::string error;  ///< "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
    std::string log;
    double milliseconds = 0;
};

/// Loads every image below `directory` on the board through its driver, with `environment` set (conf/env of the
/// release).
[[nodiscard]] Result<std::vector<LoadResult>> probeLoad(Session &session, const ProbePrograms &probes,
                                                        std::string_view arch, const std::string &directory,
                                                        const std::map<std::string, std::string> &environment,
                                                        Progress &progress);

} // namespace slipway
