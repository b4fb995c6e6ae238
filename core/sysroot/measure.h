// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

namespace slipway {

/// A folder that a sync copies, as it is on the board.
struct SysrootFolder {
    std::string path;
    std::uint64_t bytes = 0; ///< 0 = could not be measured
    bool present = true;
};

/// How big the folders are, as `du` on the board says.
[[nodiscard]] Result<std::vector<SysrootFolder>> measureFolders(Session &session, const std::vector<std::string> &folders,
                                                                Progress &progress);

} // namespace slipway
