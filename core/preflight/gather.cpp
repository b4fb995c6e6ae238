// SPDX-License-Identifier: Apache-2.0
//
// Gathers what checks look at, once and before they run.

#include "core/preflight/gather.h"

#include <algorithm>

namespace slipway {

std::string savedFactsSource(const std::string &file, const BoardFacts &facts, long now) {
    constexpr long hour = 3600, day = 24 * hour;
    if (!facts.readAt)
        return fmt::format("{}, of unknown age", file);
    const auto age = std::max(0L, now - *facts.readAt);
    const auto spoken = [](long count, const char *unit) { return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s"); };
    if (age < day)
        return fmt::format("{}, {} old", file, age < hour ? spoken(age / 60, "minute") : spoken(age / hour, "hour"));
    return fmt::format("{}, {} old: the board may have changed since (slipway device facts NAME --json reads it again)", file,
                       spoken(age / day, "day"));
}

Result<Evidence> gatherEvidence(const EvidenceRequest &request) {
    Evidence evidence{.package = request.package,
                      .catalog = request.catalog,
                      .facts = request.facts,
                      .target = {},
                      .profileOnly = request.profileOnly,
                      .factsSource = request.factsSource,
                      .ptxas = findKernelTools(request.workspace.bin, request.workspace.resources).ptxas,
                      .sysroot = {},
                      .session = request.session,
                      .dest = request.dest.empty() ? request.package.manifest.dest : request.dest,
                      .expectedMachineId = request.device.machineId,
                      .expectedSerial = request.device.serial,
                      .probes = request.workspace.probes()};
    if (!request.target.empty())
        evidence.target = TRY(request.catalog.target(request.target));
    else if (const auto *known = request.catalog.recognise(request.facts))
        evidence.target = *known;
    if (!request.device.name.empty()) {
        if (auto sysroot = openSysroot(request.workspace.sysrootDirectory(request.device.name)))
            evidence.sysroot = std::move(*sysroot);
    }
    return evidence;
}

} // namespace slipway
