// SPDX-License-Identifier: Apache-2.0
//
// Bytes that must not outlive their use: locked against swapping where the limits of the process allow it, wiped before
// they are freed.

#include "core/base/secret.h"

#include <cstring>
#include <sys/mman.h>

namespace slipway {

Secret::Secret(std::string_view text) {
    if (text.empty())
        return;
    const auto size = text.size() + 1;
    m_bytes = std::shared_ptr<char[]>(new char[size], [size](char *bytes) {
        ::explicit_bzero(bytes, size);
        ::munlock(bytes, size);
        delete[] bytes;
    });
    // A small RLIMIT_MEMLOCK may refuse; the secret is still wiped.
    (void)::mlock(m_bytes.get(), size);
    std::memcpy(m_bytes.get(), text.data(), text.size());
    m_bytes[std::ptrdiff_t(text.size())] = '\0';
}

const char *Secret::reveal() const {
    return m_bytes ? m_bytes.get() : "";
}

} // namespace slipway
