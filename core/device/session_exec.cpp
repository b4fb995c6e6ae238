// SPDX-License-Identifier: Apache-2.0
//
// One command over one exec channel: its three streams are moved as the window and both ends allow, and every wait is
// short enough to see that the user cancelled or that the peer is gone.

#include "core/device/sessionparts.h"

#include "core/base/text.h"
#include "core/device/exitsignal.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace slipway {

using namespace std::chrono;

namespace {

constexpr std::size_t blockSize = 256 * 1024;
constexpr std::uint64_t mostCollected = std::uint64_t(256) << 20; ///< of output that goes into the result
constexpr auto openTime = 15s;
constexpr auto pingAfter = 5s;  ///< of silence
constexpr auto deadAfter = 14s; ///< of silence, although asked: the promise is 15 s

/// A request that every server must answer, if only by refusing it.
constexpr const char *keepalive = "SLIPWAY_KEEPALIVE";

/// One running command.
class Exec {
public:
    /// Where the channel goes to instead of a command, for ProxyJump.
    struct Forward {
        const std::string &host;
        int port;
        const std::function<void(Result<void>)> &opened;
    };

    Exec(Link &link, const RemoteCommand &command, Progress &progress)
        : m_link(link)
        , m_command(command)
        , m_progress(progress)
        , m_channel(ssh_channel_new(link.ssh.get())) {}
    ~Exec();
    Exec(const Exec &) = delete;
    Exec &operator=(const Exec &) = delete;

    Result<Finished> run();
    void forwardTo(const Forward &forward) { m_forward = &forward; }

private:
    Result<void> open();
    Result<void> openForward();
    Result<void> turn();
    Result<void> feed();
    Result<bool> fillInput(std::size_t room);
    Result<bool> fillFromDescriptor(std::size_t room);
    Result<void> drain(bool isErrors);
    void flushOutput();
    Result<void> watch();
    void waitForMore();
    void close();
    [[nodiscard]] bool ended() const;
    [[nodiscard]] std::string line() const { return printable(m_command.line, 80); }

    Link &m_link;
    const RemoteCommand &m_command;
    Progress &m_progress;
    ssh_channel m_channel;
    ssh_channel_callbacks_struct m_callbacks{};
    Finished m_finished;
    std::optional<int> m_exit;
    bool m_closedByPeer = false; // the library's "is closed" is also true once we closed
    std::string m_block = std::string(blockSize, '\0');
    std::string m_input; ///< taken from the source, not yet sent
    std::size_t m_sent = 0;
    std::size_t m_inputDone = 0; ///< of command.input
    bool m_inputEnded = false;
    std::string m_output; ///< for outputDescriptor, not yet written
    bool m_outputGone = false;
    bool m_moved = false;
    steady_clock::time_point m_progressed = steady_clock::now();
    steady_clock::time_point m_heardAt = steady_clock::now();
    steady_clock::time_point m_asked = steady_clock::now();
    std::uint64_t m_heard = 0;
    const Forward *m_forward = nullptr;
};

Exec::~Exec() {
    if (!m_channel)
        return;
    if (m_callbacks.userdata)
        ssh_remove_channel_callbacks(m_channel, &m_callbacks);
    ssh_channel_free(m_channel);
}

Result<void> Exec::open() {
    if (!m_channel)
        return fail("the SSH library could not make a channel");
    m_callbacks.size = sizeof(m_callbacks);
    m_callbacks.userdata = this;
    m_callbacks.channel_exit_status_function = [](ssh_session, ssh_channel, int status, void *self) {
        static_cast<Exec *>(self)->m_exit = status;
    };
    m_callbacks.channel_exit_signal_function = [](ssh_session, ssh_channel, const char *name, int, const char *,
                                                  const char *, void *self) {
        static_cast<Exec *>(self)->m_exit = 128 + signalNumber(name ? name : "");
    };
    m_callbacks.channel_close_function = [](ssh_session, ssh_channel, void *self) {
        static_cast<Exec *>(self)->m_closedByPeer = true;
    };
    ssh_set_channel_callbacks(m_channel, &m_callbacks);
    const auto ask = [&](const char *what, auto call) -> Result<void> {
        const auto result = untilDone(m_link, SSH_AGAIN, openTime, what, m_progress, call);
        if (!result && result.error().kind == ErrorKind::cancelled)
            close();
        else if (!result)
            m_link.abandon("it did not answer");
        if (!result)
            return std::unexpected(result.error());
        if (*result == SSH_OK)
            return {};
        if (!m_link.pump())
            return m_link.lostError();
        return fail("{} does not run commands ({}): {}", m_link.name(), what, printable(m_link.lastError()));
    };
    TRY(ask("opening a channel", [&] { return ssh_channel_open_session(m_channel); }));
    return ask("starting a command", [&] { return ssh_channel_request_exec(m_channel, m_command.line.c_str()); });
}

/// As `open`, with what the far side says of the one beyond it.
Result<void> Exec::openForward() {
    const auto opened = untilDone(m_link, SSH_AGAIN, openTime, "forwarding a connection", m_progress, [&] {
        return ssh_channel_open_forward(m_channel, m_forward->host.c_str(), m_forward->port, "127.0.0.1", 0);
    });
    if (!opened)
        return std::unexpected(opened.error());
    if (*opened != SSH_OK && !m_link.pump())
        return m_link.lostError();
    if (*opened != SSH_OK) {
        const bool forbidden = m_link.lastError().find("error (1)") != std::string::npos; // RFC 4254, 5.1
        return std::unexpected(Error{
            .kind = ErrorKind::unreachable,
            .message = fmt::format("{} {} {}: {}", m_link.name(), forbidden ? "does not allow connections to" : "cannot connect to",
                                   hostText(m_forward->host, m_forward->port), printable(m_link.lastError())),
            .hint = forbidden ? "set AllowTcpForwarding yes in its sshd_config" : "is the board on? its address is looked up there, not here"});
    }
    m_exit = 0; // a forwarded connection has no status
    m_callbacks.size = sizeof(m_callbacks);
    m_callbacks.userdata = this;
    m_callbacks.channel_close_function = [](ssh_session, ssh_channel, void *self) {
        static_cast<Exec *>(self)->m_closedByPeer = true;
    };
    ssh_set_channel_callbacks(m_channel, &m_callbacks);
    return {};
}

Result<Finished> Exec::run() {
    auto opened = m_forward ? openForward() : open();
    if (m_forward)
        m_forward->opened(opened);
    if (!opened)
        return std::unexpected(std::move(opened).error());
    while (!ended()) {
        if (m_progress.cancelled()) {
            close();
            return failAs(ErrorKind::cancelled, "cancelled while \"{}\" ran on {}", line(), m_link.where());
        }
        m_moved = false;
        auto turned = turn();
        if (!turned) {
            close();
            return std::unexpected(std::move(turned).error());
        }
        if (!m_moved && !ended())
            waitForMore();
    }
    if (!m_exit) {
        if (!m_link.pump()) // the library calls a channel of a broken connection closed
            return m_link.lostError();
        return failAs(ErrorKind::unreachable, "{} closed the channel of \"{}\" without an exit status", m_link.where(),
                      line());
    }
    m_finished.exitCode = *m_exit;
    return std::move(m_finished);
}

bool Exec::ended() const {
    if (!m_output.empty() && !m_outputGone)
        return false;
    if (!m_link.lost.empty())
        return true;
    return ssh_channel_is_closed(m_channel) || (m_exit && ssh_channel_is_eof(m_channel));
}

Result<void> Exec::turn() {
    const bool alive = m_link.pump();
    TRY(drain(true));
    TRY(drain(false));
    flushOutput();
    if (!alive) {
        if (m_exit && ssh_channel_is_eof(m_channel))
            return {};
        return m_link.lostError();
    }
    TRY(feed());
    return watch();
}

Result<void> Exec::drain(bool isErrors) {
    if (!isErrors && m_command.outputDescriptor >= 0 && m_output.size() >= blockSize)
        return {}; // the reader is slow: let the window fill up
    while (true) {
        const int count =
            ssh_channel_read_nonblocking(m_channel, m_block.data(), std::uint32_t(m_block.size()), isErrors ? 1 : 0);
        if (count <= 0)
            return {};
        m_moved = true;
        const std::string_view bytes(m_block.data(), std::size_t(count));
        const auto &sink = isErrors ? m_command.errors : m_command.output;
        auto &collected = isErrors ? m_finished.errors : m_finished.output;
        if (sink) {
            sink(bytes);
        } else if (!isErrors && m_command.outputDescriptor >= 0) {
            if (!m_outputGone)
                m_output += bytes;
            return {};
        } else if (collected.size() + bytes.size() > mostCollected) {
            return fail("\"{}\" on {} printed more than {}", line(), m_link.where(), formatBytes(mostCollected));
        } else {
            collected += bytes;
        }
    }
}

void Exec::flushOutput() {
    std::size_t written = 0;
    while (written < m_output.size() && !m_outputGone) {
        const auto count = ::write(m_command.outputDescriptor, m_output.data() + written, m_output.size() - written);
        if (count > 0)
            written += std::size_t(count);
        else if (count < 0 && errno == EAGAIN)
            break;
        else if (count < 0 && errno != EINTR)
            m_outputGone = true; // its reader has gone: the command sees the end of its input and stops by itself
    }
    m_moved = m_moved || written > 0;
    m_output.erase(0, m_outputGone ? m_output.size() : written);
}

/// Takes up to `room` bytes of stdin. False = nothing now, or the end.
Result<bool> Exec::fillInput(std::size_t room) {
    if (m_inputDone < m_command.input.size()) {
        const auto count = std::min({room, blockSize, m_command.input.size() - m_inputDone});
        m_input.assign(m_command.input, m_inputDone, count);
        m_inputDone += count;
        return true;
    }
    if (m_command.inputDescriptor >= 0)
        return fillFromDescriptor(room);
    if (m_command.source) {
        const auto count = TRY(m_command.source(std::span(m_block).first(std::min(room, m_block.size()))));
        m_input.assign(m_block, 0, std::min(count, m_block.size()));
    }
    m_inputEnded = m_input.empty();
    return !m_inputEnded;
}

Result<bool> Exec::fillFromDescriptor(std::size_t room) {
    const auto count = ::read(m_command.inputDescriptor, m_block.data(), std::min(room, m_block.size()));
    if (count < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (count < 0)
        return fail("cannot read what \"{}\" gets as input: {}", line(), std::strerror(errno));
    m_input.assign(m_block, 0, std::size_t(count));
    m_inputEnded = count == 0;
    return !m_inputEnded;
}

/// Sends what the other side's window takes. The socket is emptied first: what would wait there cannot be cancelled.
Result<void> Exec::feed() {
    while (!m_inputEnded) {
        const std::size_t room = ssh_channel_window_size(m_channel);
        if (room == 0 || (ssh_get_poll_flags(m_link.ssh.get()) & SSH_WRITE_PENDING) || ssh_channel_is_closed(m_channel))
            return {};
        if (m_input.empty() && !TRY(fillInput(room))) {
            if (m_inputEnded && ssh_channel_send_eof(m_channel) == SSH_ERROR)
                m_link.pump();
            m_moved = m_moved || m_inputEnded;
            return {};
        }
        const auto count = std::min(room, m_input.size() - m_sent);
        const int written = ssh_channel_write(m_channel, m_input.data() + m_sent, std::uint32_t(count));
        if (written <= 0)
            return {};
        m_moved = true;
        m_sent += std::size_t(written);
        if (m_sent >= m_input.size()) {
            m_input.clear();
            m_sent = 0;
        }
    }
    return {};
}

/// Is anybody there, and does anything go on?
Result<void> Exec::watch() {
    const auto now = steady_clock::now();
    if (m_moved)
        m_progressed = now;
    if (std::exchange(m_heard, m_link.heard()) != m_link.heard())
        m_heardAt = now;
    if (now - m_heardAt > deadAfter) {
        m_link.abandon("it has not answered for 15 s");
        return m_link.lostError();
    }
    if (now - m_heardAt > pingAfter && now - m_asked > pingAfter) {
        m_asked = now;
        // The first call ends the request before, the second sends the next one.
        if (ssh_channel_request_env(m_channel, keepalive, "1") != SSH_AGAIN)
            (void)ssh_channel_request_env(m_channel, keepalive, "1");
    }
    if (m_command.timeout > 0ms && now - m_progressed > m_command.timeout)
        return fail("\"{}\" on {} did nothing for {}", line(), m_link.where(), formatDuration(m_command.timeout));
    return {};
}

void Exec::waitForMore() {
    std::array<pollfd, 2> entries{};
    std::size_t used = 0;
    const bool mayFeed = !m_inputEnded && m_input.empty() && ssh_channel_window_size(m_channel) > 0;
    if (m_command.inputDescriptor >= 0 && mayFeed)
        entries[used++] = {.fd = m_command.inputDescriptor, .events = POLLIN, .revents = 0};
    if (!m_output.empty() && !m_outputGone)
        entries[used++] = {.fd = m_command.outputDescriptor, .events = POLLOUT, .revents = 0};
    m_link.wait(std::span(entries).first(used), 100ms);
}

/// Ends the command now, and the connection with it when the peer does not answer at once. That the channel is closed
/// is no such answer: OpenSSH confirms it only after the command ended, and a command may ignore the signal.
void Exec::close() {
    if (!m_link.lost.empty() || !m_channel)
        return;
    bool answered = !ssh_channel_is_open(m_channel) && m_closedByPeer;
    const auto until = steady_clock::now() + 500ms;
    while (!answered && steady_clock::now() < until && m_link.pump()) {
        for (const int isErrors : {0, 1})
            while (ssh_channel_read_nonblocking(m_channel, m_block.data(), std::uint32_t(m_block.size()), isErrors) >
                   0) {
            }
        answered = ssh_channel_request_env(m_channel, keepalive, "1") != SSH_AGAIN;
        if (!answered)
            m_link.wait({}, 20ms);
    }
    if (m_link.lost.empty() && !answered) {
        m_link.abandon("it did not answer when a command was ended");
    } else if (ssh_channel_is_open(m_channel)) {
        (void)ssh_channel_request_send_signal(m_channel, "TERM");
        (void)ssh_channel_close(m_channel);
        m_link.pump();
    }
}

} // namespace

Result<Finished> executeOn(Link &link, const RemoteCommand &command, Progress &progress) {
    TRY(progress.checkpoint());
    if (!link.pump())
        return link.lostError();
    const NoSigPipe guard;
    Exec exec(link, command, progress);
    return exec.run();
}

Result<void> forwardOn(Link &link, const std::string &host, int port, int descriptor,
                       const std::function<void(Result<void>)> &opened, Progress &progress) {
    const NoSigPipe guard;
    const RemoteCommand command{.line = hostText(host, port), .inputDescriptor = descriptor, .outputDescriptor = descriptor};
    const Exec::Forward forward{host, port, opened};
    Exec exec(link, command, progress);
    exec.forwardTo(forward);
    TRY(exec.run());
    return {};
}

} // namespace slipway
