// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/package/manifest.h"

namespace slipway {

/// The files below bin/, cache/, conf/ and data/ of a package, sorted: no leftovers, no manifest. A link or a special file is
/// an error: a package is plain files. Private to this folder.
[[nodiscard]] Result<std::vector<std::string>> packagedPaths(const fs::path &directory);
/// The same with size, mode by content and SHA-256.
[[nodiscard]] Result<std::vector<PackagedFile>> hashedContents(const fs::path &directory, Progress &progress);

/// 0755 for ELF programs, ELF libraries and `#!` scripts, else 0644.
[[nodiscard]] unsigned modeByContent(std::string_view head);

/// Copies `source` to `directory`/`path`, giving it the mode of its content and the time `time`; hashes on the way.
[[nodiscard]] Result<PackagedFile> copyInto(const fs::path &directory, const std::string &path, const fs::path &source, long time,
                                            Progress &progress);
/// Sets the modification time of a file or directory to a Unix time.
[[nodiscard]] Result<void> setTime(const fs::path &path, long time);

} // namespace slipway
