// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QPalette>

namespace slipway::gui {

/// Palettes for `--palette light|dark`; without the option the system's is followed.
[[nodiscard]] QPalette darkPalette();
[[nodiscard]] QPalette lightPalette();

} // namespace slipway::gui
