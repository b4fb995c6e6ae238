// SPDX-License-Identifier: Apache-2.0
//
// The board itself: is it the right one, is there room, may programs run there, does its shell behave. A profile has no
// disks and no clock: these checks are skipped then.

#include "core/device/identity.h"
#include "core/preflight/boardchecks.h"

#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>
#include <array>
#include <set>

namespace slipway {

namespace {

constexpr const char *askBoard = "slipway device facts NAME --json";
constexpr std::uint64_t headroom = std::uint64_t(16) << 20; ///< log, links, file system overhead

std::vector<Finding> needsBoard() {
    return skippedBecause("a profile is no board: give --facts or --device");
}

/// Bytes that must be stored: what the live release already has is linked, not sent.
std::uint64_t bytesToStore(const Evidence &evidence, Progress &progress) {
    std::set<std::string> there;
    if (evidence.session) {
        const auto text =
            evidence.session->run({"cat", evidence.destination() + "/current/conf/manifest.json"}, progress);
        const auto json = text && text->exitCode == 0 ? parseJson(text->output, "manifest.json") : fail("none");
        const auto live = json ? Manifest::fromJson(*json, "manifest.json") : fail("none");
        for (const auto &file : live ? live->files : std::vector<PackagedFile>())
            there.insert(file.sha256);
    }
    std::uint64_t bytes = 0;
    for (const auto &file : evidence.package.manifest.files)
        bytes += there.contains(file.sha256) ? 0 : file.size;
    return bytes;
}

/// Tells whether the login may create the destination, without creating it: the nearest parent that exists decides.
constexpr const char *writableScript = R"sh(d=$1
case $d in '~/'*) d=$HOME/${d#??} ;; esac
while [ ! -e "$d" ] && [ ! -L "$d" ]; do p=${d%/*}; [ -n "$p" ] || p=/; [ "$p" != "$d" ] || break; d=$p; done
[ -d "$d" ] || { echo "file $d"; exit 0; }
if [ -w "$d" ] && [ -x "$d" ]; then echo "yes $d"; else echo "no $d $(id -un)"; fi
)sh";

std::string skewText(long seconds) {
    constexpr long day = 24 * 3600;
    const auto off = std::labs(seconds);
    return fmt::format("{} {}", off < 2 * day ? formatDuration(std::chrono::seconds(off)) : fmt::format("{} days", off / day),
                       seconds < 0 ? "behind this machine" : "ahead of this machine");
}

void checkKind(const Evidence &evidence, std::vector<Finding> &findings) {
    const auto *board = evidence.catalog.recognise(evidence.facts);
    const auto &wanted = evidence.package.manifest.target;
    const auto *target = evidence.catalog.find(wanted);
    if (!target || target->isGeneric())
        return;
    if (!board || board->isGeneric()) {
        findings.push_back(notKnown(
            "board",
            evidence.facts.model ? fmt::format("\"{}\", which no profile names", printable(*evidence.facts.model))
                                 : "no model of the board",
            askBoard));
        return;
    }
    if (board->id == wanted)
        return;
    const bool sameGpu = board->capability == target->capability;
    findings.push_back(makeFinding(sameGpu ? Status::warn : Status::fail, "board",
                          fmt::format("{} ({})", board->id, printable(evidence.facts.model.value_or("no model text"))),
                          fmt::format("{}, for which the package was made", wanted),
                          sameGpu
                              ? "another board of the same GPU capability: kernels run, but were not made for its size"
                              : "the package was made for another kind of board",
                          fmt::format("slipway ship --target {}, or choose the other device", board->id)));
}

} // namespace

std::vector<Finding> checkBoardIdentity(const Evidence &evidence, Progress &) {
    if (evidence.profileOnly)
        return needsBoard();
    std::vector<Finding> findings;
    checkKind(evidence, findings);
    const auto &id = evidence.facts.machineId;
    if (!evidence.expectedMachineId.empty() && !id)
        findings.push_back(notKnown("board", "no machine id of the board", askBoard));
    const Device last{.name = "NAME", .machineId = evidence.expectedMachineId, .serial = evidence.expectedSerial};
    if (const auto seen = seenAs(last, evidence.facts); seen == SeenAs::another)
        findings.push_back(makeFinding(Status::fail, "board", "serial number " + printable(*evidence.facts.serial),
                              evidence.expectedSerial + ", as the last time",
                              "another board answers at this address: the serial number is its hardware's", seenFix(seen, last)));
    else if (seen == SeenAs::reflashed || seen == SeenAs::unclear)
        findings.push_back(makeFinding(Status::fail, "board", "machine id " + printable(*id), evidence.expectedMachineId + ", as the last time",
                              seen == SeenAs::reflashed ? "the same board (its serial number says so) was reflashed: its system is new"
                                                        : "another board answers at this address, or this one was flashed again",
                              "check the address; if it was flashed: slipway device trust NAME --replace"));
    if (evidence.sysroot && !evidence.sysroot->l4t.empty() && evidence.facts.l4t &&
        *evidence.facts.l4t != evidence.sysroot->l4t)
        findings.push_back(makeFinding(Status::warn, "sysroot", fmt::format("taken at L4T {}", evidence.sysroot->l4t),
                              fmt::format("L4T {}, which the board has now", *evidence.facts.l4t),
                              "JetPack moved since: its libraries and driver changed",
                              "slipway sysroot sync DEVICE, then slipway ship"));
    return findings;
}

std::vector<Finding> checkDiskSpace(const Evidence &evidence, Progress &progress) {
    if (evidence.profileOnly)
        return needsBoard();
    if (evidence.destination().empty())
        return skippedBecause("no destination is named");
    const auto *disk = evidence.disk(evidence.destination());
    if (!disk)
        return {notKnown(evidence.destination(), "no free space of that file system", askBoard)};
    const auto bytes = bytesToStore(evidence, progress);
    if (disk->freeBytes >= headroom && disk->freeBytes - headroom >= bytes)
        return {};
    return {makeFinding(Status::fail, disk->mount, fmt::format("{} free", formatBytes(disk->freeBytes)),
               fmt::format("{} for the release, and {} of headroom", formatBytes(bytes), formatBytes(headroom)),
               "a release is stored whole beside the live one before it is switched to",
               "make room on the board, keep fewer releases (deploy.keep), or deploy to another disk with --dest")};
}

std::vector<Finding> checkDestWritable(const Evidence &evidence, Progress &progress) {
    if (evidence.profileOnly)
        return needsBoard();
    const auto dest = evidence.destination();
    if (dest.empty())
        return skippedBecause("no destination is named");
    const auto *disk = evidence.disk(dest);
    if (disk && disk->readOnly)
        return {makeFinding(Status::fail, dest, fmt::format("{} is mounted read-only", disk->mount),
                   "a file system that can be written", "a read-only root, or a file system with errors",
                   "deploy elsewhere with --dest, or mount it read-write on the board")};
    if (!evidence.session && !disk)
        return {notKnown(dest, "no mount of the destination", askBoard)};
    if (!evidence.session)
        return skippedBecause("mounted read-write; whether the login may write there is tried with --device");
    const auto answer = evidence.session->run({"sh", "-c", writableScript, "writable", dest}, progress);
    if (!answer || answer->exitCode != 0)
        return {notKnown(dest, answer ? "the board could not say" : answer.error().message, "try again")};
    const auto said = trimmed(answer->output);
    if (said.starts_with("yes"))
        return {};
    const auto words = split(said, ' ');
    const auto parent = words.size() > 1 ? printable(words[1]) : dest;
    const auto found = said.starts_with("no ") ? fmt::format("{} cannot be written by {}", parent, words.back())
                                               : fmt::format("{} is not a directory", parent);
    return {makeFinding(Status::fail, dest, found, "a directory that the login may write",
               "the deploy runs as the user that logs in, without sudo",
               fmt::format("on the board: sudo install -d -o $USER {}; or --dest '~/NAME'", dest))};
}

std::vector<Finding> checkNoexec(const Evidence &evidence, Progress &) {
    if (evidence.profileOnly)
        return needsBoard();
    if (evidence.destination().empty())
        return skippedBecause("no destination is named");
    const auto *disk = evidence.disk(evidence.destination());
    if (!disk)
        return {notKnown(evidence.destination(), "no mount of the destination", askBoard)};
    if (disk->noexec)
        return {makeFinding(Status::fail, disk->mount, "mounted noexec", "a file system that programs may run from",
                   "the kernel refuses to start anything there",
                   "deploy elsewhere with --dest, or remount it with exec")};
    if (disk->type == "tmpfs")
        return {makeFinding(Status::warn, disk->mount, "a tmpfs, in memory", "a disk",
                   "everything there is gone at the next boot", "deploy elsewhere with --dest")};
    return {};
}

std::vector<Finding> checkClock(const Evidence &evidence, Progress &) {
    if (evidence.profileOnly)
        return needsBoard();
    const auto &skew = evidence.facts.clockSkewSeconds;
    if (!skew)
        return {notKnown("board", "no clock of the board", askBoard)};
    const auto built = evidence.package.manifest.builtAt;
    if (evidence.facts.readAt && built > 0 && *evidence.facts.readAt + *skew < built)
        return {makeFinding(Status::fail, "board", "a clock " + skewText(*skew), "a clock after the package's sources",
                   "the board lives before its program was written: TLS, make and logs go wrong there",
                   "set it on the board: timedatectl, or a working RTC battery")};
    if (std::labs(*skew) > 300)
        return {makeFinding(Status::warn, "board", "a clock " + skewText(*skew), "at most 5 minutes off",
                   "TLS and logs need the time; the deploy itself does not use it",
                   "timedatectl set-ntp true on the board")};
    return {};
}

std::vector<Finding> checkRemoteShell(const Evidence &evidence, Progress &) {
    if (evidence.profileOnly)
        return needsBoard();
    if (!evidence.facts.shellQuiet)
        return {notKnown("board", "it is not known whether the login shell prints", askBoard)};
    if (*evidence.facts.shellQuiet)
        return {};
    return {makeFinding(Status::fail, "board", "a login shell that prints at the start of a command",
               "silence before the command's own output",
               "text of a start-up file gets into every stream (rsync: protocol version mismatch, is your shell clean)",
               "in the board's ~/.bashrc: return early when the shell is not interactive")};
}

std::vector<Finding> checkRemoteTools(const Evidence &evidence, Progress &) {
    if (evidence.profileOnly)
        return needsBoard();
    if (!evidence.facts.tools)
        return {notKnown("board", "no list of the board's tools", askBoard)};
    std::vector<std::string> missing;
    for (const auto *tool : {"tar", "sha256sum"}) {
        if (!evidence.facts.tools->contains(tool))
            missing.emplace_back(tool);
    }
    if (missing.empty())
        return {};
    return {makeFinding(Status::fail, "board", fmt::format("no {}", fmt::join(missing, ", no ")),
               "a POSIX shell, tar and sha256sum", "releases are sent as one tar and verified on the board",
               "apt install tar coreutils, or busybox with them")};
}

std::vector<Finding> checkLoad(const Evidence &evidence, Progress &) {
    if (evidence.kernels.empty())
        return skippedBecause("the package holds no kernels");
    if (!evidence.session)
        return skippedBecause("needs the board's own driver: give --device");
    return skippedBecause(
        "deploy loads each kernel in the board's own driver after sending them and before it switches");
}

} // namespace slipway
