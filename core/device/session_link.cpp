// SPDX-License-Identifier: Apache-2.0
//
// Opens the connection: ~/.ssh/config through libssh, the socket by ourselves (or by ProxyCommand/ProxyJump), then the
// key exchange, all non-blocking so that the user can cancel at any moment.

#include "core/device/sessionparts.h"

#include "core/base/text.h"
#include "core/device/ciphers.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <csignal>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sys/socket.h>

namespace slipway {

using namespace std::chrono;

namespace {

/// The handle with the byte counters that it points to: they must live equally long.
struct Holder {
    ssh_session session = ssh_new();
    ssh_counter_struct received{};
    ssh_counter_struct sent{};

    Holder() {
        if (session)
            ssh_set_counters(session, &sent, &received);
    }
    ~Holder() {
        if (session)
            ssh_free(session);
    }
    Holder(const Holder &) = delete;
    Holder &operator=(const Holder &) = delete;
};

/// What a Link's `event` holds.
struct Pump {
    std::shared_ptr<ssh_session_struct> session; // after the event that refers to it
    const ssh_counter_struct *received = nullptr;
    ssh_event event = nullptr;

    Pump(std::shared_ptr<ssh_session_struct> from, const ssh_counter_struct *counter)
        : session(std::move(from))
        , received(counter)
        , event(ssh_event_new()) {
        ssh_event_add_session(event, session.get());
    }
    ~Pump() {
        ssh_event_remove_session(event, session.get());
        ssh_event_free(event);
    }
    Pump(const Pump &) = delete;
    Pump &operator=(const Pump &) = delete;
};

std::string option(ssh_session session, ssh_options_e what) {
    char *value = nullptr;
    if (ssh_options_get(session, what, &value) != SSH_OK || !value)
        return {};
    std::string text(value);
    ssh_string_free_char(value);
    return text;
}

/// Options in the order that gives the user's choice for this device the last word, then ~/.ssh/config, then our
/// defaults.
Result<void> configure(ssh_session session, const Login &login, bool sshKnowsBetter) {
    const auto &device = login.device;
    const auto home = homeOf(login);
    const auto set = [session](ssh_options_e what, const std::string &value) {
        return ssh_options_set(session, what, value.c_str()) == SSH_OK;
    };
    const int no = 0;
    const int yes = 1;
    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no); // ours, below; not whatever is in the process's home
    ssh_options_set(session, SSH_OPTIONS_NODELAY, &yes);
    const auto ciphers = cipherOrder(hasAesInstructions(), login.boardAes.value_or(true)); // every Jetson's processor has them
    set(SSH_OPTIONS_CIPHERS_C_S, ciphers.up);
    set(SSH_OPTIONS_CIPHERS_S_C, ciphers.down);
    set(SSH_OPTIONS_SSH_DIR, (home / ".ssh").string());
    set(SSH_OPTIONS_KNOWNHOSTS, (home / ".ssh/known_hosts").string());
    if (!set(SSH_OPTIONS_HOST, device.host))
        return failAs(ErrorKind::usage, "\"{}\" is not a host name", printable(device.host));
    if (!device.user.empty())
        set(SSH_OPTIONS_USER, device.user);
    const auto config = login.configFile.empty() ? home / ".ssh/config" : login.configFile;
    std::error_code ignored;
    // libssh 0.11 keeps ProxyJump in a list that cannot be asked for; told so, it is a ProxyCommand as in 0.10
    static const int asCommand = ::setenv("OPENSSH_PROXYJUMP", "1", 1);
    std::ignore = asCommand;
    if (fs::exists(config, ignored) && ssh_options_parse_config(session, config.c_str()) < 0 && !sshKnowsBetter)
        return fail("cannot read {}: {}", config.string(), ssh_get_error(session));
    if (login.configFile.empty() && fs::exists("/etc/ssh/ssh_config", ignored))
        ssh_options_parse_config(session, "/etc/ssh/ssh_config");
    if (!device.user.empty())
        set(SSH_OPTIONS_USER, device.user);
    else if (option(session, SSH_OPTIONS_USER).empty())
        ssh_options_set(session, SSH_OPTIONS_USER, nullptr); // the local user
    if (device.port > 0)
        ssh_options_set(session, SSH_OPTIONS_PORT, &device.port);
    if (!login.knownHostsFile.empty())
        set(SSH_OPTIONS_KNOWNHOSTS, login.knownHostsFile.string());
    else if (!device.knownHosts.empty())
        set(SSH_OPTIONS_KNOWNHOSTS, device.knownHosts);
    return {};
}

/// What the user's ssh says goes before the library's own reading of the same file.
void apply(ssh_session session, const SshSettings &settings, const Login &login) {
    // Under its alias a host is known without a port. The library uses the name for known_hosts only: we connect.
    const auto &name = settings.hostKeyAlias.empty() ? settings.host : settings.hostKeyAlias;
    ssh_options_set(session, SSH_OPTIONS_HOST, name.c_str());
    if (login.device.user.empty() && !settings.user.empty())
        ssh_options_set(session, SSH_OPTIONS_USER, settings.user.c_str());
    const int port = settings.hostKeyAlias.empty() ? settings.port : 22;
    ssh_options_set(session, SSH_OPTIONS_PORT, &port);
    ssh_options_set(session, SSH_OPTIONS_PROXYCOMMAND, settings.proxyCommand.empty() ? "none" : settings.proxyCommand.c_str());
    if (!settings.keyAlgorithms.empty())
        ssh_options_set(session, SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, settings.keyAlgorithms.c_str());
#if LIBSSH_VERSION_INT >= SSH_VERSION_INT(0, 10, 0) // before, any size will do
    if (settings.leastRsaBits > 0)
        ssh_options_set(session, SSH_OPTIONS_RSA_MIN_SIZE, &settings.leastRsaBits);
#endif
}

/// Without a program ssh the library's reading counts, and what it cannot do is said.
Result<SshSettings> settingsOfLibrary(ssh_session session, const fs::path &home) {
    SshSettings settings{.host = option(session, SSH_OPTIONS_HOST), .user = option(session, SSH_OPTIONS_USER)};
    unsigned port = 22;
    ssh_options_get_port(session, &port);
    settings.port = int(port);
    if (const auto first = option(session, SSH_OPTIONS_IDENTITY); !first.empty())
        settings.identities.push_back(expandHome(first, home));
    settings.proxyCommand = option(session, SSH_OPTIONS_PROXYCOMMAND);
    if (settings.proxyCommand == "none")
        settings.proxyCommand.clear();
    if (settings.proxyCommand.starts_with("ssh ") && settings.proxyCommand.find(" -W ") != std::string::npos)
        return std::unexpected(Error{.message = fmt::format("{} is reached by ProxyJump, which needs the program ssh here, and it is not installed",
                                                            printable(settings.host)),
                                     .hint = "install openssh-client"});
    return settings;
}

/// A socket to the host, directly or through others; nothing when the library starts the ProxyCommand.
Result<Descriptor> socketTo(Link &link, const Login &login, const Route &route, steady_clock::time_point deadline,
                            Progress &progress) {
    const auto &jumps = route.jumps.value_or(link.settings.jumps);
    if (!jumps.empty()) {
        auto tunnelled = TRY(connectThrough(login, jumps, link.host, link.port, route.depth, progress));
        link.tunnel = std::move(tunnelled.keep);
        TRY(awaitSshGreeting(tunnelled.socket.get(), link.host, link.port,
                             std::max(deadline, steady_clock::now() + login.connectTimeout / 2), progress));
        return std::move(tunnelled.socket);
    }
    if (!link.settings.proxyCommand.empty())
        return Descriptor();
    auto socket = TRY(connectTcp(link.host, link.port, deadline, progress));
    TRY(awaitSshGreeting(socket.get(), link.host, link.port, deadline, progress));
    return socket;
}

/// The library's words for a failed key exchange name both lists; ours say which is whose.
Error exchangeFailed(const Link &link) {
    const auto text = link.lastError();
    const auto at = text.find("no match for method ");
    if (at != std::string::npos)
        return Error{
            .kind = ErrorKind::unreachable,
            .message = fmt::format("{} and this computer have no algorithm in common: {}", link.where(),
                                   printable(std::string_view(text).substr(at), 600)),
            .hint = "update the SSH server of the board, or allow one of the server's algorithms in ~/.ssh/config"};
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("the SSH connection to {} failed: {}", link.where(), printable(text)),
                 .hint = "if this goes on, look at the log of the board's SSH server (journalctl -u ssh)"};
}

} // namespace

fs::path homeOf(const Login &login) {
    if (!login.home.empty())
        return login.home;
    const char *home = std::getenv("HOME");
    return home ? fs::path(home) : fs::path("/");
}

fs::path expandHome(std::string path, const fs::path &home) {
    if (path.starts_with("~/"))
        return home / path.substr(2);
    if (path.starts_with("%d/"))
        return home / ".ssh" / path.substr(3);
    return path;
}

Result<Link> Link::open(const Login &login, const Route &route, Progress &progress) {
    const auto deadline = steady_clock::now() + login.connectTimeout;
    const auto holder = std::make_shared<Holder>();
    if (!holder->session)
        return fail("the SSH library could not make a session");
    Link link;
    link.ssh = {holder, holder->session};
    const auto asked = TRY(readSshSettings(login, homeOf(login), progress));
    TRY(configure(holder->session, login, asked.has_value()));
    if (asked)
        apply(holder->session, *asked, login);
    link.settings = asked ? *asked : TRY(settingsOfLibrary(holder->session, homeOf(login)));
    link.isHop = route.depth > 0;
    link.host = link.settings.host;
    link.port = link.settings.port;
    link.user = option(holder->session, SSH_OPTIONS_USER);
    if (auto socket = TRY(socketTo(link, login, route, deadline, progress)); socket.get() >= 0) {
        const int descriptor = socket.release(); // the library's from here on
        ssh_options_set(holder->session, SSH_OPTIONS_FD, &descriptor);
    }
    ssh_set_blocking(holder->session, 0);
    const auto left = duration_cast<milliseconds>(deadline - steady_clock::now());
    const int connected = TRY(untilDone(link, SSH_AGAIN, std::max(left, 1000ms), "agreeing on keys", progress,
                                        [&] { return ssh_connect(holder->session); }));
    if (connected != SSH_OK)
        return std::unexpected(exchangeFailed(link));
    link.event = std::make_shared<Pump>(link.ssh, &holder->received);
    return link;
}

void Link::wait(std::span<pollfd> more, milliseconds most) const {
    std::vector<pollfd> entries(more.begin(), more.end());
    short events = POLLIN;
    if (ssh_get_poll_flags(ssh.get()) & SSH_WRITE_PENDING)
        events |= POLLOUT;
    const int descriptor = ssh_get_fd(ssh.get());
    entries.push_back({.fd = descriptor, .events = events, .revents = 0});
    ::poll(entries.data(), entries.size(), int(most.count()));
    for (std::size_t i = 0; i < more.size(); ++i)
        more[i].revents = entries[i].revents;
}

bool Link::pump() {
    if (!lost.empty())
        return false;
    const auto *pump = static_cast<const Pump *>(event.get());
    // The library reads one small block a turn: go on while bytes come, but let the caller empty its buffers too.
    for (int turn = 0; turn < 64; ++turn) {
        const auto before = pump->received->in_bytes;
        if (ssh_event_dopoll(pump->event, 0) == SSH_ERROR || !alive()) {
            noteLoss();
            return false;
        }
        if (pump->received->in_bytes == before)
            break;
    }
    return true;
}

std::uint64_t Link::heard() const {
    return static_cast<const Pump *>(event.get())->received->in_bytes;
}

bool Link::alive() const {
    // A packet that cannot be read puts the library's session into an error; it still calls it connected, and only waits.
    return ssh_is_connected(ssh.get()) && !(ssh_get_status(ssh.get()) & (SSH_CLOSED | SSH_CLOSED_ERROR));
}

void Link::noteLoss() {
    garbled = ssh_is_connected(ssh.get()) && (ssh_get_status(ssh.get()) & SSH_CLOSED_ERROR);
    lost = garbled ? "it sent something that is not SSH" : lastError();
    if (lost.empty())
        lost = "the connection was closed by the other side";
}

void Link::abandon(std::string why) {
    lost = std::move(why);
    // Not ssh_silent_disconnect: that frees channels that are in use.
    ::shutdown(ssh_get_fd(ssh.get()), SHUT_RDWR);
}

std::string Link::lastError() const {
    return ssh_get_error(ssh.get());
}

std::unexpected<Error> Link::lostError() const {
    return std::unexpected(Error{.kind = ErrorKind::unreachable,
                                 .message = fmt::format("the connection to {} was lost: {}", where(), printable(lost)),
                                 .hint = garbled ? "something on the way changes the bytes (cable, Wi-Fi, a proxy), or the board's SSH server is "
                                                   "broken: try again, then over another link"
                                                 : "check that the board is on and reachable, then try again",
                                 .detail = garbled ? "the SSH library says: " + printable(lastError(), 200) : ""});
}

NoSigPipe::NoSigPipe() {
    sigset_t pending;
    sigset_t pipe;
    sigset_t before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    m_wasPending = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    m_wasBlocked = sigismember(&before, SIGPIPE) == 1;
}

NoSigPipe::~NoSigPipe() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    const timespec now{};
    if (!m_wasPending)
        (void)sigtimedwait(&pipe, nullptr, &now);
    if (!m_wasBlocked)
        pthread_sigmask(SIG_UNBLOCK, &pipe, nullptr);
}

} // namespace slipway
