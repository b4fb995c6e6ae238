// SPDX-License-Identifier: Apache-2.0
//
// The SSH session against real OpenSSH servers on loopback, started here.

#include "tests/device/localsshd.h"

#include "core/base/digest.h"

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
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
