// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace slipway {

/// SHA-256 in lower-case hex (64 characters).
[[nodiscard]] std::string sha256(std::string_view bytes);
/// SHA-256 of a file's content, read in blocks; cancellable.
[[nodiscard]] Result<std::string> sha256OfFile(const std::filesystem::path &file, Progress &progress);

} // namespace slipway
