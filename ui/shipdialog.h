// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/jobmodel.h"

#include <QDialog>

class QLineEdit;
class QPushButton;
class QTreeWidget;

namespace slipway {

class Banner;
class CommandTwin;
class JobView;

/// Ships a project to a board: what will be done, then the doing, then how it went. Stays open beside the window.
class ShipDialog : public QDialog {
    Q_OBJECT
public:
    ShipDialog(Boards &boards, JobModel &model, const std::string &device, QWidget *parent = nullptr);
    void setProject(const QString &folder);

Q_SIGNALS:
    /// The user wants to see the findings that stopped it.
    void findingsWanted(const slipway::Verdict &verdict, const QString &package);

private:
    void build();
    QLayout *buildProjectRow();
    QLayout *buildButtons();
    void plan();
    void showPlan(const Result<ShipPreview> &preview);
    void ship(const std::vector<std::string> &allow);
    void showOutcome(const Result<ShipOutcome> &outcome, const std::optional<Verdict> &verdict);
    void shipAnyway();
    void followSteps(int id);
    void setBusy(bool busy);

    Boards &m_boards;
    JobModel &m_model;
    std::string m_device;
    QLineEdit *m_folder;
    QTreeWidget *m_steps;
    Banner *m_banner;
    JobView *m_job;
    CommandTwin *m_twin;
    QPushButton *m_ship;
    QPushButton *m_findings;
    QPushButton *m_anyway;
    std::optional<Verdict> m_verdict;
    std::string m_dest;
    int m_id = 0;
    int m_plans = 0; ///< a plan that was asked for before the newest one, or before a ship, is stale
};

} // namespace slipway
