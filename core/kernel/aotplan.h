// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/compile.h"
#include "core/kernel/options.h"
#include "core/kernel/workerjob.h"

#include <map>

namespace slipway {

/// The capabilities of a run and the PTX version of each.
using AotTargets = std::map<Capability, PtxVersion>;

/// From what was asked, the options' text and the board to capabilities and versions. A version that was not asked for
/// is the newest that the board accepts and `llvm` knows. Errors: nothing asked, or asked twice differently (`usage`);
/// a version that the target or the board cannot take (`stopped`, with the value that works).
[[nodiscard]] Result<AotTargets> chooseTargets(const AotRequest &request, const AotOptions &options,
                                               const Catalog &catalog, const WorkerDescription &llvm);

} // namespace slipway
