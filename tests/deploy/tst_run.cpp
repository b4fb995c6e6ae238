// SPDX-License-Identifier: Apache-2.0
//
// Running what is live: environment, output as it comes, the real exit code, the log, and stopping it.

#include "tests/deploy/boardfixture.h"

#include <QTest>

#include <thread>

using namespace slipway;

class TestRun : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theProgramRunsInItsReleaseWithItsEnvironmentAndExitCode() {
        BoardFixture board;
        QVERIFY(board.ship(board.package(
            {{"bin/app", "#!/bin/sh\npwd\necho \"$RELEASE|$NAME|$CUDA_CACHE_PATH|$1|$2\"\necho oops >&2\nexit 7\n"},
             {"conf/env", "NAME='it is'\nCUDA_CACHE_PATH=\"$RELEASE\"/../../.slipway/cuda\n"}},
            {}, "bin/app first")));
        std::vector<std::string> out;
        std::vector<std::string> err;
        const auto code = runRelease(
            board.session, {.dest = board.dest(), .arguments = {"two words; $HOME"}},
            [&](std::string_view l) { out.emplace_back(l); }, [&](std::string_view l) { err.emplace_back(l); },
            board.progress);
        QVERIFY2(code, code ? "" : code.error().message.c_str());
        QCOMPARE(*code, 7);
        const auto release = board.at("releases/" + board.liveId()).string();
        QCOMPARE(out.size(), std::size_t(2));
        QCOMPARE(out[0], release);
        QCOMPARE(out[1], fmt::format("{0}|it is|{0}/../../.slipway/cuda|first|two words; $HOME", release));
        QCOMPARE(err, std::vector<std::string>{"oops"});
        const auto log = releaseLogs(board.session, board.dest(), 100, board.progress).value();
        QVERIFY2(log.find("oops\n") != std::string::npos && log.starts_with("== "), log.c_str());
        QCOMPARE(releaseLogs(board.session, board.dest(), 1, board.progress).value().find('\n') + 1,
                 releaseLogs(board.session, board.dest(), 1, board.progress)->size());
        QVERIFY(!fs::exists(board.at(".slipway/run.pid")));
    }

    void aProgramThatIsKilledGivesItsSignal() {
        BoardFixture board;
        QVERIFY(board.ship(board.package({{"bin/app", "#!/bin/sh\nkill -SEGV $$\n"}})));
        QCOMPARE(runRelease(board.session, {.dest = board.dest()}, {}, {}, board.progress).value(), 128 + 11);
    }

    void stopEndsTheProgramAndAllThatItStarted() {
        BoardFixture board;
        QVERIFY(board.ship(board.package({{"bin/app", "#!/bin/sh\necho $$\nsleep 60 &\necho $!\nwait\n"}})));
        QCOMPARE(stopRelease(board.session, board.dest(), board.progress).value(), false);
        std::vector<pid_t> pids;
        std::atomic<int> seen{0};
        Result<int> code = -1;
        std::jthread runner([&] {
            LocalSession own;
            Progress progress;
            code = runRelease(
                own, {.dest = board.dest()},
                [&](std::string_view line) {
                    pids.push_back(std::atoi(std::string(line).c_str()));
                    ++seen;
                },
                {}, progress);
        });
        QTRY_COMPARE_WITH_TIMEOUT(seen.load(), 2, 5000);
        const auto second = runRelease(board.session, {.dest = board.dest()}, {}, {}, board.progress);
        QVERIFY(!second);
        QVERIFY2(second.error().message.find("running already") != std::string::npos, second.error().message.c_str());
        QCOMPARE(stopRelease(board.session, board.dest(), board.progress).value(), true);
        runner.join();
        QVERIFY(code);
        QVERIFY(*code != 0);
        for (const auto pid : pids)
            QTRY_VERIFY(::kill(pid, 0) != 0);
        QCOMPARE(stopRelease(board.session, board.dest(), board.progress).value(), false);
    }

    void nothingLiveIsOneClearLine() {
        BoardFixture board;
        const auto code = runRelease(board.session, {.dest = board.dest()}, {}, {}, board.progress);
        QVERIFY(!code);
        QCOMPARE(code.error().message, fmt::format("no release is live in {} on the board", board.dest()));
        QCOMPARE(releaseLogs(board.session, board.dest(), 10, board.progress).value(), std::string());
    }
};

QTEST_APPLESS_MAIN(TestRun)
#include "tst_run.moc"
