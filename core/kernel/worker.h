// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/kernel/workerjob.h"

#include <functional>

namespace slipway {

/// What the installed slipway-kernelc can do.
[[nodiscard]] Result<WorkerDescription> describeWorker(const fs::path &kernelc, Progress &progress);

/// Called for each job as it ends, on any of the pool's threads, one at a time. False: no more jobs are begun.
using WorkerSink = std::function<bool(std::size_t job, const WorkerResult &result)>;

/// Runs jobs in `workers` processes (0 = one for each core). A job whose process dies is answered as failed, with the
/// end of what it wrote to stderr, and a new process takes the next one; a process that was killed from outside gets
/// its job a second time. Errors: the program cannot be started, or cancelled.
[[nodiscard]] Result<void> runWorkers(const fs::path &kernelc, const std::vector<WorkerJob> &jobs, int workers,
                                      const WorkerSink &sink, Progress &progress);

} // namespace slipway
