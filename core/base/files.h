// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace slipway {

namespace fs = std::filesystem;

/// A whole file, at most `most` bytes: a larger one is an error, not a huge allocation.
[[nodiscard]] Result<std::string> readFile(const fs::path &file, std::uint64_t most = std::uint64_t(256) << 20);
/// The first `count` bytes of a file (fewer when it is shorter).
[[nodiscard]] Result<std::string> readHead(const fs::path &file, std::size_t count);
/// Whether a written file must be on the disk before the call returns. `no` is for files that can be made again and whose
/// size is recorded elsewhere: after a power cut such a file may be empty, and is noticed.
enum class Durable { no, yes };
/// Writes beside and renames: the file is the old one or the new one, never a half. Directories are made. `mode` as chmod's.
[[nodiscard]] Result<void> writeFileAtomically(const fs::path &file, std::string_view bytes, unsigned mode = 0644,
                                               Durable durable = Durable::yes);
/// A path relative to `root` that stays inside it: no "..", not absolute, no empty or NUL part. For names from manifests,
/// archives and boards.
[[nodiscard]] bool isInsidePath(std::string_view relative);

/// A directory that is removed with everything in it unless `keep` was called: work lands in it, success renames it away.
class ScratchDir {
public:
    /// Makes `parent`/.slipway-XXXXXX.
    [[nodiscard]] static Result<ScratchDir> in(const fs::path &parent);
    ScratchDir(ScratchDir &&other) noexcept : m_path(std::exchange(other.m_path, {})) {}
    ScratchDir &operator=(ScratchDir &&) = delete;
    ~ScratchDir();

    [[nodiscard]] const fs::path &path() const { return m_path; }
    /// Renames the directory to `destination`, replacing what is there.
    [[nodiscard]] Result<void> commit(const fs::path &destination);

private:
    explicit ScratchDir(fs::path path) : m_path(std::move(path)) {}
    fs::path m_path;
};

} // namespace slipway
