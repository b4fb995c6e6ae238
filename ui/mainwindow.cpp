// SPDX-License-Identifier: Apache-2.0
//
// Puts the pages together: navigation, the device selector, menus, the activity pane, and what is remembered.

#include "ui/mainwindow.h"

#include "ui/activitypanel.h"
#include "ui/cachepage.h"
#include "ui/devicespage.h"
#include "ui/look.h"
#include "ui/parts.h"
#include "ui/preflightpage.h"
#include "ui/shipdialog.h"
#include "ui/sysrootpage.h"
#include "ui/text.h"

#include <QCloseEvent>
#include <QComboBox>
#include <QDialog>
#include <QListWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QSplitter>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

namespace slipway {

MainWindow::MainWindow(std::shared_ptr<Actions> actions, std::shared_ptr<Settings> settings, QWidget *parent)
    : QMainWindow(parent), m_settings(std::move(settings)), m_boards(std::move(actions), m_jobs, *m_settings, this),
      m_navigation(new QListWidget), m_stack(new QStackedWidget), m_devices(new DevicesPage(m_boards)),
      m_preflight(new PreflightPage(m_boards, m_jobModel)), m_sysroot(new SysrootPage(m_boards, m_jobModel)), m_cache(new CachePage(m_boards)),
      m_activity(new ActivityPanel(m_jobs, m_jobModel, *m_settings)), m_split(new QSplitter(Qt::Vertical)), m_selector(new QComboBox),
      m_badge(new Badge(tr("SIMULATED"), Tone::warning)), m_status(new ElidedLabel), m_activityButton(new QToolButton) {
    setWindowTitle(tr("Slipway"));
    setWindowIcon(icon("ship"));
    buildPages();
    buildMenus();
    buildStatus();
    wireJobs();
    connect(m_devices, &DevicesPage::shipWanted, this, &MainWindow::ship);
    connect(m_devices, &DevicesPage::packageDropped, this, &MainWindow::openPackageAgainst);
    connect(m_preflight, &PreflightPage::cacheWanted, this, [this](const QString &directory) { openCache(directory.toStdString()); });
    connect(&m_boards, &Boards::changed, this, &MainWindow::fillSelector);
    connect(&m_boards, &Boards::selectedChanged, this, &MainWindow::fillSelector);
    connect(&m_boards, &Boards::problem, m_status, &ElidedLabel::setFullText);
    connect(m_selector, &QComboBox::activated, this, [this] { m_boards.select(m_selector->currentText().toStdString()); });
    fillSelector();
    restore();
    m_boards.refresh();
}

/// A widget that goes while it has the focus or a selection says so to the others: everything must still be there then.
MainWindow::~MainWindow() {
    for (auto *dialog : findChildren<QDialog *>(Qt::FindDirectChildrenOnly)) {
        dialog->hide();
        delete dialog;
    }
    hide();
    delete takeCentralWidget();
}

void MainWindow::buildPages() {
    m_stack->addWidget(m_devices);
    m_stack->addWidget(m_preflight);
    m_stack->addWidget(m_sysroot);
    m_stack->addWidget(m_cache);
    auto *right = new QWidget;
    auto *rightLayout = column();
    rightLayout->setSpacing(0);
    right->setLayout(rightLayout);
    auto *below = new QWidget;
    auto *belowLayout = column();
    belowLayout->setContentsMargins(margin, 4, margin, margin);
    below->setLayout(belowLayout);
    belowLayout->addWidget(m_activity);
    m_split->addWidget(m_stack);
    m_split->addWidget(below);
    m_split->setStretchFactor(0, 1);
    m_split->setCollapsible(0, false);
    m_split->setHandleWidth(4);
    rightLayout->addWidget(m_split, 1);
    auto *whole = new QWidget;
    auto *layout = row();
    layout->setSpacing(0);
    whole->setLayout(layout);
    layout->addWidget(buildNavigation());
    layout->addWidget(right, 1);
    setCentralWidget(whole);
}

QWidget *MainWindow::buildNavigation() {
    auto *part = new QWidget;
    part->setFixedWidth(168);
    part->setAutoFillBackground(true);
    part->setBackgroundRole(QPalette::Base);
    auto *layout = column();
    layout->setContentsMargins(gap, margin, gap, 0);
    part->setLayout(layout);
    m_navigation->setAccessibleName(tr("Pages"));
    m_navigation->setObjectName("navigation");
    m_navigation->setFrameShape(QFrame::NoFrame);
    m_navigation->setIconSize({22, 22});
    m_navigation->setSpacing(1);
    m_navigation->setStyleSheet("QListWidget::item { padding-left: 8px; border-radius: 6px; }"
                                "QListWidget::item:selected { background: palette(highlight); color: palette(highlighted-text); }");
    const std::pair<const char *, QString> pages[] = {
        {"devices", tr("Devices")}, {"preflight", tr("Pre-flight")}, {"sysroot", tr("Sysroots")}, {"cache", tr("Kernel cache")}};
    for (const auto &[name, text] : pages) {
        auto *item = new QListWidgetItem(icon(name), text, m_navigation);
        item->setSizeHint({0, 40});
        item->setToolTip(tr("Ctrl+%1").arg(m_navigation->count()));
    }
    connect(m_navigation, &QListWidget::currentRowChanged, m_stack, &QStackedWidget::setCurrentIndex);
    layout->addWidget(m_navigation, 1);
    layout->addWidget(buildSelector());
    return part;
}

QWidget *MainWindow::buildSelector() {
    auto *part = new QWidget;
    auto *layout = column();
    layout->setContentsMargins(0, gap, 0, gap);
    part->setLayout(layout);
    auto *label = plainLabel(tr("Device"));
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setBuddy(m_selector);
    auto *head = row();
    head->addWidget(label);
    head->addStretch();
    head->addWidget(m_badge);
    m_selector->setObjectName("deviceSelector");
    m_selector->setAccessibleName(tr("Device to work with"));
    m_selector->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_selector->setPlaceholderText(tr("none yet"));
    layout->addLayout(head);
    layout->addWidget(m_selector);
    return part;
}

void MainWindow::buildMenus() {
    buildFileMenu();
    auto *device = menuBar()->addMenu(tr("&Device"));
    device->addAction(icon("add"), tr("&Add…"), QKeySequence(tr("Ctrl+N")), m_devices, &DevicesPage::addDevice);
    device->addAction(icon("run"), tr("Start the &virtual board"), &m_boards, &Boards::startVirtualBoard);
    device->addSeparator();
    device->addAction(icon("refresh"), tr("Refresh &facts"), QKeySequence(Qt::Key_F5), this, [this] {
        if (m_boards.find(m_boards.selected()))
            m_boards.readFacts(m_boards.selected());
    });
    device->addAction(icon("rollback"), tr("List &releases"), QKeySequence(tr("Ctrl+L")), this, &MainWindow::listReleases);
    device->addAction(icon("sync"), tr("&Sync a sysroot…"), QKeySequence(tr("Ctrl+Y")), this, &MainWindow::syncSysroot);
    device->addSeparator();
    device->addAction(icon("remove"), tr("&Remove…"), m_devices, &DevicesPage::removeSelected);
    buildViewMenu();
    buildHelpMenu();
}

void MainWindow::buildFileMenu() {
    auto *file = menuBar()->addMenu(tr("&File"));
    file->addAction(icon("ship"), tr("&Ship a project…"), QKeySequence(tr("Ctrl+B")), this, [this] {
        if (m_boards.find(m_boards.selected()))
            ship(m_boards.selected(), {});
        else
            showPage(Page::devices);
    });
    file->addAction(icon("preflight"), tr("&Check a package"), QKeySequence(tr("Ctrl+K")), this, [this] {
        showPage(Page::preflight);
        m_preflight->check();
    });
    file->addSeparator();
    file->addAction(icon("exit"), tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::buildViewMenu() {
    auto *view = menuBar()->addMenu(tr("&View"));
    for (int i = 0; i < m_navigation->count(); ++i) {
        auto *item = m_navigation->item(i);
        view->addAction(item->icon(), item->text(), QKeySequence(QString("Ctrl+%1").arg(i + 1)), this, [this, i] { showPage(Page(i)); });
    }
    view->addSeparator();
    auto *activity = view->addAction(icon("activity"), tr("&Activity"));
    activity->setShortcut(QKeySequence(tr("Ctrl+J")));
    activity->setCheckable(true);
    m_activityButton->setDefaultAction(activity);
    connect(activity, &QAction::toggled, this, &MainWindow::showActivity);
    view->addAction(icon("refresh"), tr("&Reload the lists"), QKeySequence(tr("Ctrl+R")), this, [this] {
        m_boards.refresh();
        m_cache->refresh();
    });
}

void MainWindow::buildHelpMenu() {
    auto *help = menuBar()->addMenu(tr("&Help"));
    help->addAction(tr("&About Slipway"), this, &MainWindow::about);
}

void MainWindow::buildStatus() {
    m_activityButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_activityButton->setAutoRaise(true);
    m_status->setAccessibleName(tr("Status"));
    statusBar()->addWidget(m_status, 1);
    statusBar()->addPermanentWidget(m_activityButton);
    statusBar()->setSizeGripEnabled(false);
    statusBar()->setContentsMargins(gap, 0, gap, 0);
}

void MainWindow::wireJobs() {
    connect(&m_jobs, &Jobs::started, this, [this](int id, const QString &title) {
        m_jobModel.start(id, title);
        m_activity->reveal(id);
    });
    connect(&m_jobs, &Jobs::reported, &m_jobModel, &JobModel::report);
    connect(&m_jobs, &Jobs::finished, &m_jobModel, &JobModel::finish);
    connect(&m_jobModel, &JobModel::jobChanged, this, &MainWindow::showJobsInStatus);
}

void MainWindow::showJobsInStatus(int id) {
    const auto *job = m_jobModel.job(id);
    const int count = m_jobs.runningCount();
    m_activityButton->defaultAction()->setText(count ? tr("&Activity (%1 running)").arg(count) : tr("&Activity"));
    if (!job)
        return;
    const auto *step = job->current();
    auto text = job->title + ": ";
    text += job->state == JobState::running && step ? step->title : jobStateWord(job->state);
    if (!job->outcome.isEmpty())
        text += ": " + job->outcome;
    m_status->setFullText(text);
}

void MainWindow::restore() {
    const auto bytes = [this](const char *key) { return QByteArray::fromBase64(QByteArray::fromStdString(m_settings->value(key))); };
    resize(1100, 720);
    restoreGeometry(bytes("window/geometry"));
    const bool activity = m_settings->value("window/activity") == "shown";
    m_split->setSizes({520, 190});
    m_split->restoreState(bytes("window/split"));
    m_activityButton->defaultAction()->setChecked(activity);
    showActivity(activity);
    bool known = false;
    const int page = QString::fromStdString(m_settings->value("window/page")).toInt(&known);
    showPage(known && page >= 0 && page < m_stack->count() ? Page(page) : Page::devices);
}

void MainWindow::showPage(Page page) {
    m_navigation->setCurrentRow(int(page));
}

void MainWindow::showActivity(bool visible) {
    m_split->widget(1)->setVisible(visible);
    const QSignalBlocker quiet(m_activityButton->defaultAction());
    m_activityButton->defaultAction()->setChecked(visible);
}

void MainWindow::listReleases() {
    showPage(Page::devices);
    m_devices->listReleases();
}

void MainWindow::syncSysroot() {
    showPage(Page::sysroot);
    m_sysroot->sync();
}

void MainWindow::addDevice() {
    showPage(Page::devices);
    m_devices->addDevice();
}

void MainWindow::fillSelector() {
    m_selector->clear();
    for (const auto &row : m_boards.rows())
        m_selector->addItem(qs(row.board.device.name));
    m_selector->setEnabled(m_selector->count() > 0);
    m_selector->setCurrentIndex(m_selector->findText(qs(m_boards.selected())));
    m_selector->setToolTip(plainTip(m_selector->currentText()));
    const auto *selected = m_boards.find(m_boards.selected());
    m_badge->setVisible(selected && selected->board.device.isVirtual);
}

void MainWindow::openPackage(const QString &folder, bool check) {
    showPage(Page::preflight);
    m_preflight->setPackage(folder);
    if (check)
        m_preflight->check();
}

void MainWindow::openPackageAgainst(const std::string &device, const QString &folder) {
    m_boards.select(device);
    openPackage(folder, true);
}

void MainWindow::openCache(const fs::path &directory) {
    showPage(Page::cache);
    m_cache->open(directory);
}

void MainWindow::ship(const std::string &device, const QString &projectFolder) {
    auto *dialog = new ShipDialog(m_boards, m_jobModel, device, this);
    if (!projectFolder.isEmpty())
        dialog->setProject(projectFolder);
    connect(dialog, &ShipDialog::findingsWanted, this, [this](const Verdict &verdict) {
        showPage(Page::preflight);
        m_preflight->showVerdict(verdict);
        raise();
    });
    dialog->show();
}

void MainWindow::closeEvent(QCloseEvent *event) {
    if (m_jobs.runningCount() > 0 && !m_closing) {
        event->ignore();
        askToConfirm(this, tr("Work is not finished"),
                     tr("Stop what is running and close? A board keeps the release that is live; copies go on next time."),
                     tr("&Stop and close"), [this] { closeWhenIdle(); });
        return;
    }
    const auto keep = [this](const char *key, const QByteArray &bytes) { m_settings->setValue(key, bytes.toBase64().toStdString()); };
    keep("window/geometry", saveGeometry());
    keep("window/split", m_split->saveState());
    m_settings->setValue("window/activity", m_activityButton->defaultAction()->isChecked() ? "shown" : "hidden");
    m_settings->setValue("window/page", std::to_string(m_stack->currentIndex()));
    QMainWindow::closeEvent(event);
}

void MainWindow::closeWhenIdle() {
    m_closing = true;
    m_jobs.cancelAll();
    if (m_jobs.runningCount() == 0) {
        close();
        return;
    }
    connect(&m_jobs, &Jobs::finished, this, [this] {
        if (m_closing && m_jobs.runningCount() == 0)
            close();
    });
}

void MainWindow::about() {
    auto *box = new QMessageBox(QMessageBox::NoIcon, tr("About Slipway"), QString(), QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->setIconPixmap(icon("ship", Tone::busy).pixmap(48, 48));
    box->setText(tr("Slipway %1").arg(SLIPWAY_VERSION));
    box->setInformativeText(tr("Builds GPU programs here, proves that a board can run them, and ships them there.\n\nApache License 2.0"));
    box->open();
}

} // namespace slipway
