// SPDX-License-Identifier: Apache-2.0
//
// The list of sysroots with Sync… (the wizard) and Verify.

#include "ui/sysrootpage.h"

#include "ui/parts.h"
#include "ui/sysrootwizard.h"
#include "ui/text.h"

#include <QHeaderView>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace slipway {

SysrootPage::SysrootPage(Boards &boards, JobModel &model, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_jobModel(model), m_stack(new QStackedWidget), m_model(new SysrootModel(this)),
      m_sorted(new QSortFilterProxyModel(this)), m_table(nullptr), m_verify(button(tr("&Verify"), "pass")), m_banner(new Banner),
      m_findings(new QTreeWidget), m_twin(new CommandTwin) {
    auto *layout = column(margin);
    setLayout(layout);
    m_stack->addWidget(new EmptyState("sysroot", tr("No devices yet"),
                                      tr("A sysroot is a copy of a board's libraries and headers. Add a device on the Devices page first.")));
    m_stack->addWidget(buildList());
    layout->addWidget(m_stack);
    connect(&m_boards, &Boards::changed, this, &SysrootPage::refresh);
    refresh();
}

QLayout *SysrootPage::buildBar() {
    auto *bar = row();
    auto *sync = button(tr("&Sync a sysroot…"), "sync", tr("Copy a board's libraries and headers, step by step"));
    sync->setObjectName("syncSysroot");
    m_verify->setToolTip(tr("Look for broken links and link a program against the copy"));
    bar->addWidget(quietLabel(tr("Copies of the boards' libraries and headers: what cross builds link against.")), 1);
    bar->addWidget(m_verify);
    bar->addWidget(sync);
    connect(sync, &QPushButton::clicked, this, &SysrootPage::sync);
    connect(m_verify, &QPushButton::clicked, this, &SysrootPage::verify);
    return bar;
}

QWidget *SysrootPage::buildList() {
    auto *part = new QWidget;
    auto *layout = column();
    part->setLayout(layout);
    m_sorted->setSourceModel(m_model);
    m_table = makeTable(m_sorted, tr("Sysroots"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->sortByColumn(SysrootModel::deviceColumn, Qt::AscendingOrder);
    remember(m_boards.settings(), "sysroot/columns", m_table->horizontalHeader(), {160, 270, 80, 70, 70, 90, 120});
    m_findings->setHeaderLabels({tr("Result"), tr("Subject"), tr("What was found")});
    m_findings->setRootIsDecorated(false);
    m_findings->setAccessibleName(tr("Results of the verification"));
    m_findings->header()->resizeSection(0, 100);
    m_findings->header()->resizeSection(1, 280);
    m_banner->show(Tone::neutral, "sysroot", tr("Not verified in this session"),
                   tr("Verify looks for links that lead nowhere, then links a C and a C++ program against the copy."));
    auto *below = new QWidget;
    auto *belowLayout = column();
    below->setLayout(belowLayout);
    belowLayout->addWidget(m_banner);
    belowLayout->addWidget(m_findings, 1);
    auto *split = new QSplitter(Qt::Vertical);
    split->addWidget(m_table);
    split->addWidget(below);
    split->setChildrenCollapsible(false);
    remember(m_boards.settings(), "sysroot/split", split, {220, 260});
    layout->addLayout(buildBar());
    layout->addWidget(split, 1);
    layout->addWidget(m_twin);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this] {
        const auto *board = selected();
        m_verify->setEnabled(board && board->sysroot);
        if (board)
            m_twin->setCommand({"slipway", "sysroot", "sync", board->device.name});
    });
    return part;
}

void SysrootPage::refresh() {
    const auto *before = selected();
    const auto name = before ? before->device.name : m_boards.selected();
    std::vector<Board> boards;
    for (const auto &row : m_boards.rows())
        boards.push_back(row.board);
    m_stack->setCurrentIndex(boards.empty() ? 0 : 1);
    m_model->setRows(std::move(boards));
    for (int row = 0; row < m_sorted->rowCount(); ++row)
        if (m_model->row(m_sorted->mapToSource(m_sorted->index(row, 0)).row()).device.name == name)
            m_table->selectRow(row);
    const auto *now = selected();
    m_verify->setEnabled(now && now->sysroot);
}

const Board *SysrootPage::selected() const {
    const auto current = m_table->currentIndex();
    return current.isValid() ? &m_model->row(m_sorted->mapToSource(current).row()) : nullptr;
}

void SysrootPage::sync() {
    const auto *board = selected();
    auto *wizard = new SysrootWizard(m_boards, m_jobModel, board ? board->device.name : m_boards.selected(), window());
    wizard->setAttribute(Qt::WA_DeleteOnClose);
    wizard->show(); // not modal: the rest of the window stays at hand
}

void SysrootPage::verify() {
    const auto *board = selected();
    if (!board || !board->sysroot)
        return;
    const auto sysroot = *board->sysroot;
    m_banner->show(Tone::busy, "running", tr("Verifying the sysroot of %1…").arg(qs(sysroot.device)));
    m_boards.jobs().start<std::vector<SysrootFinding>>(
        {.title = tr("Verify the sysroot of %1").arg(qs(sysroot.device)), .slot = "verify"},
        [actions = m_boards.actions(), sysroot](Progress &progress) { return actions->verifySysroot(sysroot, progress); }, this,
        [this, sysroot](const Result<std::vector<SysrootFinding>> &findings) { showFindings(sysroot, findings); });
}

void SysrootPage::showFindings(const Sysroot &sysroot, const Result<std::vector<SysrootFinding>> &findings) {
    m_findings->clear();
    if (!findings) {
        m_banner->show(Tone::bad, "fail", tr("Not verified"), sentence(qs(findings.error().message)));
        return;
    }
    const auto bad = std::count_if(findings->begin(), findings->end(), [](const SysrootFinding &f) { return !f.good; });
    if (bad)
        m_banner->show(Tone::bad, "fail", tr("%1 problems in the sysroot of %2").arg(bad).arg(qs(sysroot.device)));
    else
        m_banner->show(Tone::good, "pass", tr("Programs link against the sysroot of %1").arg(qs(sysroot.device)));
    fillSysrootFindings(m_findings, *findings);
}

void fillSysrootFindings(QTreeWidget *tree, const std::vector<SysrootFinding> &findings) {
    tree->clear();
    for (const auto &finding : findings) {
        auto *item = new QTreeWidgetItem(tree, {finding.good ? QObject::tr("Good") : QObject::tr("Problem"), qs(finding.subject), qs(finding.text)});
        item->setIcon(0, finding.good ? icon("pass", Tone::good) : icon("fail", Tone::bad));
        item->setToolTip(1, plainTip(qs(finding.subject)));
        item->setToolTip(2, plainTip(qs(finding.text)));
    }
}

} // namespace slipway
