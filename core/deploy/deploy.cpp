// SPDX-License-Identifier: Apache-2.0
//
// Deploy, as one page of steps. Until `activateRelease` nothing that is live is touched; from there the board's own
// timer goes back unless `keepRelease` stops it. An interruption anywhere leaves the previous release live, at once or
// when the timer ends.

#include "core/base/text.h"
#include "core/deploy/deployment.h"

#include <random>

namespace slipway {

namespace {

/// How long the board waits for health before it goes back, when the user did not say.
constexpr int usualSeconds = 300;

int timerSeconds(const DeployPlan &plan, const DeployOptions &options) {
    if (options.confirm.count() > 0)
        return int(std::min<long>(options.confirm.count(), 24L * 3600));
    return plan.package.manifest.health.empty() ? 0 : usualSeconds;
}

Release releaseOf(const Deployment &job, long now) {
    const auto &manifest = job.plan.package.manifest;
    Release release{.id = job.plan.release,
                    .name = manifest.name,
                    .commit = manifest.commit,
                    .dirty = manifest.dirty,
                    .deployedAt = now,
                    .by = job.options.by,
                    .current = true,
                    .good = true,
                    .outcome = "live"};
    for (const auto &file : manifest.files)
        release.bytes += file.size;
    return release;
}

/// Everything before the switch: afterwards the release is on the board, whole, and its kernels load.
Result<std::vector<LoadResult>> bringRelease(Deployment &job, Progress &progress) {
    auto pending = TRY(beginTransfer(job, progress));
    const bool whole = job.plan.present && TRY(damagedFiles(job, progress)).empty();
    if (!whole) {
        TRY(sendFiles(job, pending, progress));
        TRY(finishTransfer(job, pending, progress));
    }
    return tryKernels(job, progress);
}

/// The release is live. What changed of it on the board is sent again, each file put in place by a rename; the hard links
/// that other releases have to it keep the bytes they had.
Result<DeployOutcome> repairLive(Deployment &job, Progress &progress) {
    DeployOutcome outcome{.release = releaseOf(job, 0), .changed = false, .repaired = TRY(damagedFiles(job, progress))};
    if (outcome.repaired.empty())
        return outcome;
    const auto pending = TRY(beginTransfer(job, progress));
    auto sent = sendFiles(job, pending, progress);
    if (sent)
        sent = finishTransfer(job, pending, progress);
    if (!sent)
        return std::unexpected(abandon(job, sent.error(), sent.error().subject == diskFull));
    releaseLock(job);
    outcome.bytesSent = job.bytesSent;
    return outcome;
}

} // namespace

Result<DeployOutcome> deploy(Session &session, const DeployPlan &plan, const DeployOptions &options,
                             Progress &progress) {
    auto step = progress.step(fmt::format("deploy {} to {}", plan.release, plan.dest));
    Deployment job{.session = session,
                   .plan = plan,
                   .options = options,
                   .nonce = fmt::format("{:08x}{:08x}", std::random_device()(), std::random_device()()),
                   .manifestText = jsonText(plan.package.manifest.toJson()),
                   .seconds = timerSeconds(plan, options)};
    if (plan.alreadyLive) {
        auto outcome = TRY(repairLive(job, progress));
        if (outcome.repaired.empty())
            step.skip(plan.release + " is live already, every file is whole");
        else
            step.done(fmt::format("{} is live already; {} files had changed on the board and were replaced ({})",
                                  plan.release, outcome.repaired.size(), outcome.repaired.front()));
        return outcome;
    }
    // Before the switch: a failure costs nothing but the time.
    auto loads = bringRelease(job, progress);
    if (!loads)
        return std::unexpected(abandon(job, loads.error(), loads.error().subject == diskFull));
    if (auto switched = activateRelease(job, progress); !switched)
        return std::unexpected(abandon(job, goBack(job, switched.error(), progress), false));
    // After it: healthy and kept, or back.
    const auto health = checkHealth(job, progress);
    const auto kept =
        health ? keepRelease(job, progress) : Result<void>(std::unexpected(goBack(job, health.error(), progress)));
    if (!kept) {
        releaseLock(job);
        return std::unexpected(kept.error());
    }
    pruneReleases(job, progress);
    step.done(plan.release + " is live");
    return DeployOutcome{.release = releaseOf(job, long(std::time(nullptr))),
                         .changed = true,
                         .healthOutput = *health,
                         .loads = std::move(*loads),
                         .bytesSent = job.bytesSent};
}

} // namespace slipway
