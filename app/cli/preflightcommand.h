// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/deploy/ship.h"

namespace slipway::cli {

/// The checklist on stdout, for people.
void printVerdict(const Verdict &verdict);

} // namespace slipway::cli
