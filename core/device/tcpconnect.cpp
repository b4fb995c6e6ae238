// SPDX-License-Identifier: Apache-2.0
//
// From a host's name to an open socket, with one sentence for each way in which that fails. libssh could do this too,
// but it blocks in name lookup and tells a silent host and a refusing one apart only by chance.

#include "core/device/tcpconnect.h"

#include "core/base/process.h"
#include "core/base/text.h"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace slipway {

using namespace std::chrono;
using TimePoint = steady_clock::time_point;

namespace {

constexpr auto slice = 100ms; ///< how long a wait may keep us from seeing that the user cancelled

struct Address {
    sockaddr_storage storage{};
    socklen_t length = 0;
};

/// What the thread of a lookup shares with its caller, who may have gone when the answer comes.
struct Lookup {
    std::mutex mutex;
    std::condition_variable ready;
    bool done = false;
    int error = 0;
    std::vector<Address> addresses;
};

void lookUp(const std::shared_ptr<Lookup> &lookup, const std::string &host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo *list = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
    const std::lock_guard lock(lookup->mutex);
    lookup->error = error;
    for (const auto *entry = list; entry; entry = entry->ai_next) {
        Address address;
        if (entry->ai_addrlen > sizeof(address.storage))
            continue;
        std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
        address.length = entry->ai_addrlen;
        lookup->addresses.push_back(address);
    }
    if (list)
        ::freeaddrinfo(list);
    lookup->done = true;
    lookup->ready.notify_all();
}

std::unexpected<Error> unreachable(std::string message, std::string hint) {
    return std::unexpected(
        Error{.kind = ErrorKind::unreachable, .message = std::move(message), .hint = std::move(hint)});
}

/// What avahi says of a .local name that this computer's name service does not know (no libnss-mdns); empty = nothing.
std::string addressByMdns(const std::string &host, TimePoint deadline, Progress &progress) {
    const auto left = duration_cast<milliseconds>(deadline - steady_clock::now());
    if (!host.ends_with(".local") || left < slice || !findProgram("avahi-resolve-host-name"))
        return {};
    const auto asked = run({.program = "avahi-resolve-host-name", .arguments = {"--", host}, .timeout = left}, progress);
    if (!asked || asked->exitCode != 0)
        return {};
    const auto tab = asked->output.find('\t'); // "orin.local\t192.168.1.5"
    return tab == std::string::npos ? std::string() : std::string(trimmed(std::string_view(asked->output).substr(tab)));
}

Result<std::vector<Address>> resolve(const std::string &host, int port, TimePoint deadline, Progress &progress) {
    const auto lookup = std::make_shared<Lookup>();
    std::thread(lookUp, lookup, host, port).detach();
    std::unique_lock lock(lookup->mutex);
    while (!lookup->done) {
        lookup->ready.wait_for(lock, slice);
        TRY(progress.checkpoint());
        if (!lookup->done && steady_clock::now() > deadline)
            return unreachable(fmt::format("the name lookup of {} did not end in time", printable(host)),
                               "check the network's name server, or give the board's IP address");
    }
    if (lookup->error != 0 || lookup->addresses.empty()) {
        if (const auto address = addressByMdns(host, deadline, progress); !address.empty())
            return resolve(address, port, deadline, progress);
        TRY(progress.checkpoint());
        return unreachable(
            fmt::format("the name lookup of {} failed: {}", printable(host), ::gai_strerror(lookup->error)),
            host.ends_with(".local") ? "is the board on and on this network? .local names need libnss-mdns or avahi-utils here"
                                     : "check the spelling, or give the board's IP address");
    }
    return lookup->addresses;
}

void tune(int descriptor) {
    const auto set = [descriptor](int level, int option, int value) {
        (void)::setsockopt(descriptor, level, option, &value, sizeof(value));
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    // A peer that is gone (cable, power) is noticed by the kernel: 5 + 3 * 3 s when idle, 15 s with bytes on their way.
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 3);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 15000);
}

/// 0, or the errno of the attempt.
Result<int> connectOne(int descriptor, const Address &address, TimePoint deadline, Progress &progress) {
    if (::connect(descriptor, reinterpret_cast<const sockaddr *>(&address.storage), address.length) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    while (true) {
        TRY(progress.checkpoint());
        pollfd entry{.fd = descriptor, .events = POLLOUT, .revents = 0};
        if (::poll(&entry, 1, int(slice.count())) > 0)
            break;
        if (steady_clock::now() > deadline)
            return ETIMEDOUT;
    }
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

std::unexpected<Error> connectFailed(const std::string &host, int port, int error) {
    const auto where = printable(hostText(host, port));
    switch (error) {
    case ECONNREFUSED:
        return unreachable(fmt::format("{} refused the connection: nothing listens on port {}", where, port),
                           "the machine is there: start its SSH server, or check the port");
    case EHOSTUNREACH:
    case ENETUNREACH:
        return unreachable(fmt::format("there is no route to {}: {}", where, std::strerror(error)),
                           "check cable, network and VPN, and whether the board is on");
    case ETIMEDOUT:
        return unreachable(fmt::format("{} did not answer in time", where),
                           "is the board on, is the address right, does a firewall drop the port?");
    default:
        return unreachable(fmt::format("cannot connect to {}: {}", where, std::strerror(error)), {});
    }
}

bool mayBeGreeting(std::string_view seen) {
    constexpr std::string_view start = "SSH-";
    if (seen.starts_with(start.substr(0, std::min(seen.size(), start.size()))))
        return true;
    return seen.find("\nSSH-") != std::string_view::npos; // RFC 4253, 4.2: lines may come before it
}

} // namespace

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
    if (this != &other) {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
        m_descriptor = other.release();
    }
    return *this;
}

Descriptor::~Descriptor() {
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

std::string hostText(const std::string &host, int port) {
    const bool colons = host.find(':') != std::string::npos;
    if (port == 22 || port == 0)
        return host;
    return colons ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Descriptor> connectTcp(const std::string &host, int port, TimePoint deadline, Progress &progress) {
    const auto addresses = TRY(resolve(host, port, deadline, progress));
    int error = ETIMEDOUT;
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        const auto now = steady_clock::now();
        if (now >= deadline)
            break;
        Descriptor socket(::socket(addresses[i].storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (socket.get() < 0) {
            error = errno;
            continue;
        }
        tune(socket.get());
        // A share of the time for each address: one that swallows packets must not cost the others their turn.
        const auto until = now + (deadline - now) / long(addresses.size() - i);
        error = TRY(connectOne(socket.get(), addresses[i], until, progress));
        if (error == 0)
            return socket;
    }
    return connectFailed(host, port, error);
}

Result<void> awaitSshGreeting(int descriptor, const std::string &host, int port, TimePoint deadline,
                              Progress &progress) {
    const auto where = printable(hostText(host, port));
    std::array<char, 1024> bytes{};
    std::size_t before = 0;
    auto grace = deadline;
    while (true) {
        TRY(progress.checkpoint());
        const auto count = ::recv(descriptor, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            return unreachable(fmt::format("{} hung up before it said anything", where),
                               "is this the port of an SSH server? sshd also does so when too many logins are pending");
        const std::string_view seen(bytes.data(), count > 0 ? std::size_t(count) : 0);
        if (seen.size() >= 4 && mayBeGreeting(seen))
            return {};
        if (seen.starts_with("Not allowed at this time")) // OpenSSH 9.8 and newer, PerSourcePenalties
            return unreachable(fmt::format("{} lets nobody in from this machine for now: too many logins failed before", where),
                               "wait some minutes; name the right key for this device, so that no wrong one is tried first");
        if (seen.size() > before)
            grace = std::min(deadline, steady_clock::now() + 2s);
        before = seen.size();
        if (before > 0 && (steady_clock::now() > grace || before == bytes.size()))
            return unreachable(fmt::format("{} is not an SSH server: it sent \"{}\"", where, printable(seen, 60)),
                               "check the port");
        if (steady_clock::now() > deadline)
            return unreachable(fmt::format("{} accepted the connection but said nothing", where),
                               "the board may be overloaded or still booting, or this is not an SSH port");
        // Bytes that stay unread keep the socket readable: then only time can pass.
        pollfd entry{.fd = descriptor, .events = short(before > 0 ? 0 : POLLIN), .revents = 0};
        ::poll(&entry, 1, before > 0 ? 20 : int(slice.count()));
    }
}

} // namespace slipway
