// SPDX-License-Identifier: Apache-2.0
//
// Package, against what, verdict, rows, details, and the same as a command.

#include "ui/preflightpage.h"

#include "ui/findingdetails.h"
#include "ui/jobview.h"
#include "ui/parts.h"
#include "ui/text.h"

#include <QAction>
#include <QApplication>
#include <QButtonGroup>
#include <QClipboard>
#include <QComboBox>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>

namespace slipway {

namespace {

constexpr Status filterOrder[] = {Status::fail, Status::unknown, Status::warn, Status::pass, Status::skipped};

/// What an item of the "against" box stands for: "device:NAME", "target:ID", "facts:".
QString kindOf(const QString &data) { return data.section(':', 0, 0); }
std::string nameOf(const QString &data) { return data.section(':', 1).toStdString(); }

} // namespace

PreflightPage::PreflightPage(Boards &boards, JobModel &model, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_package(new QLineEdit), m_against(new QComboBox), m_check(button(tr("&Check"), "preflight")),
      m_fix(button(tr("&Fix what is safe"), "fix")), m_copy(button(tr("Copy as &text"), "copy")), m_banner(new Banner), m_job(new JobView(boards.jobs(), model)), m_filters(new QButtonGroup(this)),
      m_model(new FindingModel(this)), m_sorted(new FindingFilter(this)), m_table(nullptr),
      m_split(new QSplitter), m_details(new FindingDetails), m_twin(new CommandTwin) {
    build();
    setAcceptDrops(true);
    connect(&m_boards, &Boards::changed, this, &PreflightPage::fillAgainst);
    connect(&m_boards, &Boards::selectedChanged, this, [this](const std::string &name) {
        m_chosen.clear();
        m_against->setCurrentIndex(std::max(0, m_against->findData("device:" + qs(name))));
    });
    connect(m_package, &QLineEdit::textChanged, this, &PreflightPage::inputsChanged);
    connect(m_against, &QComboBox::currentIndexChanged, this, &PreflightPage::inputsChanged);
    connect(m_against, &QComboBox::activated, this, [this] {
        m_chosen = m_against->currentData().toString();
        if (kindOf(m_chosen) == "facts")
            chooseFactsFile();
    });
    connect(m_check, &QPushButton::clicked, this, &PreflightPage::check);
    connect(m_fix, &QPushButton::clicked, this, &PreflightPage::fix);
    connect(m_copy, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(verdictText(m_verdict)); });
    fillAgainst();
    m_package->setText(qs(m_boards.settings().value("package")));
    inputsChanged();
}

void PreflightPage::build() {
    auto *layout = column(margin);
    setLayout(layout);
    layout->addLayout(buildInputs());
    layout->addWidget(m_banner);
    layout->addWidget(m_job);
    layout->addLayout(buildFilters());
    m_split->addWidget(buildTable());
    m_split->addWidget(m_details);
    m_split->setChildrenCollapsible(false);
    m_split->setStretchFactor(0, 1);
    m_split->setHandleWidth(gap);
    layout->addWidget(m_split, 1);
    layout->addWidget(m_twin);
    m_banner->show(Tone::neutral, "preflight", tr("Choose a package"),
                   tr("A folder with bin, cache, conf and data; drop it here. Every check runs, and none hides another."));
}

QLayout *PreflightPage::buildInputs() {
    auto *bar = row();
    auto *packageLabel = plainLabel(tr("&Package"));
    auto *againstLabel = plainLabel(tr("a&gainst"));
    auto *browse = button(tr("&Browse…"), "folder");
    packageLabel->setBuddy(m_package);
    againstLabel->setBuddy(m_against);
    m_package->setObjectName("package");
    m_package->setAccessibleName(tr("Package folder"));
    m_package->setPlaceholderText(tr("package folder"));
    m_package->setClearButtonEnabled(true);
    m_against->setObjectName("against");
    m_against->setAccessibleName(tr("Checked against"));
    m_against->setMinimumWidth(220);
    m_check->setObjectName("check");
    m_check->setDefault(true);
    bar->addWidget(packageLabel);
    bar->addWidget(m_package, 1);
    bar->addWidget(browse);
    bar->addWidget(againstLabel);
    bar->addWidget(m_against);
    bar->addWidget(m_check);
    connect(browse, &QPushButton::clicked, this, [this] {
        const auto folder = QFileDialog::getExistingDirectory(this, tr("Package folder"), m_package->text());
        if (!folder.isEmpty())
            m_package->setText(folder);
    });
    return bar;
}

QLayout *PreflightPage::buildFilters() {
    auto *bar = row();
    m_filters->setExclusive(true);
    const auto add = [&](const QString &text, int id) {
        auto *chip = button(text);
        chip->setCheckable(true);
        chip->setChecked(id < 0);
        m_filters->addButton(chip, id);
        bar->addWidget(chip);
        return chip;
    };
    add(tr("All"), -2)->setObjectName("all");
    for (const auto status : filterOrder)
        add(statusWord(status), int(status))->setIcon(statusIcon(status));
    bar->addStretch();
    m_fix->setObjectName("fixSafe");
    m_fix->setToolTip(tr("Writes conf/env as the cache needs it, strips library paths of this machine, sets modes and line ends; then checks again"));
    bar->addWidget(m_fix);
    bar->addWidget(m_copy);
    connect(m_filters, &QButtonGroup::idClicked, this, [this](int id) {
        m_sorted->show(id < 0 ? std::nullopt : std::optional(Status(id)));
        showDetails();
    });
    return bar;
}

QWidget *PreflightPage::buildTable() {
    m_sorted->setSourceModel(m_model);
    m_table = makeTable(m_sorted, tr("Findings"));
    m_table->setObjectName("findings");
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->sortByColumn(FindingModel::statusColumn, Qt::AscendingOrder);
    auto *header = m_table->horizontalHeader();
    remember(m_boards.settings(), "preflight/columns", header, {96, 232, 200, 300, 190});
    header->setStretchLastSection(false);
    header->setSectionResizeMode(FindingModel::foundColumn, QHeaderView::Stretch);
    addRowActions();
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &PreflightPage::showDetails);
    return m_table;
}

void PreflightPage::fillAgainst() {
    const QSignalBlocker quiet(m_against);
    m_against->clear();
    for (const auto &row : m_boards.rows())
        m_against->addItem(icon("devices"), tr("Board %1").arg(qs(row.board.device.name)), "device:" + qs(row.board.device.name));
    for (const auto &target : m_boards.overview().targets)
        m_against->addItem(icon("gpu"), tr("Profile %1").arg(qs(target.name)), "target:" + qs(target.id));
    m_against->addItem(icon("folder"), m_factsFile.isEmpty() ? tr("Facts file…") : tr("Facts %1").arg(m_factsFile), "facts:" + m_factsFile);
    const int at = m_against->findData(m_chosen.isEmpty() ? "device:" + qs(m_boards.selected()) : m_chosen);
    m_against->setCurrentIndex(std::max(0, at));
    inputsChanged();
}

void PreflightPage::chooseFactsFile() {
    const auto file = QFileDialog::getOpenFileName(this, tr("Facts of a board"), {}, tr("Facts (*.json)"));
    if (!file.isEmpty()) {
        m_factsFile = file;
        m_chosen = "facts:" + file;
        fillAgainst();
    }
    inputsChanged();
}

void PreflightPage::setPackage(const QString &folder) {
    m_package->setText(folder);
}

void PreflightPage::inputsChanged() {
    const auto against = m_against->currentData().toString();
    const auto kind = kindOf(against);
    const auto package = m_package->text().trimmed();
    m_check->setEnabled(!package.isEmpty() && !(kind == "facts" && m_factsFile.isEmpty()));
    m_check->setText(m_hasVerdict ? tr("Re-&check") : tr("&Check"));
    m_copy->setEnabled(m_hasVerdict);
    m_fix->setEnabled(m_hasVerdict && m_check->isEnabled() && (m_verdict.status == Status::fail || m_verdict.status == Status::warn));
    m_twin->setCommand({"slipway", "preflight", package.isEmpty() ? "PACKAGE" : package.toStdString(), "--" + kind.toStdString(), nameOf(against)});
}

template <typename T>
void PreflightPage::start(const QString &title, std::function<Result<T>(const fs::path &, const Against &, Progress &)> operation,
                          std::function<void(const Result<T> &)> take) {
    const auto against = m_against->currentData().toString();
    const fs::path package = m_package->text().trimmed().toStdString();
    m_boards.settings().setValue("package", package.string());
    const JobSpec spec{.title = title.arg(qs(package.filename().string())), .slot = "preflight"};
    if (kindOf(against) == "device") {
        m_job->follow(m_boards.run<T>(nameOf(against), spec, [=](const Login &login, Progress &progress) {
            return operation(package, AgainstBoard{login}, progress);
        }, this, take));
        return;
    }
    const Against evidence = kindOf(against) == "target" ? Against(AgainstTarget{nameOf(against)}) : Against(AgainstFacts{m_factsFile.toStdString()});
    m_job->follow(m_boards.jobs().start<T>(spec, [=](Progress &progress) { return operation(package, evidence, progress); }, this, take));
}

void PreflightPage::check() {
    if (!m_check->isEnabled())
        return;
    m_banner->show(Tone::busy, "running", tr("Checking…"));
    const auto actions = m_boards.actions();
    start<Verdict>(tr("Pre-flight of %1"),
                   [=](const fs::path &package, const Against &against, Progress &progress) { return actions->preflight(package, against, progress); },
                   [this](const Result<Verdict> &verdict) { verdict ? showVerdict(*verdict) : showError(verdict.error()); });
}

void PreflightPage::fix() {
    m_banner->show(Tone::busy, "running", tr("Fixing what is safe…"));
    const auto actions = m_boards.actions();
    start<FixOutcome>(tr("Fix of %1"),
                      [=](const fs::path &package, const Against &against, Progress &progress) { return actions->fixPackage(package, against, progress); },
                      [this](const Result<FixOutcome> &outcome) { outcome ? showFixed(*outcome) : showError(outcome.error()); });
}

void PreflightPage::showFixed(const FixOutcome &outcome) {
    showVerdict(outcome.verdict);
    QStringList done;
    for (const auto &text : outcome.done)
        done << qs(text);
    const auto said = done.isEmpty() ? tr("Nothing here can be fixed by itself: each row says how to.") : tr("Fixed: %1.").arg(done.join("; "));
    showBanner(said);
}

void PreflightPage::showError(const Error &error) {
    m_job->follow(0);
    if (error.kind == ErrorKind::cancelled)
        m_banner->show(Tone::neutral, "skipped", tr("Not checked: cancelled"));
    else
        m_banner->show(Tone::bad, "fail", tr("Not checked: %1").arg(qs(error.message)), sentence(qs(error.hint)));
}

void PreflightPage::showBanner(const QString &below) {
    constexpr const char *icons[] = {"pass", "pass", "warn", "unknown", "fail"};
    const auto tone = m_verdict.status == Status::skipped ? Tone::good : statusTone(m_verdict.status);
    m_banner->show(tone, icons[int(m_verdict.status)], headline(m_verdict), below);
}

void PreflightPage::showVerdict(const Verdict &verdict) {
    m_job->follow(0);
    m_hasVerdict = true;
    m_verdict = verdict;
    showBanner(tr("Checked against %1.").arg(qs(verdict.factsSource)));
    const auto before = selected() ? *selected() : Finding{};
    m_model->setRows(verdict.findings);
    const bool noneNeeded = std::ranges::all_of(verdict.findings, [](const Finding &finding) { return finding.needed.empty(); });
    m_table->setColumnHidden(FindingModel::neededColumn, noneNeeded);
    for (const auto status : filterOrder)
        m_filters->button(int(status))->setText(QString("%1 %2").arg(statusWord(status)).arg(countOf(verdict, status)));
    m_filters->button(-2)->setText(tr("All %1").arg(verdict.findings.size()));
    selectFinding(before.id, before.subject);
    showDetails();
    inputsChanged();
}

void PreflightPage::showDetails() {
    m_details->show(selected());
}

const Finding *PreflightPage::selected() const {
    const auto current = m_table->currentIndex();
    return current.isValid() ? &m_model->row(m_sorted->mapToSource(current).row()) : nullptr;
}

void PreflightPage::selectFinding(const std::string &id, const std::string &subject) {
    int best = 0;
    for (int row = m_sorted->rowCount() - 1; row >= 0; --row) { // the first row of the check where its subject is gone
        const auto &finding = m_model->row(m_sorted->mapToSource(m_sorted->index(row, 0)).row());
        if (finding.id != id)
            continue;
        best = row;
        if (finding.subject == subject)
            break;
    }
    m_table->selectRow(best);
}

void PreflightPage::addRowActions() {
    const auto add = [this](const char *iconName, const QString &text, std::function<void()> what) {
        auto *action = new QAction(icon(iconName), text, m_table);
        connect(action, &QAction::triggered, this, what);
        m_table->addAction(action);
        return action;
    };
    auto *fix = add("copy", tr("Copy the &fix"), [this] {
        if (selected())
            QApplication::clipboard()->setText(qs(selected()->fix));
    });
    add("cache", tr("Show the package's &kernels"), [this] { Q_EMIT cacheWanted(m_package->text().trimmed() + "/cache"); });
    add("refresh", tr("Check &again"), [this] { check(); });
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, fix, [this, fix] { fix->setEnabled(selected() && !selected()->fix.empty()); });
}

void PreflightPage::resizeEvent(QResizeEvent *event) {
    constexpr int roomForBoth = 1300;
    const auto wanted = event->size().width() < roomForBoth ? Qt::Vertical : Qt::Horizontal;
    if (wanted != m_split->orientation() || event->oldSize().isEmpty()) {
        m_split->setOrientation(wanted);
        const bool below = wanted == Qt::Vertical;
        const int whole = below ? m_split->height() : m_split->width(), part = below ? 150 : 300;
        m_split->setSizes({std::max(whole - part, part), part});
    }
    QWidget::resizeEvent(event);
}

void PreflightPage::dragEnterEvent(QDragEnterEvent *event) {
    if (!droppedFolder(*event).isEmpty())
        event->acceptProposedAction();
}

void PreflightPage::dropEvent(QDropEvent *event) {
    setPackage(droppedFolder(*event));
    check();
}

} // namespace slipway
