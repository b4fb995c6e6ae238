// SPDX-License-Identifier: Apache-2.0
//
// `slipway device test`: is this board ready to be deployed to. Reads the facts once; each item looks at its own part.

#include "core/preflight/devicetest.h"

#include <cstdlib>

namespace slipway {

namespace {

constexpr std::uint64_t littleRoom = 100'000'000; // under this a release of an ordinary size does not fit
constexpr long muchSkewSeconds = 60;

Finding item(const char *id, Status status, std::string found, std::string fix = {}) {
    return {.id = id, .status = status, .subject = {}, .found = std::move(found), .needed = {}, .why = {}, .fix = std::move(fix)};
}

Finding identity(const Device &device, const BoardFacts &facts) {
    if (!facts.machineId)
        return item("identity", Status::unknown, "the board has no readable machine id");
    if (!device.machineId.empty() && device.machineId != *facts.machineId)
        return item("identity", Status::warn, "this is not the board that was seen last under this name",
                    fmt::format("reflashed? then: slipway device remove {}, and add it again", device.name));
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
    if (!facts.tools->contains("rsync"))
        return item("tools", Status::warn, "rsync is missing: deploys work, a sysroot cannot be synced", "on the board: sudo apt-get install rsync");
    return item("tools", Status::pass, "tar, sha256sum and rsync are there");
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
        return item("driver", Status::pass, fmt::format("CUDA driver {}.{}{}", *facts.cudaDriver / 1000, *facts.cudaDriver % 1000 / 10,
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
    return findings;
}

std::vector<Finding> testDevice(Session &session, const Device &device, const Catalog &catalog, const ProbePrograms &probes, Progress &progress) {
    std::vector<Finding> findings{item("reachable", Status::pass, fmt::format("{} answers", device.host)),
                                  item("host key", Status::pass, session.fingerprint()),
                                  item("login", Status::pass, device.user.empty() ? "works" : "works as " + device.user)};
    const auto facts = readFacts(session, catalog, probes, progress);
    if (!facts) {
        findings.push_back(item("facts", Status::fail, facts.error().message, facts.error().hint));
        return findings;
    }
    for (const auto &finding : {identity(device, *facts), shell(*facts), tools(*facts), room(*facts), clock(*facts), driver(*facts)})
        findings.push_back(finding);
    return findings;
}

} // namespace slipway
