// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/package/package.h"

namespace slipway {

/// Replaces or adds files of a package (path -> content) and keeps its manifest right: size, mode by content, SHA-256. Files
/// that only need their mode are given with the content that they have. The manifest is written last.
[[nodiscard]] Result<void> amendPackage(Package &package, const std::map<std::string, std::string> &files, Progress &progress);

} // namespace slipway
