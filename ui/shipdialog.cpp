// SPDX-License-Identifier: Apache-2.0
//
// The window's way to ship(): the same operation as `slipway ship`, with its plan before and its verdict after.

#include "ui/shipdialog.h"

#include "ui/findingmodel.h"
#include "ui/jobview.h"
#include "ui/parts.h"
#include "ui/text.h"

#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace slipway {

namespace {

const QSize rowSize{0, 24}; // the width is the column's

/// Checks that nobody can wish away: the program could not even start.
bool isHard(const std::string &id) {
    return std::ranges::any_of(checks(), [&](const Check &check) { return check.hard && check.id == id; });
}

} // namespace

ShipDialog::ShipDialog(Boards &boards, JobModel &model, const std::string &device, QWidget *parent)
    : QDialog(parent), m_boards(boards), m_model(model), m_device(device), m_folder(new QLineEdit), m_steps(new QTreeWidget),
      m_banner(new Banner), m_job(new JobView(boards.jobs(), model)), m_twin(new CommandTwin), m_ship(button(tr("&Ship"), "ship")),
      m_findings(button(tr("Show the &findings"))), m_anyway(button(tr("Ship &anyway…"))) {
    setWindowTitle(tr("Ship to %1").arg(qs(device)));
    setAttribute(Qt::WA_DeleteOnClose);
    resize(720, 520);
    build();
    connect(m_ship, &QPushButton::clicked, this, [this] { ship({}); });
    connect(m_anyway, &QPushButton::clicked, this, &ShipDialog::shipAnyway);
    connect(m_findings, &QPushButton::clicked, this, [this] {
        if (m_verdict)
            Q_EMIT findingsWanted(*m_verdict, {});
    });
    connect(m_folder, &QLineEdit::editingFinished, this, &ShipDialog::plan);
    connect(&m_model, &JobModel::jobChanged, this, &ShipDialog::followSteps);
    setProject(qs(m_boards.settings().value("project")));
}

void ShipDialog::build() {
    auto *layout = column(margin);
    setLayout(layout);
    m_steps->setColumnCount(2);
    m_steps->setHeaderLabels({tr("Step"), tr("What it does")});
    m_steps->setAccessibleName(tr("Steps"));
    m_steps->setObjectName("steps");
    m_steps->setSelectionMode(QAbstractItemView::NoSelection);
    m_steps->setUniformRowHeights(true);
    m_steps->setRootIsDecorated(false);
    m_steps->header()->setStretchLastSection(true);
    m_banner->addAction(m_findings);
    m_banner->addAction(m_anyway);
    m_findings->setVisible(false);
    m_anyway->setVisible(false);
    m_ship->setObjectName("startShip");
    m_ship->setDefault(true);
    layout->addLayout(buildProjectRow());
    layout->addWidget(m_banner);
    layout->addWidget(m_steps, 1);
    layout->addWidget(m_job);
    layout->addWidget(m_twin);
    layout->addLayout(buildButtons());
}

QLayout *ShipDialog::buildProjectRow() {
    auto *bar = row();
    auto *label = plainLabel(tr("&Project"));
    label->setBuddy(m_folder);
    m_folder->setObjectName("projectFolder");
    m_folder->setPlaceholderText(tr("folder with slipway.json, CMakeLists.txt or Cargo.toml"));
    m_folder->setAccessibleName(tr("Project folder"));
    auto *browse = button(tr("&Browse…"), "folder");
    bar->addWidget(label);
    bar->addWidget(m_folder, 1);
    bar->addWidget(browse);
    connect(browse, &QPushButton::clicked, this, [this] {
        const auto folder = QFileDialog::getExistingDirectory(this, tr("Project folder"), m_folder->text());
        if (!folder.isEmpty())
            setProject(folder);
    });
    return bar;
}

QLayout *ShipDialog::buildButtons() {
    auto *bar = row();
    auto *close = button(tr("Close"));
    bar->addWidget(quietLabel(tr("Closing this window does not stop the work: it goes on in the activity pane.")), 1);
    bar->addWidget(close);
    bar->addWidget(m_ship);
    connect(close, &QPushButton::clicked, this, &QDialog::close);
    return bar;
}

void ShipDialog::setProject(const QString &folder) {
    m_folder->setText(folder);
    plan();
}

void ShipDialog::plan() {
    const auto folder = m_folder->text().trimmed();
    const auto *row = m_boards.find(m_device);
    m_twin->setCommand({"slipway", "ship", folder.isEmpty() ? "." : folder.toStdString(), "--device", m_device});
    if (m_id)
        return; // at work: the steps are the job's
    m_ship->setEnabled(false);
    if (folder.isEmpty() || !row) {
        m_steps->clear();
        m_banner->show(Tone::neutral, "folder", tr("Choose a project"), tr("Its steps are listed here before anything is done."));
        return;
    }
    m_boards.jobs().start<ShipPreview>(
        {.title = tr("Plan"), .slot = "plan", .quiet = true},
        [actions = m_boards.actions(), folder = fs::path(folder.toStdString()), device = row->board.device](Progress &progress) {
            return actions->planShip(folder, device, progress);
        },
        this, [this, plan = ++m_plans](const Result<ShipPreview> &preview) {
            if (plan == m_plans)
                showPlan(preview);
        });
}

void ShipDialog::showPlan(const Result<ShipPreview> &preview) {
    m_steps->clear();
    m_ship->setEnabled(preview.has_value());
    if (!preview) {
        m_banner->show(Tone::bad, "fail", sentence(qs(preview.error().message)), sentence(qs(preview.error().hint)));
        return;
    }
    m_steps->header()->resizeSection(0, 120);
    m_dest = preview->dest;
    m_boards.settings().setValue("project", m_folder->text().trimmed().toStdString());
    m_banner->show(Tone::neutral, "ship", tr("%1 goes to %2 on %3").arg(qs(preview->project), qs(preview->dest), qs(m_device)),
                   preview->proposed ? tr("There is no slipway.json: this is what Slipway proposes. Nothing is sent before pre-flight passes.")
                                     : tr("Unchanged steps are skipped. Nothing is sent before pre-flight passes."));
    for (const auto &step : preview->steps) {
        auto *item = new QTreeWidgetItem(m_steps, {qs(step.step), qs(step.detail)});
        item->setSizeHint(0, rowSize);
        item->setToolTip(1, plainTip(qs(step.detail)));
    }
}

void ShipDialog::setBusy(bool busy) {
    m_folder->setEnabled(!busy);
    m_ship->setEnabled(!busy);
    m_ship->setText(busy ? tr("Shipping…") : tr("&Ship again"));
    m_ship->setToolTip(busy ? tr("Cancel it first, or wait for its end") : QString());
}

void ShipDialog::ship(const std::vector<std::string> &allow) {
    const ShipAsk ask{.project = m_folder->text().trimmed().toStdString(), .allow = allow};
    auto verdict = std::make_shared<std::optional<Verdict>>();
    const auto name = qs(ask.project.filename().string());
    m_findings->setVisible(false);
    m_anyway->setVisible(false);
    setBusy(true);
    ++m_plans; // disabling the folder ended its editing, which planned again
    m_banner->show(Tone::busy, "running", tr("Shipping %1 to %2").arg(name, qs(m_device)));
    m_id = m_boards.run<ShipOutcome>(
        m_device, {.title = tr("Ship %1 to %2").arg(name, qs(m_device)), .slot = "ship/" + qs(m_device)},
        [actions = m_boards.actions(), ask, verdict](const Login &login, Progress &progress) {
            verdict->reset();
            return actions->ship(login, ask, *verdict, progress);
        },
        this, [this, verdict](const Result<ShipOutcome> &outcome) { showOutcome(outcome, *verdict); });
    m_job->follow(m_id);
    followSteps(m_id);
}

void ShipDialog::followSteps(int id) {
    const auto *job = id == m_id ? m_model.job(id) : nullptr;
    if (!job)
        return;
    m_steps->clear();
    m_steps->header()->resizeSection(0, 290);
    for (const auto &step : job->steps) {
        if (step.last.depth > 2)
            continue; // the innermost details are in the activity pane
        const auto text = step.state == JobState::running ? amountText(step.last)
                          : step.summary.isEmpty()        ? jobStateWord(step.state)
                                                          : jobStateWord(step.state) + ": " + step.summary;
        auto *item = new QTreeWidgetItem(m_steps, {QString(step.last.depth > 1 ? "    " : "") + sentence(step.title), text});
        item->setSizeHint(0, rowSize);
        item->setIcon(0, jobStateIcon(step.state));
        item->setToolTip(1, plainTip(text));
    }
    m_steps->scrollToBottom();
}

void ShipDialog::showOutcome(const Result<ShipOutcome> &outcome, const std::optional<Verdict> &verdict) {
    m_job->follow(0);
    m_id = 0;
    setBusy(false);
    m_verdict = outcome ? outcome->verdict : verdict;
    m_findings->setVisible(m_verdict.has_value());
    if (outcome) {
        const auto &release = outcome->deployed.release;
        m_boards.setDest(m_device, m_dest);
        m_boards.setDeployed(m_device, release.id);
        const auto repaired = int(outcome->deployed.repaired.size());
        const auto sent = outcome->deployed.changed ? tr("%1 sent.").arg(sizeText(outcome->deployed.bytesSent))
                          : repaired > 0            ? tr("It was live already; files that had changed on the board were replaced: %1.").arg(repaired)
                                                    : tr("It was live already: nothing was sent.");
        m_banner->show(Tone::good, "pass", tr("%1 is live on %2").arg(qs(release.id), qs(m_device)), sent + " " + headline(outcome->verdict) + ".");
        return;
    }
    const auto &error = outcome.error();
    const auto text = sentence(qs(error.hint.empty() ? error.message : error.message + "; " + error.hint));
    if (error.kind == ErrorKind::cancelled)
        m_banner->show(Tone::neutral, "skipped", tr("Cancelled"), tr("The release that was live before is live still."));
    else if (error.kind == ErrorKind::rolledBack)
        m_banner->show(Tone::warning, "warn", tr("Rolled back: the former release is live again"), text);
    else if (error.kind == ErrorKind::stopped)
        m_banner->show(Tone::bad, "fail", verdict ? headline(*verdict) : tr("Stopped by pre-flight"), text);
    else
        m_banner->show(Tone::bad, "fail", tr("Not shipped"), text);
    const bool hard = verdict && std::any_of(verdict->findings.begin(), verdict->findings.end(), [](const Finding &finding) {
        return finding.status == Status::fail && isHard(finding.id);
    });
    m_anyway->setVisible(error.kind == ErrorKind::stopped && verdict && !hard);
}

void ShipDialog::shipAnyway() {
    std::vector<std::string> allow;
    QStringList names;
    for (const auto &finding : m_verdict->findings) {
        if (finding.status != Status::fail || std::find(allow.begin(), allow.end(), finding.id) != allow.end())
            continue;
        allow.push_back(finding.id);
        names << qs(finding.id);
    }
    askToConfirm(this, tr("Ship anyway"),
                 tr("Ship although these checks failed: %1?\n\nIt is written to the board's log that you chose so.").arg(names.join(", ")),
                 tr("Ship &anyway"), [this, allow] { ship(allow); });
}

} // namespace slipway
