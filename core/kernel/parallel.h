// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <cstddef>
#include <functional>

namespace slipway {

/// Calls `work(i)` once for each i below `count` on up to `threads` threads (0 = one for each core), in order of i as
/// threads become free. Begins no more once `progress` is cancelled or `work` returned false; waits for what runs.
void inParallel(std::size_t count, int threads, Progress &progress, const std::function<bool(std::size_t)> &work);

/// 0 = one for each core.
[[nodiscard]] int threadCount(int asked);

} // namespace slipway
