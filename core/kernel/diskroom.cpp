// SPDX-License-Identifier: Apache-2.0
//
// Full disks: how they are told from other troubles, and the room that is kept for a run's records.

#include "core/kernel/diskroom.h"

#include "core/base/progress.h"
#include "core/base/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace slipway {

bool isDiskFull(const Error &error) { // errors of files end in the words of the C library for it
    return error.message.ends_with(std::strerror(ENOSPC)) || error.message.ends_with(std::strerror(EDQUOT));
}

Result<ReservedRoom> ReservedRoom::in(const fs::path &directory, std::uint64_t bytes) {
    const auto file = directory / "room-for-records";
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (descriptor < 0)
        return fail("cannot write {}: {}", printable(file.string()), std::strerror(errno));
    ReservedRoom room(file);
    const int error = ::posix_fallocate(descriptor, 0, off_t(bytes));
    ::close(descriptor);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return std::unexpected(
            Error{.message = fmt::format("there is no room for {} more in {}: {}", formatBytes(bytes),
                                         printable(directory.string()), std::strerror(error)),
                  .hint = roomHint});
    return room; // a file system that cannot reserve is used without
}

void ReservedRoom::release() {
    std::error_code ignored;
    if (!m_file.empty())
        fs::remove(m_file, ignored);
    m_file.clear();
}

} // namespace slipway
