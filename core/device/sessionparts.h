// SPDX-License-Identifier: Apache-2.0
//
// What session.cpp and its siblings session_*.cpp share. Nobody else includes this.
#pragma once

#include "core/device/session.h"
#include "core/device/tcpconnect.h"

#include <poll.h>

struct ssh_session_struct; // libssh's handle, opaque here

namespace slipway {

/// One connection: the handle of the SSH library, always non-blocking, and how it is waited for.
struct Link {
    std::shared_ptr<ssh_session_struct> ssh;
    std::shared_ptr<void> event; ///< pumps packets; exists once the session is up
    std::string host;            ///< after ~/.ssh/config
    int port = 22;
    std::string user;
    std::string lost; ///< why it is over; empty = it is alive

    [[nodiscard]] std::string where() const { return hostText(host, port); }
    [[nodiscard]] std::string name() const { return user + "@" + where(); }

    /// Reads ~/.ssh/config, connects, agrees on keys. Nothing is checked or authenticated yet.
    [[nodiscard]] static Result<Link> open(const Login &login, Progress &progress);

    /// Waits until the connection can go on or one of `more` is ready, at most `most`.
    void wait(std::span<pollfd> more, std::chrono::milliseconds most) const;
    /// Handles what has arrived, without waiting. False = the connection is broken.
    bool pump();
    /// Bytes received so far: the sign of life.
    [[nodiscard]] std::uint64_t heard() const;
    /// Ends it without asking the peer.
    void abandon(std::string why);
    [[nodiscard]] std::string lastError() const;
    [[nodiscard]] std::unexpected<Error> lostError() const;
};

/// Repeats `call` while it returns `again`: the library's calls go on where they were.
template <typename Call>
Result<int> untilDone(Link &link, int again, std::chrono::milliseconds most, std::string_view what, Progress &progress,
                      const Call &call) {
    const auto deadline = std::chrono::steady_clock::now() + most;
    int result = call();
    while (result == again) {
        link.wait({}, std::chrono::milliseconds(100));
        TRY(progress.checkpoint());
        if (std::chrono::steady_clock::now() > deadline)
            return failAs(ErrorKind::unreachable, "{} did not answer in time ({})", link.where(), what);
        result = call();
    }
    return result;
}

struct HostKey {
    std::string fingerprint; ///< "SHA256:…"
    std::string type;        ///< "ssh-ed25519"
};
/// Verifies the host's key against known_hosts, and writes there what the user accepted.
[[nodiscard]] Result<HostKey> checkHostKey(const Link &link, const Login &login);

enum class Authenticated { yes, cutOff };
/// Logs in. `cutOff`: the server ended the connection because too many keys were offered.
[[nodiscard]] Result<Authenticated> authenticate(Link &link, const Login &login, bool useAgent, Progress &progress);

[[nodiscard]] Result<Finished> executeOn(Link &link, const RemoteCommand &command, Progress &progress);

/// While it lives a write to a connection that was reset gives an error on this thread instead of SIGPIPE.
class NoSigPipe {
public:
    NoSigPipe();
    ~NoSigPipe();
    NoSigPipe(const NoSigPipe &) = delete;
    NoSigPipe &operator=(const NoSigPipe &) = delete;

private:
    bool m_wasPending = false;
    bool m_wasBlocked = false;
};

/// `~/x` and `%d/x` below `home`.
[[nodiscard]] fs::path expandHome(std::string path, const fs::path &home);
[[nodiscard]] fs::path homeOf(const Login &login);

} // namespace slipway
