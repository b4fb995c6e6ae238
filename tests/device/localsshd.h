// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/device/session.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <arpa/inet.h>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace slipway {

/// A port of loopback that nobody uses now.
inline int freePort() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ::bind(descriptor, reinterpret_cast<sockaddr *>(&address), size);
    ::getsockname(descriptor, reinterpret_cast<sockaddr *>(&address), &size);
    ::close(descriptor);
    return ntohs(address.sin_port);
}

inline std::string runTool(const std::string &program, const std::vector<std::string> &arguments) {
    Progress quiet;
    const auto finished = runChecked(Command{.program = program, .arguments = arguments}, quiet);
    if (!finished)
        qWarning("%s", finished.error().message.c_str());
    return finished ? finished->output : std::string();
}

/// A real OpenSSH server on loopback for its own user, with a home (keys, known_hosts) for the client beside it. Its commands
/// run in an empty home of their own: what this machine's user has in .bashrc is neither read nor timed.
class LocalSshd {
public:
    explicit LocalSshd(std::vector<std::string> extra = {})
        : m_extra(std::move(extra)) {
        makeKey("host_ed25519", "ed25519");
        fs::create_directories(home() / ".ssh");
        fs::create_directories(at("account"));
        makeKey("home/.ssh/id_ed25519", "ed25519");
        fs::copy_file(home() / ".ssh/id_ed25519.pub", at("authorized_keys"));
        start();
    }
    ~LocalSshd() { stop(); }
    LocalSshd(const LocalSshd &) = delete;
    LocalSshd &operator=(const LocalSshd &) = delete;

    [[nodiscard]] fs::path at(const std::string &name) const { return fs::path(m_dir.path().toStdString()) / name; }
    [[nodiscard]] fs::path home() const { return at("home"); }
    [[nodiscard]] int port() const { return m_port; }
    [[nodiscard]] qint64 processId() const { return m_process->processId(); }

    void makeKey(const std::string &name, const std::string &type, const std::string &passphrase = {}) const {
        std::error_code ignored;
        fs::remove(at(name), ignored);
        fs::remove(at(name + ".pub"), ignored);
        runTool("ssh-keygen", {"-q", "-t", type, "-N", passphrase, "-C", name, "-f", at(name).string()});
    }

    void start() {
        if (::geteuid() == 0)
            fs::create_directories("/run/sshd"); // where sshd as root separates its privileges
        std::ofstream config(at("sshd_config"));
        config << "Port " << m_port << "\nListenAddress 127.0.0.1\nPidFile none\nUsePAM no\nStrictModes no\n"
               << "PermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nUseDNS "
                  "no\nPermitUserEnvironment yes\n"
               << "AuthorizedKeysFile " << at("authorized_keys").string() << "\nMaxStartups 100\n";
        if (knowsPenalties()) // OpenSSH 9.8 and newer: some tests fail to log in many times on purpose
            config << "PerSourcePenalties no\n";
        bool hasHostKey = false;
        std::string environment = "SetEnv"; // on one line: sshd takes the first
        for (const auto &line : m_extra) {
            if (line.starts_with("SetEnv "))
                environment += line.substr(6);
            else
                config << line << "\n";
            hasHostKey = hasHostKey || line.starts_with("HostKey ");
        }
        if (environment.find(" HOME=") == std::string::npos)
            environment += " HOME=" + at("account").string();
        config << environment << "\n";
        if (!hasHostKey)
            config << "HostKey " << at("host_ed25519").string() << "\n";
        config.close();
        m_process = std::make_unique<QProcess>();
        m_process->setStandardErrorFile(QString::fromStdString(at("log").string()));
        m_process->start("/usr/sbin/sshd", {"-D", "-e", "-f", QString::fromStdString(at("sshd_config").string())});
        m_process->waitForStarted();
        QTRY_VERIFY_WITH_TIMEOUT(answers(), 10000);
    }

    void stop() {
        if (!m_process)
            return;
        // OpenSSH 9.8 and newer serve a connection in a grandchild
        runTool("sh", {"-c", "end() { for c in $(pgrep -P $1); do end $c; kill -KILL $c; done; }; end $1; true", "sh",
                       std::to_string(m_process->processId())});
        m_process->kill();
        m_process->waitForFinished();
        m_process.reset();
    }

    /// The client's side, with the host's key already accepted unless `known` is false.
    [[nodiscard]] Login login(bool known = true) const {
        Login login{.device = {.name = "local", .host = "127.0.0.1", .port = m_port}};
        login.home = home();
        login.configFile = home() / ".ssh/config";
        login.useAgent = false;
        login.connectTimeout = std::chrono::milliseconds(5000);
        if (known)
            login.acceptFingerprint = hostFingerprint();
        return login;
    }
    [[nodiscard]] std::string hostFingerprint(const std::string &key = "host_ed25519") const {
        const auto text = runTool("ssh-keygen", {"-lf", at(key + ".pub").string()});
        const auto from = text.find("SHA256:");
        return text.substr(from, text.find(' ', from) - from);
    }
    void allow(const std::string &key) const {
        std::ifstream in(at(key + ".pub"));
        std::ofstream(at("authorized_keys"), std::ios::app) << in.rdbuf();
    }

private:
    [[nodiscard]] static bool knowsPenalties() {
        std::ifstream program("/usr/sbin/sshd", std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(program)), {});
        return bytes.find("persourcepenalties") != std::string::npos;
    }
    [[nodiscard]] bool answers() const {
        const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(std::uint16_t(m_port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool good = ::connect(descriptor, reinterpret_cast<sockaddr *>(&address), sizeof(address)) == 0;
        ::close(descriptor);
        return good;
    }

    QTemporaryDir m_dir;
    std::vector<std::string> m_extra;
    int m_port = freePort();
    std::unique_ptr<QProcess> m_process;
};

} // namespace slipway
