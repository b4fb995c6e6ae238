// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <chrono>
#include <string>

namespace slipway {

/// A file descriptor that closes itself.
class Descriptor {
public:
    Descriptor() = default;
    explicit Descriptor(int descriptor)
        : m_descriptor(descriptor) {}
    Descriptor(Descriptor &&other) noexcept
        : m_descriptor(other.release()) {}
    Descriptor &operator=(Descriptor &&other) noexcept;
    ~Descriptor();

    [[nodiscard]] int get() const { return m_descriptor; }
    [[nodiscard]] int release() { return std::exchange(m_descriptor, -1); }

private:
    int m_descriptor = -1;
};

/// "orin.local", "orin.local:2222", "[::1]:2222": a host as people write it; port 22 is left out.
[[nodiscard]] std::string hostText(const std::string &host, int port);

/// Opens a TCP connection: name lookup in a thread of its own (it cannot be interrupted), addresses in turn. The socket
/// is non-blocking, without delay, and its kernel notices a peer that is gone within 15 s. Errors of kind `unreachable`
/// say which of lookup, route, refusal and silence it was.
[[nodiscard]] Result<Descriptor> connectTcp(const std::string &host, int port,
                                            std::chrono::steady_clock::time_point deadline, Progress &progress);

/// Waits for the beginning of the peer's greeting and leaves it unread. Errors say that the peer was silent, hung up,
/// or is no SSH server.
[[nodiscard]] Result<void> awaitSshGreeting(int descriptor, const std::string &host, int port,
                                            std::chrono::steady_clock::time_point deadline, Progress &progress);

} // namespace slipway
