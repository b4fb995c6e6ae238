// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"
#include "core/device/virtualboard.h"
#include "core/workspace/workspace.h"

namespace slipway {

/// Where a virtual board of this name keeps its files and what it is made from.
[[nodiscard]] VirtualBoardOptions virtualBoardOptions(const Workspace &workspace, const std::string &name);

/// The entry for the list of devices, with its own key and known_hosts.
[[nodiscard]] Device virtualDevice(const std::string &name, const VirtualBoard &board);

/// user@host of whoever runs this program, for the log on a board.
[[nodiscard]] std::string userAtHost();

/// Reads the facts of the board behind `session` and keeps them with the saved device: also its machine id, serial number and
/// target where they were not known yet, and when it was seen. Warns when it looks like another board than the saved one.
[[nodiscard]] Result<BoardFacts> freshFacts(const Workspace &workspace, const Catalog &catalog, Session &session, Device &device,
                                            Progress &progress);

} // namespace slipway
