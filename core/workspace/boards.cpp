// SPDX-License-Identifier: Apache-2.0
//
// Virtual boards among the saved devices.

#include "core/workspace/boards.h"

namespace slipway {

VirtualBoardOptions virtualBoardOptions(const Workspace &workspace, const std::string &name) {
    return {.resources = workspace.bin.parent_path() / "share" / "slipway" / "virtualboard",
            .state = workspace.state / "boards" / name,
            .cache = workspace.cache / "debs"};
}

Device virtualDevice(const std::string &name, const VirtualBoard &board) {
    return {.name = name,
            .host = board.host,
            .port = board.port,
            .user = board.user,
            .identity = board.identity.string(),
            .target = {},
            .machineId = {},
            .knownHosts = board.knownHosts.string(),
            .isVirtual = true,
            .lastSeen = {}};
}

} // namespace slipway
