// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/workerjob.h"

#include <functional>
#include <memory>

namespace slipway {

/// LLVM as a function from jobs to results. Keeps the last source parsed, so that jobs for several capabilities of one
/// source parse it once.
class Generator {
public:
    Generator();
    ~Generator();

    [[nodiscard]] WorkerResult generate(const WorkerJob &job);
    [[nodiscard]] const WorkerDescription &description() const { return m_description; }

    /// Called when LLVM gives up the whole process, with what it says. Must not return.
    static void onFatalError(std::function<void(const char *why)> handler);

private:
    struct Source;
    [[nodiscard]] Result<void> load(const fs::path &input);
    [[nodiscard]] Result<void> translate(const WorkerJob &job, WorkerResult &result);

    std::unique_ptr<Source> m_source;
    WorkerDescription m_description;
};

} // namespace slipway
