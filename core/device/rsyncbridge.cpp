// SPDX-License-Identifier: Apache-2.0
//
// rsync runs on a thread of its own and starts slipway-rsh, which hands us its descriptors over a private unix socket;
// the thread that owns the session joins them to a channel.

#include "core/device/rsyncbridge.h"

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/device/tcpconnect.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

namespace slipway {

using namespace std::chrono;

namespace {

constexpr std::size_t longestMessage = 64 * 1024;

/// Where slipway-rsh finds us: a socket in a directory that nobody else can enter.
class Meeting {
public:
    static Result<Meeting> open() {
        std::error_code error;
        auto directory = TRY(ScratchDir::in(fs::temp_directory_path(error)));
        Meeting meeting(std::move(directory));
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const auto path = meeting.path().string();
        if (path.size() >= sizeof(address.sun_path))
            return fail("{} is too long for a socket's name (needed at most {} bytes; set TMPDIR)", path,
                        sizeof(address.sun_path) - 1);
        path.copy(address.sun_path, path.size());
        meeting.m_socket = Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        if (::bind(meeting.m_socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0 ||
            ::chmod(path.c_str(), 0600) != 0 || ::listen(meeting.m_socket.get(), 1) != 0)
            return fail("cannot open the socket {}: {}", path, std::strerror(errno));
        return meeting;
    }

    [[nodiscard]] fs::path path() const { return m_directory.path() / "rsh"; }

    /// The next slipway-rsh; an invalid descriptor when there is none yet.
    [[nodiscard]] Descriptor accept() const {
        pollfd entry{.fd = m_socket.get(), .events = POLLIN, .revents = 0};
        if (::poll(&entry, 1, 50) <= 0)
            return {};
        Descriptor peer(::accept4(m_socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
        ucred who{};
        socklen_t size = sizeof(who);
        if (peer.get() < 0 || ::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 ||
            who.uid != ::geteuid())
            return {};
        return peer;
    }

private:
    explicit Meeting(ScratchDir directory)
        : m_directory(std::move(directory)) {}

    ScratchDir m_directory;
    Descriptor m_socket;
};

/// What slipway-rsh brought: the command, and the ends of rsync's pipes.
struct Visit {
    std::string line;
    std::array<Descriptor, 3> streams;
};

void takeDescriptors(msghdr &message, Visit &visit) {
    for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        const auto count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
            Descriptor owned(descriptor);
            if (i < visit.streams.size())
                visit.streams[i] = std::move(owned);
        }
    }
}

Result<Visit> receive(int socket) {
    std::string words(longestMessage, '\0');
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))] = {};
    iovec part{.iov_base = words.data(), .iov_len = words.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const auto count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    Visit visit;
    if (count > 0)
        takeDescriptors(message, visit);
    if (count <= 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || visit.streams[2].get() < 0)
        return fail("slipway-rsh did not say what to run");
    words.resize(std::size_t(count));
    const auto all = split(std::string_view(words).substr(0, words.size() - 1), '\0');
    // The first word is the host. rsync has quoted the others for a shell itself, and expects them joined as ssh does.
    for (std::size_t i = 1; i < all.size(); ++i)
        visit.line += (i > 1 ? " " : "") + std::string(all[i]);
    for (const int i : {0, 1})
        ::fcntl(visit.streams[std::size_t(i)].get(), F_SETFL,
                ::fcntl(visit.streams[std::size_t(i)].get(), F_GETFL) | O_NONBLOCK);
    return visit;
}

Result<void> serve(Session &session, const Descriptor &peer, Progress &progress) {
    auto visit = TRY(receive(peer.get()));
    RemoteCommand command{.line = visit.line};
    command.inputDescriptor = visit.streams[0].get();
    command.outputDescriptor = visit.streams[1].get();
    command.errors = [&](std::string_view text) { (void)!::write(visit.streams[2].get(), text.data(), text.size()); };
    const auto finished = TRY(session.execute(command, progress));
    ::send(peer.get(), &finished.exitCode, sizeof(int), MSG_NOSIGNAL);
    return {};
}

} // namespace

Result<Finished> runRsync(Session &session, const RsyncRun &what, const LineSink &onOutput, Progress &progress) {
    auto meeting = TRY(Meeting::open());
    Command command{.program = what.rsync.string(), .arguments = {"--protect-args", "--rsh=" + what.rsh.string()}};
    command.arguments.insert(command.arguments.end(), what.arguments.begin(), what.arguments.end());
    command.environment["SLIPWAY_RSH_SOCKET"] = meeting.path().string();
    command.environment["LC_ALL"] = "C.UTF-8"; // numbers and messages that we can read, names as they are
    command.unset = {"RSYNC_RSH", "RSYNC_OLD_ARGS", "RSYNC_PARTIAL_DIR"};
    Result<Finished> finished = fail("rsync did not run");
    std::atomic<bool> ended = false;
    Result<void> served;
    {
        const std::jthread runner([&] {
            finished = run(command, progress, onOutput);
            ended = true;
        });
        while (!ended && served) {
            const auto peer = meeting.accept();
            if (peer.get() >= 0)
                served = serve(session, peer, progress);
        }
    } // a lost connection closed rsync's pipes: it ends by itself
    if (!served)
        return std::unexpected(served.error());
    return finished;
}

Error rsyncFailed(const Finished &finished) {
    const auto said = lines(trimmed(finished.errors));
    const auto last = said.empty() ? std::string() : printable(said.front());
    Error error{.message = fmt::format("rsync failed with exit status {}{}{}", finished.exitCode,
                                       last.empty() ? "" : ": ", last),
                .detail = tailLines(finished.errors, 20)};
    const bool noRsync = finished.errors.find("rsync: not found") != std::string::npos ||
                         finished.errors.find("rsync: command not found") != std::string::npos;
    if (finished.exitCode == 127 || noRsync)
        return Error{.message = "the board has no rsync, which copying its libraries needs",
                     .hint = "install it there: sudo apt install rsync",
                     .detail = error.detail};
    switch (finished.exitCode) {
    case 2:
        error.hint =
            "the board's login shell prints something before commands, or sudo asks for a password: keep it quiet";
        break;
    case 11:
        error.hint = "is there room and write permission where the copy goes?";
        break;
    case 12:
        error.hint = "the connection broke, or rsync ended on the board: look at what it printed";
        break;
    case 23:
    case 24:
        error.hint = "some files could not be read or vanished meanwhile: run it again, it goes on where it stopped";
        break;
    default:
        break;
    }
    return error;
}

} // namespace slipway
