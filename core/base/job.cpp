// SPDX-License-Identifier: Apache-2.0
//
// A jthread cancels and joins in its destructor, which is all that a job needs.

#include "core/base/job.h"

namespace slipway {

Job::Job(Operation operation, Progress::Sink onEvent, Finished onFinished)
    : m_thread([operation = std::move(operation), onEvent = std::move(onEvent),
                onFinished = std::move(onFinished)](std::stop_token stop) {
          Progress progress(onEvent, std::move(stop));
          const Result<void> result = operation(progress);
          if (onFinished)
              onFinished(result);
      }) {}

void Job::wait() {
    if (m_thread.joinable())
        m_thread.join();
}

} // namespace slipway
