// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// Where `path` (absolute on the board) leads inside the copy `root`, every link followed as the board would. Nothing
/// when it dangles, loops, or a relative link climbs out of the root.
[[nodiscard]] std::optional<fs::path> resolveInside(const fs::path &root, const fs::path &path);

/// Makes every absolute link below `root` relative, so that it leads to the copy and not to this computer. Returns how
/// many.
[[nodiscard]] Result<std::uint64_t> makeLinksRelative(const fs::path &root, Progress &progress);

/// Is this the text of a linker script in place of a library (libc.so, libm.so)?
[[nodiscard]] bool isLinkerScript(std::string_view text);
/// The files that a linker script names, in order.
[[nodiscard]] std::vector<std::string> filesOfScript(std::string_view text);
/// Linker scripts below the library folders of `root`, as paths on the board.
[[nodiscard]] Result<std::vector<fs::path>> findLinkerScripts(const fs::path &root, Progress &progress);
/// Points names in linker scripts that are not where they say (/lib64/libm.so.6 of a board whose /lib64 was not copied)
/// to the file of that name that is there. Returns how many scripts changed.
[[nodiscard]] Result<std::uint64_t> repairLinkerScripts(const fs::path &root, Progress &progress);

} // namespace slipway
