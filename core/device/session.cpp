// SPDX-License-Identifier: Apache-2.0
//
// Session over libssh: connect, verify the host, log in; then one exec channel for each command.

#include "core/device/session.h"

#include "core/base/text.h"
#include "core/device/sessionparts.h"

#include <libssh/libssh.h>

namespace slipway {

namespace {

class SshSession final : public Session {
public:
    SshSession(Link link, HostKey key, Login login)
        : m_link(std::move(link))
        , m_key(std::move(key))
        , m_login(std::move(login)) {}
    ~SshSession() override {
        const NoSigPipe guard;
        if (m_link.lost.empty())
            ssh_disconnect(m_link.ssh.get()); // before what carries it ends
    }
    SshSession(const SshSession &) = delete;
    SshSession &operator=(const SshSession &) = delete;

    Result<Finished> execute(const RemoteCommand &command, Progress &progress) override {
        const NoSigPipe guard;
        return executeOn(m_link, command, progress);
    }
    [[nodiscard]] std::string fingerprint() const override { return m_key.fingerprint; }
    Result<std::unique_ptr<Session>> again(Progress &progress) override {
        auto login = m_login;
        login.acceptFingerprint = m_key.fingerprint; // the same board, even where known_hosts could not be written
        login.replaceChangedKey = false;
        return connect(login, progress);
    }

private:
    Link m_link;
    HostKey m_key;
    Login m_login;
};

} // namespace

Result<Finished> Session::run(const std::vector<std::string> &words, Progress &progress) {
    return execute(RemoteCommand{.line = shellJoin(words)}, progress);
}

Result<Finished> Session::check(const std::vector<std::string> &words, Progress &progress) {
    auto finished = TRY(run(words, progress));
    if (finished.exitCode != 0)
        return std::unexpected(
            commandFailed(Command{.program = words.front(), .arguments = {words.begin() + 1, words.end()}}, finished));
    return finished;
}

std::string presentedFingerprint(const Error &error) {
    const auto at = error.detail.rfind("SHA256:");
    if (at == std::string::npos)
        return {};
    return error.detail.substr(at, error.detail.find_first_of(" \n", at) - at);
}

Result<std::unique_ptr<Session>> connect(const Login &login, Progress &progress) {
    const NoSigPipe guard;
    auto opened = TRY(openLink(login, {}, progress));
    return std::make_unique<SshSession>(std::move(opened.link), std::move(opened.key), login);
}

Result<OpenLink> openLink(const Login &login, const Route &route, Progress &progress) {
    Offers offers{.useAgent = login.useAgent};
    while (true) {
        auto link = TRY(Link::open(login, route, progress));
        auto key = TRY(checkHostKey(link, login));
        if (TRY(authenticate(link, login, offers, progress)) == Authenticated::yes)
            return OpenLink{std::move(link), std::move(key)};
    }
}

} // namespace slipway
