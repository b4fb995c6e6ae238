// SPDX-License-Identifier: Apache-2.0
//
// A running job beside what it was started for: in the ship dialog, in the sysroot wizard.

#include "ui/jobview.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QProgressBar>
#include <QPushButton>

namespace slipway {

JobView::JobView(Jobs &jobs, JobModel &model, QWidget *parent)
    : QWidget(parent), m_jobs(jobs), m_model(model), m_phase(new ElidedLabel), m_amount(new ElidedLabel), m_bar(new QProgressBar),
      m_cancel(button(tr("Cancel"), "cancel")) {
    auto *layout = row();
    setLayout(layout);
    auto *middle = column();
    middle->setSpacing(4);
    middle->addWidget(m_phase);
    middle->addWidget(m_bar);
    middle->addWidget(m_amount);
    layout->addLayout(middle, 1);
    layout->addWidget(m_cancel, 0, Qt::AlignVCenter);
    m_amount->setForegroundRole(QPalette::PlaceholderText);
    m_bar->setTextVisible(false);
    m_bar->setFixedHeight(10);
    m_bar->setAccessibleName(tr("Progress"));
    m_cancel->setObjectName("cancelJob");
    connect(m_cancel, &QPushButton::clicked, this, [this] {
        m_cancel->setEnabled(false);
        m_phase->setFullText(tr("Stopping…"));
        m_jobs.cancel(m_id);
    });
    connect(&m_model, &JobModel::jobChanged, this, [this](int id) {
        if (id == m_id)
            refresh();
    });
    follow(0);
}

void JobView::follow(int id) {
    m_id = id;
    m_cancel->setEnabled(true);
    refresh();
}

void JobView::refresh() {
    const auto *job = m_model.job(m_id);
    setVisible(job && (job->state == JobState::running || job->state == JobState::asking));
    if (!job || job->state != JobState::running)
        return;
    const auto *step = job->current();
    if (m_cancel->isEnabled())
        m_phase->setFullText(step ? sentence(step->title) : tr("Starting…"));
    const auto *measured = job->measured();
    m_bar->setRange(0, measured ? 1000 : 0);
    if (measured)
        m_bar->setValue(int(1000.0 * double(measured->last.done) / double(measured->last.total)));
    m_amount->setFullText(measured ? amountText(measured->last) : QString());
}

void ProgressDelegate::paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const auto percent = index.data(JobModel::percentRole);
    if (!percent.isValid())
        return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRectF groove(option.rect.left() + 4, option.rect.center().y() - 3, option.rect.width() - 8, 7);
    painter->setPen(Qt::NoPen);
    painter->setBrush(toneWash(Tone::busy, option.palette));
    painter->drawRoundedRect(groove, 3, 3);
    const int value = percent.toInt();
    auto filled = groove;
    if (value < 0)
        filled.setWidth(groove.width() / 3); // at work, the end is not known
    else
        filled.setWidth(groove.width() * value / 100);
    painter->setBrush(toneColor(value == 100 ? Tone::good : Tone::busy, option.palette));
    painter->drawRoundedRect(filled, 3, 3);
    painter->restore();
}

} // namespace slipway
