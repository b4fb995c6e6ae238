// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// The checks of model files (DESIGN section 7): one function for each row of the table in checks().
[[nodiscard]] std::vector<Finding> checkDtype(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkModelFile(const Evidence &evidence, Progress &progress);

} // namespace slipway
