// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/device/localsshd.h"

#include <QElapsedTimer>

#include <csignal>

namespace slipway {

/// A server that is stopped in the middle of a command, as a board is that hangs: its connection stays, nothing answers.
class FrozenServer {
public:
    FrozenServer() = default;
    ~FrozenServer() {
        if (m_process > 0)
            ::kill(m_process, SIGKILL);
    }
    FrozenServer(const FrozenServer &) = delete;
    FrozenServer &operator=(const FrozenServer &) = delete;

    [[nodiscard]] LocalSshd &sshd() { return m_sshd; }
    /// Milliseconds since it stopped.
    [[nodiscard]] qint64 elapsed() const { return m_timer.elapsed(); }

    /// Runs `line` with stdin that never ends, stops the server at the first output, then calls `frozen`.
    Result<Finished> execute(Session &session, const std::string &line, Progress &progress, const std::function<void()> &frozen = [] {}) {
        RemoteCommand command{.line = "echo $PPID; " + line};
        command.source = [](std::span<char> room) -> Result<std::size_t> { return room.size(); };
        command.output = [&](std::string_view text) {
            if (m_process > 0)
                return;
            m_process = std::stoi(std::string(text));
            ::kill(m_process, SIGSTOP);
            m_timer.start();
            frozen();
        };
        return session.execute(command, progress);
    }

private:
    LocalSshd m_sshd;
    pid_t m_process = 0;
    QElapsedTimer m_timer;
};

} // namespace slipway
