// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/board.h"
#include "core/deploy/deploy.h"

namespace slipway {

/// `subject` of the error for a board that has no room: the partial is removed then.
constexpr const char *diskFull = "disk full";

/// One running deploy: what its steps share.
struct Deployment {
    Session &session;
    const DeployPlan &plan;
    const DeployOptions &options;
    std::string nonce;        ///< names this run's lock and timer
    std::string manifestText; ///< of conf/manifest.json, which is sent with the files
    int seconds = 0;          ///< of the board's own timer; 0 = none
    std::uint64_t bytesSent = 0;

    /// A line of the board's log.
    [[nodiscard]] std::string logLine(std::string outcome, std::string reason = {}) const;
    /// "sample-1a2b is still live" or "nothing is live": what every error before the switch ends with.
    [[nodiscard]] std::string stillLive() const;
};

/// Every file of the release with the manifest's own entry, sorted by path.
[[nodiscard]] std::vector<PackagedFile> releaseFiles(const Deployment &job);
/// Lines for `sha256sum -c`.
[[nodiscard]] std::string checksumLines(const std::vector<PackagedFile> &files);

/// What the board still lacks, after the lock was taken and files were linked.
struct Pending {
    std::vector<PackagedFile> send;    ///< to send
    std::vector<PackagedFile> resumed; ///< were in the partial already
};
/// Takes the lock, makes the partial, links, and verifies what is there.
[[nodiscard]] Result<Pending> beginTransfer(Deployment &job, Progress &progress);
/// Streams the files as one tar.
[[nodiscard]] Result<void> sendFiles(Deployment &job, const Pending &pending, Progress &progress);
/// Verifies what was sent by SHA-256 on the board and gives the release its name.
[[nodiscard]] Result<void> finishTransfer(Deployment &job, const Pending &pending, Progress &progress);
/// Is the release that is on the board already whole; the files that differ.
[[nodiscard]] Result<std::vector<std::string>> damagedFiles(Deployment &job, Progress &progress);

/// Loads every kernel in the board's own driver. An error names the first kernel that no image of loads.
[[nodiscard]] Result<std::vector<LoadResult>> tryKernels(Deployment &job, Progress &progress);
/// Makes the release current, with the board's timer armed.
[[nodiscard]] Result<void> activateRelease(Deployment &job, Progress &progress);
/// Runs the health command over a fresh connection; its output. Unhealthy: an error.
[[nodiscard]] Result<std::string> checkHealth(Deployment &job, Progress &progress);
/// Marks the release good; an error of kind rolledBack when the board's timer was first.
[[nodiscard]] Result<void> keepRelease(Deployment &job, Progress &progress);
/// Makes the last good release current again. The error to return, of kind rolledBack: says why and what is live now.
[[nodiscard]] Error goBack(Deployment &job, const Error &why, Progress &progress);
/// Gives the lock back.
void releaseLock(Deployment &job);
/// Removes old releases and gives the lock back.
void pruneReleases(Deployment &job, Progress &progress);
/// Logs the failure and gives the lock back; the error with what is live added.
[[nodiscard]] Error abandon(Deployment &job, Error error, bool removePartial);

/// Words for the run scripts: "COUNT NAME=VALUE…".
[[nodiscard]] std::vector<std::string> environmentWords(const std::map<std::string, std::string> &env,
                                                        const std::string &release);

} // namespace slipway
