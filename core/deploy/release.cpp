// SPDX-License-Identifier: Apache-2.0
//
// The releases of a board as people see them, and going back to an earlier one.

#include "core/deploy/release.h"

#include "core/base/text.h"
#include "core/deploy/board.h"
#include "core/deploy/scripts.h"

#include <algorithm>
#include <random>

namespace slipway {

namespace {

Release describeRelease(const BoardState &state, const std::string &id) {
    Release release{.id = id, .current = id == state.live, .good = state.good.contains(id)};
    for (const auto &entry : state.log) {
        if (entry.release != id)
            continue;
        release.name = entry.name;
        release.commit = entry.commit;
        release.dirty = entry.dirty;
        release.by = entry.by;
        release.bytes = entry.bytes;
        release.deployedAt = entry.time;
        release.outcome = entry.reason.empty() ? entry.outcome : entry.outcome + ": " + entry.reason;
    }
    if (release.current)
        release.outcome = release.good ? "live" : "live, not confirmed";
    else if (release.good)
        release.outcome = "kept";
    else if (release.outcome.empty())
        release.outcome = "not confirmed";
    return release;
}

} // namespace

Result<std::vector<Release>> listReleases(Session &session, const std::string &dest, Progress &progress) {
    const auto state = TRY(readBoard(session, dest, progress));
    std::vector<Release> releases;
    for (const auto &id : state.releases)
        releases.push_back(describeRelease(state, id));
    std::stable_sort(releases.begin(), releases.end(), [&](const auto &a, const auto &b) {
        return std::pair(a.current, a.deployedAt) > std::pair(b.current, b.deployedAt);
    });
    for (const auto &id : state.partials)
        releases.push_back({.id = id, .outcome = "partial"});
    return releases;
}

Result<Release> rollback(Session &session, const std::string &dest, const std::string &id, Progress &progress) {
    auto step = progress.step("roll back");
    auto state = TRY(readBoard(session, dest, progress));
    const auto wanted = id.empty() ? state.lastGood(state.live) : id;
    if (wanted.empty())
        return std::unexpected(Error{.message = fmt::format("{} on the board has no good release before {}", state.dest,
                                                            state.live.empty() ? "now" : state.live),
                                     .hint = "slipway releases lists what is there"});
    if (!isReleaseId(wanted) || !state.releases.contains(wanted))
        return std::unexpected(
            Error{.kind = ErrorKind::usage,
                  .message = fmt::format("there is no release {} in {} on the board", printable(wanted), state.dest),
                  .hint = state.releases.empty() ? "nothing was deployed there"
                                                 : fmt::format("there are {}", fmt::join(state.releases, ", "))});
    if (wanted == state.live) {
        step.skip(fmt::format("{} is live already", wanted));
        return describeRelease(state, wanted);
    }
    auto release = describeRelease(state, wanted);
    const LogEntry entry{.time = long(std::time(nullptr)),
                         .by = release.by,
                         .release = wanted,
                         .name = release.name,
                         .commit = release.commit,
                         .dirty = release.dirty,
                         .bytes = release.bytes,
                         .outcome = "restored",
                         .reason = state.live.empty() ? "" : "instead of " + state.live};
    const auto nonce = fmt::format("{:08x}", std::random_device()());
    (void)TRY(checkScript(session, script::restore, {state.dest, wanted, nonce, entry.line()},
                          fmt::format("cannot switch to {}", wanted), progress));
    state.live = wanted;
    step.done(fmt::format("{} is live", wanted));
    return describeRelease(state, wanted);
}

} // namespace slipway
