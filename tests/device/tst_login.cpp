// SPDX-License-Identifier: Apache-2.0
//
// Host keys and every way to log in, against real servers on loopback: OpenSSH for keys and the agent, a small libssh
// server for passwords (OpenSSH would need the machine's own accounts).

#include "tests/device/agent.h"
#include "tests/device/localsshd.h"
#include "tests/device/peers.h"

#include "core/base/files.h"

#include <QElapsedTimer>

#include <csignal>
#include <sys/stat.h>
#include <sys/un.h>

using namespace slipway;
using namespace std::chrono;

class TestLogin : public QObject {
    Q_OBJECT

    std::unique_ptr<LocalSshd> m_sshd;
    Progress m_quiet;

    Result<std::unique_ptr<Session>> open(const Login &login) { return slipway::connect(login, m_quiet); }

    Error refusal(const Login &login) {
        auto session = open(login);
        if (session)
            qWarning("unexpectedly logged in");
        return session ? Error{} : session.error();
    }

    /// A login to a peer of the test's own.
    Login loginTo(int port) const {
        auto login = m_sshd->login();
        login.device.port = port;
        return login;
    }

    std::string knownHosts() const { return readFile(m_sshd->home() / ".ssh/known_hosts").value_or(""); }
    void writeKnownHosts(const std::string &text) const {
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/known_hosts", text, 0600));
    }
    std::string keyText(const std::string &name) const {
        const auto text = readFile(m_sshd->at(name + ".pub")).value_or("");
        return text.substr(0, text.find(' ', text.find(' ') + 1));
    }
    std::string here() const { return fmt::format("[127.0.0.1]:{}", m_sshd->port()); }

private Q_SLOTS:
    void init() { m_sshd = std::make_unique<LocalSshd>(); }
    void cleanup() { m_sshd.reset(); }

    void anUnknownHostIsAskedForAndRemembered() {
        fs::remove_all(m_sshd->home() / ".ssh/known_hosts");
        const auto asked = refusal(m_sshd->login(false));
        QCOMPARE(asked.kind, ErrorKind::hostKeyUnknown);
        QCOMPARE(asked.detail, m_sshd->hostFingerprint());
        QCOMPARE(presentedFingerprint(asked), m_sshd->hostFingerprint());
        QVERIFY2(asked.message.find("ssh-ed25519 SHA256:") != std::string::npos, asked.message.c_str());
        QVERIFY(!fs::exists(m_sshd->home() / ".ssh/known_hosts"));
        auto login = m_sshd->login(false);
        login.acceptFingerprint = "SHA256:another";
        QCOMPARE(refusal(login).kind, ErrorKind::hostKeyUnknown);
        QVERIFY(open(m_sshd->login()));
        QCOMPARE(knownHosts(), here() + " " + keyText("host_ed25519") + "\n");
        struct stat info {};
        ::stat((m_sshd->home() / ".ssh/known_hosts").c_str(), &info);
        QCOMPARE(info.st_mode & 0777, mode_t(0600));
        QVERIFY(open(m_sshd->login(false)));
    }

    void aHashedEntryIsKnown() {
        writeKnownHosts(here() + " " + keyText("host_ed25519") + "\n");
        runTool("ssh-keygen", {"-q", "-H", "-f", (m_sshd->home() / ".ssh/known_hosts").string()});
        QVERIFY(knownHosts().starts_with("|1|"));
        QVERIFY(open(m_sshd->login(false)));
    }

    void aChangedKeyStopsAndOnlyItsEntryIsReplaced() {
        m_sshd->makeKey("old", "ed25519");
        const auto others = "# mine\nother.example " + keyText("old") + "\n";
        writeKnownHosts(others + "board.local," + here() + " " + keyText("old") + "\n");
        auto login = m_sshd->login();
        const auto changed = refusal(login);
        QCOMPARE(changed.kind, ErrorKind::hostKeyChanged);
        QVERIFY(changed.detail.find(m_sshd->hostFingerprint("old")) != std::string::npos);
        QCOMPARE(presentedFingerprint(changed), m_sshd->hostFingerprint());
        QVERIFY(changed.hint.find("reflashed") != std::string::npos);
        QVERIFY(knownHosts().find(keyText("host_ed25519")) == std::string::npos);
        login.replaceChangedKey = true;
        QVERIFY(open(login));
        QCOMPARE(knownHosts(),
                 others + "board.local " + keyText("old") + "\n" + here() + " " + keyText("host_ed25519") + "\n");
    }

    void aKnownKeyOfAnotherTypeIsPreferredAndItsAbsenceIsNotAChange() {
        m_sshd->makeKey("host_ecdsa", "ecdsa");
        writeKnownHosts(here() + " " + keyText("host_ecdsa") + "\n");
        const auto asked = refusal(m_sshd->login(false));
        QCOMPARE(asked.kind, ErrorKind::hostKeyUnknown);
        QVERIFY2(asked.message.find("ecdsa") != std::string::npos, asked.message.c_str());
        LocalSshd both(
            {"HostKey " + m_sshd->at("host_ed25519").string(), "HostKey " + m_sshd->at("host_ecdsa").string()});
        QVERIFY(writeFileAtomically(both.home() / ".ssh/known_hosts",
                                    fmt::format("[127.0.0.1]:{} {}\n", both.port(), keyText("host_ecdsa")), 0600));
        QVERIFY(open(both.login(false)));
    }

    void sshConfigGivesHostPortUserAndKey() {
        m_sshd->makeKey("special", "ecdsa");
        fs::rename(m_sshd->at("special"), m_sshd->home() / "special");
        fs::rename(m_sshd->at("special.pub"), m_sshd->home() / "special.pub");
        fs::copy_file(m_sshd->home() / "special.pub", m_sshd->at("authorized_keys"),
                      fs::copy_options::overwrite_existing);
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/orin.conf",
                                    fmt::format("Host orin\n  HostName 127.0.0.1\n  Port {}\n  IdentityFile {}\n",
                                                m_sshd->port(), (m_sshd->home() / "special").string())));
        QVERIFY(writeFileAtomically(
            m_sshd->home() / ".ssh/config",
            fmt::format("Include {}\nNoSuchDirective yes\n", (m_sshd->home() / ".ssh/orin.conf").string())));
        auto login = m_sshd->login();
        login.device.host = "orin";
        login.device.port = 0;
        const auto session = open(login);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
    }

    void aLockedKeyAsksForItsPassphraseOnce() {
        m_sshd->makeKey("home/.ssh/id_ed25519", "ed25519", "open sesame");
        auto login = m_sshd->login();
        QVERIFY2(refusal(login).kind == ErrorKind::failed,
                 "a locked key that the server does not take is not asked for");
        m_sshd->allow("home/.ssh/id_ed25519");
        const auto file = (m_sshd->home() / ".ssh/id_ed25519").string();
        const auto asked = refusal(login);
        QCOMPARE(asked.kind, ErrorKind::passphraseNeeded);
        QCOMPARE(asked.subject, file);
        login.passphrases[file] = Secret("wrong");
        const auto again = refusal(login);
        QCOMPARE(again.kind, ErrorKind::passphraseNeeded);
        QCOMPARE(again.message, "this passphrase does not unlock " + file);
        login.passphrases[file] = Secret("open sesame");
        auto session = open(login);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        auto second = (*session)->again(m_quiet);
        QVERIFY(second);
        QCOMPARE((*second)->run({"echo", "hi"}, m_quiet)->output, std::string("hi\n"));
    }

    void theAgentOpensWhatTheConfiguredKeyCannot() {
        Agent agent(m_sshd->at("agent"));
        agent.add(m_sshd->home() / ".ssh/id_ed25519");
        fs::remove(m_sshd->home() / ".ssh/id_ed25519");
        auto login = m_sshd->login();
        QCOMPARE(refusal(login).kind, ErrorKind::failed);
        login.useAgent = true;
        login.agentSocket = m_sshd->at("agent");
        const auto session = open(login);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
    }

    void sevenWrongKeysInTheAgentDoNotUseUpTheServersPatience() {
        Agent agent(m_sshd->at("agent"));
        for (int i = 0; i < 7; ++i) {
            m_sshd->makeKey("wrong", "ed25519");
            agent.add(m_sshd->at("wrong"));
        }
        auto login = m_sshd->login();
        login.useAgent = true;
        login.agentSocket = m_sshd->at("agent");
        QVERIFY2(open(login), "the usual key comes after the agent's");
        fs::rename(m_sshd->home() / ".ssh/id_ed25519", m_sshd->home() / "board");
        login.device.identity = (m_sshd->home() / "board").string();
        QVERIFY2(open(login), "the configured key comes first");
    }

    void aHangingAgentDoesNotHoldUpACancel() {
        const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        const auto path = m_sshd->at("stuck").string();
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        QCOMPARE(::bind(listener, reinterpret_cast<sockaddr *>(&address), sizeof(address)), 0);
        ::listen(listener, 1);
        auto login = m_sshd->login();
        login.useAgent = true;
        login.agentSocket = path;
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        QElapsedTimer timer;
        std::jthread canceller([&] {
            const int accepted = ::accept(listener, nullptr, nullptr);
            timer.start();
            stop.request_stop();
            std::this_thread::sleep_for(1500ms); // holds the agent's socket until after the deadline
            ::close(accepted);
        });
        const auto session = slipway::connect(login, progress);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::cancelled);
        canceller.join();
        ::close(listener);
    }

    void nothingFittingSaysWhatWasOfferedAndWhatIsAccepted() {
        m_sshd->makeKey("home/.ssh/id_ed25519", "ed25519");
        auto login = m_sshd->login();
        login.device.identity = "/no/such/key";
        const auto error = refusal(login);
        QCOMPARE(error.kind, ErrorKind::failed);
        QVERIFY2(error.message.find("it accepts publickey") != std::string::npos, error.message.c_str());
        QVERIFY2(error.message.find("/no/such/key (no such file)") != std::string::npos, error.message.c_str());
        QVERIFY2(error.message.find(".ssh/id_ed25519") != std::string::npos, error.message.c_str());
    }

    void passwords_data() {
        QTest::addColumn<int>("methods");
        QTest::newRow("password") << int(SSH_AUTH_METHOD_PASSWORD);
        QTest::newRow("keyboard-interactive") << int(SSH_AUTH_METHOD_INTERACTIVE);
    }
    void passwords() {
        QFETCH(int, methods);
        PasswordServer server(m_sshd->at("host_ed25519"), methods);
        Peer peer([&](int descriptor, const std::stop_token &stop) { server.talk(descriptor, stop); });
        auto login = loginTo(peer.port());
        const auto asked = refusal(login);
        QCOMPARE(asked.kind, ErrorKind::passwordNeeded);
        QVERIFY2(asked.message.ends_with("wants a password"), asked.message.c_str());
        login.password = Secret("wrong");
        const auto again = refusal(login);
        QCOMPARE(again.kind, ErrorKind::passwordNeeded);
        QVERIFY2(again.message.ends_with("refused this password"), again.message.c_str());
        QCOMPARE(int(server.refused), 1);
        login.password = Secret("secret");
        const auto session = open(login);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        QCOMPARE((*session)->run({"anything"}, m_quiet)->output, std::string("in\n"));
    }

    void aQuestionThatIsNotForThePasswordIsNotAnsweredWithIt() {
        PasswordServer server(m_sshd->at("host_ed25519"), SSH_AUTH_METHOD_INTERACTIVE);
        server.visibleQuestion = true;
        Peer peer([&](int descriptor, const std::stop_token &stop) { server.talk(descriptor, stop); });
        auto login = loginTo(peer.port());
        login.password = Secret("secret");
        const auto error = refusal(login);
        QVERIFY2(error.message.find("Verification code:") != std::string::npos, error.message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestLogin)
#include "tst_login.moc"
