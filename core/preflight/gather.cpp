// SPDX-License-Identifier: Apache-2.0
//
// Gathers what checks look at, once and before they run.

#include "core/preflight/gather.h"

namespace slipway {

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
