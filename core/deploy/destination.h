// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

namespace slipway {

/// The folders on a board that Slipway deploys to: those below /opt and the home directory that hold `.slipway`.
[[nodiscard]] Result<std::vector<std::string>> findDestinations(Session &session, Progress &progress);

/// `typed`, or the only destination on the board. Several or none is an error that lists them.
[[nodiscard]] Result<std::string> chooseDestination(Session &session, const std::string &typed, Progress &progress);

} // namespace slipway
