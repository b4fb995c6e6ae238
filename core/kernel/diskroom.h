// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

namespace slipway {

/// Whether writing failed for want of room, which ends one kernel and not the run: a smaller one may still fit.
[[nodiscard]] bool isDiskFull(const Error &error);
/// What to do about it.
inline constexpr const char *roomHint = "free some space and run it again: what was made is kept";

} // namespace slipway
