// SPDX-License-Identifier: Apache-2.0
//
// The SSH session against real OpenSSH servers on loopback, started here.

#include "tests/device/frozenserver.h"
#include "tests/device/peers.h"

#include "core/base/digest.h"
#include "core/base/files.h"
#include "core/device/ciphers.h"

#include <QElapsedTimer>

using namespace slipway;
using namespace std::chrono;

class TestSession : public QObject {
    Q_OBJECT

    std::unique_ptr<LocalSshd> m_sshd;
    Progress m_quiet;

    std::unique_ptr<Session> open(const Login &login) {
        auto session = slipway::connect(login, m_quiet);
        if (!session)
            qWarning("%s | %s", session.error().message.c_str(), session.error().hint.c_str());
        return session ? std::move(*session) : nullptr;
    }
    std::unique_ptr<Session> open() { return open(m_sshd->login()); }

    static std::string bytes(std::size_t count) {
        std::string text(count, '\0');
        std::uint32_t state = 12345;
        for (auto &c : text) {
            state = state * 1664525u + 1013904223u;
            c = char(state >> 24);
        }
        return text;
    }

private Q_SLOTS:
    void initTestCase() { m_sshd = std::make_unique<LocalSshd>(); }
    void cleanupTestCase() { m_sshd.reset(); }

    void runsACommandAndGivesItsStreamsAndStatus() {
        const auto session = open();
        QVERIFY(session);
        const auto finished = session->execute({.line = "cat; echo err >&2; exit 3", .input = "hello"}, m_quiet);
        QVERIFY2(finished, finished ? "" : finished.error().message.c_str());
        QCOMPARE(finished->output, std::string("hello"));
        QCOMPARE(finished->errors, std::string("err\n"));
        QCOMPARE(finished->exitCode, 3);
    }

    void theCipherSuitsTheBoardsProcessor_data() {
        QTest::addColumn<bool>("aes");
        QTest::newRow("with AES instructions") << true;
        QTest::newRow("without") << false;
    }
    void theCipherSuitsTheBoardsProcessor() {
        QFETCH(bool, aes);
        LocalSshd sshd({"LogLevel DEBUG1"});
        auto login = sshd.login();
        login.boardAes = aes;
        QVERIFY(open(login));
        const auto log = readFile(sshd.at("log")).value_or("");
        const auto order = cipherOrder(hasAesInstructions(), aes);
        const auto up = "kex: client->server cipher: " + order.up.substr(0, order.up.find(',')) + " ";
        const auto down = "kex: server->client cipher: " + order.down.substr(0, order.down.find(',')) + " ";
        QVERIFY2(log.find(up) != std::string::npos, log.c_str());
        QVERIFY2(log.find(down) != std::string::npos, log.c_str());
    }

    void aCommandKilledByASignalGives128PlusItsNumber() {
        const auto session = open();
        QVERIFY(session);
        QCOMPARE(session->execute({.line = "kill -9 $$"}, m_quiet)->exitCode, 137);
        QCOMPARE(session->execute({.line = "kill -SEGV $$"}, m_quiet)->exitCode, 139);
    }

    void wordsReachTheProgramAsTheyAre() {
        const auto session = open();
        QVERIFY(session);
        const auto finished = session->check({"printf", "%s|", "a b", "it's", "$HOME", "", "*"}, m_quiet);
        QVERIFY(finished);
        QCOMPARE(finished->output, std::string("a b|it's|$HOME||*|"));
    }

    void aFailedCheckCarriesCommandStatusAndErrors() {
        const auto session = open();
        QVERIFY(session);
        const auto failed = session->check({"sh", "-c", "echo no space >&2; exit 7"}, m_quiet);
        QVERIFY(!failed);
        QCOMPARE(failed.error().message, std::string("sh failed with exit status 7: no space"));
        QVERIFY(failed.error().detail.find("exit status: 7") != std::string::npos);
    }

    void sixtyFourMegabytesPassBothWaysUnchanged() {
        const auto session = open();
        QVERIFY(session);
        const auto data = bytes(64u << 20);
        QElapsedTimer timer;
        timer.start();
        const auto up = session->execute({.line = "sha256sum", .input = data}, m_quiet);
        qInfo("up with hash: %lld ms", timer.restart());
        QVERIFY(up);
        QCOMPARE(up->output.substr(0, 64), sha256(data));
        const auto both = session->execute({.line = "cat", .input = data}, m_quiet);
        qInfo("through cat: %lld ms", timer.restart());
        QVERIFY(both);
        QVERIFY(both->output == data);
    }

    void aHostThatCannotBeReachedSaysWhy_data() {
        QTest::addColumn<QString>("host");
        QTest::addColumn<QString>("text");
        QTest::newRow("refused") << "127.0.0.1"
                                 << "refused the connection: nothing listens on port";
        QTest::newRow("no such name") << "no-such-host.invalid"
                                      << "the name lookup of no-such-host.invalid";
    }
    void aHostThatCannotBeReachedSaysWhy() {
        QFETCH(QString, host);
        QFETCH(QString, text);
        auto login = m_sshd->login();
        login.device.host = host.toStdString();
        login.device.port = freePort();
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::unreachable);
        QVERIFY2(session.error().message.find(text.toStdString()) != std::string::npos,
                 session.error().message.c_str());
        QVERIFY(!session.error().hint.empty());
    }

    void packetsThatVanishTimeOut() {
        auto login = m_sshd->login();
        login.device.host = "192.0.2.1"; // TEST-NET-1 of RFC 5737: nobody is there
        login.connectTimeout = 700ms;
        QElapsedTimer timer;
        timer.start();
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::unreachable);
        QVERIFY(timer.elapsed() < 2500);
    }

    void whoIsNoSshServerIsNamed_data() {
        QTest::addColumn<QByteArray>("greeting");
        QTest::addColumn<bool>("hangsUp");
        QTest::addColumn<QString>("text");
        QTest::newRow("silent") << QByteArray() << false << "accepted the connection but said nothing";
        QTest::newRow("hangs up") << QByteArray() << true << "hung up before it said anything";
        QTest::newRow("web server") << QByteArray("HTTP/1.1 400 Bad Request\r\n\r\n") << false
                                    << "is not an SSH server: it sent \"HTTP/1.1 400 Bad Request";
        QTest::newRow("penalty") << QByteArray("Not allowed at this time\r\n") << true
                                 << "lets nobody in from this machine for now: too many logins failed before";
        QTest::newRow("noise") << QByteArray(2000, '\xe5') << false << "is not an SSH server";
        QTest::newRow("SSH, then noise") << QByteArray("SSH-2.0-x\r\n") + QByteArray(400, '\xff') << false
                                         << "the SSH connection to";
        QTest::newRow("SSH, then gone") << QByteArray("SSH-2.0-x\r\n") << true << "the SSH connection to";
        QTest::newRow("SSH, then silent") << QByteArray("SSH-2.0-x\r\n") << false << "did not answer in time";
    }
    void whoIsNoSshServerIsNamed() {
        QFETCH(QByteArray, greeting);
        QFETCH(bool, hangsUp);
        QFETCH(QString, text);
        Peer peer(Peer::says(greeting.toStdString(), hangsUp));
        auto login = m_sshd->login();
        login.device.port = peer.port();
        login.connectTimeout = 1200ms;
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::unreachable);
        QVERIFY2(session.error().message.find(text.toStdString()) != std::string::npos,
                 session.error().message.c_str());
    }

    void connectingToASilentHostIsCancelledAtOnce() {
        Peer peer(Peer::silent);
        auto login = m_sshd->login();
        login.device.port = peer.port();
        login.connectTimeout = 60s;
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        QElapsedTimer timer;
        std::jthread canceller([&] {
            while (peer.accepted() == 0)
                std::this_thread::yield();
            timer.start();
            stop.request_stop();
        });
        const auto session = slipway::connect(login, progress);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::cancelled);
    }

    void aSourceFeedsStdinAndItsErrorEndsTheCommand() {
        const auto session = open();
        QVERIFY(session);
        int left = 100;
        const auto source = [&](std::span<char> room) -> Result<std::size_t> {
            if (left-- == 0)
                return 0;
            std::fill_n(room.begin(), 1000, 'x');
            return 1000;
        };
        QCOMPARE(session->execute({.line = "wc -c", .source = source}, m_quiet)->output, std::string("100000\n"));
        const auto failing = [](std::span<char>) -> Result<std::size_t> { return slipway::fail("the disk is gone"); };
        const auto failed = session->execute({.line = "cat", .source = failing}, m_quiet);
        QVERIFY(!failed);
        QCOMPARE(failed.error().message, std::string("the disk is gone"));
        QVERIFY2(session->run({"true"}, m_quiet), "the session can be used after that");
    }

    void sinksGetTheStreamsInsteadOfTheResult() {
        const auto session = open();
        QVERIFY(session);
        std::string out;
        std::string err;
        const auto finished = session->execute({.line = "seq 5; echo e >&2",
                                                .output = [&](std::string_view bytes) { out += bytes; },
                                                .errors = [&](std::string_view bytes) { err += bytes; }},
                                               m_quiet);
        QVERIFY(finished);
        QCOMPARE(out, std::string("1\n2\n3\n4\n5\n"));
        QCOMPARE(err, std::string("e\n"));
        QVERIFY(finished->output.empty() && finished->errors.empty());
    }

    void aCommandThatDoesNotReadItsInputEnds() {
        const auto session = open();
        QVERIFY(session);
        const auto finished = session->execute({.line = "exit 5", .input = bytes(8u << 20)}, m_quiet);
        QVERIFY2(finished, finished ? "" : finished.error().message.c_str());
        QCOMPARE(finished->exitCode, 5);
    }

    void noProgressForLongerThanTheTimeoutIsAnError() {
        const auto session = open();
        QVERIFY(session);
        const auto finished = session->execute({.line = "sleep 60", .timeout = 300ms}, m_quiet);
        QVERIFY(!finished);
        QVERIFY2(finished.error().message.find("did nothing for 300 ms") != std::string::npos,
                 finished.error().message.c_str());
        QCOMPARE(session->run({"echo", "on"}, m_quiet)->output, std::string("on\n"));
    }

    void cancelEndsTheCommandAndTheSessionGoesOn() {
        const auto session = open();
        QVERIFY(session);
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        QElapsedTimer timer;
        const auto finished = session->execute({.line = "echo started; exec sleep 600",
                                                .output =
                                                    [&](std::string_view) {
                                                        timer.start();
                                                        stop.request_stop();
                                                    }},
                                               progress);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::cancelled);
        QCOMPARE(session->run({"echo", "on"}, m_quiet)->output, std::string("on\n"));
    }

    void cancelWorksWhileTheServerIsFrozen_data() {
        QTest::addColumn<QString>("line");
        QTest::newRow("receiving") << "cat /dev/zero";
        QTest::newRow("sending") << "exec cat >/dev/null";
    }
    void cancelWorksWhileTheServerIsFrozen() {
        QFETCH(QString, line);
        FrozenServer server;
        const auto session = open(server.sshd().login());
        QVERIFY(session);
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        const auto finished = server.execute(*session, line.toStdString(), progress, [&] { stop.request_stop(); });
        QVERIFY(server.elapsed() < 1000);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::cancelled);
        const auto after = session->run({"true"}, m_quiet);
        QVERIFY(!after);
        QCOMPARE(after.error().kind, ErrorKind::unreachable);
    }

    void aConnectionThatDropsInATransferIsAnErrorNotAnEnd() {
        const auto session = open();
        QVERIFY(session);
        const auto finished =
            session->execute({.line = "head -c 3000000; kill -9 $PPID", .input = bytes(8u << 20)}, m_quiet);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::unreachable);
        QVERIFY2(finished.error().message.find("was lost") != std::string::npos, finished.error().message.c_str());
        const auto after = session->run({"true"}, m_quiet);
        QVERIFY(!after);
        auto again = session->again(m_quiet);
        QVERIFY(again);
        QCOMPARE((*again)->run({"echo", "back"}, m_quiet)->output, std::string("back\n"));
    }

    void aQuietCommandOnALivingServerIsNotTakenForDead() {
        const auto session = open();
        QVERIFY(session);
        const auto finished = session->execute({.line = "sleep 12; echo done"}, m_quiet);
        QVERIFY2(finished, finished ? "" : finished.error().message.c_str());
        QCOMPARE(finished->output, std::string("done\n"));
    }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
