// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/package/manifest.h"

#include <memory>
#include <span>

namespace slipway {

/// A tar of files, made while it is read: nothing is stored in between.
class TarStream {
public:
    /// `directory` holds the files; those in `texts` (path -> content) come from there instead. All get the time
    /// `time`.
    TarStream(fs::path directory, std::vector<PackagedFile> files, std::map<std::string, std::string> texts, long time);
    ~TarStream();
    TarStream(const TarStream &) = delete;
    TarStream &operator=(const TarStream &) = delete;

    /// Fills the buffer with the next bytes and returns how many, 0 = end. Errors: a file that is gone or that changed
    /// its size.
    [[nodiscard]] Result<std::size_t> read(std::span<char> buffer);
    /// Bytes of file content read so far.
    [[nodiscard]] std::uint64_t contentBytes() const;

private:
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace slipway
