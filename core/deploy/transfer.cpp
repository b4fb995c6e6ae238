// SPDX-License-Identifier: Apache-2.0
//
// Getting a release onto the board: linked from the live one where it has the same bytes, the rest in one tar, every
// file verified there by SHA-256 before the release gets its name. What is whole in a partial is not sent again.

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/deploy/deployment.h"
#include "core/deploy/scripts.h"
#include "core/deploy/tarstream.h"

#include <algorithm>

namespace slipway {

namespace {

std::string folderOf(const std::string &path) {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash);
}

/// Names grouped by the folder (or the mode) that they share, as the scripts read them.
std::string grouped(char mark, const std::map<std::string, std::vector<std::string>> &groups) {
    std::string text;
    for (const auto &[group, names] : groups) {
        text += fmt::format("{}{}\n", mark, group);
        for (const auto &name : names)
            text += fmt::format("F{}\n", name);
    }
    return text + "E\n";
}

/// Links keep their folder: the same folder in the live release as in the new one is one `ln` for many files.
std::string linkLines(const DeployPlan &plan) {
    std::map<std::string, std::vector<std::string>> folders;
    for (const auto &file : plan.files) {
        if (file.action == PlannedFile::Action::link)
            folders[folderOf(file.path)].push_back(file.path.substr(file.path.rfind('/') + 1));
    }
    return grouped('D', folders);
}

/// The paths that `sha256sum -c` called OK.
std::set<std::string> okPaths(std::string_view output) {
    std::set<std::string> paths;
    for (const auto line : lines(output)) {
        if (line.ends_with(": OK"))
            paths.emplace(line.substr(0, line.size() - 4));
    }
    return paths;
}

/// The paths of the other lines.
std::vector<std::string> differingPaths(std::string_view output) {
    std::vector<std::string> paths;
    for (const auto line : lines(output))
        paths.push_back(printable(line.substr(0, line.rfind(": FAILED"))));
    return paths;
}

} // namespace

std::string Deployment::logLine(std::string outcome, std::string reason) const {
    const auto &manifest = plan.package.manifest;
    LogEntry entry{.time = long(std::time(nullptr)),
                   .by = options.by,
                   .release = plan.release,
                   .name = manifest.name,
                   .commit = manifest.commit,
                   .dirty = manifest.dirty,
                   .outcome = std::move(outcome),
                   .reason = std::move(reason),
                   .allowed = options.allow};
    for (const auto &file : manifest.files)
        entry.bytes += file.size;
    return entry.line();
}

std::string Deployment::stillLive() const {
    return plan.previous.empty() ? "nothing was live before and nothing is" : plan.previous + " is still live";
}

std::vector<PackagedFile> releaseFiles(const Deployment &job) {
    auto files = job.plan.package.manifest.files;
    files.push_back(
        {.path = "conf/manifest.json", .size = job.manifestText.size(), .sha256 = sha256(job.manifestText)});
    return files;
}

std::string checksumLines(const std::vector<PackagedFile> &files) {
    std::string text;
    for (const auto &file : files)
        text += fmt::format("{}  {}\n", file.sha256, file.path);
    return text;
}

Result<Pending> beginTransfer(Deployment &job, Progress &progress) {
    auto step = progress.step("prepare the board");
    const auto all = releaseFiles(job);
    std::set<std::string> linked;
    for (const auto &file : job.plan.files) {
        if (file.action == PlannedFile::Action::link)
            linked.insert(file.path);
    }
    // What may be there: everything after an interrupted run, else what gets linked now.
    std::vector<PackagedFile> candidates;
    std::copy_if(all.begin(), all.end(), std::back_inserter(candidates),
                 [&](const auto &f) { return job.plan.resumes || linked.contains(f.path); });
    const auto finished = TRY(runScript(job.session, script::begin,
                                        {job.plan.dest, job.plan.release, job.nonce,
                                         job.options.by.empty() ? "somebody" : job.options.by, job.plan.previous},
                                        progress, linkLines(job.plan) + checksumLines(candidates)));
    if (finished.exitCode == 75)
        return std::unexpected(Error{
            .message = fmt::format("another deploy to {} runs: {}", job.plan.dest, printable(trimmed(finished.errors))),
            .hint = fmt::format("wait for it; if it cannot be, remove {}/.slipway/lock on the board", job.plan.dest)});
    if (finished.exitCode != 0)
        return std::unexpected(scriptFailed(fmt::format("cannot prepare {}", job.plan.dest), finished));
    const auto there = okPaths(finished.output);
    Pending pending;
    for (const auto &file : all) {
        if (!there.contains(file.path))
            pending.send.push_back(file);
        else if (!linked.contains(file.path))
            pending.resumed.push_back(file);
    }
    step.done(fmt::format("{} files are there, {} to send", there.size(), pending.send.size()));
    return pending;
}

Result<void> sendFiles(Deployment &job, const Pending &pending, Progress &progress) {
    std::uint64_t total = 0;
    for (const auto &file : pending.send)
        total += file.size;
    auto step = progress.step(fmt::format("send {} files", pending.send.size()), total, Event::Unit::bytes);
    if (pending.send.empty()) {
        step.skip("the board has every file");
        return {};
    }
    TarStream tar(job.plan.package.directory, pending.send, {{"conf/manifest.json", job.manifestText}},
                  job.plan.package.manifest.builtAt);
    std::optional<Error> broken;
    RemoteCommand command{
        .line = shellJoin({"sh", "-c", scriptText(script::receive), "slipway", job.plan.dest, job.plan.release})};
    command.source = [&](std::span<char> buffer) -> Result<std::size_t> {
        TRY(progress.checkpoint());
        auto count = tar.read(buffer);
        if (!count)
            broken = count.error();
        step.at(std::min(total, tar.contentBytes()));
        return count;
    };
    const auto finished = job.session.execute(command, progress);
    job.bytesSent = tar.contentBytes();
    if (broken)
        return std::unexpected(*broken);
    if (!finished)
        return std::unexpected(finished.error());
    if (finished->exitCode != 0) {
        auto error = scriptFailed(fmt::format("cannot unpack in {}", job.plan.dest), *finished);
        error.subject = isDiskFull(*finished) ? diskFull : "";
        return std::unexpected(std::move(error));
    }
    step.done(formatBytes(total));
    return {};
}

Result<void> finishTransfer(Deployment &job, const Pending &pending, Progress &progress) {
    auto step = progress.step("verify on the board");
    std::map<std::string, std::vector<std::string>> modes;
    for (const auto &file : pending.resumed) // an interrupted tar may not have come to their modes
        modes[fmt::format("{:o}", file.mode)].push_back(file.path);
    const auto finished = TRY(runScript(job.session, script::finish, {job.plan.dest, job.plan.release}, progress,
                                        grouped('M', modes) + checksumLines(pending.send)));
    if (finished.exitCode == 65) {
        const auto paths = differingPaths(finished.output);
        return std::unexpected(
            Error{.message = fmt::format("{} of {} files arrived damaged on the board ({})", paths.size(),
                                         pending.send.size(), paths.empty() ? "" : paths.front()),
                  .hint = "deploy again: only these are sent; if it happens again, the board's disk or memory is bad"});
    }
    if (finished.exitCode != 0)
        return std::unexpected(scriptFailed("cannot finish the release on the board", finished));
    step.done(fmt::format("{} files by SHA-256", pending.send.size()));
    return {};
}

Result<std::vector<std::string>> damagedFiles(Deployment &job, Progress &progress) {
    auto step = progress.step("verify on the board");
    const auto files = releaseFiles(job);
    const auto finished = TRY(checkScript(job.session, script::check, {job.plan.dest, job.plan.release},
                                          "cannot verify the release on the board", progress, checksumLines(files)));
    auto damaged = differingPaths(finished.output);
    step.done(damaged.empty() ? fmt::format("{} files are whole", files.size())
                              : fmt::format("{} files differ", damaged.size()));
    return damaged;
}

} // namespace slipway
