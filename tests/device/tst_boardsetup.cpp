// SPDX-License-Identifier: Apache-2.0
//
// Set-up help: keys made and installed, boards found, boards recognised again.

#include "tests/device/localsshd.h"

#include "core/base/files.h"
#include "core/device/discover.h"
#include "core/device/identity.h"
#include "core/device/keysetup.h"

#include <sys/stat.h>

using namespace slipway;

class TestBoardSetup : public QObject {
    Q_OBJECT

    Progress m_quiet;

    static mode_t modeOf(const fs::path &file) {
        struct stat info {};
        ::stat(file.c_str(), &info);
        return info.st_mode & 0777;
    }
    /// A board whose home is a directory of the test's; its server reads that home's authorized_keys.
    struct Board {
        LocalSshd sshd;
        fs::path home;

        Board()
            : sshd({"PermitUserRC no"}) {
            home = sshd.at("board");
            fs::create_directories(home / ".ssh");
            fs::create_symlink(sshd.at("authorized_keys"), home / ".ssh/authorized_keys");
        }
    };

private Q_SLOTS:
    void aKeyIsMadeOnceAndPrivate() {
        QTemporaryDir directory;
        const auto file = fs::path(directory.path().toStdString()) / "new/key";
        QVERIFY(createKey(file, "me@here", m_quiet));
        QCOMPARE(modeOf(file), mode_t(0600));
        const auto line = publicKeyLine(file, m_quiet);
        QVERIFY(line && line->starts_with("ssh-ed25519 AAAA") && line->ends_with(" me@here"));
        fs::remove(file.string() + ".pub");
        QVERIFY2(publicKeyLine(file, m_quiet)->starts_with("ssh-ed25519 AAAA"), "derived from the private half");
        const auto again = createKey(file, "me@here", m_quiet);
        QVERIFY(!again);
        QVERIFY(again.error().message.ends_with("exists already: it is not overwritten"));
    }

    void aKeyIsInstalledOnceWithTheRightModesAndProved() {
        Board board;
        const auto login = board.sshd.login();
        const auto opened = slipway::connect(login, m_quiet);
        QVERIFY(opened);
        auto &session = **opened;
        // The session's HOME, as if the account's home were there.
        const auto key = board.sshd.home() / "board_key";
        QVERIFY(createKey(key, "x", m_quiet));
        QVERIFY2(!proveKey(login, key, m_quiet), "not before it is installed, whatever other keys there are");
        struct WithHome final : Session {
            Session &inner;
            std::string home;
            WithHome(Session &session, std::string where)
                : inner(session)
                , home(std::move(where)) {}
            Result<Finished> execute(const RemoteCommand &command, Progress &progress) override {
                auto changed = command;
                changed.line = "HOME=" + shellQuote(home) + "; export HOME; " + command.line;
                return inner.execute(changed, progress);
            }
            std::string fingerprint() const override { return {}; }
            Result<std::unique_ptr<Session>> again(Progress &progress) override { return inner.again(progress); }
        } there(session, board.home.string());
        auto before = *readFile(board.sshd.at("authorized_keys"));
        before.pop_back(); // a hand-made file may lack its last line end
        QVERIFY(writeFileAtomically(board.sshd.at("authorized_keys"), before, 0664));
        ::chmod((board.home / ".ssh").c_str(), 0775);
        const auto line = *publicKeyLine(key, m_quiet);
        const auto first = installKey(there, line, m_quiet);
        QVERIFY2(first, first ? "" : first.error().message.c_str());
        QVERIFY(*first);
        QCOMPARE(*readFile(board.sshd.at("authorized_keys")), before + "\n" + line + "\n");
        QCOMPARE(modeOf(board.home / ".ssh"), mode_t(0755));
        QCOMPARE(modeOf(board.sshd.at("authorized_keys")), mode_t(0644));
        QVERIFY(fs::is_symlink(board.home / ".ssh/authorized_keys"));
        QCOMPARE(*installKey(there, line, m_quiet), false);
        QCOMPARE(*readFile(board.sshd.at("authorized_keys")), before + "\n" + line + "\n");
        const auto proved = proveKey(login, key, m_quiet);
        QVERIFY2(proved, proved ? "" : proved.error().message.c_str());
        WithHome fresh(session, board.sshd.at("fresh").string());
        QVERIFY2(!installKey(fresh, line, m_quiet), "there is no such home");
        fs::create_directories(board.sshd.at("fresh"));
        QVERIFY(*installKey(fresh, line, m_quiet));
        QCOMPARE(modeOf(board.sshd.at("fresh/.ssh")), mode_t(0700));
        QCOMPARE(modeOf(board.sshd.at("fresh/.ssh/authorized_keys")), mode_t(0600));
    }

    void whatAvahiListsIsReadOnce() {
        const auto found = parseAvahi("+;eth0;IPv4;orin;_ssh._tcp;local\n"
                                      "=;eth0;IPv6;Orin\\032Nano;_ssh._tcp;local;orin.local;fe80::1;22;\n"
                                      "=;eth0;IPv4;Orin\\032Nano;_ssh._tcp;local;orin.local;192.168.1.5;22;\"a;b\"\n"
                                      "=;eth0;IPv4;thor;_ssh._tcp;local;thor.local;192.168.1.6;2222;\n=;broken\n");
        QCOMPARE(found.size(), std::size_t(2));
        QCOMPARE(found[0].name, std::string("Orin Nano"));
        QCOMPARE(found[0].address, std::string("orin.local"));
        QCOMPARE(found[0].port, 0);
        QCOMPARE(found[1].port, 2222);
    }

    void discoveryListsTheConfigurationsHosts() {
        QTemporaryDir home;
        const auto at = fs::path(home.path().toStdString());
        fs::create_directories(at / ".ssh");
        QVERIFY(writeFileAtomically(at / ".ssh/config", "Host orin thor\nHost *\n"));
        const auto found = discoverBoards(at, m_quiet);
        QVERIFY(found && found->size() >= 2);
        QCOMPARE(found->at(0).address, std::string("orin"));
        QCOMPARE(found->at(1).source, std::string("~/.ssh/config"));
    }

    void boardsAreToldApart_data() {
        QTest::addColumn<QString>("knownId");
        QTest::addColumn<QString>("knownSerial");
        QTest::addColumn<QString>("id");
        QTest::addColumn<QString>("serial");
        QTest::addColumn<int>("seen");
        QTest::addColumn<QString>("text");
        QTest::newRow("first time") << "" << "" << "a" << "1" << int(SeenAs::first) << "";
        QTest::newRow("the same") << "a" << "1" << "a" << "1" << int(SeenAs::same) << "";
        QTest::newRow("the same, no serial") << "a" << "" << "a" << "1" << int(SeenAs::same) << "";
        QTest::newRow("reflashed") << "a" << "1" << "b" << "1" << int(SeenAs::reflashed)
                                   << "nano was reflashed: the same board (serial number 1) with a new system";
        QTest::newRow("another") << "a" << "1" << "b" << "2" << int(SeenAs::another) << "another board answers as nano: serial number 2, the last time 1";
        QTest::newRow("another with a copied card") << "a" << "1" << "a" << "2" << int(SeenAs::another)
                                                    << "another board answers as nano: serial number 2, the last time 1";
        QTest::newRow("no serial") << "a" << "" << "b" << "" << int(SeenAs::unclear)
                                   << "nano is another board, or was reflashed: its machine id is not that of the last time";
        QTest::newRow("accepted as reflashed") << "" << "1" << "b" << "1" << int(SeenAs::same) << "";
    }
    void boardsAreToldApart() {
        QFETCH(QString, knownId);
        QFETCH(QString, knownSerial);
        QFETCH(QString, id);
        QFETCH(QString, serial);
        QFETCH(int, seen);
        QFETCH(QString, text);
        const Device device{.name = "nano", .machineId = knownId.toStdString(), .serial = knownSerial.toStdString()};
        BoardFacts facts;
        facts.machineId = id.toStdString();
        if (!serial.isEmpty())
            facts.serial = serial.toStdString();
        QCOMPARE(int(seenAs(device, facts)), seen);
        QCOMPARE(seenText(SeenAs(seen), device, facts), text.toStdString());
        QCOMPARE(seenFix(SeenAs(seen), device).empty(), text.isEmpty());
    }
};

QTEST_GUILESS_MAIN(TestBoardSetup)
#include "tst_boardsetup.moc"
