// SPDX-License-Identifier: Apache-2.0
//
// ProxyJump: a session to the host on the way, whose forwarded channel is the socket of the session behind it. A thread
// moves the bytes as long as somebody uses the other end.

#include "core/device/sessionparts.h"

#include "core/base/text.h"

#include <libssh/libssh.h>

#include <future>
#include <sys/socket.h>

namespace slipway {

namespace {

constexpr int mostHops = 8;
constexpr int bufferSize = 1 << 20;

/// The session to the host on the way and the thread that works for the session behind it.
struct Tunnel {
    Link hop;
    Descriptor end;
    std::jthread thread;

    ~Tunnel() {
        thread.request_stop();
        if (thread.joinable())
            thread.join();
        const NoSigPipe guard;
        if (hop.lost.empty())
            ssh_disconnect(hop.ssh.get());
    }
};

/// "user@host:port", also with an IPv6 address in brackets, or as "ssh://user@host:port".
Result<Login> loginToHop(const Login &login, std::string_view hop) {
    if (hop.starts_with("ssh://"))
        hop.remove_prefix(6);
    Login next = login;
    next.device = TRY_IN(Device::fromAddress("hop", hop), "ProxyJump");
    return next;
}

} // namespace

Result<Tunnelled> connectThrough(const Login &login, std::vector<std::string> jumps, const std::string &host, int port,
                                 int depth, Progress &progress) {
    if (depth >= mostHops)
        return fail("ProxyJump of {} leads through more than {} hosts", host, mostHops);
    const auto last = jumps.back();
    jumps.pop_back();
    const auto next = TRY(loginToHop(login, last));
    Route route{.jumps = {}, .depth = depth + 1};
    if (!jumps.empty())
        route.jumps = std::move(jumps); // else the first host's own configuration counts
    const auto context = fmt::format("on the way to {} (ProxyJump)", host);
    auto opened = TRY_IN(openLink(next, route, progress), context);
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return fail("no socket for ProxyJump");
    for (const int end : ends) {
        ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &bufferSize, sizeof(bufferSize));
        ::setsockopt(end, SOL_SOCKET, SO_RCVBUF, &bufferSize, sizeof(bufferSize));
    }
    Descriptor ours(ends[0]);
    const auto tunnel = std::make_shared<Tunnel>(std::move(opened.link), Descriptor(ends[1]));
    std::promise<Result<void>> reached;
    auto answer = reached.get_future();
    tunnel->thread = std::jthread([raw = tunnel.get(), host, port, &reached](
                                      const std::stop_token &stop) {
        Progress quiet({}, stop);
        (void)forwardOn(raw->hop, host, port, raw->end.get(), [&](Result<void> how) { reached.set_value(std::move(how)); },
                        quiet);
        raw->end = Descriptor(); // the session behind it sees the end
    });
    while (answer.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
        if (progress.cancelled())
            tunnel->thread.request_stop(); // the thread then answers
    TRY(progress.checkpoint());
    TRY_IN(answer.get(), context);
    return Tunnelled{std::move(ours), tunnel};
}

} // namespace slipway
