// SPDX-License-Identifier: Apache-2.0
//
// rsync over the session that is open already: one login, names as they are, and every way in which it can break.

#include "tests/device/localsshd.h"

#include "core/base/files.h"
#include "core/device/rsyncbridge.h"

#include <QElapsedTimer>

#include <csignal>
#include <sys/stat.h>

using namespace slipway;
using namespace std::chrono;

class TestRsyncBridge : public QObject {
    Q_OBJECT

    std::unique_ptr<LocalSshd> m_sshd;
    std::unique_ptr<Session> m_session;
    Progress m_quiet;

    static RsyncRun rsync(std::vector<std::string> arguments) {
        return {.rsync = "rsync", .rsh = fs::path(SLIPWAY_BIN_DIR) / "slipway-rsh", .arguments = std::move(arguments)};
    }
    [[nodiscard]] std::size_t logins() const {
        const auto log = readFile(m_sshd->at("log")).value_or("");
        std::size_t count = 0;
        for (auto at = log.find("Accepted "); at != std::string::npos; at = log.find("Accepted ", at + 1))
            ++count;
        return count;
    }

private Q_SLOTS:
    void init() {
        m_sshd = std::make_unique<LocalSshd>();
        auto session = slipway::connect(m_sshd->login(), m_quiet);
        QVERIFY2(session, session ? "" : session.error().message.c_str());
        m_session = std::move(*session);
    }
    void cleanup() {
        m_session.reset();
        m_sshd.reset();
    }

    void treesWithAnyNamesComeOverOneLogin() {
        const auto from = m_sshd->at("from here");
        for (const char *name : {"plain", "two words", "it's", "modèle.bin", "$HOME;ls", "new\nline"})
            QVERIFY(writeFileAtomically(from / name, name));
        const auto to = m_sshd->at("to");
        const auto finished =
            runRsync(*m_session, rsync({"-a", "board:" + from.string() + "/", to.string() + "/"}), {}, m_quiet);
        QVERIFY2(finished, finished ? "" : finished.error().message.c_str());
        QVERIFY2(finished->exitCode == 0, finished->errors.c_str());
        for (const char *name : {"plain", "two words", "it's", "modèle.bin", "$HOME;ls", "new\nline"})
            QCOMPARE(readFile(to / name).value_or("missing"), std::string(name));
        QCOMPARE(logins(), std::size_t(1));
        QCOMPARE(m_session->run({"echo", "on"}, m_quiet)->output, std::string("on\n"));
    }

    void uploadsWorkToo() {
        const std::string big(5 << 20, 'q');
        QVERIFY(writeFileAtomically(m_sshd->at("big"), big));
        const auto finished = runRsync(
            *m_session, rsync({"-a", m_sshd->at("big").string(), "board:" + m_sshd->at("copy").string()}), {}, m_quiet);
        QVERIFY(finished && finished->exitCode == 0);
        QVERIFY(readFile(m_sshd->at("copy")).value_or("") == big);
    }

    void theStatusAndTheBoardsWordsComeBack() {
        const auto finished =
            runRsync(*m_session, rsync({"-a", "board:/no/such/thing", m_sshd->at("to").string()}), {}, m_quiet);
        QVERIFY(finished);
        QCOMPARE(finished->exitCode, 23);
        QVERIFY2(finished->errors.find("/no/such") != std::string::npos, finished->errors.c_str());
        const auto wrong = runRsync(*m_session, rsync({"--no-such-option"}), {}, m_quiet);
        QVERIFY(wrong);
        QCOMPARE(wrong->exitCode, 1);
    }

    void aBoardWithoutRsyncIsTold() {
        const auto finished = runRsync(
            *m_session, rsync({"-a", "--rsync-path=/no/rsync", "board:/etc/hostname", m_sshd->at("to").string()}), {},
            m_quiet);
        QVERIFY(finished);
        QVERIFY(finished->exitCode != 0);
        const auto missing = rsyncFailed({.exitCode = 12, .errors = "bash: line 1: rsync: command not found\n"});
        QCOMPARE(missing.message, std::string("the board has no rsync, which copying its libraries needs"));
    }

    void cancelStopsBothEnds() {
        QVERIFY(writeFileAtomically(m_sshd->at("from/big"), std::string(8 << 20, 'q')));
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        QElapsedTimer timer;
        const auto finished = runRsync(
            *m_session,
            rsync({"-a", "--bwlimit=200", "--info=name", "board:" + m_sshd->at("from").string() + "/",
                   m_sshd->at("to").string()}),
            [&](std::string_view line) {
                if (line == "big") {
                    timer.start();
                    stop.request_stop();
                }
            },
            progress);
        QVERIFY(timer.isValid());
        QVERIFY2(timer.elapsed() < 1500, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::cancelled);
        QCOMPARE(m_session->run({"echo", "on"}, m_quiet)->output, std::string("on\n"));
    }

    void aDroppedConnectionEndsRsyncWithTheSessionsError() {
        QVERIFY(writeFileAtomically(m_sshd->at("from/big"), std::string(8 << 20, 'q')));
        const auto server = std::stoi(m_session->execute({.line = "echo $PPID"}, m_quiet)->output);
        QElapsedTimer timer;
        const auto finished = runRsync(
            *m_session,
            rsync({"-a", "--bwlimit=200", "--info=name", "board:" + m_sshd->at("from").string() + "/",
                   m_sshd->at("to").string()}),
            [&](std::string_view line) {
                if (line == "big") {
                    timer.start();
                    ::kill(server, SIGKILL);
                }
            },
            m_quiet);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::unreachable);
        QVERIFY(timer.elapsed() < 5000);
    }

    void theSocketIsNobodyElses() {
        const auto show = m_sshd->at("show");
        QVERIFY(writeFileAtomically(
            show, "#!/bin/sh\nstat -c '%a' \"$SLIPWAY_RSH_SOCKET\" \"$(dirname \"$SLIPWAY_RSH_SOCKET\")\"\n", 0755));
        auto what = rsync({});
        what.rsync = show;
        const auto finished = runRsync(*m_session, what, {}, m_quiet);
        QVERIFY(finished);
        QCOMPARE(finished->output, std::string("600\n700\n"));
    }
};

QTEST_GUILESS_MAIN(TestRsyncBridge)
#include "tst_rsyncbridge.moc"
