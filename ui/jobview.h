// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/jobmodel.h"
#include "ui/jobs.h"

#include <QStyledItemDelegate>
#include <QWidget>

class QProgressBar;
class QPushButton;

namespace slipway {

class ElidedLabel;

/// One job in small: phase, bar, speed and remaining time, Cancel.
class JobView : public QWidget {
    Q_OBJECT
public:
    JobView(Jobs &jobs, JobModel &model, QWidget *parent = nullptr);
    /// Shows this job from now on; 0 = none.
    void follow(int id);
    [[nodiscard]] int id() const { return m_id; }

private:
    void refresh();

    Jobs &m_jobs;
    JobModel &m_model;
    int m_id = 0;
    ElidedLabel *m_phase;
    ElidedLabel *m_amount;
    QProgressBar *m_bar;
    QPushButton *m_cancel;
};

/// Draws a progress bar from JobModel::percentRole.
class ProgressDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override;
};

} // namespace slipway
