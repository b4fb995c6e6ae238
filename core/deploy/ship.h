// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/assemble.h"
#include "core/deploy/deploy.h"
#include "core/preflight/gather.h"

namespace slipway {

/// Everything `ship` needs, gathered before it begins. The package is made by assemblePackage, the evidence by gatherEvidence.
struct ShipRequest {
    Project project;
    Device device;
    Target target;
    Catalog catalog;
    Workspace workspace;
    KernelTools tools;
    std::optional<PtxVersion> ptx;
    std::vector<std::string> allow;
    bool force = false;
    std::string by;
    std::optional<BoardFacts> facts = {}; ///< as just read over the same session; absent = `ship` reads and keeps them
};

struct ShipOutcome {
    BoardFacts facts;
    Package package;
    Verdict verdict;
    DeployOutcome deployed;
};

/// build + aot + package + preflight + deploy + health: one page of named steps, each skipped when nothing changed, saying why.
/// A verdict of `fail` gives an error of kind `stopped`, with the verdict kept in `verdict`.
[[nodiscard]] Result<ShipOutcome> ship(Session &session, const ShipRequest &request, std::optional<Verdict> &verdict, Progress &progress);

} // namespace slipway
