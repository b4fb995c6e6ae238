// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/release.h"
#include "core/preflight/check.h"

namespace slipway {

struct PlannedFile {
    enum class Action { link, send } action = Action::send; ///< link = hard link to the same path of the live release
    std::string path;
    std::uint64_t bytes = 0;
    std::string why; ///< "new", "content differs", "same as in vector_add-1a2b…"
};

/// What a deploy will do: a value that can be shown, tested and explained before anything is sent.
struct DeployPlan {
    Package package;
    std::string dest;     ///< absolute on the board ("~/" is replaced)
    std::string release;  ///< id
    std::string previous; ///< id of the live release; empty = first deploy
    std::string lastGood; ///< id that an unhealthy deploy goes back to; empty = there is none
    std::vector<PlannedFile> files;
    std::uint64_t bytesToSend = 0;
    std::vector<std::string> toPrune;
    bool alreadyLive = false;
    bool present = false; ///< the release is on the board, complete, but not live: nothing is sent
    bool resumes = false; ///< a partial of the same release is on the board
};
/// Looks at the board and changes nothing there. Errors: a destination that is not absolute or not ours, a package that
/// its manifest does not describe.
[[nodiscard]] Result<DeployPlan> planDeploy(Session &session, const Package &package, const std::string &dest,
                                            Progress &progress);

struct DeployOptions {
    std::string dest;                ///< empty = the package's
    std::vector<std::string> allow;  ///< checks that may fail ("Deploy anyway"), logged on the board
    std::chrono::seconds confirm{0}; ///< the board goes back by itself unless the new release was healthy within this
                                     ///< time; 0 = five minutes where there is a health command
    ProbePrograms probes;
    std::string by; ///< user@host for the log
};

/// What a deploy did.
struct DeployOutcome {
    Release release;
    bool changed = true; ///< false = it was live already
    std::vector<std::string> repaired; ///< files of the live release that had changed on the board and were sent again
    std::string healthOutput;
    std::vector<LoadResult> loads;
    std::uint64_t bytesSent = 0;
};

/// Ships a package: lock, link, send, verify, rename, load, switch, health, keep or go back, prune. An interrupted
/// deploy leaves the previous release live, always. An unhealthy release gives an error of kind `rolledBack` whose
/// message says what is live now.
[[nodiscard]] Result<DeployOutcome> deploy(Session &session, const DeployPlan &plan, const DeployOptions &options,
                                           Progress &progress);

/// Runs the live release's program with its conf/env, streaming what it prints; returns its exit code.
struct RunRequest {
    std::string dest;
    std::vector<std::string> arguments; ///< added to the run command
};
[[nodiscard]] Result<int> runRelease(Session &session, const RunRequest &request, const LineSink &output,
                                     const LineSink &errors, Progress &progress);
/// Lines of DEST/.slipway/run.log, the last `count`.
[[nodiscard]] Result<std::string> releaseLogs(Session &session, const std::string &dest, int count, Progress &progress);
/// Ends what `runRelease` started there; true if something ran.
[[nodiscard]] Result<bool> stopRelease(Session &session, const std::string &dest, Progress &progress);

} // namespace slipway
