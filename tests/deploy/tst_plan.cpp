// SPDX-License-Identifier: Apache-2.0
//
// What a deploy will do, from a package and the state of a board.

#include "tests/deploy/boardfixture.h"

#include <QTest>

using namespace slipway;

class TestPlan : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aFirstDeploySendsEverythingAndSaysWhy() {
        BoardFixture board;
        const auto plan =
            planDeploy(board.session, board.package({{"bin/app", "12345"}, {"data/x", "123"}}), {}, board.progress);
        QVERIFY2(plan, plan ? "" : plan.error().message.c_str());
        QCOMPARE(plan->previous, std::string());
        QCOMPARE(plan->bytesToSend, std::uint64_t(8));
        QCOMPARE(plan->files.size(), std::size_t(2));
        for (const auto &file : plan->files)
            QCOMPARE(file.why, std::string("new"));
        QVERIFY(!plan->alreadyLive && !plan->resumes && !plan->present);
        QVERIFY(!fs::exists(board.dest())); // planning changes nothing
    }

    void eachFileSaysWhatHappensToIt() {
        BoardFixture board;
        QVERIFY(board.ship(board.package({{"bin/app", "old"}, {"data/same", "same"}, {"data/gone", "g"}})));
        const auto live = board.liveId();
        const auto plan =
            planDeploy(board.session, board.package({{"bin/app", "new!"}, {"data/same", "same"}, {"data/more", "m"}}),
                       {}, board.progress);
        QVERIFY(plan);
        std::map<std::string, std::string> why;
        for (const auto &file : plan->files)
            why[file.path] = file.why;
        const std::map<std::string, std::string> expected{
            {"bin/app", "content differs"}, {"data/same", "same as in " + live}, {"data/more", "new"}};
        QVERIFY(why == expected);
        QCOMPARE(plan->bytesToSend, std::uint64_t(5));
        QCOMPARE(plan->previous, live);
        QCOMPARE(plan->lastGood, live);
    }

    void namesThatTheBoardsShellCannotReadLineByLineAreRefused_data() {
        QTest::addColumn<QString>("path");
        for (const auto *path :
             {"data/a\nb", "data/a\\b", "../etc/passwd", "/etc/passwd", "data/\x01", "conf/manifest.json"})
            QTest::newRow(qPrintable(QString(path).replace('\n', '~'))) << QString(path);
    }
    void namesThatTheBoardsShellCannotReadLineByLineAreRefused() {
        QFETCH(QString, path);
        BoardFixture board;
        auto package = board.package({{"bin/app", "x"}});
        package.manifest.files.push_back({.path = path.toStdString(), .size = 1, .sha256 = std::string(64, '0')});
        const auto plan = planDeploy(board.session, package, {}, board.progress);
        QVERIFY(!plan);
        QVERIFY2(plan.error().message.find("cannot be shipped") != std::string::npos, plan.error().message.c_str());
    }

    void aBoardsAnswerIsReadWhateverItHolds() {
        const auto state = parseBoard(
            "dest /opt/app\ncurrent /opt/app/releases/a-1\nrelease a-1\nrelease ../x\npartial b-2\ngood a-1\nlog not "
            "json\n"
            "log {\"time\":5,\"release\":\"a-1\",\"outcome\":\"live\",\"dirty\":\"yes\"}\nmanifest\n{broken");
        QCOMPARE(state.live, std::string("a-1"));
        QCOMPARE(state.releases, std::set<std::string>{"a-1"});
        QCOMPARE(state.partials, std::set<std::string>{"b-2"});
        QCOMPARE(state.log.size(), std::size_t(1));
        QCOMPARE(state.log[0].time, 5L);
        QVERIFY(!state.manifest && !state.foreign);
        QVERIFY(parseBoard("dest /opt/app\ncurrent ../elsewhere\n").foreign);
        QCOMPARE(parseBoard("dest /opt/app\ncurrent releases/gone\n").live, std::string());
    }

    void theLogSurvivesAnyText() {
        const LogEntry entry{.time = 7,
                             .by = "a\"b\n@c",
                             .release = "r-1",
                             .outcome = "failed",
                             .reason = "line\nbreak",
                             .allowed = {"glibc"}};
        QVERIFY(entry.line().find('\n') == std::string::npos);
        const auto read = LogEntry::fromLine(entry.line());
        QVERIFY(read);
        QCOMPARE(read->by, entry.by);
        QCOMPARE(read->reason, entry.reason);
        QCOMPARE(read->allowed, std::vector<std::string>{"glibc"});
        QVERIFY(!LogEntry::fromLine("[1]") && !LogEntry::fromLine(""));
    }
};

QTEST_APPLESS_MAIN(TestPlan)
#include "tst_plan.moc"
