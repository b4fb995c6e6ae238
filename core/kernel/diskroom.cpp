// SPDX-License-Identifier: Apache-2.0
//
// Full disks: how they are told from other troubles.

#include "core/kernel/diskroom.h"

#include <cerrno>
#include <cstring>

namespace slipway {

bool isDiskFull(const Error &error) { // errors of files end in the words of the C library for it
    return error.message.ends_with(std::strerror(ENOSPC)) || error.message.ends_with(std::strerror(EDQUOT));
}

} // namespace slipway
