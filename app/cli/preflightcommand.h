// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/deploy/ship.h"

namespace slipway::cli {

/// The checklist on stdout, for people.
void printVerdict(const Verdict &verdict);

/// What a deploy did, as a document and for people.
[[nodiscard]] Json outcomeJson(const DeployOutcome &outcome);
void printOutcome(const DeployOutcome &outcome, const std::string &device, const std::string &dest);

} // namespace slipway::cli
