// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/device/session.h"

namespace slipway {

/// A local rsync whose other end is the board of a session.
struct RsyncRun {
    fs::path rsync; ///< the local rsync
    fs::path rsh;   ///< slipway-rsh
    /// Options and paths; a path on the board is "board:PATH". `--rsh` and `--protect-args` (no shell splits a name)
    /// are added.
    std::vector<std::string> arguments;
};

/// Runs rsync over a channel of `session`: no second login, no second look at the host key. A non-zero exit of rsync is
/// a value; errors are: not startable, connection lost, cancelled. `onOutput` gets rsync's lines as they come, also
/// those that end in CR (its progress).
[[nodiscard]] Result<Finished> runRsync(Session &session, const RsyncRun &run, const LineSink &onOutput,
                                        Progress &progress);

/// What rsync's exit status means, in words of ours: exit codes of rsync(1).
[[nodiscard]] Error rsyncFailed(const Finished &finished);

} // namespace slipway
