// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace slipway {

/// A Session whose board is this machine: each command runs in a real `sh -c`, in a session of its own as sshd does it.
/// Faults are injected around commands, which are counted from 1 over all connections.
class LocalSession final : public Session {
public:
    struct Board {
        std::map<std::string, std::string> environment; ///< added for every command (PATH with faulty tools, HOME)
        int commands = 0;
        std::vector<std::string> lines; ///< what ran
        std::function<Result<void>(int, const std::string &)>
            before; ///< an error = the connection is lost before it runs
        std::function<Result<void>(int, const std::string &)> after; ///< an error = it ran, but the answer is lost
        std::function<Result<void>(std::uint64_t)> sending; ///< bytes of stdin so far; an error = the connection drops
        std::function<Result<void>()> connecting;           ///< for again()
        std::uint64_t bytesPerWrite = 65536;
        int connections = 1;
        std::uint64_t bytesSent = 0; ///< of the last command with a source
    };

    LocalSession()
        : m_board(std::make_shared<Board>()) {}
    explicit LocalSession(std::shared_ptr<Board> board)
        : m_board(std::move(board)) {}

    [[nodiscard]] Board &board() { return *m_board; }

    Result<Finished> execute(const RemoteCommand &command, Progress &progress) override {
        TRY(progress.checkpoint());
        const int number = ++m_board->commands;
        m_board->lines.push_back(command.line);
        if (m_board->before)
            TRY(m_board->before(number, command.line));
        auto finished = TRY(Child(*m_board, command).run(progress));
        if (m_board->after)
            TRY(m_board->after(number, command.line));
        return finished;
    }
    [[nodiscard]] std::string fingerprint() const override { return "SHA256:local"; }
    Result<std::unique_ptr<Session>> again(Progress &) override {
        if (m_board->connecting)
            TRY(m_board->connecting());
        ++m_board->connections;
        return std::make_unique<LocalSession>(m_board);
    }

private:
    /// One running command.
    class Child {
    public:
        Child(Board &board, const RemoteCommand &command)
            : m_board(board)
            , m_command(command)
            , m_pending(command.input) {
            std::array<std::array<int, 2>, 3> pipes{};
            for (auto &pipe : pipes)
                (void)::pipe2(pipe.data(), O_CLOEXEC);
            m_pid = ::fork();
            if (m_pid == 0) {
                ::setsid();
                ::dup2(pipes[0][0], 0);
                ::dup2(pipes[1][1], 1);
                ::dup2(pipes[2][1], 2);
                for (const auto &[name, value] : board.environment)
                    ::setenv(name.c_str(), value.c_str(), 1);
                ::execl("/bin/sh", "sh", "-c", command.line.c_str(), nullptr);
                ::_exit(127);
            }
            ::close(pipes[0][0]);
            ::close(pipes[1][1]);
            ::close(pipes[2][1]);
            m_descriptors = {pipes[0][1], pipes[1][0], pipes[2][0]};
            for (const int descriptor : m_descriptors)
                ::fcntl(descriptor, F_SETFL, O_NONBLOCK);
            std::signal(SIGPIPE, SIG_IGN);
        }
        ~Child() {
            for (const int descriptor : m_descriptors)
                if (descriptor >= 0)
                    ::close(descriptor);
            if (m_pid > 0) { // the connection is gone: so is what it ran, as with sshd's SIGHUP
                ::kill(-m_pid, SIGHUP);
                ::waitpid(m_pid, nullptr, 0);
            }
        }
        Child(const Child &) = delete;
        Child &operator=(const Child &) = delete;

        Result<Finished> run(Progress &progress) {
            while (m_descriptors[1] >= 0 || m_descriptors[2] >= 0) {
                TRY(progress.checkpoint());
                if (m_descriptors[0] >= 0)
                    TRY(feed());
                std::array<pollfd, 3> polled{};
                for (std::size_t i = 0; i < 3; ++i)
                    polled[i] = {m_descriptors[i], short(i == 0 ? POLLOUT : POLLIN), 0};
                ::poll(polled.data(), 3, 50);
                collect(1, m_command.output, m_finished.output);
                collect(2, m_command.errors, m_finished.errors);
            }
            int status = 0;
            ::waitpid(std::exchange(m_pid, 0), &status, 0);
            m_finished.exitCode = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
            return m_finished;
        }

    private:
        Result<void> feed() {
            if (m_pending.empty() && m_command.source) {
                std::string block(m_board.bytesPerWrite, '\0');
                block.resize(TRY(m_command.source(std::span(block.data(), block.size()))));
                m_pending = block;
                m_board.bytesSent = m_sent;
                if (m_board.sending)
                    TRY(m_board.sending(m_sent));
            }
            if (m_pending.empty()) {
                ::close(std::exchange(m_descriptors[0], -1));
                return {};
            }
            const auto count = ::write(m_descriptors[0], m_pending.data(), m_pending.size());
            if (count > 0) {
                m_sent += std::uint64_t(count);
                m_pending.erase(0, std::size_t(count));
            } else if (count < 0 && errno != EAGAIN) {
                ::close(std::exchange(m_descriptors[0], -1));
            }
            return {};
        }
        void collect(std::size_t which, const std::function<void(std::string_view)> &sink, std::string &text) {
            std::array<char, 65536> block{};
            for (;;) {
                const auto count =
                    m_descriptors[which] < 0 ? -1 : ::read(m_descriptors[which], block.data(), block.size());
                if (count == 0)
                    ::close(std::exchange(m_descriptors[which], -1));
                if (count <= 0)
                    return;
                const std::string_view bytes(block.data(), std::size_t(count));
                if (sink)
                    sink(bytes);
                else
                    text += bytes;
            }
        }

        Board &m_board;
        const RemoteCommand &m_command;
        std::string m_pending;
        std::uint64_t m_sent = 0;
        pid_t m_pid = 0;
        std::array<int, 3> m_descriptors{-1, -1, -1};
        Finished m_finished;
    };

    std::shared_ptr<Board> m_board;
};

} // namespace slipway
