// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"
#include "core/workspace/workspace.h"

namespace slipway {

/// What a pre-flight is about: a package against a profile, saved facts or a live board.
struct EvidenceRequest {
    const Package &package;
    const Catalog &catalog;
    BoardFacts facts;
    bool profileOnly = false; ///< the facts are Catalog::profileFacts
    std::string factsSource;
    std::string target; ///< target id; empty = recognised from the facts
    std::string dest;   ///< empty = the package's
    Device device;      ///< empty name = no device
    Session *session = nullptr;
    const Workspace &workspace;
};

/// "facts.json, 3 days old": facts are what a board was when they were read. `now` and the facts' own time are Unix times.
[[nodiscard]] std::string savedFactsSource(const std::string &file, const BoardFacts &facts, long now);

/// Finds what checks may use (target, tools, sysroot), so that the checks themselves look nothing up.
[[nodiscard]] Result<Evidence> gatherEvidence(const EvidenceRequest &request);

} // namespace slipway
