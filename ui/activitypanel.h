// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"
#include "ui/jobmodel.h"
#include "ui/jobs.h"

#include <QWidget>

class QPlainTextEdit;
class QPushButton;
class QTreeView;

namespace slipway {

/// Every job, running or finished, with its nested steps; the log of the selected one beside it.
class ActivityPanel : public QWidget {
    Q_OBJECT
public:
    ActivityPanel(Jobs &jobs, JobModel &model, Settings &settings, QWidget *parent = nullptr);
    /// Selects a job and unfolds its steps.
    void reveal(int id);

private:
    void build(Settings &settings);
    QWidget *buildButtons();
    void showLog();
    [[nodiscard]] const JobRow *selected() const;

    Jobs &m_jobs;
    JobModel &m_model;
    QTreeView *m_tree;
    QPlainTextEdit *m_log;
    QPushButton *m_cancel;
    QPushButton *m_copy;
    int m_shown = 0;          ///< job in the log view
    qsizetype m_shownLines = 0; ///< of its log
};

} // namespace slipway
