// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <arpa/inet.h>
#include <atomic>
#include <filesystem>
#include <functional>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace slipway {

/// A peer on loopback that does with each connection what a function says, on one thread.
class Peer {
public:
    using Talk = std::function<void(int descriptor, std::stop_token stop)>;

    explicit Peer(Talk talk)
        : m_talk(std::move(talk))
        , m_listener(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        ::bind(m_listener, reinterpret_cast<sockaddr *>(&address), size);
        ::listen(m_listener, 8);
        ::getsockname(m_listener, reinterpret_cast<sockaddr *>(&address), &size);
        m_port = ntohs(address.sin_port);
        m_thread = std::jthread([this](std::stop_token stop) { serve(stop); });
    }
    ~Peer() {
        m_thread.request_stop();
        m_thread.join();
        ::close(m_listener);
    }
    [[nodiscard]] int port() const { return m_port; }
    [[nodiscard]] int accepted() const { return m_accepted; }

    /// Accepts and says nothing until the other side goes.
    static void silent(int descriptor, const std::stop_token &stop) {
        char byte = 0;
        while (!stop.stop_requested()) {
            pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
            if (::poll(&entry, 1, 50) > 0 && ::recv(descriptor, &byte, 1, 0) <= 0)
                return;
        }
    }
    static Talk says(std::string text, bool thenHangsUp) {
        return [text, thenHangsUp](int descriptor, const std::stop_token &stop) {
            (void)::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL);
            if (!thenHangsUp)
                silent(descriptor, stop);
        };
    }

private:
    void serve(const std::stop_token &stop) {
        while (!stop.stop_requested()) {
            pollfd entry{.fd = m_listener, .events = POLLIN, .revents = 0};
            if (::poll(&entry, 1, 50) <= 0)
                continue;
            const int descriptor = ::accept(m_listener, nullptr, nullptr);
            ++m_accepted;
            m_talk(descriptor, stop);
            ::close(descriptor);
        }
    }

    Talk m_talk;
    int m_listener;
    int m_port = 0;
    std::atomic<int> m_accepted = 0;
    std::jthread m_thread;
};

/// An SSH server that takes the password "secret" in the way that is asked of it, answers every command with "in\n", and forwards
/// connections as a jump host does.
struct PasswordServer {
    explicit PasswordServer(const std::filesystem::path &key, int with = SSH_AUTH_METHOD_PASSWORD)
        : methods(with)
        , hostKey(key.string()) {}

    int methods;
    bool visibleQuestion = false; ///< keyboard-interactive asks something with echo
    bool goesMad = false;         ///< answers the first question with noise
    std::string hostKey;          ///< file
    std::string signatures;       ///< that it says it takes of keys; empty = the library's usual ones
    std::atomic<int> refused = 0;

    void talk(int descriptor, const std::stop_token &stop) {
        ssh_bind bind = ssh_bind_new();
        ssh_session session = ssh_new();
        m_session = session;
        ssh_bind_options_set(bind, SSH_BIND_OPTIONS_HOSTKEY, hostKey.c_str());
        if (!signatures.empty())
            ssh_bind_options_set(bind, SSH_BIND_OPTIONS_PUBKEY_ACCEPTED_KEY_TYPES, signatures.c_str());
        if (ssh_bind_accept_fd(bind, session, ::dup(descriptor)) == SSH_OK &&
            ssh_handle_key_exchange(session) == SSH_OK) {
            ssh_set_auth_methods(session, methods);
            serve(session, stop);
        }
        ssh_disconnect(session);
        ssh_free(session);
        ssh_bind_free(bind);
    }

private:
    void serve(ssh_session session, const std::stop_token &stop) {
        while (!stop.stop_requested() && ssh_is_connected(session)) {
            pollfd entry{.fd = ssh_get_fd(session), .events = POLLIN, .revents = 0};
            ssh_set_blocking(session, 0);
            ssh_message message = ssh_message_get(session);
            if (!message) {
                if (!pump())
                    return;
                ::poll(&entry, 1, m_beyond < 0 ? 20 : 1);
                continue;
            }
            answer(message);
            ssh_message_free(message);
        }
    }

    void answer(ssh_message message) {
        const int type = ssh_message_type(message);
        const int kind = ssh_message_subtype(message);
        if (goesMad && type == SSH_REQUEST_AUTH) {
            const std::string noise(1000, '#');
            (void)::send(ssh_get_fd(m_session), noise.data(), noise.size(), MSG_NOSIGNAL);
            return;
        }
        if (type == SSH_REQUEST_AUTH && kind == SSH_AUTH_METHOD_PASSWORD && (methods & kind)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // its successor needs callbacks, ten times the code
            decide(message, ssh_message_auth_password(message));
#pragma GCC diagnostic pop
        } else if (type == SSH_REQUEST_AUTH && kind == SSH_AUTH_METHOD_INTERACTIVE && (methods & kind)) {
            interact(message);
        } else if (type == SSH_REQUEST_AUTH) {
            ssh_message_auth_set_methods(message, methods);
            ssh_message_reply_default(message);
        } else if (type == SSH_REQUEST_CHANNEL_OPEN && kind == SSH_CHANNEL_DIRECT_TCPIP) {
            m_beyond = connectTo(ssh_message_channel_request_open_destination_port(message));
            m_channel = ssh_message_channel_request_open_reply_accept(message);
        } else if (type == SSH_REQUEST_CHANNEL_OPEN) {
            m_channel = ssh_message_channel_request_open_reply_accept(message);
        } else if (type == SSH_REQUEST_CHANNEL && kind == SSH_CHANNEL_REQUEST_EXEC) {
            ssh_message_channel_request_reply_success(message);
            ssh_channel_write(m_channel, "in\n", 3);
            ssh_channel_request_send_exit_status(m_channel, 0);
            ssh_channel_send_eof(m_channel);
            ssh_channel_close(m_channel);
        } else {
            ssh_message_reply_default(message);
        }
    }

    static int connectTo(int port) {
        const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(std::uint16_t(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        (void)::connect(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof(address));
        return descriptor;
    }

    /// Moves what is there of a forwarded connection; false = it ended.
    bool pump() {
        if (m_beyond < 0)
            return true;
        char block[16384];
        if (const int count = ssh_channel_read_nonblocking(m_channel, block, sizeof block, 0); count > 0)
            (void)::send(m_beyond, block, std::size_t(count), MSG_NOSIGNAL);
        const auto count = ::recv(m_beyond, block, sizeof block, MSG_DONTWAIT);
        if (count > 0) {
            ssh_set_blocking(m_session, 1);
            ssh_channel_write(m_channel, block, std::uint32_t(count));
            ssh_set_blocking(m_session, 0);
        }
        if (count != 0 && !ssh_channel_is_eof(m_channel))
            return true;
        ::close(std::exchange(m_beyond, -1));
        return false;
    }

    void interact(ssh_message message) {
        if (!ssh_message_auth_kbdint_is_response(message)) {
            const char *prompts[] = {visibleQuestion ? "Verification code: " : "Password: "};
            char echo[] = {char(visibleQuestion)};
            ssh_message_auth_interactive_request(message, "", "", 1, prompts, echo);
            return;
        }
        const char *given = ssh_userauth_kbdint_getanswer(m_session, 0);
        decide(message, given);
    }

    void decide(ssh_message message, const char *given) {
        if (given && std::string_view(given) == "secret") {
            ssh_message_auth_reply_success(message, 0);
            return;
        }
        ++refused;
        ssh_message_auth_set_methods(message, methods);
        ssh_message_reply_default(message);
    }

    ssh_session m_session = nullptr;
    ssh_channel m_channel = nullptr;
    int m_beyond = -1; ///< the host behind this one, when it is a jump host
};

} // namespace slipway
