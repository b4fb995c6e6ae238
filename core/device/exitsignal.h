// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace slipway {

/// Linux's number of a signal as SSH names it ("TERM", RFC 4254 section 6.10). An unknown name counts as TERM.
[[nodiscard]] int signalNumber(std::string_view name);

} // namespace slipway
