// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/device.h"

namespace slipway {

/// Is the board that answers the one that was seen last under this name?
enum class SeenAs {
    first,     ///< nothing was known of it
    same,      ///< same machine id or, where only that is known, serial number
    reflashed, ///< same serial number, new machine id: the system was installed again
    another,   ///< another serial number: another board has this address or name
    unclear,   ///< another machine id, and no serial number to tell which of both
};
[[nodiscard]] SeenAs seenAs(const Device &device, const BoardFacts &facts);

/// What to say of it, in one line; empty for `first` and `same`.
[[nodiscard]] std::string seenText(SeenAs seen, const Device &device, const BoardFacts &facts);
/// How to accept it; empty for `first` and `same`.
[[nodiscard]] std::string seenFix(SeenAs seen, const Device &device);

} // namespace slipway
