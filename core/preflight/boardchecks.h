// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// The checks of the board itself (DESIGN section 7): one function for each row of the table in checks().
[[nodiscard]] std::vector<Finding> checkBoardIdentity(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkDiskSpace(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkDestWritable(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkNoexec(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkClock(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkRemoteShell(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkRemoteTools(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkLoad(const Evidence &evidence, Progress &progress);

} // namespace slipway
