// SPDX-License-Identifier: Apache-2.0
//
// From a release that is on the board to one that is live and good, or back: load check, switch, health, keep, go back,
// prune.

#include "core/base/text.h"
#include "core/deploy/deployment.h"
#include "core/deploy/scripts.h"
#include "core/kernel/key.h"

#include <algorithm>

namespace slipway {

namespace {

/// Errors that end the deploy whatever step they come from.
bool isFinal(const Error &error) {
    return error.kind == ErrorKind::cancelled || error.kind == ErrorKind::unreachable;
}

/// Names of kernels of which no image loads, each with what the driver said.
std::map<std::string, const LoadResult *> refusedKernels(const std::vector<LoadResult> &loads) {
    std::map<std::string, const LoadResult *> refused;
    std::set<std::string> fine;
    for (const auto &load : loads) {
        const auto name = parseCacheFileName(load.file.substr(load.file.rfind('/') + 1)).name;
        if (load.status == "ok")
            fine.insert(name);
        else
            refused.emplace(name, &load);
    }
    for (const auto &name : fine)
        refused.erase(name);
    return refused;
}

std::string liveAfterwards(const DeployPlan &plan) {
    return plan.lastGood.empty() ? fmt::format("there is no earlier good release, so nothing is live in {}", plan.dest)
                                 : fmt::format("went back to {}, which is live again", plan.lastGood);
}

} // namespace

std::vector<std::string> environmentWords(const std::map<std::string, std::string> &env, const std::string &release) {
    std::vector<std::string> words;
    for (const auto &[name, value] : resolvedEnv(env, release))
        words.push_back(fmt::format("{}={}", name, value));
    words.insert(words.begin(), std::to_string(words.size()));
    return words;
}

Result<std::vector<LoadResult>> tryKernels(Deployment &job, Progress &progress) {
    auto step = progress.step("load kernels in the board's driver");
    const auto &files = job.plan.package.manifest.files;
    const bool any =
        std::any_of(files.begin(), files.end(), [](const auto &f) { return f.path.starts_with("cache/"); });
    if (!any || job.options.probes.directory.empty()) {
        step.skip(any ? "no probe program is at hand" : "the release has no kernels");
        return std::vector<LoadResult>();
    }
    const auto release = job.plan.dest + "/releases/" + job.plan.release;
    const auto machine = TRY(job.session.run({"uname", "-m"}, progress));
    auto loads = probeLoad(job.session, job.options.probes, trimmed(machine.output), release + "/cache",
                           resolvedEnv(job.plan.package.env, release), progress);
    if (!loads && isFinal(loads.error()))
        return std::unexpected(loads.error());
    if (!loads) {
        step.skip("not tried: " + loads.error().message);
        return std::vector<LoadResult>();
    }
    const auto refused = refusedKernels(*loads);
    if (!refused.empty()) {
        const auto &[name, load] = *refused.begin();
        Error error{.message = fmt::format("the board's driver does not load {} of the kernels ({}: {} {})",
                                           refused.size(), name, load->status, load->error),
                    .hint = "slipway preflight with --device says what the board accepts",
                    .detail = load->log};
        return std::unexpected(std::move(error));
    }
    step.done(fmt::format("{} images", loads->size()));
    return std::move(*loads);
}

Result<void> activateRelease(Deployment &job, Progress &progress) {
    auto step = progress.step("switch to " + job.plan.release);
    const auto reverted = job.logLine("rolled back", "not confirmed in time");
    (void)TRY(checkScript(job.session, script::activate,
                          {job.plan.dest, job.plan.release, job.plan.lastGood, job.nonce, std::to_string(job.seconds),
                           reverted, scriptText(script::timer)},
                          "cannot switch to the release", progress));
    step.done(job.seconds > 0 ? fmt::format("the board goes back by itself in {} s unless it is healthy", job.seconds)
                              : std::string());
    return {};
}

Result<std::string> checkHealth(Deployment &job, Progress &progress) {
    auto step = progress.step("health");
    auto fresh = job.session.again(progress);
    if (!fresh)
        return std::unexpected(std::move(fresh).error().in("no fresh connection to the board"));
    const auto &health = job.plan.package.manifest.health;
    if (health.empty()) {
        step.skip("the package names no health command; the board answers");
        return std::string();
    }
    const auto release = job.plan.dest + "/releases/" + job.plan.release;
    std::vector<std::string> words{"sh", "-c", scriptText(script::run), "slipway", release, health};
    for (auto &word : environmentWords(job.plan.package.env, release))
        words.push_back(std::move(word));
    RemoteCommand command{.line = shellJoin(words), .timeout = std::chrono::seconds(std::max(job.seconds, 1))};
    const auto finished = TRY((*fresh)->execute(command, progress));
    if (finished.exitCode != 0) {
        const auto said = lines(trimmed(finished.errors.empty() ? finished.output : finished.errors));
        return std::unexpected(Error{.message = fmt::format("{} ended with exit status {}{}", health, finished.exitCode,
                                                            said.empty() ? "" : ": " + printable(said.back())),
                                     .detail = tailLines(finished.output + finished.errors, 40)});
    }
    step.done(health + " is happy");
    return finished.output;
}

Result<void> keepRelease(Deployment &job, Progress &progress) {
    const auto finished = runScript(
        job.session, script::keep,
        {job.plan.dest, job.plan.release, job.nonce, std::to_string(job.seconds), job.logLine("live")}, progress);
    if (!finished && finished.error().kind == ErrorKind::unreachable && job.seconds > 0)
        return std::unexpected(
            Error(finished.error())
                .in(fmt::format(
                    "{} is healthy, but could not be confirmed: the board goes back to {} by itself within {} s",
                    job.plan.release, job.plan.lastGood.empty() ? "no release" : job.plan.lastGood, job.seconds)));
    if (!finished)
        return std::unexpected(finished.error());
    if (finished->exitCode == 76)
        return failAs(ErrorKind::rolledBack, "{} was healthy too late: the board {}", job.plan.release,
                      liveAfterwards(job.plan));
    if (finished->exitCode != 0)
        return std::unexpected(scriptFailed("cannot mark the release as good", *finished));
    return {};
}

Error goBack(Deployment &job, const Error &why, Progress &progress) {
    auto step = progress.step("go back");
    Progress uncancelled; // going back is not what the user cancelled
    const bool cancelled = why.kind == ErrorKind::cancelled;
    Error error{.kind = cancelled ? ErrorKind::cancelled : ErrorKind::rolledBack,
                .hint = cancelled ? ""
                                  : "the release stays on the board for a look: its log and detail say what it printed",
                .detail = why.detail};
    const auto back = checkScript(job.session, script::goBack,
                                  {job.plan.dest, job.plan.release, job.plan.lastGood, job.nonce,
                                   std::to_string(job.seconds), job.logLine("rolled back", why.message)},
                                  "cannot go back", uncancelled);
    if (!back && job.seconds > 0)
        error.message = fmt::format(
            "{} is not healthy ({}), and the board does not answer: it goes back to {} by itself within {} s",
            job.plan.release, why.message, job.plan.lastGood.empty() ? "no release" : job.plan.lastGood, job.seconds);
    else if (!back)
        error = {.message = fmt::format("{} is not healthy ({}), and going back failed: {}", job.plan.release,
                                        why.message, back.error().message),
                 .hint = "slipway rollback",
                 .detail = why.detail};
    else
        error.message =
            fmt::format("{} is not healthy ({}); {}", job.plan.release, why.message, liveAfterwards(job.plan));
    if (back)
        step.done(liveAfterwards(job.plan));
    return error;
}

void releaseLock(Deployment &job) {
    Progress uncancelled;
    (void)runScript(job.session, script::prune, {job.plan.dest, job.nonce},
                    uncancelled); // a lock whose owner is gone is stale
}

void pruneReleases(Deployment &job, Progress &progress) {
    auto step = progress.step("prune");
    std::vector<std::string> words{job.plan.dest, job.nonce};
    words.insert(words.end(), job.plan.toPrune.begin(), job.plan.toPrune.end());
    const auto finished = checkScript(job.session, script::prune, words, "cannot remove old releases", progress);
    if (!finished)
        progress.warn(finished.error().message + "; the new release is live");
    else if (trimmed(finished->output).empty())
        step.skip("nothing to remove");
    else
        step.done(printable(trimmed(finished->output)));
}

Error abandon(Deployment &job, Error error, bool removePartial) {
    Progress uncancelled; // the lock must go also when the user cancelled
    const auto finished = checkScript(
        job.session, script::abandon,
        {job.plan.dest, job.nonce, job.logLine("failed", error.message), removePartial ? job.plan.release : ""},
        "cannot clean up", uncancelled);
    const char *partial = removePartial ? ", the partial upload was removed" : "";
    error.message += fmt::format("; {}{}", job.stillLive(), finished ? partial : "");
    if (!finished && error.kind == ErrorKind::unreachable)
        error.hint = "deploy again: what has arrived is not sent again";
    return error;
}

} // namespace slipway
