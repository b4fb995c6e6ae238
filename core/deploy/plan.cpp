// SPDX-License-Identifier: Apache-2.0
//
// What a deploy will do, decided from the package's manifest and what is on the board. Changes nothing.

#include "core/base/text.h"
#include "core/deploy/board.h"
#include "core/deploy/deploy.h"

#include <algorithm>

namespace slipway {

namespace {

/// Names go into lists that the board's shell reads line by line.
Result<void> checkNames(const Manifest &manifest) {
    for (const auto &file : manifest.files) {
        const bool plain =
            isInsidePath(file.path) &&
            std::none_of(file.path.begin(), file.path.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }) &&
            file.path.find('\\') == std::string::npos && file.path != "conf/manifest.json";
        if (!plain)
            return std::unexpected(
                Error{.message = fmt::format("the file name \"{}\" cannot be shipped", printable(file.path)),
                      .hint = "rename it: no control characters, no backslash, inside the package"});
    }
    return {};
}

/// A file is linked when the live release has the same bytes and mode under the same path: a hard link shares all
/// three.
std::vector<PlannedFile> planFiles(const Manifest &manifest, const BoardState &state) {
    std::map<std::string, const PackagedFile *> live;
    if (state.manifest) {
        for (const auto &file : state.manifest->files)
            live[file.path] = &file;
    }
    std::vector<PlannedFile> files;
    for (const auto &file : manifest.files) {
        const auto there = live.find(file.path);
        const bool same =
            there != live.end() && there->second->sha256 == file.sha256 && there->second->mode == file.mode;
        files.push_back({.action = same ? PlannedFile::Action::link : PlannedFile::Action::send,
                         .path = file.path,
                         .bytes = file.size,
                         .why = same                  ? "same as in " + state.live
                                : there == live.end() ? "new"
                                                      : "content differs"});
    }
    return files;
}

/// Until `keep` are left: first those that never were good, then the oldest. Never the new one nor what it goes back
/// to.
std::vector<std::string> planPrune(const BoardState &state, const std::string &release, const std::string &lastGood,
                                   int keep) {
    std::vector<std::string> candidates;
    for (const auto &id : state.releases) {
        if (id != release && id != lastGood)
            candidates.push_back(id);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](const auto &a, const auto &b) {
        return std::pair(state.good.contains(a), state.rank(a)) < std::pair(state.good.contains(b), state.rank(b));
    });
    const std::size_t total = state.releases.size() + (state.releases.contains(release) ? 0 : 1);
    const std::size_t most = std::size_t(std::max(keep, 1));
    candidates.resize(std::min(candidates.size(), total > most ? total - most : 0));
    return candidates;
}

} // namespace

Result<DeployPlan> planDeploy(Session &session, const Package &package, const std::string &dest, Progress &progress) {
    auto step = progress.step("look at the board");
    TRY(checkNames(package.manifest));
    const auto state = TRY(readBoard(session, dest.empty() ? package.manifest.dest : dest, progress));
    if (state.foreign)
        return std::unexpected(
            Error{.message = fmt::format("{}/current on the board is not a link that slipway made", state.dest),
                  .hint = "choose another --dest, or move it away on the board"});
    DeployPlan plan{
        .package = package, .dest = state.dest, .release = package.manifest.releaseId(), .previous = state.live};
    if (!isReleaseId(plan.release))
        return fail("the package's name \"{}\" cannot name a directory (needed letters, digits, '.', '_', '-')",
                    printable(package.manifest.name));
    const bool liveIsGood = state.good.contains(state.live) && state.live != plan.release;
    plan.lastGood = liveIsGood ? state.live : state.lastGood(plan.release);
    plan.alreadyLive = state.live == plan.release && state.good.contains(plan.release);
    plan.present = state.releases.contains(plan.release);
    plan.resumes = state.partials.contains(plan.release);
    plan.files = planFiles(package.manifest, state);
    for (const auto &file : plan.files)
        plan.bytesToSend += file.action == PlannedFile::Action::send && !plan.present ? file.bytes : 0;
    plan.toPrune = planPrune(state, plan.release, plan.lastGood, package.manifest.keep);
    step.done(plan.alreadyLive ? fmt::format("{} is live already", plan.release)
                               : fmt::format("{} to send, {} is live", formatBytes(plan.bytesToSend),
                                             plan.previous.empty() ? "nothing" : plan.previous));
    return plan;
}

} // namespace slipway
