// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <functional>
#include <string>
#include <string_view>

namespace slipway {

/// The bytes of a 64-bit little-endian ELF with only those pieces of RPATH and RUNPATH that `keep` wants; an entry without
/// any is removed. Nothing moves: the file keeps its size, and every other name its place. Errors: no such ELF, damaged, or
/// names that share bytes with the path (then only patchelf or linking again helps).
[[nodiscard]] Result<std::string> withRpath(std::string bytes, const std::function<bool(std::string_view piece)> &keep);

} // namespace slipway
