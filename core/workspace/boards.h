// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/virtualboard.h"
#include "core/workspace/workspace.h"

namespace slipway {

/// Where a virtual board of this name keeps its files and what it is made from.
[[nodiscard]] VirtualBoardOptions virtualBoardOptions(const Workspace &workspace, const std::string &name);

/// The entry for the list of devices, with its own key and known_hosts.
[[nodiscard]] Device virtualDevice(const std::string &name, const VirtualBoard &board);

} // namespace slipway
