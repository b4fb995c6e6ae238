// SPDX-License-Identifier: Apache-2.0
//
// The pane at the bottom: what runs, how far, what it said, and the button that stops it.

#include "ui/activitypanel.h"

#include "ui/jobview.h"
#include "ui/look.h"
#include "ui/parts.h"

#include <QApplication>
#include <QClipboard>
#include <QFontDatabase>
#include <QHeaderView>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSplitter>
#include <QTreeView>
#include <QVBoxLayout>

namespace slipway {

ActivityPanel::ActivityPanel(Jobs &jobs, JobModel &model, Settings &settings, QWidget *parent)
    : QWidget(parent), m_jobs(jobs), m_model(model), m_tree(new QTreeView), m_log(new QPlainTextEdit),
      m_cancel(button(tr("Cancel"), "cancel", tr("Stop the selected task"))),
      m_copy(button(tr("Copy"), "copy", tr("Copy the selected task's steps and log as text"))) {
    build(settings);
    connect(m_tree->selectionModel(), &QItemSelectionModel::currentChanged, this, &ActivityPanel::showLog);
    connect(&m_model, &JobModel::jobChanged, this, [this](int id) {
        if (id == m_shown || !selected())
            showLog();
    });
    connect(&m_model, &QAbstractItemModel::rowsInserted, this, [this](const QModelIndex &parent) {
        if (parent.isValid())
            m_tree->expand(parent);
    });
    showLog();
}

void ActivityPanel::build(Settings &settings) {
    auto *layout = column();
    setLayout(layout);
    m_tree->setModel(&m_model);
    m_tree->setAccessibleName(tr("Tasks"));
    m_tree->setItemDelegateForColumn(JobModel::progressColumn, new ProgressDelegate(m_tree));
    m_tree->setEditTriggers(QAbstractItemView::NoEditTriggers);
    m_tree->setUniformRowHeights(true);
    m_tree->header()->setStretchLastSection(true);
    m_tree->setMinimumHeight(80);
    remember(settings, "activity/columns", m_tree->header(), {250, 90, 180, 160});
    m_log->setReadOnly(true);
    m_log->setAccessibleName(tr("Log of the task"));
    m_log->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_log->setMaximumBlockCount(5000);
    m_log->setLineWrapMode(QPlainTextEdit::NoWrap);
    m_log->setPlaceholderText(tr("What a task says while it runs appears here."));
    auto *split = new QSplitter;
    split->addWidget(m_tree);
    split->addWidget(m_log);
    split->setChildrenCollapsible(false);
    remember(settings, "activity/split", split, {600, 320});
    layout->addWidget(buildButtons());
    layout->addWidget(split, 1);
}

QWidget *ActivityPanel::buildButtons() {
    auto *bar = new QWidget;
    auto *layout = row();
    bar->setLayout(layout);
    auto *clear = button(tr("Clear finished"), "clear");
    m_cancel->setObjectName("cancelSelected");
    layout->addWidget(titleLabel(tr("Activity"), 0));
    layout->addStretch();
    layout->addWidget(m_cancel);
    layout->addWidget(m_copy);
    layout->addWidget(clear);
    connect(clear, &QPushButton::clicked, this, [this] {
        m_model.clearFinished();
        showLog();
    });
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        if (const auto *job = selected())
            m_jobs.cancel(job->id);
    });
    connect(m_copy, &QPushButton::clicked, this, [this] {
        if (const auto *job = selected())
            QApplication::clipboard()->setText(job->text());
    });
    return bar;
}

const JobRow *ActivityPanel::selected() const {
    return m_model.jobAt(m_tree->currentIndex());
}

void ActivityPanel::reveal(int id) {
    const auto index = m_model.indexOf(id);
    m_tree->setCurrentIndex(index);
    m_tree->expand(index);
    m_tree->scrollTo(index, QAbstractItemView::PositionAtTop);
}

void ActivityPanel::showLog() {
    const auto *job = selected();
    m_cancel->setEnabled(job && job->state == JobState::running);
    m_copy->setEnabled(job);
    const bool same = job && job->id == m_shown && job->log.size() >= m_shownLines && job->state == JobState::running;
    if (!same) {
        m_log->clear();
        m_shownLines = 0;
    }
    m_shown = job ? job->id : 0;
    if (!job)
        return;
    for (; m_shownLines < job->log.size(); ++m_shownLines)
        m_log->appendPlainText(job->log[m_shownLines]);
    if (job->state == JobState::running)
        return;
    for (const auto &piece : {job->outcome, job->hint, job->detail})
        if (!piece.isEmpty())
            m_log->appendPlainText(piece);
}

} // namespace slipway
