// SPDX-License-Identifier: Apache-2.0
//
// Going back: by an unhealthy release, by the board's own timer, by hand; and what pruning may never remove.

#include "core/base/text.h"
#include "tests/deploy/boardfixture.h"

#include <QTest>

using namespace slipway;

class TestRollback : public QObject {
    Q_OBJECT

    static Package healthy(BoardFixture &board, const std::string &text) {
        return board.package({{"bin/app", "#!/bin/sh\necho " + text + "\n"}}, "bin/app");
    }
    static Package sick(BoardFixture &board, const std::string &text) {
        return board.package({{"bin/app", "#!/bin/sh\necho cannot open device " + text + " >&2\nexit 3\n"}}, "bin/app");
    }

private Q_SLOTS:
    void anUnhealthyReleaseGoesBackAndTheErrorSaysWhatIsLive() {
        BoardFixture board;
        QVERIFY(board.ship(healthy(board, "A")));
        const auto good = board.liveId();
        const auto package = sick(board, "B");
        const auto outcome = board.ship(package);
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::rolledBack);
        QCOMPARE(outcome.error().message, fmt::format("{} is not healthy (bin/app ended with exit status 3: cannot "
                                                      "open device B); went back to {}, which is live again",
                                                      package.manifest.releaseId(), good));
        QCOMPARE(board.liveId(), good);
        QVERIFY(!fs::exists(board.at(".slipway/lock")));
    }

    void theFirstReleaseThatIsUnhealthyLeavesNothingLive() {
        BoardFixture board;
        const auto outcome = board.ship(sick(board, "A"));
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::rolledBack);
        QVERIFY2(outcome.error().message.find("nothing is live in") != std::string::npos,
                 outcome.error().message.c_str());
        QVERIFY(!fs::is_symlink(board.at("current")));
    }

    void afterTwoBadReleasesTheGoodOneIsLive() {
        BoardFixture board;
        QVERIFY(board.ship(healthy(board, "A")));
        const auto good = board.liveId();
        QVERIFY(!board.ship(sick(board, "B")));
        QVERIFY(!board.ship(sick(board, "C")));
        QCOMPARE(board.liveId(), good);
        const auto releases = listReleases(board.session, board.dest(), board.progress).value();
        QCOMPARE(releases.size(), std::size_t(3));
        QCOMPARE(releases[0].id, good);
        QVERIFY(releases[0].current && releases[0].good);
        QVERIFY(!releases[1].good);
        QVERIFY2(releases[1].outcome.starts_with("rolled back: "), releases[1].outcome.c_str());
    }

    void healthIsAskedOverAFreshConnection() {
        BoardFixture board;
        QVERIFY(board.ship(healthy(board, "A")));
        QCOMPARE(board.session.board().connections, 2);
        const auto good = board.liveId();
        board.session.board().connecting = []() -> Result<void> {
            return failAs(ErrorKind::unreachable, "no route to board");
        };
        const auto outcome = board.ship(healthy(board, "B"));
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::rolledBack);
        QVERIFY2(outcome.error().message.find("no fresh connection to the board: no route to board") !=
                     std::string::npos,
                 outcome.error().message.c_str());
        QCOMPARE(board.liveId(), good);
    }

    void healthSeesTheReleaseAndItsEnvironment() {
        BoardFixture board;
        const auto package =
            board.package({{"bin/app", "#!/bin/sh\npwd\necho \"$RELEASE $TEENYC_PTX_VERSION $TEENYC_CACHE_DIR\"\n"},
                           {"conf/env", "TEENYC_CACHE_DIR=\"$RELEASE\"/cache\nTEENYC_PTX_VERSION=85\n"}},
                          "bin/app");
        const auto outcome = board.ship(package);
        QVERIFY2(outcome, outcome ? "" : outcome.error().message.c_str());
        const auto release = board.at("releases/" + package.manifest.releaseId()).string();
        QCOMPARE(outcome->healthOutput, fmt::format("{0}\n{0} 85 {0}/cache\n", release));
    }

    void aHostThatVanishesAfterTheSwitchIsUndoneByTheBoard() {
        BoardFixture board;
        board.options.confirm = std::chrono::seconds(1);
        QVERIFY(board.ship(healthy(board, "A")));
        const auto good = board.liveId();
        const auto package = healthy(board, "B");
        // Everything after the switch is lost.
        board.session.board().before = [&](int, const std::string &) -> Result<void> {
            return board.liveId() == good ? Result<void>()
                                          : Result<void>(failAs(ErrorKind::unreachable, "the connection was lost"));
        };
        const auto outcome = board.ship(package);
        QVERIFY(!outcome);
        QVERIFY2(outcome.error().message.find("it goes back to " + good + " by itself within 1 s") != std::string::npos,
                 outcome.error().message.c_str());
        QCOMPARE(board.liveId(), package.manifest.releaseId());
        QTRY_COMPARE_WITH_TIMEOUT(board.liveId(), good, 5000);
        board.session.board().before = nullptr;
        QVERIFY(board.ship(package));
        QCOMPARE(board.liveId(), package.manifest.releaseId());
    }

    void healthThatComesTooLateIsUndone() {
        BoardFixture board;
        QVERIFY(board.ship(healthy(board, "A")));
        const auto good = board.liveId();
        board.options.confirm = std::chrono::seconds(1);
        const auto outcome = board.ship(board.package({{"bin/app", "#!/bin/sh\nsleep 3\n"}}, "bin/app"));
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::rolledBack);
        QCOMPARE(board.liveId(), good);
    }

    void rollbackBringsBackTheOneBeforeAndThenTheOneBeforeThat() {
        BoardFixture board;
        std::vector<std::string> ids;
        for (const auto *text : {"A", "B", "C"}) {
            QVERIFY(board.ship(healthy(board, text)));
            ids.push_back(board.liveId());
        }
        QCOMPARE(rollback(board.session, board.dest(), {}, board.progress)->id, ids[1]);
        QCOMPARE(board.live("bin/app"), std::string("#!/bin/sh\necho B\n"));
        QCOMPARE(rollback(board.session, board.dest(), {}, board.progress)->id, ids[0]);
        const auto none = rollback(board.session, board.dest(), {}, board.progress);
        QVERIFY(!none);
        QVERIFY2(none.error().message.find("has no good release before " + ids[0]) != std::string::npos,
                 none.error().message.c_str());
        QCOMPARE(rollback(board.session, board.dest(), ids[2], board.progress)->id, ids[2]);
        QCOMPARE(board.liveId(), ids[2]);
        const auto unknown = rollback(board.session, board.dest(), "app-nothing", board.progress);
        QVERIFY(!unknown);
        QCOMPARE(unknown.error().kind, ErrorKind::usage);
    }

    void anEarlierReleaseIsDeployedAgainWithoutSendingIt() {
        BoardFixture board;
        const auto first = healthy(board, "A");
        QVERIFY(board.ship(first));
        QVERIFY(board.ship(healthy(board, "B")));
        const auto outcome = board.ship(first);
        QVERIFY(outcome);
        QCOMPARE(outcome->bytesSent, std::uint64_t(0));
        QCOMPARE(board.liveId(), first.manifest.releaseId());
    }

    void pruningRemovesFailedOnesFirstAndNeverTheLastGoodOne() {
        BoardFixture board;
        const auto a = [&] {
            auto package = healthy(board, "A");
            package.manifest.keep = 2;
            return package;
        }();
        QVERIFY(board.ship(a));
        const auto good = board.liveId();
        for (const auto *text : {"1", "2", "3", "4", "5"})
            QVERIFY(!board.ship(sick(board, text)));
        auto next = healthy(board, "B");
        next.manifest.keep = 2;
        QVERIFY(board.ship(next));
        auto expected = std::vector<std::string>{good, board.liveId()};
        std::sort(expected.begin(), expected.end());
        QCOMPARE(board.releases(), expected);
    }

    void keepOneStillKeepsTheLastGoodOne() {
        BoardFixture board;
        std::vector<std::string> ids;
        for (const auto *text : {"A", "B", "C"}) {
            auto package = healthy(board, text);
            package.manifest.keep = 1;
            QVERIFY(board.ship(package));
            ids.push_back(board.liveId());
        }
        auto expected = std::vector<std::string>{ids[1], ids[2]};
        std::sort(expected.begin(), expected.end());
        QCOMPARE(board.releases(), expected);
    }

    void aBoardThatHasOnlyBusyboxIsEnough() {
        BoardFixture board;
        // Its applets alone in PATH: sh, tar, ln, mv, sha256sum and the rest.
        const auto applets = board.root() / "applets";
        fs::create_directories(applets);
        const auto busybox = findProgram("busybox").value();
        const auto list = slipway::run({.program = busybox.string(), .arguments = {"--list"}}, board.progress).value();
        for (const auto name : lines(list.output))
            fs::create_symlink(busybox, applets / std::string(name));
        board.session.board().environment["PATH"] = applets.string();
        QVERIFY(board.ship(healthy(board, "A")));
        const auto good = board.liveId();
        const auto second = board.ship(healthy(board, "B"));
        QVERIFY2(second, second ? "" : second.error().message.c_str());
        QVERIFY(!board.ship(sick(board, "C")));
        QCOMPARE(board.live("bin/app"), std::string("#!/bin/sh\necho B\n"));
        QCOMPARE(rollback(board.session, board.dest(), {}, board.progress)->id, good);
        std::string said;
        QCOMPARE(
            runRelease(
                board.session, {.dest = board.dest()}, [&](std::string_view line) { said = line; }, {}, board.progress)
                .value(),
            0);
        QCOMPARE(said, std::string("A"));
    }

    void aReleaseThatAnotherLinkPointsToIsNotRemoved() {
        BoardFixture board;
        std::vector<std::string> ids;
        for (const auto *text : {"A", "B", "C"}) {
            auto package = healthy(board, text);
            package.manifest.keep = 1;
            QVERIFY(board.ship(package));
            ids.push_back(board.liveId());
            if (ids.size() == 1)
                fs::create_directory_symlink("releases/" + ids[0], board.at("release"));
        }
        QCOMPARE(board.releases().size(), std::size_t(3));
        QVERIFY(fs::exists(board.at("release/bin/app")));
    }
};

QTEST_APPLESS_MAIN(TestRollback)
#include "tst_rollback.moc"
