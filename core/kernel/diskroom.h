// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

namespace slipway {

/// Whether writing failed for want of room, which ends one kernel and not the run: a smaller one may still fit.
[[nodiscard]] bool isDiskFull(const Error &error);
/// What to do about it.
inline constexpr const char *roomHint = "free some space and run it again: what was made is kept";

/// Room kept free on a disk for what a run must still write at its end, so that a disk which fills up meanwhile does
/// not lose the records of what was made.
class ReservedRoom {
public:
    /// Keeps `bytes` in a file in `directory`. An error: there is not as much room, or the disk cannot be written.
    [[nodiscard]] static Result<ReservedRoom> in(const fs::path &directory, std::uint64_t bytes);
    ReservedRoom(ReservedRoom &&other) noexcept
        : m_file(std::exchange(other.m_file, {})) {}
    ReservedRoom &operator=(ReservedRoom &&) = delete;
    ~ReservedRoom() { release(); }

    /// Gives the room back: call it right before it is needed.
    void release();

private:
    explicit ReservedRoom(fs::path file)
        : m_file(std::move(file)) {}
    fs::path m_file;
};

} // namespace slipway
