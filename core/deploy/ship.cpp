// SPDX-License-Identifier: Apache-2.0
//
// Ship, as one page of steps: from a project to a healthy release on a board. Each step skips what is unchanged and
// says why.

#include "core/deploy/ship.h"

#include "core/workspace/boards.h"

namespace slipway {

Result<ShipOutcome> ship(Session &session, const ShipRequest &request, std::optional<Verdict> &verdict,
                         Progress &progress) {
    (void)TRY(blockingChecks({}, request.allow)); // a wrong --allow is said before anything is built

    // The board first: its GPU and driver decide what is compiled.
    auto device = request.device;
    auto facts = request.facts
                     ? *request.facts
                     : TRY(freshFacts(request.workspace, request.catalog, session, device, progress));
    auto sysroot = openSysroot(request.workspace.sysrootDirectory(request.device.name));

    // Build, compile the kernels, pack: each keeps what is unchanged.
    auto assembled = TRY(
        assemblePackage({.project = request.project,
                         .target = request.target,
                         .facts = facts,
                         .catalog = request.catalog,
                         .workspace = request.workspace,
                         .tools = request.tools,
                         .sysroot = sysroot ? std::optional(std::move(*sysroot)) : std::nullopt,
                         .ptx = request.ptx,
                         .options = {},
                         .force = request.force,
                         .destination = request.workspace.packageDirectory(request.project.root, request.target.id)},
                        progress));
    const auto &package = assembled.package;

    // Prove that it will run there, before a byte is sent.
    auto evidence = TRY(gatherEvidence({.package = package,
                                        .catalog = request.catalog,
                                        .facts = facts,
                                        .factsSource = request.device.name + ", now",
                                        .target = request.target.id,
                                        .dest = package.manifest.dest,
                                        .device = request.device,
                                        .session = &session,
                                        .workspace = request.workspace}));
    verdict = TRY(preflight(std::move(evidence), progress));
    if (const auto blocking = TRY(blockingChecks(*verdict, request.allow)); !blocking.empty())
        return std::unexpected(stoppedBy(*verdict, blocking));

    // Deploy, unless the same release is live already.
    const auto plan = TRY(planDeploy(session, package, package.manifest.dest, progress));
    auto deployed = TRY(deploy(
        session, plan, {.allow = request.allow, .probes = request.workspace.probes(), .by = request.by}, progress));
    return ShipOutcome{
        .facts = std::move(facts), .package = package, .verdict = *verdict, .deployed = std::move(deployed)};
}

} // namespace slipway
