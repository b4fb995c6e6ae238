// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// The checks of kernels and their cache (DESIGN section 7): one function for each row of the table in checks().
[[nodiscard]] std::vector<Finding> checkCapability(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkPtxVersion(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkCachePresent(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkKernelIntegrity(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkCacheKeys(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkRuntimeEnv(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkTuning(const Evidence &evidence, Progress &progress);

} // namespace slipway
