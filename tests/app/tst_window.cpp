// SPDX-License-Identifier: Apache-2.0
//
// The window with the real engine and a virtual board of its own: what a user does with the mouse, and what they must see.

#include "app/gui/engine.h"
#include "core/image/elfimage.h"
#include "core/workspace/boards.h"
#include "tests/ui/fakeactions.h"
#include "ui/findingmodel.h"
#include "ui/mainwindow.h"
#include "ui/releasemodel.h"
#include "ui/shipdialog.h"
#include "ui/sysrootwizard.h"

#include <QAbstractButton>
#include <QElapsedTimer>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <QTreeWidget>

using namespace slipway;

namespace {

constexpr const char *board = "virtual-orin";

/// Directories of its own; packages downloaded for virtual boards are shared by all tests of a build.
Result<Workspace> ownWorkspace(const fs::path &root) {
    const fs::path shared = SLIPWAY_BINARY_DIR "/test-cache/slipway/debs";
    fs::create_directories(shared);
    fs::create_directories(root / "cache/slipway");
    fs::create_directory_symlink(shared, root / "cache/slipway/debs");
    return Workspace::from({{"HOME", root.string()},
                            {"XDG_CONFIG_HOME", (root / "config").string()},
                            {"XDG_CACHE_HOME", (root / "cache").string()},
                            {"XDG_STATE_HOME", (root / "state").string()}},
                           fs::read_symlink("/proc/self/exe"));
}

/// The longest time that the event loop stood still since it was made.
class Pulse {
public:
    Pulse() {
        QObject::connect(&m_tick, &QTimer::timeout, &m_tick, [this] { m_worst = std::max(m_worst, m_since.restart()); });
        m_since.start();
        m_tick.start(10);
    }
    [[nodiscard]] qint64 worst() const { return std::max(m_worst, m_since.elapsed()); }

private:
    QTimer m_tick;
    QElapsedTimer m_since;
    qint64 m_worst = 0;
};

} // namespace

class TestWindow : public QObject {
    Q_OBJECT
    QTemporaryDir m_dir;
    std::optional<Workspace> m_workspace;
    std::unique_ptr<MainWindow> m_window;
    fs::path m_root; ///< of the board's userland, seen from here
    const fs::path m_project = m_dir.filePath("vector_add").toStdString();

    [[nodiscard]] fs::path currentLink() const { return fs::read_symlink(m_root / "opt/vector_add/current"); }
    /// What the live release was marked with.
    [[nodiscard]] std::string live() const {
        return readFile(m_root / "opt/vector_add" / currentLink() / "data/marker.txt").value_or("no marker");
    }
    void mark(const std::string &text) const { QVERIFY(writeFileAtomically(m_project / "data/marker.txt", text)); }
    [[nodiscard]] QString headline(const QWidget *in) const {
        for (const auto *label : in->findChildren<QLabel *>("headline"))
            if (label->isVisible())
                return label->text();
        return {};
    }
    [[nodiscard]] Reach reach(const char *name) const {
        const auto *row = m_window->boards().find(name);
        return row ? row->reach : Reach::idle;
    }
    void press(QMessageBox *box, const QString &word) const {
        QVERIFY(box);
        for (auto *button : box->buttons())
            if (button->text().remove('&').contains(word))
                return button->click();
        QFAIL(qPrintable("no button " + word));
    }
    /// Opens the ship dialog by its button, and begins as soon as the plan is there.
    ShipDialog *beginShip() const {
        m_window->showPage(Page::devices);
        m_window->findChild<QPushButton *>("ship")->click();
        auto *dialog = m_window->findChildren<ShipDialog *>().last();
        dialog->setProject(QString::fromStdString(m_project.string()));
        auto *start = dialog->findChild<QPushButton *>("startShip");
        [&] { QTRY_VERIFY(start->isEnabled()); }();
        start->click();
        return dialog;
    }
    static QStringList stepsOf(const ShipDialog *dialog) {
        QStringList titles;
        const auto *steps = dialog->findChild<QTreeWidget *>("steps");
        for (int i = 0; i < steps->topLevelItemCount(); ++i)
            titles << steps->topLevelItem(i)->text(0).trimmed();
        return titles;
    }
    /// A board like the virtual one, under another name and with other files.
    Device stranger(const char *name, const fs::path &identity, const fs::path &knownHosts) const {
        auto device = m_window->boards().find(board)->board.device;
        device.name = name;
        device.identity = identity.string();
        device.knownHosts = knownHosts.string();
        return device;
    }

private Q_SLOTS:
    void initTestCase() {
        auto workspace = ownWorkspace(m_dir.path().toStdString());
        QVERIFY2(workspace, workspace ? "" : workspace.error().message.c_str());
        m_workspace = *workspace;
        fs::copy(fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add", m_project, fs::copy_options::recursive);
        auto catalog = m_workspace->catalog();
        QVERIFY(catalog);
        m_window = std::make_unique<MainWindow>(std::make_shared<gui::Engine>(*m_workspace, *catalog), std::make_shared<fake::MemorySettings>());
        m_window->show();
    }

    void cleanupTestCase() {
        m_window.reset();
        Progress progress;
        const auto options = virtualBoardOptions(*m_workspace, board);
        QVERIFY(stopVirtualBoard(options, progress));
    }

    void theVirtualBoardStartsFromTheEmptyListAndItsFactsAreRead() {
        auto *start = m_window->findChild<QPushButton *>("startVirtualBoard");
        QTRY_VERIFY(start->isVisible());
        start->click();
        QTRY_COMPARE_WITH_TIMEOUT(reach(board), Reach::ready, 120'000);
        QTRY_VERIFY(m_window->boards().find(board)->board.facts.has_value());
        QCOMPARE(m_window->boards().find(board)->board.facts->jetpack, std::optional<std::string>("6.2"));
        QCOMPARE(m_window->boards().find(board)->targetName, std::string("Jetson Orin Nano"));
        Progress progress;
        m_root = virtualBoardStatus(virtualBoardOptions(*m_workspace, board), progress)->root;
    }

    void shipFromTheDialogShowsItsStepsAndEndsLive() {
        mark("one");
        const Pulse pulse;
        auto *dialog = beginShip();
        QStringList seen;
        QTimer look;
        connect(&look, &QTimer::timeout, this, [&] { seen << stepsOf(dialog); });
        look.start(50);
        QTRY_VERIFY2_WITH_TIMEOUT(headline(dialog).contains("is live on virtual-orin"), qPrintable(headline(dialog)), 240'000);
        seen.removeDuplicates();
        qInfo().noquote() << seen.join(" | ");
        for (const char *word : {"facts", "build", "compile kernels", "pre-flight", "deploy"})
            QVERIFY2(seen.join('\n').contains(word, Qt::CaseInsensitive), qPrintable(word + (" in " + seen.join(" | "))));
        QCOMPARE(readElfFile(m_root / "opt/vector_add" / currentLink() / "bin/vector_add")->machine, std::string("aarch64"));
        QCOMPARE(live(), std::string("one"));
        QVERIFY2(pulse.worst() < 1000, qPrintable(QString("the window stood still for %1 ms").arg(pulse.worst())));
        dialog->close();
    }

    void preflightOfThePackageAgainstTheLiveBoardListsEveryCheck() {
        const auto package = m_workspace->packageDirectory(m_project, "jetson-orin-nano");
        m_window->openPackage(QString::fromStdString(package.string()), true);
        auto *table = m_window->findChild<QTableView *>("findings");
        QTRY_VERIFY_WITH_TIMEOUT(table->model()->rowCount() >= int(checks().size()), 60'000);
        QStringList remarks;
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const auto cell = [&](int column) { return table->model()->index(row, column).data().toString(); };
            if (cell(FindingModel::statusColumn) != "Pass" && cell(FindingModel::statusColumn) != "Skipped")
                remarks << cell(FindingModel::checkColumn) + ": " + cell(FindingModel::foundColumn);
        }
        QVERIFY2(headline(m_window.get()).startsWith("Ready to ship"), qPrintable(headline(m_window.get()) + " " + remarks.join("; ")));
        for (int row = 0; row < table->model()->rowCount(); ++row) {
            const auto status = table->model()->index(row, FindingModel::statusColumn).data().toString();
            QVERIFY2(status != "Fail" && status != "Unknown", qPrintable(table->model()->index(row, FindingModel::checkColumn).data().toString()));
        }
    }

    void rollbackFromTheReleasesTableMakesTheFormerReleaseLive() {
        const auto first = currentLink();
        mark("two");
        auto *dialog = beginShip();
        QTRY_VERIFY2_WITH_TIMEOUT(headline(dialog).contains("is live on"), qPrintable(headline(dialog)), 240'000);
        dialog->close();
        QCOMPARE(live(), std::string("two"));
        m_window->listReleases();
        auto *table = m_window->findChild<QTableView *>("releases");
        QTRY_COMPARE_WITH_TIMEOUT(table->model()->rowCount(), 2, 30'000);
        for (int row = 0; row < 2; ++row)
            if (first.filename() == table->model()->index(row, ReleaseModel::idColumn).data().toString().toStdString())
                table->selectRow(row);
        m_window->findChild<QPushButton *>("rollBack")->click();
        press(m_window->findChild<QMessageBox *>("confirm"), "Roll back");
        QTRY_COMPARE_WITH_TIMEOUT(currentLink(), first, 60'000);
        QCOMPARE(live(), std::string("one"));
        QTRY_COMPARE_WITH_TIMEOUT(m_window->boards().find(board)->deployed, first.filename().string(), 30'000);
    }

    void cancelOfARunningShipEndsWithinASecondAndTheOldReleaseStaysLive_data() {
        QTest::addColumn<QString>("step");
        QTest::newRow("while it compiles") << "compile";
        QTest::newRow("while pre-flight looks at the board") << "pre-flight";
        QTest::newRow("while the board verifies") << "verify on the board";
    }

    void cancelOfARunningShipEndsWithinASecondAndTheOldReleaseStaysLive() {
        QFETCH(const QString, step);
        const auto before = currentLink();
        mark(step.toStdString());
        if (step == "compile")
            QVERIFY(writeFileAtomically(m_project / "main.cpp", *readFile(m_project / "main.cpp") + "// changed\n"));
        auto *dialog = beginShip();
        QTRY_VERIFY_WITH_TIMEOUT(stepsOf(dialog).join('\n').contains(step, Qt::CaseInsensitive), 120'000);
        auto *cancel = dialog->findChild<QPushButton *>("cancelJob");
        QVERIFY(cancel->isVisible());
        QElapsedTimer timer;
        timer.start();
        cancel->click();
        QTRY_VERIFY_WITH_TIMEOUT(headline(dialog) == "Cancelled", 5000);
        QVERIFY2(timer.elapsed() < 1000, qPrintable(QString("%1 ms").arg(timer.elapsed())));
        QCOMPARE(currentLink(), before);
        QCOMPARE(live(), std::string("one"));
        dialog->close();
    }

    void anUnknownHostKeyIsAskedDecliningEndsItTrustingGoesOn() {
        const auto *known = m_window->boards().find(board);
        const fs::path empty = m_dir.filePath("no-known-hosts").toStdString();
        m_window->boards().save(stranger("stranger", known->board.device.identity, empty), true);
        QTRY_VERIFY_WITH_TIMEOUT(m_window->findChild<QMessageBox *>("unknownHostKey"), 30'000);
        QVERIFY(m_window->findChild<QMessageBox *>("unknownHostKey")->informativeText().contains("SHA256:"));
        press(m_window->findChild<QMessageBox *>("unknownHostKey"), "Cancel");
        QTRY_COMPARE(reach("stranger"), Reach::idle);
        QTRY_VERIFY(!m_window->findChild<QMessageBox *>("unknownHostKey"));
        m_window->boards().readFacts("stranger");
        QTRY_VERIFY_WITH_TIMEOUT(m_window->findChild<QMessageBox *>("unknownHostKey"), 30'000);
        press(m_window->findChild<QMessageBox *>("unknownHostKey"), "Trust");
        QTRY_COMPARE_WITH_TIMEOUT(reach("stranger"), Reach::ready, 60'000);
        QVERIFY(readFile(empty)->contains("ssh-"));
    }

    void aWrongPassphraseIsAskedAgainAndTheRightOneGoesOn() {
        const auto known = m_window->boards().find(board)->board.device;
        const fs::path locked = m_dir.filePath("locked").toStdString();
        fs::copy_file(known.identity, locked);
        Progress progress;
        QVERIFY(runChecked({.program = "ssh-keygen", .arguments = {"-q", "-p", "-P", "", "-N", "correct horse", "-f", locked.string()}}, progress));
        m_window->boards().save(stranger("locked", locked, known.knownHosts), true);
        const auto question = [this] { return m_window->findChild<QDialog *>("secretQuestion"); };
        for (const char *answer : {"wrong", "correct horse"}) {
            QTRY_VERIFY_WITH_TIMEOUT(question(), 30'000);
            question()->findChild<QLineEdit *>()->setText(answer);
            question()->accept();
            QTRY_VERIFY(!question() || question()->isVisible());
        }
        QTRY_COMPARE_WITH_TIMEOUT(reach("locked"), Reach::ready, 60'000);
    }

    void theSysrootWizardMeasuresCopiesWithProgressAndEndsWithTheProof() {
        m_window->boards().select(board);
        m_window->showPage(Page::sysroot);
        m_window->findChild<QPushButton *>("syncSysroot")->click();
        auto *wizard = m_window->findChild<SysrootWizard *>();
        QVERIFY(wizard);
        wizard->next();
        QTRY_VERIFY2_WITH_TIMEOUT(headline(wizard).contains("will be copied"), qPrintable(headline(wizard)), 120'000);
        QStringList amounts;
        const auto connection = connect(&m_window->jobs(), &Jobs::reported, this, [&](int, const QList<Event> &events) {
            for (const auto &event : events)
                if (event.total > 0)
                    amounts << amountText(event);
        });
        wizard->next();
        QTRY_VERIFY2_WITH_TIMEOUT(headline(wizard).contains(" files, "), qPrintable(headline(wizard)), 500'000);
        disconnect(connection);
        amounts.removeDuplicates();
        QVERIFY2(amounts.size() > 3, qPrintable(amounts.join(" | ")));
        wizard->next();
        QTRY_VERIFY2_WITH_TIMEOUT(headline(wizard) == "Programs link against it", qPrintable(headline(wizard)), 120'000);
        wizard->next();
        QTRY_COMPARE(headline(wizard), QString("The sysroot of virtual-orin is ready"));
        wizard->accept();
        QTRY_VERIFY(m_window->boards().find(board)->board.sysroot.has_value());
    }
};

QTEST_MAIN(TestWindow)
#include "tst_window.moc"
