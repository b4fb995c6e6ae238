// SPDX-License-Identifier: Apache-2.0
//
// Every kind of key that opens a board or that a board shows, against real OpenSSH servers on loopback: types, locked keys, the
// agent, certificates, and servers that know one kind only.

#include "tests/device/agent.h"
#include "tests/device/localsshd.h"
#include "tests/device/peers.h"

#include "core/base/files.h"
#include "core/base/text.h"

#include <pwd.h>

using namespace slipway;

class TestKeys : public QObject {
    Q_OBJECT

    Progress m_quiet;

    /// What a command says over a new session, or why there is none.
    QString said(const Login &login) {
        const auto session = slipway::connect(login, m_quiet);
        if (!session)
            return QString::fromStdString(session.error().message);
        return QString::fromStdString((*session)->run({"echo", "in"}, m_quiet).value_or(Finished{}).output);
    }
    /// Makes `key` and its certificate by an authority that the server trusts; the key itself is not on its list.
    static void certify(const LocalSshd &sshd, const std::string &key, const std::string &valid, const std::string &passphrase = {}) {
        sshd.makeKey(key, "ed25519", passphrase);
        runTool("ssh-keygen", {"-q", "-s", sshd.at("authority").string(), "-I", "test", "-n", ::getpwuid(::getuid())->pw_name, "-V", valid,
                               sshd.at(key + ".pub").string()});
    }
    struct Certified {
        QTemporaryDir directory;
        fs::path authority;
        std::unique_ptr<LocalSshd> sshd;

        /// A server that trusts an authority, and no key of the client.
        Certified() {
            authority = fs::path(directory.path().toStdString()) / "authority";
            runTool("ssh-keygen", {"-q", "-t", "ed25519", "-N", "", "-f", authority.string()});
            sshd = std::make_unique<LocalSshd>(std::vector<std::string>{"TrustedUserCAKeys " + authority.string() + ".pub"});
            fs::copy_file(authority, sshd->at("authority"));
            fs::permissions(sshd->at("authority"), fs::perms::owner_read);
            fs::remove(sshd->home() / ".ssh/id_ed25519");
            fs::remove(sshd->at("authorized_keys"));
            std::ofstream(sshd->at("authorized_keys")) << "";
        }
    };

private Q_SLOTS:
    void everyKindOfKeyOpens_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("how");
        for (const char *type : {"ed25519", "ecdsa", "rsa"})
            for (const char *how : {"file", "locked", "agent"})
                QTest::addRow("%s, %s", type, how) << type << how;
    }
    void everyKindOfKeyOpens() {
        QFETCH(QString, type);
        QFETCH(QString, how);
        LocalSshd sshd;
        const bool locked = how == "locked";
        fs::remove(sshd.home() / ".ssh/id_ed25519");
        sshd.makeKey("home/key", type.toStdString(), locked ? "open sesame" : "");
        fs::copy_file(sshd.home() / "key.pub", sshd.at("authorized_keys"), fs::copy_options::overwrite_existing);
        auto login = sshd.login();
        const auto key = sshd.home() / "key";
        std::optional<Agent> agent;
        if (how == "agent") {
            agent.emplace(sshd.at("agent"));
            agent->add(key);
            fs::remove(key);
            login.useAgent = true;
            login.agentSocket = sshd.at("agent");
        } else {
            login.device.identity = key.string();
        }
        if (locked) {
            QCOMPARE(said(login), QString::fromStdString("the key " + key.string() + " is locked by a passphrase"));
            login.passphrases[key.string()] = Secret("open sesame");
        }
        QCOMPARE(said(login), QString("in\n"));
    }

    void aServerThatKnowsOneKindOfHostKeyIsTrustedByIt_data() {
        QTest::addColumn<QString>("type");
        QTest::addColumn<QString>("algorithm");
        QTest::newRow("ed25519 only") << "ed25519" << "ssh-ed25519";
        QTest::newRow("rsa only, SHA-512") << "rsa" << "rsa-sha2-512";
        QTest::newRow("rsa only, SHA-256") << "rsa" << "rsa-sha2-256";
        QTest::newRow("ecdsa only") << "ecdsa" << "ecdsa-sha2-nistp256";
    }
    void aServerThatKnowsOneKindOfHostKeyIsTrustedByIt() {
        QFETCH(QString, type);
        QFETCH(QString, algorithm);
        QTemporaryDir directory;
        const auto file = directory.filePath("host").toStdString();
        runTool("ssh-keygen", {"-q", "-t", type.toStdString(), "-N", "", "-f", file});
        LocalSshd sshd({"HostKey " + file, "HostKeyAlgorithms " + algorithm.toStdString()});
        auto login = sshd.login(false);
        const auto asked = slipway::connect(login, m_quiet);
        QVERIFY(!asked);
        QCOMPARE(asked.error().kind, ErrorKind::hostKeyUnknown);
        const auto shown = runTool("ssh-keygen", {"-lf", file + ".pub"});
        QVERIFY2(shown.find(asked.error().detail) != std::string::npos, asked.error().detail.c_str());
        login.acceptFingerprint = asked.error().detail;
        QCOMPARE(said(login), QString("in\n"));
        login.acceptFingerprint.clear();
        QCOMPARE(said(login), QString("in\n")); // it is known now
    }

    void aServerThatTakesOneRsaSignatureOnlyIsSatisfied_data() {
        QTest::addColumn<QString>("takes");
        QTest::addColumn<QString>("config"); ///< of the user, who has told ssh the same
        QTest::addColumn<QString>("how");
        const auto told = [](const char *what) { return QString("Host *\n PubkeyAcceptedAlgorithms %1\n").arg(what); };
        QTest::newRow("SHA-512, file") << "rsa-sha2-512" << "" << "file";
        QTest::newRow("SHA-256, file, not told") << "rsa-sha2-256" << "" << "file"; // ssh gives up here
        QTest::newRow("SHA-256, file") << "rsa-sha2-256" << told("rsa-sha2-256") << "file";
        QTest::newRow("SHA-256, locked") << "rsa-sha2-256" << told("^rsa-sha2-256") << "locked";
        QTest::newRow("SHA-256, PEM") << "rsa-sha2-256" << told("-rsa-sha2-512") << "PEM";
        QTest::newRow("SHA-256, agent") << "rsa-sha2-256" << told("rsa-sha2-256") << "agent";
        QTest::newRow("SHA-256 first, agent") << "rsa-sha2-256" << told("rsa-sha2-256,rsa-sha2-512") << "agent";
        QTest::newRow("SHA-512, agent") << "rsa-sha2-512" << "" << "agent";
        QTest::newRow("SHA-1, allowed, file") << "ssh-rsa" << told("+ssh-rsa") << "file"; // ssh needs ^ssh-rsa
        QTest::newRow("SHA-1, allowed, agent") << "ssh-rsa" << told("^ssh-rsa") << "agent";
    }
    void aServerThatTakesOneRsaSignatureOnlyIsSatisfied() {
        QFETCH(QString, takes);
        QFETCH(QString, config);
        QFETCH(QString, how);
        LocalSshd sshd({"PubkeyAcceptedAlgorithms " + takes.toStdString(), "MaxAuthTries 3"});
        fs::remove(sshd.home() / ".ssh/id_ed25519");
        const auto key = (sshd.home() / ".ssh/id_rsa").string();
        sshd.makeKey("home/.ssh/id_rsa", "rsa", how == "locked" ? "open sesame" : "");
        sshd.allow("home/.ssh/id_rsa");
        if (how == "PEM")
            runTool("ssh-keygen", {"-q", "-p", "-m", "PEM", "-N", "", "-f", key});
        QVERIFY(writeFileAtomically(sshd.home() / ".ssh/config", config.toStdString()));
        auto login = sshd.login();
        login.passphrases[key] = Secret("open sesame");
        std::optional<Agent> agent;
        if (how == "agent") {
            agent.emplace(sshd.at("agent"));
            agent->add(key);
            fs::remove(key);
            login.useAgent = true;
            login.agentSocket = sshd.at("agent");
        }
        QCOMPARE(said(login), QString("in\n"));
    }

    void anRsaKeyThatTheUsersConfigurationForbidsIsSaidSo_data() {
        QTest::addColumn<QString>("config");
        QTest::addColumn<QString>("why");
        QTest::newRow("other algorithms") << "PubkeyAcceptedAlgorithms ssh-ed25519" << " (not among your PubkeyAcceptedAlgorithms)";
        QTest::newRow("too short") << "RequiredRSASize 4096" << " (shorter than your RequiredRSASize)";
    }
    void anRsaKeyThatTheUsersConfigurationForbidsIsSaidSo() {
        QFETCH(QString, config);
        QFETCH(QString, why);
        LocalSshd sshd;
        sshd.makeKey("home/key", "rsa");
        fs::copy_file(sshd.home() / "key.pub", sshd.at("authorized_keys"), fs::copy_options::overwrite_existing);
        QVERIFY(writeFileAtomically(sshd.home() / ".ssh/config", "Host *\n IdentitiesOnly yes\n " + config.toStdString() + "\n"));
        auto login = sshd.login();
        login.device.identity = (sshd.home() / "key").string();
        QCOMPARE(said(login), QString::fromStdString(fmt::format("{}@127.0.0.1:{} let nobody in: it accepts publickey; offered: {}{}",
                                                                 ::getpwuid(::getuid())->pw_name, sshd.port(), login.device.identity, why.toStdString())));
    }

    void aShortRsaKeyThatSshTakesIsTaken() {
        LocalSshd sshd;
        const auto key = (sshd.home() / "key").string();
        runTool("ssh-keygen", {"-q", "-t", "rsa", "-b", "1024", "-N", "", "-f", key});
        fs::copy_file(key + ".pub", sshd.at("authorized_keys"), fs::copy_options::overwrite_existing);
        auto login = sshd.login();
        login.device.identity = key;
        QCOMPARE(said(login), QString("in\n"));
    }

    void aServerThatTakesShaOneOnlyIsNamedWithTheWayOut() {
        LocalSshd keys;
        keys.makeKey("home/.ssh/id_rsa", "rsa");
        fs::remove(keys.home() / ".ssh/id_ed25519");
        PasswordServer server(keys.at("host_ed25519"), SSH_AUTH_METHOD_PUBLICKEY);
        server.signatures = "ssh-rsa";
        Peer peer([&](int descriptor, const std::stop_token &stop) { server.talk(descriptor, stop); });
        auto login = keys.login();
        login.device.port = peer.port();
        login.device.identity = (keys.home() / ".ssh/id_rsa").string();
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY(!session);
        const auto part = "offered: " + login.device.identity + " (RSA, of which the server takes SHA-1 signatures only)";
        QVERIFY2(session.error().message.find(part) != std::string::npos, session.error().message.c_str());
        QCOMPARE(session.error().hint, std::string("use an ed25519 key (ssh-keygen -t ed25519), or update the board's SSH server; "
                                                   "PubkeyAcceptedAlgorithms +ssh-rsa in ~/.ssh/config allows SHA-1"));
    }

    void aServerOfYesterdayIsNamedWithBothLists() {
        QTemporaryDir directory;
        const auto file = directory.filePath("host").toStdString();
        runTool("ssh-keygen", {"-q", "-t", "rsa", "-N", "", "-f", file});
        LocalSshd sshd({"HostKey " + file, "HostKeyAlgorithms ssh-rsa"}); // signs with SHA-1 only
        const auto session = slipway::connect(sshd.login(), m_quiet);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::unreachable);
        const auto start = fmt::format("127.0.0.1:{} and this computer have no algorithm in common: no match for method server host key algo: "
                                       "server [ssh-rsa], client [", sshd.port());
        QVERIFY2(session.error().message.starts_with(start), session.error().message.c_str());
        QCOMPARE(session.error().hint, std::string("update the SSH server of the board, or allow one of the server's algorithms in ~/.ssh/config"));
    }

    void aCertificateOpensWhereTheKeyAloneIsUnknown_data() {
        QTest::addColumn<QString>("place");
        QTest::newRow("beside the key") << "beside";
        QTest::newRow("CertificateFile") << "configured";
        QTest::newRow("in the agent") << "agent";
    }
    void aCertificateOpensWhereTheKeyAloneIsUnknown() {
        QFETCH(QString, place);
        Certified to;
        certify(*to.sshd, "home/key", "-5m:+1h");
        const auto home = to.sshd->home();
        auto login = to.sshd->login();
        std::string config = fmt::format("Host *\n IdentityFile {}\n", (home / "key").string());
        std::optional<Agent> agent;
        if (place == "configured") {
            fs::rename(home / "key-cert.pub", home / "given.pub");
            config += fmt::format(" CertificateFile {}\n", (home / "given.pub").string());
        } else if (place == "agent") {
            agent.emplace(to.sshd->at("agent"));
            agent->add(home / "key"); // ssh-add takes the certificate with it
            fs::remove(home / "key");
            fs::remove(home / "key-cert.pub");
            login.useAgent = true;
            login.agentSocket = to.sshd->at("agent");
        }
        QVERIFY(writeFileAtomically(home / ".ssh/config", config));
        QCOMPARE(said(login), QString("in\n"));
        QVERIFY(readFile(to.sshd->at("log")).value_or("").find("Accepted certificate ID \"test\"") != std::string::npos ||
                readFile(to.sshd->at("log")).value_or("").find("ID test") != std::string::npos);
    }

    void aLockedKeyWithACertificateIsAskedFor() {
        Certified to;
        certify(*to.sshd, "home/key", "-5m:+1h", "open sesame");
        auto login = to.sshd->login();
        const auto key = (to.sshd->home() / "key").string();
        login.device.identity = key;
        QCOMPARE(said(login), QString::fromStdString("the key " + key + " is locked by a passphrase"));
        login.passphrases[key] = Secret("open sesame");
        QCOMPARE(said(login), QString("in\n"));
    }

    void aCertificateThatIsOverIsNamedAmongWhatWasOffered() {
        Certified to;
        certify(*to.sshd, "home/key", "-2h:-1h");
        auto login = to.sshd->login();
        const auto key = (to.sshd->home() / "key").string();
        login.device.identity = key;
        QCOMPARE(said(login), QString::fromStdString(fmt::format("{}@127.0.0.1:{} let nobody in: it accepts publickey; offered: the certificate {}-cert.pub, {}",
                                                                 ::getpwuid(::getuid())->pw_name, to.sshd->port(), key, key)));
    }
};

QTEST_GUILESS_MAIN(TestKeys)
#include "tst_keys.moc"
