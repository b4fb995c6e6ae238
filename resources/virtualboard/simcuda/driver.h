// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "basics.h"
#include "board.h"
#include "cuda.h"

struct SimContext {
    unsigned magic;
    int references; ///< of the primary context
};

namespace simcuda {

/// What this process's driver knows. A driver's interface is process-wide by nature, so this is the one place that is global.
struct Driver {
    SpinLock lock;
    bool initialized = false;
    Board board;
    SimContext primary{};
    List<SimContext *> contexts;
};

[[nodiscard]] Driver &driver();
/// The context that is current on this thread; null when none is.
[[nodiscard]] SimContext *currentContext();
/// success, or why a call that needs a context cannot be made.
[[nodiscard]] CUresult needContext();

} // namespace simcuda
