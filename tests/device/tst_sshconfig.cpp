// SPDX-License-Identifier: Apache-2.0
//
// ~/.ssh/config as ssh itself reads it: what is taken from `ssh -G`, and connections that depend on it, through real
// servers on loopback.

#include "tests/device/agent.h"
#include "tests/device/localsshd.h"
#include "tests/device/peers.h"

#include "core/base/files.h"
#include "core/device/sshconfig.h"

#include <QElapsedTimer>

using namespace slipway;
using namespace std::chrono;

class TestSshConfig : public QObject {
    Q_OBJECT

    std::unique_ptr<LocalSshd> m_sshd;
    Progress m_quiet;

    void config(const std::string &text) const { QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/config", text, 0600)); }
    Login to(const std::string &host) const {
        auto login = m_sshd->login();
        login.device.host = host;
        login.device.port = 0;
        return login;
    }
    SshSettings settings(const std::string &host) {
        const auto read = readSshSettings(to(host), m_sshd->home(), m_quiet);
        if (!read)
            qWarning("%s", read.error().message.c_str());
        return read && *read ? **read : SshSettings{};
    }
    std::string said(const Login &login) {
        const auto session = slipway::connect(login, m_quiet);
        if (!session)
            return session.error().message;
        return (*session)->run({"echo", "in"}, m_quiet).value_or(Finished{}).output;
    }
    /// A key of the test's own in the home; allowed when `allowed`.
    std::string key(const std::string &name, bool allowed) const {
        m_sshd->makeKey("home/" + name, "ed25519");
        if (allowed)
            m_sshd->allow("home/" + name);
        return (m_sshd->home() / name).string();
    }
    std::string knownLine(const LocalSshd &server, const std::string &name) const {
        const auto text = readFile(server.at("host_ed25519.pub")).value_or("");
        return name + " " + text.substr(0, text.find(' ', text.find(' ') + 1)) + "\n";
    }
    void know(const std::string &lines) const {
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/known_hosts", lines, 0600));
    }
    static std::string at(int port) { return fmt::format("[127.0.0.1]:{}", port); }

private Q_SLOTS:
    void init() { m_sshd = std::make_unique<LocalSshd>(); }
    void cleanup() { m_sshd.reset(); }

    void whatSshPrintsIsRead() {
        const auto read = parseSshSettings("host orin\nuser nvidia\nhostname 10.0.0.7\nport 2222\nidentitiesonly yes\n"
                                           "identityagent ~/agent.sock\nidentityfile ~/.ssh/orin\n"
                                           "identityfile %d/.ssh/%r@%h-%n-%p%%\nproxyjump me@gate:2200,[fe80::1]:22\nhostkeyalias board\n",
                                           "/home/me", "orin");
        QCOMPARE(read.host, std::string("10.0.0.7"));
        QCOMPARE(read.user, std::string("nvidia"));
        QCOMPARE(read.port, 2222);
        QVERIFY(read.identitiesOnly);
        QCOMPARE(read.agent, std::string("/home/me/agent.sock"));
        QCOMPARE(read.identities, (std::vector<fs::path>{"/home/me/.ssh/orin", "/home/me/.ssh/nvidia@10.0.0.7-orin-2222%"}));
        QCOMPARE(read.jumps, (std::vector<std::string>{"me@gate:2200", "[fe80::1]:22"}));
        QCOMPARE(read.hostKeyAlias, std::string("board"));
        const auto plain = parseSshSettings("hostname a\nidentityfile ~/.ssh/id_rsa\nidentityfile ~/.ssh/id_ed25519\n"
                                            "proxycommand none\nproxyjump none\nidentityagent SSH_AUTH_SOCK\n",
                                            "/home/me", "a");
        QVERIFY2(plain.identities.empty(), "the usual keys are not configured ones");
        QVERIFY(plain.jumps.empty() && plain.proxyCommand.empty() && plain.agent.empty() && !plain.identitiesOnly);
    }

    void effectiveValuesAreThoseOfSsh_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("host");
        QTest::addColumn<QString>("effective");
        QTest::newRow("host") << "Host orin\n HostName 10.1.1.1\n User u\n Port 77\n" << "orin" << "u@10.1.1.1:77";
        QTest::newRow("first wins") << "Host o*\n Port 1\nHost orin\n Port 2\n User u\n" << "orin" << "u@orin:1";
        QTest::newRow("negated") << "Host * !orin\n Port 1\nHost *\n User u\n" << "orin" << "u@orin:22";
        QTest::newRow("match host") << "Match host orin\n Port 5\nMatch all\n User u\n" << "orin" << "u@orin:5";
        QTest::newRow("match exec") << "Match originalhost orin exec \"test %n = orin\"\n Port 6\nHost *\n User u\n" << "orin" << "u@orin:6";
        QTest::newRow("match exec fails") << "Match exec false\n Port 6\nHost *\n User u\n" << "orin" << "u@orin:22";
        QTest::newRow("unknown directives") << "NoSuchThing yes\nHost *\n AlsoNot 3\n User u\n" << "orin" << "u@orin:22";
        QTest::newRow("tokens") << "Host *\n HostName %h.local\n User u\n" << "orin" << "u@orin.local:22";
        QTest::newRow("IPv6") << "Host six\n HostName fe80::1%%lo\n User u\n" << "six" << "u@fe80::1%lo:22";
        QTest::newRow("IPv6 typed") << "Host *\n User u\n" << "::1" << "u@::1:22";
        QTest::newRow("quotes and equals") << "Host=\"orin\"\n HostName = \"10.1.1.2\"\n User=\"u\"\n" << "orin" << "u@10.1.1.2:22";
    }
    void effectiveValuesAreThoseOfSsh() {
        QFETCH(QString, text);
        QFETCH(QString, host);
        QFETCH(QString, effective);
        config(text.toStdString());
        const auto read = settings(host.toStdString());
        QCOMPARE(fmt::format("{}@{}:{}", read.user, read.host, read.port), effective.toStdString());
    }

    void aConfigurationThatSshRefusesIsAnErrorOfOneLine() {
        config("Host *\n Port none\n");
        const auto message = said(to("orin"));
        QVERIFY2(message.starts_with("ssh cannot use its configuration for orin: "), message.c_str());
        QVERIFY2(message.find('\n') == std::string::npos, message.c_str());
    }

    void hostsAreListedWithIncludesAndWithoutPatterns() {
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/lab.conf", "Host thor thor2 *.lab\nInclude lab.conf\n"));
        config("Include ~/.ssh/lab.*\nHost orin !bad ?x\n\tHostName x\nhost = nano\nMatch host y\n");
        QCOMPARE(sshConfigHosts(m_sshd->home() / ".ssh/config", m_sshd->home()), (std::vector<std::string>{"thor", "thor2", "orin", "nano"}));
        QVERIFY(sshConfigHosts("/no/such/file", "/").empty());
    }

    void theSecondOfSeveralIdentityFilesOpens() {
        fs::remove(m_sshd->home() / ".ssh/id_ed25519");
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n IdentityFile {}\n IdentityFile /no/such\n IdentityFile {}\n",
                           m_sshd->port(), key("wrong", false), key("right", true)));
        QCOMPARE(said(to("orin")), std::string("in\n"));
    }

    void identitiesOnlyKeepsTheAgentsOtherKeysBack() {
        Agent agent(m_sshd->at("agent"));
        agent.add(key("right", true));
        fs::remove(m_sshd->home() / ".ssh/id_ed25519");
        auto login = to("orin");
        login.useAgent = true;
        login.agentSocket = m_sshd->at("agent");
        const auto block = fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n IdentitiesOnly yes\n IdentityFile ", m_sshd->port());
        config(block + key("wrong", false) + "\n");
        QVERIFY2(said(login).find("the SSH agent (0 keys)") != std::string::npos, said(login).c_str());
        fs::remove(m_sshd->home() / "right"); // only its .pub is here: the agent has the private half
        config(block + (m_sshd->home() / "right").string() + "\n");
        QCOMPARE(said(login), std::string("in\n"));
    }

    void theAgentsLastOfManyKeysIsReached_data() {
        QTest::addColumn<int>("tries");
        QTest::newRow("usual server") << 6;
        QTest::newRow("two tries") << 2;
        QTest::newRow("one try") << 1;
    }
    void theAgentsLastOfManyKeysIsReached() {
        QFETCH(int, tries);
        LocalSshd strict({fmt::format("MaxAuthTries {}", tries)});
        Agent agent(m_sshd->at("agent"));
        for (int i = 0; i < 13; ++i)
            agent.add(key("wrong", false));
        m_sshd->makeKey("right", "ed25519");
        agent.add(m_sshd->at("right"));
        fs::copy_file(m_sshd->at("right.pub"), strict.at("authorized_keys"), fs::copy_options::overwrite_existing);
        fs::remove(strict.home() / ".ssh/id_ed25519");
        auto login = strict.login();
        login.useAgent = true;
        login.agentSocket = m_sshd->at("agent");
        QCOMPARE(said(login), std::string("in\n"));
    }

    void aKeyThatMatchesAnIdentityFileIsTheAgentsFirst() {
        LocalSshd strict({"MaxAuthTries 2"});
        Agent agent(m_sshd->at("agent"));
        for (int i = 0; i < 8; ++i)
            agent.add(key("wrong", false));
        agent.add(key("right", true));
        fs::copy_file(m_sshd->home() / "right.pub", strict.at("authorized_keys"), fs::copy_options::overwrite_existing);
        fs::remove(m_sshd->home() / "right");
        auto login = strict.login();
        login.useAgent = true;
        login.agentSocket = m_sshd->at("agent");
        login.device.identity = (m_sshd->home() / "right").string();
        QCOMPARE(said(login), std::string("in\n"));
        QVERIFY2(readFile(strict.at("log")).value_or("").find("Too many") == std::string::npos, "no connection was used up");
    }

    void aSecurityKeyIsNamedWithItsWayOut() {
        std::string blob;
        for (const auto &part : {std::string("sk-ssh-ed25519@openssh.com"), std::string(32, 'k'), std::string("ssh:")})
            blob += std::string{0, 0, 0, char(part.size())} + part;
        const auto line = "sk-ssh-ed25519@openssh.com " + QByteArray::fromStdString(blob).toBase64().toStdString() + " token\n";
        fs::remove(m_sshd->home() / ".ssh/id_ed25519");
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/id_ed25519_sk.pub", line));
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/id_ed25519_sk", "not to be read\n"));
        const auto session = slipway::connect(m_sshd->login(), m_quiet);
        QVERIFY(!session);
        QVERIFY2(session.error().message.find("id_ed25519_sk (a security key: only the SSH agent can use it)") != std::string::npos,
                 session.error().message.c_str());
        QVERIFY(session.error().hint.find("ssh-add") != std::string::npos);
    }

    void anAliasIsTheNameInKnownHosts() {
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n HostKeyAlias bench-orin\n", m_sshd->port()));
        know(knownLine(*m_sshd, "bench-orin"));
        auto login = to("orin");
        login.acceptFingerprint.clear();
        QCOMPARE(said(login), std::string("in\n"));
    }

    void anAddressOfVersionSixIsReached() {
        LocalSshd six({"ListenAddress ::1"});
        auto login = six.login();
        login.device.host = "::1";
        QCOMPARE(said(login), std::string("in\n"));
        QVERIFY(readFile(six.home() / ".ssh/known_hosts").value_or("").starts_with(fmt::format("[::1]:{} ", six.port())));
    }

    void aLocalNameIsAskedOfAvahiWhereTheNameServiceDoesNotKnowIt() {
        const auto tools = m_sshd->at("tools");
        fs::create_directories(tools);
        QVERIFY(writeFileAtomically(tools / "avahi-resolve-host-name", "#!/bin/sh\n[ \"$2\" = slipway-orin.local ] && printf '%s\\t127.0.0.1\\n' \"$2\"\n", 0755));
        config(fmt::format("Host *\n Port {}\n", m_sshd->port()));
        const auto path = qgetenv("PATH");
        auto unknown = to("slipway-none.local");
        unknown.acceptFingerprint = m_sshd->hostFingerprint();
        qputenv("PATH", (tools.string() + ":").c_str() + path);
        const auto found = said(to("slipway-orin.local"));
        const auto missing = slipway::connect(unknown, m_quiet);
        qputenv("PATH", path);
        QCOMPARE(found, std::string("in\n"));
        QVERIFY(!missing);
        QVERIFY2(missing.error().message.starts_with("the name lookup of slipway-none.local failed: "), missing.error().message.c_str());
        QCOMPARE(missing.error().hint, std::string("is the board on and on this network? .local names need libnss-mdns or avahi-utils here"));
    }

    void aBoardBehindAnotherHostIsReachedThroughIt_data() {
        QTest::addColumn<int>("hops");
        QTest::newRow("one") << 1;
        QTest::newRow("two") << 2;
    }
    void aBoardBehindAnotherHostIsReachedThroughIt() {
        QFETCH(int, hops);
        LocalSshd gate({"AllowTcpForwarding yes"});
        LocalSshd gate2({"AllowTcpForwarding yes"});
        for (const auto *server : {&gate, &gate2})
            fs::copy_file(m_sshd->at("authorized_keys"), server->at("authorized_keys"), fs::copy_options::overwrite_existing);
        know(knownLine(gate, at(gate.port())) + knownLine(gate2, at(gate2.port())) + knownLine(*m_sshd, at(m_sshd->port())));
        const auto way = hops == 1 ? std::string("gate") : fmt::format("gate,127.0.0.1:{}", gate2.port());
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n ProxyJump {}\nHost gate\n HostName 127.0.0.1\n Port {}\n",
                           m_sshd->port(), way, gate.port()));
        auto login = to("orin");
        login.acceptFingerprint.clear();
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        const auto port = (*session)->execute({.line = "echo ${SSH_CONNECTION##* }"}, m_quiet);
        QCOMPARE(port->output, fmt::format("{}\n", m_sshd->port()));
        const std::string data(8u << 20, 'x');
        const auto back = (*session)->execute({.line = "cat", .input = data}, m_quiet);
        QVERIFY(back && back->output == data);
        QVERIFY(readFile(gate.at("log")).value_or("").find("Accepted publickey") != std::string::npos);
        QCOMPARE(readFile(gate2.at("log")).value_or("").find("Accepted publickey") != std::string::npos, hops == 2);
    }

    void aJumpHostThatWantsAPasswordIsAskedForItsOwn_data() {
        QTest::addColumn<int>("methods");
        QTest::newRow("password") << int(SSH_AUTH_METHOD_PASSWORD);
        QTest::newRow("keyboard-interactive") << int(SSH_AUTH_METHOD_INTERACTIVE);
    }
    void aJumpHostThatWantsAPasswordIsAskedForItsOwn() {
        QFETCH(int, methods);
        PasswordServer gate(m_sshd->at("host_ed25519"), methods);
        Peer peer([&](int descriptor, const std::stop_token &stop) { gate.talk(descriptor, stop); });
        know(knownLine(*m_sshd, at(peer.port())) + knownLine(*m_sshd, at(m_sshd->port())));
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n ProxyJump me@127.0.0.1:{}\n", m_sshd->port(), peer.port()));
        auto login = to("orin");
        login.acceptFingerprint.clear();
        login.password = Secret("secret"); // the board's: no other host gets it
        const auto name = fmt::format("me@127.0.0.1:{}", peer.port());
        const auto asked = slipway::connect(login, m_quiet);
        QVERIFY(!asked);
        QCOMPARE(asked.error().kind, ErrorKind::passwordNeeded);
        QCOMPARE(asked.error().subject, name);
        QCOMPARE(asked.error().message, "on the way to 127.0.0.1 (ProxyJump): " + name + " wants a password");
        QCOMPARE(int(gate.refused), 0);
        login.passwords[name] = Secret("wrong");
        QCOMPARE(said(login), "on the way to 127.0.0.1 (ProxyJump): " + name + " refused this password");
        login.passwords[name] = Secret("secret");
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        const auto far = (*session)->execute({.line = "echo ${SSH_CONNECTION##* }"}, m_quiet);
        QCOMPARE(far->output, fmt::format("{}\n", m_sshd->port()));
    }

    void anUnknownHostOnTheWayIsAskedForFirst() {
        LocalSshd gate({"AllowTcpForwarding yes"});
        fs::copy_file(m_sshd->at("authorized_keys"), gate.at("authorized_keys"), fs::copy_options::overwrite_existing);
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n ProxyJump 127.0.0.1:{}\n", m_sshd->port(), gate.port()));
        auto login = to("orin");
        login.acceptFingerprint.clear();
        const auto first = slipway::connect(login, m_quiet);
        QVERIFY(!first);
        QCOMPARE(first.error().kind, ErrorKind::hostKeyUnknown);
        QCOMPARE(first.error().detail, gate.hostFingerprint());
        login.acceptFingerprint = gate.hostFingerprint();
        const auto second = slipway::connect(login, m_quiet);
        QVERIFY(!second);
        QCOMPARE(second.error().detail, m_sshd->hostFingerprint());
        login.acceptFingerprint = m_sshd->hostFingerprint();
        QCOMPARE(said(login), std::string("in\n"));
    }

    void whatFailsOnTheWayIsSaid_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<QString>("text");
        QTest::newRow("gate is off") << "off" << "on the way to 127.0.0.1 (ProxyJump): 127.0.0.1:";
        QTest::newRow("gate forbids it") << "forbids" << "does not allow connections to";
        QTest::newRow("board is off") << "board" << "Connection refused";
        QTest::newRow("gate wants another key") << "key" << "let nobody in";
    }
    void whatFailsOnTheWayIsSaid() {
        QFETCH(QString, fault);
        QFETCH(QString, text);
        LocalSshd gate({fault == "forbids" ? "AllowTcpForwarding no" : "AllowTcpForwarding yes"});
        if (fault != "key")
            fs::copy_file(m_sshd->at("authorized_keys"), gate.at("authorized_keys"), fs::copy_options::overwrite_existing);
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n ProxyJump 127.0.0.1:{}\n",
                           fault == "board" ? freePort() : m_sshd->port(), fault == "off" ? freePort() : gate.port()));
        auto login = to("orin");
        login.acceptFingerprint = gate.hostFingerprint();
        QElapsedTimer timer;
        timer.start();
        const auto message = said(login);
        QVERIFY2(message.find(text.toStdString()) != std::string::npos, message.c_str());
        QVERIFY2(message.starts_with("on the way to 127.0.0.1 (ProxyJump): "), message.c_str());
        QVERIFY(timer.elapsed() < 5000);
    }

    void aGateThatDiesTakesTheSessionWithIt() {
        LocalSshd gate({"AllowTcpForwarding yes"});
        fs::copy_file(m_sshd->at("authorized_keys"), gate.at("authorized_keys"), fs::copy_options::overwrite_existing);
        know(knownLine(gate, at(gate.port())) + knownLine(*m_sshd, at(m_sshd->port())));
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\n ProxyJump 127.0.0.1:{}\n", m_sshd->port(), gate.port()));
        const auto session = slipway::connect(to("orin"), m_quiet);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        QElapsedTimer timer;
        const auto finished = (*session)->execute({.line = "echo up; exec sleep 60",
                                                   .output = [&](std::string_view) {
                                                       timer.start();
                                                       gate.stop();
                                                   }},
                                                  m_quiet);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::unreachable);
        QVERIFY(timer.elapsed() < 15500);
    }

    void withoutSshTheLibraryReadsTheFileAndSaysWhatItCannot() {
        const auto path = qgetenv("PATH");
        const auto nearLogin = to("orin");
        const auto farLogin = to("far");
        qputenv("PATH", m_sshd->at("nothing").c_str());
        config(fmt::format("Host orin\n HostName 127.0.0.1\n Port {}\nHost far\n ProxyJump gate\n", m_sshd->port()));
        const auto near = said(nearLogin);
        const auto far = said(farLogin);
        qputenv("PATH", path);
        QCOMPARE(near, std::string("in\n"));
        QCOMPARE(far, std::string("far is reached by ProxyJump, which needs the program ssh here, and it is not installed"));
    }
};

QTEST_GUILESS_MAIN(TestSshConfig)
#include "tst_sshconfig.moc"
