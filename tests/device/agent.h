// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/device/localsshd.h"

namespace slipway {

/// An ssh-agent of its own.
class Agent {
public:
    explicit Agent(const fs::path &socket)
        : m_socket(socket) {
        m_process.start("ssh-agent", {"-D", "-a", QString::fromStdString(socket.string())});
        m_process.waitForStarted();
        QTRY_VERIFY(fs::exists(socket));
    }
    ~Agent() {
        m_process.terminate();
        m_process.waitForFinished();
    }
    void add(const fs::path &key) const {
        Progress quiet;
        const auto added = runChecked({.program = "ssh-add",
                                       .arguments = {"-q", key.string()},
                                       .environment = {{"SSH_AUTH_SOCK", m_socket.string()}}},
                                      quiet);
        QVERIFY2(added, added ? "" : added.error().message.c_str());
    }

private:
    fs::path m_socket;
    QProcess m_process;
};

} // namespace slipway
