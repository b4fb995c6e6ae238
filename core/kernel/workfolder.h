// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"
#include "core/base/progress.h"

namespace slipway {

/// The folder of one run in a cache, `.slipway-XXXXXX`: gone when the run ends. While the process lives it holds a lock
/// in it, which the system drops with the process: so others can tell a folder in use from one that a killed run left.
class WorkFolder {
public:
    [[nodiscard]] static Result<WorkFolder> in(const fs::path &cache);
    WorkFolder(WorkFolder &&other) noexcept
        : m_directory(std::move(other.m_directory))
        , m_lock(std::exchange(other.m_lock, -1)) {}
    WorkFolder &operator=(WorkFolder &&) = delete;
    ~WorkFolder();

    [[nodiscard]] const fs::path &path() const { return m_directory.path(); }

private:
    explicit WorkFolder(ScratchDir directory)
        : m_directory(std::move(directory)) {}
    ScratchDir m_directory;
    int m_lock = -1;
};

/// Whether a directory's name is that of a work folder.
[[nodiscard]] bool isWorkFolder(const fs::path &directory);
/// Whether it says who works in it. Nobody can tell when it does not: its file system has no locks.
[[nodiscard]] bool hasOwner(const fs::path &workFolder);

/// Puts on record what killed runs had finished in a cache, and removes their folders; those of living processes stay.
/// Returns the folders that went. An error: the records cannot be written, and the folders stay; or cancelled.
[[nodiscard]] Result<std::vector<fs::path>> takeOverAbandoned(const fs::path &cache, Progress &progress);

} // namespace slipway
