// SPDX-License-Identifier: Apache-2.0
//
// The crossing between threads: results arrive in the window's thread, stale ones do not, floods do not block.

#include "ui/jobmodel.h"
#include "ui/jobs.h"

#include <QElapsedTimer>
#include <QSignalSpy>
#include <QTest>
#include <QThread>
#include <QTimer>

using namespace slipway;
using namespace std::chrono_literals;

namespace {

/// Works until it is cancelled.
Result<int> endless(Progress &progress) {
    while (!progress.cancelled())
        std::this_thread::sleep_for(2ms);
    return failAs(ErrorKind::cancelled, "cancelled");
}

} // namespace

class TestJobs : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void resultArrivesInTheThreadOfTheWindow() {
        Jobs jobs;
        int got = 0;
        Qt::HANDLE where = nullptr, worked = nullptr;
        jobs.start<int>({.title = "add"}, [&](Progress &) -> Result<int> {
            worked = QThread::currentThreadId();
            return 42;
        }, this, [&](const Result<int> &result) {
            got = *result;
            where = QThread::currentThreadId();
        });
        QTRY_COMPARE(got, 42);
        QCOMPARE(where, QThread::currentThreadId());
        QVERIFY(worked != where);
        QCOMPARE(jobs.runningCount(), 0);
    }

    void newerJobOfASlotMakesTheOlderResultStale() {
        Jobs jobs;
        QList<int> got;
        const auto take = [&](const Result<int> &result) { got << result.value_or(-1); };
        jobs.start<int>({.title = "old", .slot = "cache"}, endless, this, take);
        jobs.start<int>({.title = "new", .slot = "cache"}, [](Progress &) -> Result<int> { return 2; }, this, take);
        QTRY_COMPARE(jobs.runningCount(), 0);
        QCOMPARE(got, QList<int>{2});
    }

    void resultForAReceiverThatIsGoneIsDropped() {
        Jobs jobs;
        bool called = false;
        auto receiver = std::make_unique<QObject>();
        jobs.start<int>({.title = "x"}, [](Progress &) -> Result<int> { return 1; }, receiver.get(), [&](const Result<int> &) { called = true; });
        receiver.reset();
        QTRY_COMPARE(jobs.runningCount(), 0);
        QVERIFY(!called);
    }

    void cancelEndsWithinASecond() {
        Jobs jobs;
        ErrorKind kind = ErrorKind::failed;
        QSignalSpy ended(&jobs, &Jobs::finished);
        const int id = jobs.start<int>({.title = "long"}, endless, this, [&](const Result<int> &result) { kind = result.error().kind; });
        QElapsedTimer timer;
        timer.start();
        jobs.cancel(id);
        QTRY_COMPARE_WITH_TIMEOUT(ended.count(), 1, 1000);
        QVERIFY(timer.elapsed() < 1000);
        QCOMPARE(kind, ErrorKind::cancelled);
    }

    void destroyingJobsCancelsAndJoinsAll() {
        std::atomic<int> ended = 0;
        QElapsedTimer timer;
        {
            Jobs jobs;
            for (int i = 0; i < 4; ++i)
                jobs.start<int>({.title = "long"}, [&](Progress &progress) {
                    auto result = endless(progress);
                    ++ended;
                    return result;
                }, this, {});
            timer.start();
        }
        QCOMPARE(ended.load(), 4);
        QVERIFY(timer.elapsed() < 1000);
    }

    void floodOfLinesDoesNotBlockTheEventLoop() {
        Jobs jobs;
        JobModel model;
        connect(&jobs, &Jobs::started, &model, &JobModel::start);
        connect(&jobs, &Jobs::reported, &model, &JobModel::report);
        connect(&jobs, &Jobs::finished, &model, &JobModel::finish);
        qint64 worst = 0;
        QElapsedTimer since;
        QTimer tick;
        connect(&tick, &QTimer::timeout, this, [&] { worst = std::max(worst, since.restart()); });
        since.start();
        tick.start(5);
        bool done = false;
        jobs.start<int>({.title = "build"}, [](Progress &progress) -> Result<int> {
            auto step = progress.step("compile");
            for (int i = 0; i < 100000; ++i)
                progress.note("[" + std::to_string(i) + "/100000] Building CXX object");
            step.done();
            return 0;
        }, this, [&](const Result<int> &) { done = true; });
        QTRY_VERIFY_WITH_TIMEOUT(done, 20000);
        QVERIFY2(worst < 400, qPrintable(QString("the event loop stood still for %1 ms").arg(worst)));
        QVERIFY(!model.job(1)->log.isEmpty());
    }

    void quietJobsAreNotListed() {
        Jobs jobs;
        QSignalSpy started(&jobs, &Jobs::started);
        bool done = false;
        jobs.start<int>({.title = "read", .quiet = true}, [](Progress &) -> Result<int> { return 0; }, this, [&](const Result<int> &) { done = true; });
        QTRY_VERIFY(done);
        QCOMPARE(started.count(), 0);
    }
};

QTEST_MAIN(TestJobs)
#include "tst_jobs.moc"
