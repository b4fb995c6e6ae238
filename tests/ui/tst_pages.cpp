// SPDX-License-Identifier: Apache-2.0
//
// The window with an engine that does what the test says: it asks, waits, fails, and nothing blocks.

#include "tests/ui/fakeactions.h"
#include "ui/boardlist.h"
#include "ui/findingmodel.h"
#include "ui/mainwindow.h"
#include "ui/ptxview.h"
#include "ui/shipdialog.h"
#include "ui/sysrootwizard.h"

#include <QComboBox>
#include <QDragEnterEvent>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QTableView>
#include <QTest>
#include <QTimer>
#include <QUrl>

using namespace slipway;
using namespace std::chrono_literals;

namespace {

/// A window on a world with one board, and what a test does to it.
struct Fixture {
    explicit Fixture(bool withBoard = true) {
        if (withBoard)
            actions->world.boards.push_back({.device = fake::device("orin-lab")});
        actions->world.targets.push_back(fake::orinTarget());
        window = std::make_unique<MainWindow>(actions, settings);
        window->show();
    }
    [[nodiscard]] bool loaded() const { return window->boards().rows().size() == actions->world.boards.size() && !window->boards().overview().targets.empty(); }
    template <typename T = QPushButton> T *find(const char *name) const { return window->findChild<T *>(name); }
    [[nodiscard]] QString headline(const QWidget *in) const {
        QStringList all;
        for (const auto *label : in->findChildren<QLabel *>("headline"))
            if (label->isVisible())
                all << label->text();
        return all.join(" | ");
    }

    /// All that can be read in the window.
    [[nodiscard]] QString visibleText() const {
        QStringList all;
        for (const auto *label : window->findChildren<QLabel *>())
            if (label->isVisible())
                all << label->text();
        return all.join(" | ");
    }

    std::shared_ptr<fake::FakeActions> actions = std::make_shared<fake::FakeActions>();
    std::shared_ptr<fake::MemorySettings> settings = std::make_shared<fake::MemorySettings>();
    std::unique_ptr<MainWindow> window;
};

/// Presses the button of a message box whose text has `word`.
void answer(QMessageBox *box, const QString &word) {
    for (auto *button : box->buttons())
        if (button->text().remove('&').contains(word))
            return button->click();
    QFAIL(qPrintable("no button " + word));
}

} // namespace

class TestPages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void emptyListOffersTheOneThingToDo() {
        Fixture f(false);
        QTRY_VERIFY(f.loaded());
        auto *start = f.find("startVirtualBoard");
        QTRY_VERIFY(start->isVisible());
        QVERIFY(f.find("addFirstDevice")->isVisible());
        start->click();
        QTRY_COMPARE(f.window->boards().rows().size(), 1);
        QTRY_COMPARE(f.window->boards().rows().front().reach, Reach::ready);
        QVERIFY(!start->isVisible());
        QCOMPARE(f.window->boards().selected(), "virtual-orin");
    }

    void nothingIsContactedAtStart() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        QTest::qWait(50);
        QCOMPARE(f.actions->connections.load(), 0);
        QCOMPARE(f.window->boards().rows().front().reach, Reach::idle);
    }

    void shipButtonStaysUsefulAndCancelEndsWithinASecond() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->gate.close();
        auto *dialog = ship(f);
        auto *start = dialog->findChild<QPushButton *>("startShip");
        QTRY_VERIFY(start->isEnabled());
        start->click();
        auto *cancel = dialog->findChild<QPushButton *>("cancelJob");
        QTRY_VERIFY(cancel->isVisible());
        QVERIFY(f.find("ship")->isEnabled()); // another look is always possible
        QElapsedTimer timer;
        timer.start();
        cancel->click();
        QTRY_COMPARE_WITH_TIMEOUT(f.headline(dialog), "Cancelled", 1000);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY(start->isEnabled());
    }

    void shippedReleaseIsShownAsDeployed() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        auto *dialog = ship(f);
        auto *start = dialog->findChild<QPushButton *>("startShip");
        QTRY_VERIFY(start->isEnabled());
        start->click();
        QTRY_COMPARE(f.headline(dialog), "vector_add-1a2b3c4d5e6f is live on orin-lab");
        QCOMPARE(f.window->boards().rows().front().deployed, "vector_add-1a2b3c4d5e6f");
        QCOMPARE(f.window->boards().dest("orin-lab"), "/opt/vector_add");
    }

    void stoppedShipShowsTheVerdictAndShipAnywayNamesTheChecks() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->shipIsStopped = true;
        auto *dialog = ship(f);
        auto *start = dialog->findChild<QPushButton *>("startShip");
        QTRY_VERIFY(start->isEnabled());
        start->click();
        QTRY_COMPARE(f.headline(dialog), "This package will not run there: 1 failed, 1 could not be checked, 1 warning, 1 passed");
        for (auto *button : dialog->findChildren<QPushButton *>())
            if (button->isVisible() && button->text().remove('&') == "Ship anyway…")
                button->click();
        auto *box = dialog->findChild<QMessageBox *>("confirm");
        QVERIFY(box && box->text().contains("ptx-version"));
        answer(box, "Ship anyway");
        QTRY_COMPARE(f.headline(dialog), "vector_add-1a2b3c4d5e6f is live on orin-lab");
        QCOMPARE(f.actions->allowed, std::vector<std::string>{"ptx-version"});
    }

    void unknownHostKeyIsAskedOnceThenTheJobGoesOn() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->questions = {Error{.kind = ErrorKind::hostKeyUnknown, .message = "unknown host key", .detail = "SHA256:AbCd", .subject = "192.168.55.1"}};
        f.window->boards().readFacts("orin-lab");
        QTRY_VERIFY(f.find<QMessageBox>("unknownHostKey"));
        auto *box = f.find<QMessageBox>("unknownHostKey");
        QVERIFY(box->informativeText().contains("SHA256:AbCd"));
        answer(box, "Trust");
        QTRY_COMPARE(f.window->boards().rows().front().reach, Reach::ready);
        QCOMPARE(f.actions->connections.load(), 2);
        f.window->boards().readFacts("orin-lab");
        QTRY_COMPARE(f.actions->connections.load(), 3);
        QTRY_COMPARE(f.window->jobs().runningCount(), 0);
        QVERIFY(!f.find<QMessageBox>("unknownHostKey"));
    }

    void declinedHostKeyEndsTheJobAsCancelled() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->questions = {Error{.kind = ErrorKind::hostKeyUnknown, .message = "unknown host key", .detail = "SHA256:AbCd", .subject = "h"}};
        f.window->boards().readFacts("orin-lab");
        QTRY_VERIFY(f.find<QMessageBox>("unknownHostKey"));
        answer(f.find<QMessageBox>("unknownHostKey"), "Cancel");
        QTRY_COMPARE(f.window->boards().rows().front().reach, Reach::idle);
        QCOMPARE(f.actions->connections.load(), 1);
    }

    void passwordIsAskedOncePerBoardHoweverManyJobsNeedIt() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->password = "jetson";
        f.actions->gate.close();
        f.window->boards().readFacts("orin-lab");
        int listed = -1;
        f.window->boards().run<std::vector<Release>>(
            "orin-lab", {.title = "List"},
            [actions = f.actions](const Login &login, Progress &progress) { return actions->releases(login, "/opt/x", progress); }, f.window.get(),
            [&](const Result<std::vector<Release>> &releases) { listed = releases ? int(releases->size()) : -2; });
        QTRY_COMPARE(f.window->findChildren<QDialog *>("secretQuestion").size(), 1);
        QTest::qWait(50); // the second job has asked by now, too
        QCOMPARE(f.window->findChildren<QDialog *>("secretQuestion").size(), 1);
        enterPassword(f, "wrong");
        QTRY_VERIFY(f.find<QDialog>("secretQuestion") && f.find<QDialog>("secretQuestion")->findChildren<QLabel *>().size() > 2);
        f.actions->gate.release();
        enterPassword(f, "jetson");
        QTRY_COMPARE_WITH_TIMEOUT(listed, 0, 20000);
        QTRY_COMPARE(f.window->boards().rows().front().reach, Reach::ready);
        QVERIFY(!f.find<QDialog>("secretQuestion"));
    }

    void preflightShowsFoundNeededAndFixForEachRow() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.window->openPackage("/tmp/vector_add", true);
        auto *table = f.find<QTableView>("findings");
        QTRY_COMPARE(table->model()->rowCount(), 5);
        QCOMPARE(table->model()->index(0, FindingModel::statusColumn).data().toString(), "Fail");
        const auto shown = [&](const char *name) { return f.find<QLabel>(name)->text(); };
        QCOMPARE(shown("found"), "PTX 8.7");
        QCOMPARE(shown("needed"), "8.5 or older");
        QCOMPARE(shown("fix"), "slipway aot --ptx-version 85");
        table->selectRow(1);
        QCOMPARE(shown("needed"), "glibc of the board");
        QCOMPARE(shown("fix"), "read the facts again");
        QCOMPARE(f.headline(f.window.get()), "This package will not run there: 1 failed, 1 could not be checked, 1 warning, 1 passed");
    }

    void fixDoesWhatIsSafeAndShowsWhatIsLeft() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        auto *button = f.find<QPushButton>("fixSafe");
        QVERIFY(!button->isEnabled()); // nothing was checked yet
        f.window->openPackage("/tmp/vector_add", true);
        auto *table = f.find<QTableView>("findings");
        QTRY_COMPARE(table->model()->rowCount(), 5);
        QVERIFY(button->isEnabled());
        f.actions->fixed.verdict = f.actions->verdict; // nothing could be done
        button->click();
        QTRY_VERIFY(f.visibleText().contains("Nothing here can be fixed by itself"));
        f.actions->fixed.done = {"write conf/env as the cache needs it"};
        f.actions->fixed.verdict = Verdict{.findings = {Finding{.id = "load", .status = Status::pass, .subject = "package"}}};
        button->click();
        QTRY_COMPARE(table->model()->rowCount(), 1);
        QVERIFY2(f.visibleText().contains("Fixed: write conf/env as the cache needs it."), qPrintable(f.visibleText()));
        QVERIFY(!button->isEnabled()); // nothing is wrong any more
    }

    void recheckKeepsTheSelectedFinding() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.window->openPackage("/tmp/vector_add", true);
        auto *table = f.find<QTableView>("findings");
        QTRY_COMPARE(table->model()->rowCount(), 5);
        table->selectRow(2);
        const auto before = table->currentIndex().siblingAtColumn(FindingModel::checkColumn).data().toString();
        f.actions->verdict.findings.erase(f.actions->verdict.findings.begin() + 1); // the failure above it was mended
        f.window->openPackage("/tmp/vector_add", true);
        QTRY_COMPARE(table->model()->rowCount(), 4);
        QCOMPARE(table->currentIndex().row(), 1);
        QCOMPARE(table->currentIndex().siblingAtColumn(FindingModel::checkColumn).data().toString(), before);
    }

    void neededIsShownOnlyWhenSomethingIsNeeded() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        auto *table = f.find<QTableView>("findings");
        f.window->openPackage("/tmp/vector_add", true);
        QTRY_COMPARE(table->model()->rowCount(), 5);
        QVERIFY(!table->isColumnHidden(FindingModel::neededColumn));
        f.actions->verdict.findings = {Finding{.id = "load", .status = Status::pass, .subject = "package"}};
        f.window->openPackage("/tmp/vector_add", true);
        QTRY_COMPARE(table->model()->rowCount(), 1);
        QVERIFY(table->isColumnHidden(FindingModel::neededColumn));
    }

    void aDoubleClickShowsAllOfARow() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.window->openPackage("/tmp/vector_add", true);
        auto *table = f.find<QTableView>("findings");
        QTRY_COMPARE(table->model()->rowCount(), 5);
        Q_EMIT table->doubleClicked(table->model()->index(0, FindingModel::checkColumn));
        auto *details = f.find<QDialog>("rowDetails");
        QVERIFY(details);
        QStringList texts;
        for (const auto *label : details->findChildren<QLabel *>())
            texts << label->text();
        QVERIFY2(texts.contains("PTX 8.7") && texts.contains("8.5 or older"), qPrintable(texts.join(" | ")));
    }

    void aPackageDroppedOnADeviceIsCheckedAgainstItAndAProjectIsShippedToIt() {
        Fixture f;
        f.actions->world.boards.push_back({.device = fake::device("orin-two")});
        f.window->boards().refresh();
        QTRY_VERIFY(f.loaded());
        auto *list = f.window->findChild<BoardList *>();
        drop(list, list->visualRect(list->model()->index(1, 0)).center(), "/tmp/package");
        auto *table = f.find<QTableView>("findings");
        QTRY_COMPARE(table->model()->rowCount(), 5);
        QCOMPARE(f.find<QComboBox>("against")->currentData().toString(), "device:orin-two");
        f.window->showPage(Page::devices);
        drop(list, list->visualRect(list->model()->index(0, 0)).center(), "/tmp/project");
        QTRY_VERIFY(f.window->findChild<ShipDialog *>());
        QCOMPARE(f.window->findChild<ShipDialog *>()->windowTitle(), "Ship to orin-lab");
        QCOMPARE(f.window->findChild<QLineEdit *>("projectFolder")->text(), "/tmp/project");
    }

    void theLastProjectAndDeviceAreProposedAgain() {
        Fixture f;
        f.actions->world.boards.push_back({.device = fake::device("orin-two")});
        f.window->boards().refresh();
        QTRY_VERIFY(f.loaded());
        f.window->boards().select("orin-two");
        auto *dialog = ship(f);
        QTRY_VERIFY(dialog->findChild<QPushButton *>("startShip")->isEnabled());
        MainWindow again(f.actions, f.settings);
        QTRY_COMPARE(again.boards().rows().size(), 2);
        QCOMPARE(again.boards().selected(), "orin-two");
        again.ship("orin-two", {});
        QCOMPARE(again.findChild<QLineEdit *>("projectFolder")->text(), "/work/vector_add");
    }

    void preflightCommandTwinSaysTheSame() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.window->openPackage("/tmp/my package", false);
        auto *against = f.find<QComboBox>("against");
        QTRY_VERIFY(against->findData("target:jetson-orin-nano") >= 0);
        against->setCurrentIndex(against->findData("target:jetson-orin-nano"));
        QStringList commands;
        for (const auto *edit : f.window->findChildren<QLineEdit *>())
            commands << edit->text();
        QVERIFY2(commands.contains("slipway preflight '/tmp/my package' --target jetson-orin-nano"), qPrintable(commands.join(" | ")));
    }

    void cacheShowsTheTextOfTheSelectedKernel() {
        Fixture f;
        KernelCache cache;
        for (const char *name : {"saxpy", "vector_add"}) {
            CacheEntry entry;
            entry.name = name;
            entry.image = fs::path("/c") / (std::string(name) + "_ab.o");
            cache.entries.push_back(entry);
        }
        f.actions->caches["/c"] = cache;
        f.window->openCache("/c");
        auto *table = f.find<QTableView>("kernels");
        QTRY_COMPARE(table->model()->rowCount(), 2);
        table->selectRow(1);
        auto *text = f.window->findChild<PtxView *>();
        QTRY_VERIFY(text->text().startsWith("// vector_add_ab.o\n.version 8.5"));
        f.window->openCache("/nowhere");
        QTRY_COMPARE(table->model()->rowCount(), 0);
    }

    void sysrootWizardPlansCopiesVerifiesAndSumsUp() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.window->showPage(Page::sysroot);
        f.find("syncSysroot")->click();
        auto *wizard = f.window->findChild<SysrootWizard *>();
        QVERIFY(wizard);
        wizard->next();
        QTRY_COMPARE(f.headline(wizard), "4.3 GB will be copied");
        wizard->next();
        QTRY_COMPARE(f.headline(wizard), "18234 files, 4.3 GB");
        wizard->next();
        QTRY_COMPARE(f.headline(wizard), "Programs link against it");
        wizard->next();
        QTRY_COMPARE(f.headline(wizard), "The sysroot of orin-lab is ready");
    }

    void windowStaysResponsiveWhileAJobRuns() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->gate.close();
        f.window->boards().readFacts("orin-lab");
        QTRY_COMPARE(f.window->jobs().runningCount(), 1);
        qint64 worst = 0;
        int ticks = 0;
        QElapsedTimer since;
        QTimer tick;
        connect(&tick, &QTimer::timeout, this, [&] {
            worst = std::max(worst, since.restart());
            ++ticks;
        });
        since.start();
        tick.start(10);
        for (const auto page : {Page::preflight, Page::sysroot, Page::cache, Page::devices}) {
            f.window->showPage(page);
            const int before = ticks;
            QTRY_VERIFY(ticks > before + 2); // the loop goes on, however slow the machine is
        }
        QVERIFY2(worst < 1000, qPrintable(QString("the event loop stood still for %1 ms").arg(worst)));
        f.window->jobs().cancelAll();
        QTRY_COMPARE_WITH_TIMEOUT(f.window->jobs().runningCount(), 0, 1000);
    }

    void closingDuringAJobAsks() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        f.actions->gate.close();
        f.window->boards().readFacts("orin-lab");
        QTRY_COMPARE(f.window->jobs().runningCount(), 1);
        QVERIFY(!f.window->close());
        auto *box = f.find<QMessageBox>("confirm");
        QVERIFY(box);
        answer(box, "Cancel");
        QVERIFY(f.window->isVisible());
        QCOMPARE(f.window->jobs().runningCount(), 1);
        f.window->close();
        QTRY_VERIFY(f.window->findChildren<QMessageBox *>("confirm").size() == 1);
        answer(f.find<QMessageBox>("confirm"), "Stop");
        QTRY_VERIFY_WITH_TIMEOUT(!f.window->isVisible(), 1500);
    }

    void geometryAndPageAreRemembered() {
        auto settings = std::make_shared<fake::MemorySettings>();
        auto actions = std::make_shared<fake::FakeActions>();
        {
            MainWindow window(actions, settings);
            window.show();
            window.showPage(Page::cache);
            window.resize(1234, 701); // a first start has 1100 x 720
            window.close();
        }
        QCOMPARE(settings->value("window/page"), "3");
        MainWindow again(actions, settings);
        QCOMPARE(again.height(), 701); // newer Qt makes it as narrow as the offscreen screen
    }

    void everyInputHasAnAccessibleName() {
        Fixture f;
        QTRY_VERIFY(f.loaded());
        for (const auto *edit : f.window->findChildren<QLineEdit *>())
            if (!qobject_cast<QComboBox *>(edit->parentWidget()))
                QVERIFY2(!edit->accessibleName().isEmpty(), qPrintable(edit->placeholderText()));
        for (const auto *table : f.window->findChildren<QTableView *>())
            QVERIFY(!table->accessibleName().isEmpty());
        for (const auto *box : f.window->findChildren<QComboBox *>())
            QVERIFY(!box->accessibleName().isEmpty());
    }

private:
    static void drop(QListView *list, const QPoint &at, const QString &folder) {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(folder)});
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(list->viewport(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(at, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(list->viewport(), &event);
    }
    static ShipDialog *ship(Fixture &f) {
        f.window->ship("orin-lab", "/work/vector_add");
        return f.window->findChild<ShipDialog *>();
    }
    static void enterPassword(Fixture &f, const char *text) {
        auto *dialog = f.find<QDialog>("secretQuestion");
        dialog->findChild<QLineEdit *>()->setText(text);
        dialog->accept();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    }
};

QTEST_MAIN(TestPages)
#include "tst_pages.moc"
