// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <filesystem>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// A machine that may be a board.
struct FoundHost {
    std::string name;
    std::string address; ///< for `slipway device add NAME ADDRESS`
    int port = 0;        ///< 0 = ssh's own choice
    std::string source;  ///< "~/.ssh/config", "USB", "mDNS"
};

/// Hosts of ~/.ssh/config below `home`; the address that Jetsons give themselves over USB, only when a network interface of
/// this computer is in its network; and what announces SSH by mDNS, where avahi-browse is installed. No network is scanned.
[[nodiscard]] Result<std::vector<FoundHost>> discoverBoards(const fs::path &home, Progress &progress);

/// Reads `avahi-browse -rtp`; pure. One entry for each name.
[[nodiscard]] std::vector<FoundHost> parseAvahi(std::string_view text);

} // namespace slipway
