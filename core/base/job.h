// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <functional>
#include <thread>

namespace slipway {

/// Runs one blocking operation on its own thread. Destroying a Job cancels and joins it.
class Job {
public:
    using Operation = std::function<Result<void>(Progress &)>;
    using Finished = std::function<void(const Result<void> &)>;

    /// `onEvent` and `onFinished` are called on the job's thread; a front end posts them to its own.
    Job(Operation operation, Progress::Sink onEvent, Finished onFinished);

    /// Asks the operation to stop; it does within a second.
    void cancel() { m_thread.request_stop(); }
    [[nodiscard]] bool cancelRequested() const { return m_thread.get_stop_token().stop_requested(); }
    /// Waits for the end.
    void wait();

private:
    std::jthread m_thread; // last: its destructor joins before anything else goes
};

} // namespace slipway
