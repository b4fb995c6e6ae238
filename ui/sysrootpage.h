// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/sysrootmodel.h"

#include <QWidget>

class QPushButton;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;
class QTreeWidget;

namespace slipway {

class Banner;
class CommandTwin;
class JobModel;

/// The sysroots of the boards: what is there, whether the board moved on since, and whether it links.
class SysrootPage : public QWidget {
    Q_OBJECT
public:
    SysrootPage(Boards &boards, JobModel &model, QWidget *parent = nullptr);
    /// Opens the wizard for the selected device.
    void sync();

private:
    QWidget *buildList();
    QLayout *buildBar();
    void refresh();
    void verify();
    void showFindings(const Sysroot &sysroot, const Result<std::vector<SysrootFinding>> &findings);
    [[nodiscard]] const Board *selected() const;

    Boards &m_boards;
    JobModel &m_jobModel;
    QStackedWidget *m_stack;
    SysrootModel *m_model;
    QSortFilterProxyModel *m_sorted;
    QTableView *m_table;
    QPushButton *m_verify;
    Banner *m_banner;
    QTreeWidget *m_findings;
    CommandTwin *m_twin;
};

/// Fills `tree` with what a verification found: icon, word, subject, text.
void fillSysrootFindings(QTreeWidget *tree, const std::vector<SysrootFinding> &findings);

} // namespace slipway
