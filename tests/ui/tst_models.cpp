// SPDX-License-Identifier: Apache-2.0
//
// The models as models: QAbstractItemModelTester on each, and rows from literal values.

#include "tests/ui/fakeactions.h"
#include "ui/cachemodel.h"
#include "ui/devicemodel.h"
#include "ui/factgroups.h"
#include "ui/findingmodel.h"
#include "ui/jobmodel.h"
#include "ui/releasemodel.h"
#include "ui/sysrootmodel.h"
#include "ui/text.h"

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QTest>

using namespace slipway;

namespace {

constexpr auto fatal = QAbstractItemModelTester::FailureReportingMode::QtTest;

QStringList texts(const QAbstractItemModel &model, int row, const QModelIndex &parent = {}) {
    QStringList all;
    for (int column = 0; column < model.columnCount(parent); ++column)
        all << model.index(row, column, parent).data().toString();
    return all;
}

Event begin(int step, int parent, const char *title, std::uint64_t total = 0) {
    return {.kind = Event::Kind::begin, .step = step, .parent = parent, .depth = parent ? 2 : 1, .text = title, .unit = Event::Unit::bytes, .total = total};
}

CacheEntry kernel(const char *name, int capability, std::uint64_t bytes, bool cubin) {
    CacheEntry entry;
    entry.name = name;
    entry.image = fs::path("/cache") / (std::string(name) + "_00.o");
    entry.cubin = cubin ? fs::path("/cache") / (std::string(name) + "_00.cubin") : fs::path();
    entry.bytes = bytes;
    entry.facts = KernelImage{.target = Capability{capability}, .ptxVersion = PtxVersion{8, 5}, .entries = {{.name = name}}, .sharedBytes = 2048};
    entry.record = KernelRecord{.source = "kernels/" + std::string(name) + ".ll", .registers = 16, .sharedBytes = -1};
    return entry;
}

} // namespace

class TestModels : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void deviceRowSaysStateTargetDeployedAndSeenInWords() {
        DeviceModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        auto board = fake::device("orin-lab");
        board.lastSeen = {};
        model.setRows({BoardRow{.board = {.device = board}, .reach = Reach::failed, .problem = "no route to host", .targetName = "Jetson Orin Nano"}});
        QCOMPARE(texts(model, 0), (QStringList{"orin-lab", "Not reached", "Jetson Orin Nano", "nothing known", "never"}));
        QCOMPARE(model.index(0, DeviceModel::stateColumn).data(Qt::ToolTipRole).toString(), "<qt>no route to host</qt>");
        QVERIFY(!model.index(0, DeviceModel::stateColumn).data(Qt::DecorationRole).value<QIcon>().isNull());
    }

    void textFromABoardIsNeverMarkup() {
        ReleaseModel model;
        model.setRows({Release{.id = "<b>x</b>"}});
        QCOMPARE(model.index(0, 0).data(Qt::ToolTipRole).toString(), "<qt>&lt;b&gt;x&lt;/b&gt;</qt>");
    }

    void findingsAreShownInWordsAndSortWorstFirst() {
        FindingModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        model.setRows(fake::failedVerdict().findings);
        QCOMPARE(texts(model, 1), (QStringList{"Fail", "PTX version accepted by the driver", "cache/vector_add_9c.o", "PTX 8.7", "8.5 or older"}));
        QSortFilterProxyModel sorted;
        sorted.setSourceModel(&model);
        sorted.setSortRole(sortRole);
        sorted.sort(FindingModel::statusColumn);
        QStringList words;
        for (int row = 0; row < sorted.rowCount(); ++row)
            words << sorted.index(row, 0).data().toString();
        QCOMPARE(words, (QStringList{"Fail", "Unknown", "Warning", "Pass", "Skipped"}));
    }

    void headlineCountsEachKind_data() {
        QTest::addColumn<int>("status");
        QTest::addColumn<QString>("expected");
        QTest::newRow("fail") << int(Status::fail) << "This package will not run there: 1 failed, 1 could not be checked, 1 warning, 1 passed";
        QTest::newRow("unknown") << int(Status::unknown) << "Not proven: 1 failed, 1 could not be checked, 1 warning, 1 passed";
    }
    void headlineCountsEachKind() {
        QFETCH(int, status);
        auto verdict = fake::failedVerdict();
        verdict.status = Status(status);
        QTEST(headline(verdict), "expected");
    }

    void copiedVerdictHasFoundNeededWhyAndFix() {
        const auto text = verdictText(fake::failedVerdict());
        QVERIFY(text.contains("Fail    ptx-version  cache/vector_add_9c.o\n        found: PTX 8.7\n        needed: 8.5 or older\n"));
        QVERIFY(text.contains("        fix: slipway aot --ptx-version 85\n"));
        QVERIFY(text.indexOf("Fail ") < text.indexOf("Pass "));
    }

    void cacheRowsComeFromTheImageThenTheRecord() {
        CacheModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        auto entry = kernel("saxpy", 87, 1500, false);
        entry.modified = unixNow() - 7200;
        entry.remarks = {"duplicate of saxpy_01.o"};
        model.setRows({entry});
        QCOMPARE(texts(model, 0), (QStringList{"saxpy", "sm_87", "8.5", "no", "16", "2.0 kB", "1.5 kB", "kernels/saxpy.ll", "2 h ago",
                                               "duplicate of saxpy_01.o", "saxpy"}));
    }

    void cacheSortsNumbersAsNumbers() {
        CacheModel model;
        model.setRows({kernel("a", 110, 900, true), kernel("b", 87, 12000, true), kernel("c", 90, 2000000, false)});
        QSortFilterProxyModel sorted;
        sorted.setSourceModel(&model);
        sorted.setSortRole(sortRole);
        sorted.sort(CacheModel::capabilityColumn);
        QCOMPARE(sorted.index(0, 0).data().toString(), "b");
        QCOMPARE(sorted.index(2, 0).data().toString(), "a");
        sorted.sort(CacheModel::sizeColumn);
        QCOMPARE(sorted.index(0, 0).data().toString(), "a");
        QCOMPARE(sorted.index(2, 0).data().toString(), "c");
    }

    void releaseRowSaysWhoWhenAndWhichCommit() {
        ReleaseModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        model.setRows({Release{.id = "vector_add-1a2b", .commit = "0123456789abcdef", .dirty = true, .deployedAt = unixNow() - 300, .by = "ann@pc",
                               .current = true, .good = true, .bytes = 2500000}});
        QCOMPARE(texts(model, 0), (QStringList{"vector_add-1a2b", "Live", "5 min ago", "ann@pc", "0123456789 + changes", "2.5 MB"}));
    }

    void sysrootDriftNamesBothVersions() {
        Board board{.device = fake::device("orin-lab"), .facts = fake::orinFacts(), .sysroot = Sysroot{.l4t = "36.3.0", .glibc = "2.35"}};
        QCOMPARE(sysrootDrift(board), "Board moved from L4T 36.3.0 to 36.4.3");
        board.sysroot->l4t = "36.4.3";
        QCOMPARE(sysrootDrift(board), QString());
        SysrootModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        model.setRows({board});
        QCOMPARE(model.index(0, SysrootModel::stateColumn).data().toString(), "Up to date");
    }

    void factsThatCouldNotBeReadAreNamedNotLeftOut() {
        const auto known = factGroups(fake::orinFacts());
        QCOMPARE(known.at(0).lines.at(1).value, "6.2 (L4T 36.4.3)");
        QCOMPARE(known.at(1).lines.at(1).value, "8.7 (sm_87)");
        QCOMPARE(known.at(1).lines.at(3).value, "CUDA 12.6");
        QCOMPARE(known.at(4).lines.at(3).value, "missing"); // sftp
        const auto empty = factGroups(BoardFacts{});
        QCOMPARE(empty.size(), known.size());
        QCOMPARE(empty.at(0).lines.size(), known.at(0).lines.size());
        QVERIFY(empty.at(1).lines.at(3).value.isEmpty());
    }

    void jobStepsNestAsTheyWereReported() {
        JobModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        model.start(7, "Ship");
        model.report(7, {begin(1, 0, "build"), begin(2, 1, "compile", 1000)});
        model.report(7, {Event{.kind = Event::Kind::advance, .step = 2, .parent = 1, .depth = 2, .unit = Event::Unit::bytes, .done = 250, .total = 1000,
                               .perSecond = 50, .left = std::chrono::seconds(15)}});
        const auto job = model.index(0, 0);
        const auto build = model.index(0, 0, job);
        QCOMPARE(model.rowCount(job), 1);
        QCOMPARE(model.rowCount(build), 1);
        QCOMPARE(model.parent(model.index(0, 0, build)), build);
        QCOMPARE(texts(model, 0, build), (QStringList{"compile", "", "250 B of 1.0 kB · 50 B/s · 15.0 s left", "Running"}));
        QCOMPARE(model.index(0, JobModel::progressColumn).data(JobModel::percentRole).toInt(), 25);
        model.report(7, {Event{.kind = Event::Kind::skip, .step = 2, .text = "nothing changed"}, Event{.kind = Event::Kind::end, .step = 1}});
        QCOMPARE(model.index(0, JobModel::stateColumn, build).data().toString(), "Skipped: nothing changed");
        model.finish(7, nullptr);
        QCOMPARE(model.index(0, JobModel::stateColumn).data().toString(), "Done");
    }

    void jobGoesOnUnderItsRowAfterAQuestion() {
        JobModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        model.start(1, "Read facts");
        model.report(1, {begin(1, 0, "connect")});
        const Error question{.kind = ErrorKind::passwordNeeded, .message = "the server wants a password"};
        model.finish(1, &question);
        QCOMPARE(model.index(0, JobModel::stateColumn).data().toString(), "Waiting for an answer: the server wants a password");
        model.start(1, "Read facts");
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.rowCount(model.index(0, 0)), 0);
        QCOMPARE(model.index(0, JobModel::stateColumn).data().toString(), "Running");
    }

    void clearFinishedKeepsWhatRuns() {
        JobModel model;
        const QAbstractItemModelTester tester(&model, fatal);
        for (int id : {1, 2, 3})
            model.start(id, QString("job %1").arg(id));
        const Error failed{.message = "no space left"};
        model.finish(1, nullptr);
        model.finish(3, &failed);
        model.clearFinished();
        QCOMPARE(model.rowCount(), 1);
        QCOMPARE(model.index(0, 0).data().toString(), "job 2");
    }

    void logOfAJobIsBounded() {
        JobModel model;
        model.start(1, "Build");
        QList<Event> lines;
        for (int i = 0; i < 12000; ++i)
            lines << Event{.kind = Event::Kind::note, .text = "line " + std::to_string(i)};
        model.report(1, lines);
        QVERIFY(model.job(1)->log.size() <= 5000);
        QCOMPARE(model.job(1)->log.last(), "line 11999");
    }
};

QTEST_MAIN(TestModels)
#include "tst_models.moc"
