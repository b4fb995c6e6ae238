// SPDX-License-Identifier: Apache-2.0
//
// `slipway device test`: is this board ready to be deployed to. Every item is said as soon as it is known, and none hides
// another.

#include "core/preflight/devicetest.h"

#include "core/base/text.h"
#include "core/device/identity.h"
#include "core/target/cudaversion.h"

#include <algorithm>
#include <cstdlib>

namespace slipway {

namespace {

constexpr std::uint64_t littleRoom = 100'000'000; // under this a release of an ordinary size does not fit
constexpr long muchSkewSeconds = 60;

Finding item(const char *id, Status status, std::string found, std::string fix = {}) {
    return {.id = id, .status = status, .subject = {}, .found = std::move(found), .needed = {}, .why = {}, .fix = std::move(fix)};
}

Finding identity(const Device &device, const BoardFacts &facts) {
    if (!facts.machineId && !facts.serial)
        return item("identity", Status::unknown, "the board has no readable machine id and no serial number");
    const auto seen = seenAs(device, facts);
    if (const auto text = seenText(seen, device, facts); !text.empty())
        return item("identity", Status::warn, text, seenFix(seen, device));
    return item("identity", Status::pass, facts.model.value_or("model unknown"));
}

Finding shell(const BoardFacts &facts) {
    if (!facts.shellQuiet)
        return item("quiet shell", Status::unknown, "could not be told");
    if (!*facts.shellQuiet)
        return item("quiet shell", Status::warn, "a login prints something before the command runs: rsync and scp break on that",
                    "print only in interactive shells: put [ -t 1 ] around it in the board's .bashrc or .profile");
    return item("quiet shell", Status::pass, "prints nothing of its own");
}

Finding tools(const BoardFacts &facts) {
    if (!facts.tools)
        return item("tools", Status::unknown, "could not be listed");
    for (const char *needed : {"tar", "sha256sum"}) {
        if (!facts.tools->contains(needed))
            return item("tools", Status::fail, fmt::format("{} is missing: a deploy needs it", needed),
                        fmt::format("on the board: sudo apt-get install {}", needed == std::string_view("tar") ? "tar" : "coreutils"));
    }
    return item("tools", Status::pass, "tar and sha256sum are there");
}

Finding transfer(const BoardFacts &facts) {
    if (!facts.tools)
        return item("file transfer", Status::unknown, "could not be listed");
    const bool rsync = facts.tools->contains("rsync");
    const bool sftp = facts.tools->contains("sftp");
    if (!rsync)
        return item("file transfer", Status::warn, fmt::format("rsync is missing{}: deploys work, a sysroot cannot be synced", sftp ? "" : ", and so is sftp"),
                    "on the board: sudo apt-get install rsync");
    return item("file transfer", Status::pass, sftp ? "rsync and sftp are there" : "rsync is there; sftp is not, and Slipway does not need it");
}

/// Writes a file where releases and programs go, and removes it.
Finding writeAccess(Session &session, Progress &progress) {
    // cat, not the shell's own echo: it names the cause when the write itself fails, as on a full disk.
    constexpr const char *script = "cd \"$HOME\" || exit 3; umask 077; f=.slipway-test.$$; (echo slipway | cat >\"$f\") 2>&1 || { rm -f \"$f\"; exit 4; }; "
                                   "read -r a <\"$f\"; rm -f \"$f\"; [ \"$a\" = slipway ] || exit 5; [ -w /opt ] && echo opt";
    const auto finished = session.run({"sh", "-c", script}, progress);
    if (!finished)
        return item("write access", Status::unknown, finished.error().message, finished.error().hint);
    const std::string said = printable(trimmed(finished->output), 120);
    switch (finished->exitCode) {
    case 3: return item("write access", Status::fail, "there is no home directory", "make one on the board, or log in as another user");
    case 4:
        if (said.find("No space left on device") != std::string::npos)
            return item("write access", Status::fail, "the home directory cannot be written: its disk is full", "remove old files on the board");
        if (said.find("Read-only file system") != std::string::npos)
            return item("write access", Status::fail, "the home directory cannot be written: its file system is read-only",
                        "remount it: sudo mount -o remount,rw …, or log in as another user");
        return item("write access", Status::fail, "the home directory cannot be written: " + said, "is its disk full or mounted read-only? or log in as another user");
    case 5: return item("write access", Status::fail, "what was written to the home directory was not there: " + said, "is its disk full?");
    default: break;
    }
    if (said.ends_with("opt"))
        return item("write access", Status::pass, "the home directory and /opt can be written");
    return item("write access", Status::pass, "the home directory can be written; /opt cannot: releases go to the home directory or where deploy.dest says");
}

Finding room(const BoardFacts &facts) {
    if (!facts.disks || facts.disks->empty())
        return item("space", Status::unknown, "could not be read");
    const auto &disk = facts.disks->front();
    if (disk.readOnly)
        return item("space", Status::warn, fmt::format("{} is mounted read-only", disk.mount), "deploy to a folder on another file system (deploy.dest)");
    if (disk.freeBytes < littleRoom)
        return item("space", Status::warn, fmt::format("only {} free on {}", formatBytes(disk.freeBytes), disk.mount), "remove old files on the board");
    return item("space", Status::pass, fmt::format("{} free on {}", formatBytes(disk.freeBytes), disk.mount));
}

Finding clock(const BoardFacts &facts) {
    if (!facts.clockSkewSeconds)
        return item("clock", Status::unknown, "could not be read");
    if (std::labs(*facts.clockSkewSeconds) > muchSkewSeconds)
        return item("clock", Status::warn, fmt::format("the board's clock is {} s {} this machine's", std::labs(*facts.clockSkewSeconds),
                                                       *facts.clockSkewSeconds < 0 ? "behind" : "ahead of"),
                    "on the board: sudo timedatectl set-ntp true");
    return item("clock", Status::pass, "agrees with this machine's");
}

Finding driver(const BoardFacts &facts) {
    if (facts.cudaDriver)
        return item("driver", Status::pass, fmt::format("CUDA driver {}{}", cudaVersionText(*facts.cudaDriver),
                                                        facts.simulated ? " (simulated)" : ""));
    const auto status = facts.cudaDriverStatus.value_or("not known");
    return item("driver", status == "absent" ? Status::warn : Status::unknown, "CUDA driver: " + status, "install the board's JetPack or its NVIDIA driver");
}

} // namespace

std::vector<Finding> connectionFindings(const Device &device, const Error &error) {
    const bool reached = error.kind != ErrorKind::unreachable;
    const bool trusted = reached && error.kind != ErrorKind::hostKeyUnknown && error.kind != ErrorKind::hostKeyChanged;
    std::vector<Finding> findings;
    if (reached)
        findings.push_back(item("reachable", Status::pass, fmt::format("{} answers", device.host)));
    if (trusted)
        findings.push_back(item("host key", Status::pass, "is the known one"));
    findings.push_back(item(!reached ? "reachable" : !trusted ? "host key" : "login", Status::fail, error.message, error.hint));
    for (const char *id : {"host key", "login", "write access", "identity", "quiet shell", "tools", "file transfer", "space", "clock", "driver"})
        if (std::ranges::none_of(findings, [&](const Finding &finding) { return finding.id == id; }))
            findings.push_back(item(id, Status::skipped, "not tried: there is no login"));
    return findings;
}

std::vector<Finding> testDevice(Session &session, const Device &device, const Catalog &catalog, const ProbePrograms &probes,
                                const FindingSink &found, Progress &progress) {
    std::vector<Finding> findings;
    const auto add = [&](Finding finding) {
        if (found)
            found(finding);
        findings.push_back(std::move(finding));
    };
    add(item("reachable", Status::pass, fmt::format("{} answers", device.host)));
    add(item("host key", Status::pass, session.fingerprint()));
    add(item("login", Status::pass, device.user.empty() ? "works" : "works as " + device.user));
    add(writeAccess(session, progress));
    const auto facts = readFacts(session, catalog, probes, progress);
    if (!facts)
        add(item("facts", Status::fail, facts.error().message, facts.error().hint));
    const BoardFacts none;
    for (const auto &finding : {identity(device, facts.value_or(none)), shell(facts.value_or(none)), tools(facts.value_or(none)),
                                transfer(facts.value_or(none)), room(facts.value_or(none)), clock(facts.value_or(none)), driver(facts.value_or(none))})
        add(finding);
    return findings;
}

} // namespace slipway
