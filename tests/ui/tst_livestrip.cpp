// SPDX-License-Identifier: Apache-2.0
//
// The live strip: it watches only while it is seen and wanted, never two boards, and says plainly what a board does not tell.

#include "tests/ui/fakeactions.h"
#include "ui/livegauge.h"
#include "ui/look.h"
#include "ui/mainwindow.h"

#include <QElapsedTimer>
#include <QPushButton>
#include <QTest>

using namespace slipway;
using namespace std::chrono_literals;

namespace {

Sample busy() {
    Sample sample;
    sample.gpuPercent = 99;
    sample.cpuPercent = 7.2;
    sample.memoryUsed = 7038042112;
    sample.memoryTotal = 7990149120;
    sample.celsius = 49.625;
    sample.milliwatts = 5251;
    sample.powerMode = "15W";
    sample.source = "tegrastats";
    return sample;
}

/// A window with two boards of which the first was reached.
struct Fixture {
    explicit Fixture(std::vector<Sample> samples) {
        actions->samples = std::move(samples);
        for (const char *name : {"orin-lab", "thor-dev"})
            actions->world.boards.push_back({.device = fake::device(name)});
        actions->world.targets.push_back(fake::orinTarget());
        window = std::make_unique<MainWindow>(actions, settings);
        window->show();
    }
    [[nodiscard]] bool loaded() const { return window->boards().rows().size() == 2; }
    void reach(const std::string &name) const { window->boards().readFacts(name); }
    [[nodiscard]] QString gauge(const char *name) const {
        for (const auto *widget : window->findChildren<QWidget *>(name))
            return widget->accessibleDescription();
        return "no such gauge";
    }
    [[nodiscard]] QString note() const { return static_cast<const ElidedLabel *>(window->findChild<QLabel *>("liveNote"))->fullText(); }
    [[nodiscard]] QPushButton *button() const { return window->findChild<QPushButton *>("watchLive"); }

    std::shared_ptr<fake::FakeActions> actions = std::make_shared<fake::FakeActions>();
    std::shared_ptr<fake::MemorySettings> settings = std::make_shared<fake::MemorySettings>();
    std::unique_ptr<MainWindow> window;
};

} // namespace

class TestLiveStrip : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void aBoardThatWasReachedIsWatchedAndItsFiguresShown() {
        Fixture f({busy()});
        QTRY_VERIFY(f.loaded());
        QCOMPARE(f.note(), QString("Begins once the board was reached: refresh its facts."));
        QCOMPARE(f.actions->watching.load(), 0);
        f.reach("orin-lab");
        QTRY_COMPARE(f.note(), QString("From tegrastats, once a second."));
        QCOMPARE(f.gauge("liveGpu"), QString("99 %"));
        QCOMPARE(f.gauge("liveCpu"), QString("7 %"));
        QCOMPARE(f.gauge("liveMemory"), QString("88 % of 8.0 GB"));
        QCOMPARE(f.gauge("liveTemperature"), QString("49.6 °C"));
        QCOMPARE(f.gauge("livePower"), QString("5.3 W"));
        QCOMPARE(f.gauge("liveMode"), QString("15W"));
        QCOMPARE(f.window->jobs().runningCount(), 0); // it is no job that closing the window must ask about
    }

    void whatABoardDoesNotTellIsSaid() {
        Sample little;
        little.cpuPercent = 12;
        little.source = "sysfs";
        Fixture f({little});
        QTRY_VERIFY(f.loaded());
        f.reach("orin-lab");
        QTRY_COMPARE(f.note(), QString("From sysfs. This board tells nothing of GPU, temperature and power."));
        QCOMPARE(f.gauge("liveCpu"), QString("12 %"));
        QCOMPARE(f.gauge("liveGpu"), QString("not told by this board"));
        QCOMPARE(f.gauge("liveMemory"), QString("not told by this board"));
    }

    void aBoardThatSendsNothingIsSaidToAndOneThatFailsIsNotAskedAgainByItself() {
        Fixture f({});
        QTRY_VERIFY(f.loaded());
        f.reach("orin-lab");
        QTRY_COMPARE_WITH_TIMEOUT(f.note(), QString("The board sends nothing."), 9000);
        f.button()->click();
        QTRY_COMPARE(f.actions->watching.load(), 0);
        f.actions->watchFails = Error{.message = "the board stopped sending after 0 samples"};
        f.button()->click();
        QTRY_COMPARE(f.note(), QString("Stopped: the board stopped sending after 0 samples. Press Live to try again."));
        QVERIFY(!f.button()->isChecked());
        f.reach("orin-lab");
        QTest::qWait(300);
        QCOMPARE(f.actions->watchedBoards().size(), std::size_t(2));
    }

    void itStopsWhenThePageIsHiddenAndGoesOnWhenItIsBack() {
        Fixture f({busy()});
        QTRY_VERIFY(f.loaded());
        f.reach("orin-lab");
        QTRY_COMPARE(f.actions->watching.load(), 1);
        f.window->showPage(Page::cache);
        QTRY_COMPARE_WITH_TIMEOUT(f.actions->watching.load(), 0, 1000);
        f.window->showPage(Page::devices);
        QTRY_COMPARE(f.actions->watching.load(), 1);
        QTRY_COMPARE(f.gauge("liveGpu"), QString("99 %"));
        f.window->hide();
        QTRY_COMPARE_WITH_TIMEOUT(f.actions->watching.load(), 0, 1000);
    }

    void anotherBoardTakesOverAndOneThatWasNotReachedIsLeftAlone() {
        Fixture f({busy()});
        QTRY_VERIFY(f.loaded());
        f.reach("orin-lab");
        QTRY_COMPARE(f.gauge("liveGpu"), QString("99 %"));
        f.window->boards().select("thor-dev");
        QTRY_COMPARE_WITH_TIMEOUT(f.actions->watching.load(), 0, 1000);
        QCOMPARE(f.gauge("liveGpu"), QString());
        QCOMPARE(f.actions->watchedBoards(), (std::vector<std::string>{"orin-lab"}));
        f.button()->click(); // off
        f.button()->click(); // on: the user asks for it
        QTRY_COMPARE(f.actions->watchedBoards(), (std::vector<std::string>{"orin-lab", "thor-dev"}));
        QTRY_COMPARE(f.window->boards().find("thor-dev")->reach, Reach::ready);
        QCOMPARE(f.actions->watching.load(), 1);
    }

    void switchedOffStaysOff() {
        Fixture f({busy()});
        QTRY_VERIFY(f.loaded());
        f.button()->click();
        QCOMPARE(f.settings->values["devices/live"], std::string("off"));
        QCOMPARE(f.note(), QString("Switched off."));
        f.reach("orin-lab");
        QTRY_COMPARE(f.window->boards().find("orin-lab")->reach, Reach::ready);
        f.window->boards().select("thor-dev");
        f.window->boards().select("orin-lab");
        QTest::qWait(300);
        QVERIFY(!f.button()->isChecked());
        QVERIFY(f.actions->watchedBoards().empty());
    }

    void closingTheWindowEndsTheWatchWithinASecond() {
        auto f = std::make_unique<Fixture>(std::vector<Sample>{busy()});
        QTRY_VERIFY(f->loaded());
        f->reach("orin-lab");
        QTRY_COMPARE(f->actions->watching.load(), 1);
        const auto actions = f->actions;
        QElapsedTimer timer;
        timer.start();
        f.reset();
        QCOMPARE(actions->watching.load(), 0);
        QVERIFY(timer.elapsed() < 1000);
    }
};

QTEST_MAIN(TestLiveStrip)
#include "tst_livestrip.moc"
