// SPDX-License-Identifier: Apache-2.0
//
// `slipway device …` from the command line, against a real sshd on loopback with a home of the test's: trust, authorize,
// discover, test, watch, list, add, remove.

#include "tests/app/commandline.h"
#include "tests/device/localsshd.h"

#include "core/base/files.h"

#include <sys/stat.h>

using namespace slipway;

class TestBoards : public QObject {
    Q_OBJECT

    std::unique_ptr<CommandLine> m_cli;
    std::unique_ptr<QTemporaryDir> m_board; ///< the board's home
    std::unique_ptr<LocalSshd> m_sshd;

    [[nodiscard]] QString address() const { return QString("%1@127.0.0.1:%2").arg(qEnvironmentVariable("USER", "root")).arg(m_sshd->port()); }
    [[nodiscard]] std::string where() const { return fmt::format("127.0.0.1:{}", m_sshd->port()); }
    [[nodiscard]] QString fingerprint() const { return QString::fromStdString(m_sshd->hostFingerprint()); }
    [[nodiscard]] std::string knownHosts() const { return readFile(m_sshd->home() / ".ssh/known_hosts").value_or(""); }
    [[nodiscard]] Json devices() const { return m_cli->run({"device", "list", "--json"}).json()["devices"]; }
    /// Restarts the server with another host key, as a reflashed board has.
    void reflash() {
        m_sshd->stop();
        m_sshd->makeKey("host_ed25519", "ed25519");
        m_sshd->start();
    }
    void addTrusted() {
        QCOMPARE(m_cli->run({"device", "add", "lab", address()}).code, 0);
        QCOMPARE(m_cli->run({"device", "trust", "lab", "--fingerprint", fingerprint()}).code, 0);
    }

private Q_SLOTS:
    void init() {
        m_board = std::make_unique<QTemporaryDir>();
        const auto home = m_board->path().toStdString();
        m_sshd = std::make_unique<LocalSshd>(std::vector<std::string>{"SetEnv HOME=" + home});
        fs::create_directories(fs::path(home) / ".ssh");
        fs::create_symlink(m_sshd->at("authorized_keys"), fs::path(home) / ".ssh/authorized_keys");
        m_cli = std::make_unique<CommandLine>();
        m_cli->setVariable("HOME", QString::fromStdString(m_sshd->home().string()));
    }
    void cleanup() {
        m_cli.reset();
        m_sshd.reset();
    }

    void aDeviceIsAddedListedAndRemoved() {
        QCOMPARE(m_cli->run({"device", "list"}).errors, QByteArray("no devices yet; add one with: slipway device add NAME USER@HOST\n"));
        const auto added = m_cli->run({"device", "add", "lab", "nvidia@[fe80::1%usb0]:2222", "--target", "jetson-orin-nano"});
        QCOMPARE(added.code, 0);
        QCOMPARE(added.errors, QByteArray("added lab; next: slipway device test lab\n"));
        QCOMPARE(devices().dump(), std::string(R"([{"name":"lab","host":"fe80::1%usb0","port":2222,"user":"nvidia","target":"jetson-orin-nano"}])"));
        const auto table = m_cli->run({"device", "list"}).output;
        QVERIFY2(table.contains("lab") && table.contains("jetson-orin-nano") && table.contains("never"), table.constData());
        QCOMPARE(m_cli->run({"device", "remove", "lab"}).errors, QByteArray("removed lab\n"));
        QCOMPARE(devices().size(), std::size_t(0));
        const auto again = m_cli->run({"device", "remove", "lab"});
        QVERIFY(again.code != 0);
        QVERIFY2(again.errorLine().contains("lab"), again.errors.constData());
    }

    void addRefusesWhatCannotBe() {
        const auto both = m_cli->run({"device", "add", "lab", "orin", "--create-key", "--identity", "/k"});
        QCOMPARE(both.code, 2);
        QCOMPARE(both.errorLine(), QByteArray("--create-key and --identity exclude each other"));
        const auto noKey = m_cli->run({"device", "add", "lab", "orin", "--identity", "/no/such/key"});
        QCOMPARE(noKey.code, 2);
        QCOMPARE(noKey.errorLine(), QByteArray("the key /no/such/key does not exist"));
        QCOMPARE(devices().size(), std::size_t(0));
    }

    void anUnknownHostKeyIsTrustedByItsFingerprintOnly() {
        QCOMPARE(m_cli->run({"device", "add", "lab", address()}).code, 0);
        const auto asked = m_cli->run({"device", "trust", "lab"});
        QCOMPARE(asked.code, 1);
        QCOMPARE(asked.errorLine(), QByteArray::fromStdString(fmt::format("lab: the host key of {} is not known yet: ssh-ed25519 {}", where(), m_sshd->hostFingerprint())));
        QVERIFY2(asked.errors.contains(("slipway device trust lab --fingerprint " + fingerprint()).toUtf8()), asked.errors.constData());
        const auto wrong = m_cli->run({"device", "trust", "lab", "--fingerprint", "SHA256:wrong"});
        QCOMPARE(wrong.code, 1);
        QCOMPARE(wrong.errorLine(), ("lab presents " + fingerprint() + ", not SHA256:wrong: nothing was changed").toUtf8());
        QCOMPARE(knownHosts(), std::string());
        const auto right = m_cli->run({"device", "trust", "lab", "--fingerprint", fingerprint()});
        QCOMPARE(right.code, 0);
        QCOMPARE(right.errors, QByteArray("lab is trusted\n"));
        QVERIFY(knownHosts().starts_with(fmt::format("[127.0.0.1]:{} ssh-ed25519 ", m_sshd->port())));
        QCOMPARE(m_cli->run({"device", "trust", "lab"}).code, 0);
    }

    void aChangedHostKeyStopsAndIsReplacedOnlyWhenToldSo() {
        addTrusted();
        const auto old = fingerprint();
        reflash();
        const auto stopped = m_cli->run({"device", "facts", "lab"});
        QCOMPARE(stopped.code, 1);
        QVERIFY2(stopped.errorLine().startsWith(QByteArray::fromStdString(fmt::format("lab: the host key of {} has changed: known {}", where(), old.toStdString()))),
                 stopped.errors.constData());
        QVERIFY2(stopped.errorLine().endsWith((", presented " + fingerprint()).toUtf8()), stopped.errors.constData());
        QVERIFY2(stopped.errors.contains("the board was reflashed (usual), another board has this address now, or someone is in between"), stopped.errors.constData());
        const auto before = knownHosts();
        QCOMPARE(m_cli->run({"device", "trust", "lab", "--fingerprint", fingerprint()}).code, 1); // not without --replace
        QCOMPARE(knownHosts(), before);
        QCOMPARE(m_cli->run({"device", "trust", "lab", "--replace", "--fingerprint", fingerprint()}).code, 0);
        QVERIFY(knownHosts() != before);
        QCOMPARE(m_cli->run({"device", "facts", "lab"}).code, 0);
    }

    void authorizeMakesAKeyInstallsItOnceAndProvesIt() {
        addTrusted();
        const auto first = m_cli->run({"device", "authorize", "lab"});
        QVERIFY2(first.code == 0, first.errors.constData());
        const auto key = m_sshd->home() / ".ssh/slipway_lab";
        QVERIFY2(first.errors.contains(QByteArray::fromStdString("lab: the key " + key.string() + " is installed and opens it; next: slipway device test lab\n")),
                 first.errors.constData());
        const auto keys = readFile(m_sshd->at("authorized_keys")).value_or("");
        const auto line = readFile(key.string() + ".pub").value_or("?");
        QVERIFY(keys.ends_with(line));
        QCOMPARE(devices()[0]["identity"].get<std::string>(), key.string());
        const auto second = m_cli->run({"device", "authorize", "lab"});
        QVERIFY2(second.errors.contains("was installed already and opens it"), second.errors.constData());
        QCOMPARE(readFile(m_sshd->at("authorized_keys")).value_or(""), keys);
        fs::remove(m_sshd->home() / ".ssh/id_ed25519"); // the new one is enough
        QCOMPARE(m_cli->run({"device", "facts", "lab"}).code, 0);
    }

    void testSaysEveryItemAndAVerdict() {
        QCOMPARE(m_cli->run({"device", "add", "lab", address()}).code, 0);
        const auto before = m_cli->run({"device", "test", "lab"});
        QCOMPARE(before.code, 1);
        QVERIFY2(before.output.startsWith("pass     reachable: 127.0.0.1 answers\nfail     host key: "), before.output.constData());
        QVERIFY2(before.output.contains("skipped  login: not tried: there is no login\n"), before.output.constData());
        QVERIFY2(before.output.endsWith("\nlab needs attention\n"), before.output.constData());
        QCOMPARE(m_cli->run({"device", "trust", "lab", "--fingerprint", fingerprint()}).code, 0);
        const auto after = m_cli->run({"device", "test", "lab", "--json"}).json();
        QStringList items;
        for (const auto &item : after["items"])
            items << QString::fromStdString(item["id"].get<std::string>() + " " + item["status"].get<std::string>());
        // Of this machine: /opt and the driver differ; the rest is the same everywhere.
        QCOMPARE(items.mid(0, 4), (QStringList{"reachable pass", "host key pass", "login pass", "write access pass"}));
        for (const char *good : {"quiet shell pass", "tools pass", "clock pass"})
            QVERIFY2(items.contains(good), qPrintable(items.join(", ")));
        QCOMPARE(items.size(), 11);
        QCOMPARE(after["device"].get<std::string>(), std::string("lab"));
        QVERIFY(after["good"].is_boolean());
    }

    void discoverListsTheHostsOfTheConfiguration() {
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/config", "Include more\nHost orin thor\nHost *.lab !x\n"));
        QVERIFY(writeFileAtomically(m_sshd->home() / ".ssh/more", "Host spark\n"));
        const auto hosts = m_cli->run({"device", "discover", "--json"}).json()["hosts"];
        QStringList names;
        for (const auto &host : hosts)
            if (host["source"] == "~/.ssh/config")
                names << QString::fromStdString(host["name"]);
        QCOMPARE(names, (QStringList{"spark", "orin", "thor"}));
        QVERIFY(m_cli->run({"device", "discover"}).output.startsWith("NAME"));
    }

    void watchShowsSamplesAndEnds() {
        addTrusted();
        const auto watched = m_cli->run({"device", "watch", "lab", "--count", "2", "--json"});
        QVERIFY2(watched.code == 0, watched.errors.constData());
        QCOMPARE(watched.json()["samples"].size(), std::size_t(2));
        QVERIFY(watched.json()["samples"][1].contains("cpu_percent"));
        const auto endless = m_cli->run({"device", "watch", "lab", "--json"});
        QCOMPARE(endless.code, 2);
        QCOMPARE(endless.errorLine(), QByteArray("--json prints one document: needed --count N"));
    }

    void nothingSecretIsOnTheDisk() {
        addTrusted();
        QCOMPARE(m_cli->run({"device", "authorize", "lab"}).code, 0);
        const auto file = m_cli->path("config/slipway/devices.json").toStdString();
        struct stat info {};
        QCOMPARE(::stat(file.c_str(), &info), 0);
        QCOMPARE(info.st_mode & 0777, mode_t(0600));
        const auto text = readFile(file).value_or("");
        for (const char *word : {"password", "passphrase", "PRIVATE KEY", "secret"})
            QVERIFY2(text.find(word) == std::string::npos, word);
    }
};

QTEST_GUILESS_MAIN(TestBoards)
#include "tst_boards.moc"
