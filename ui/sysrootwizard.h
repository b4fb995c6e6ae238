// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/jobmodel.h"

#include <QWizard>

class QComboBox;
class QTreeWidget;

namespace slipway {

class Banner;
class JobView;
class StepPage;

/// Mirrors a board's libraries: device, what and how much, the copying, does it link, summary.
class SysrootWizard : public QWizard {
    Q_OBJECT
public:
    SysrootWizard(Boards &boards, JobModel &model, const std::string &device, QWidget *parent = nullptr);
    void reject() override;

private:
    QWizardPage *buildDevicePage();
    QWizardPage *buildPlanPage();
    QWizardPage *buildSyncPage();
    QWizardPage *buildVerifyPage();
    QWizardPage *buildSummaryPage();
    void plan();
    void showPlan(const Result<SysrootPlan> &plan);
    void sync();
    void showSynced(const Result<Sysroot> &sysroot);
    void verify();
    void showVerified(const Result<std::vector<SysrootFinding>> &findings);
    void summarise();
    [[nodiscard]] std::string device() const;

    Boards &m_boards;
    JobModel &m_model;
    QComboBox *m_device;
    StepPage *m_planPage = nullptr;
    StepPage *m_syncPage = nullptr;
    StepPage *m_verifyPage = nullptr;
    QTreeWidget *m_folders;
    QTreeWidget *m_findings;
    Banner *m_planBanner;
    Banner *m_syncBanner;
    Banner *m_verifyBanner;
    Banner *m_summary;
    JobView *m_planJob;
    JobView *m_syncJob;
    JobView *m_verifyJob;
    std::optional<SysrootPlan> m_plan;
    std::optional<Sysroot> m_sysroot;
    long m_problems = 0;
    int m_running = 0; ///< the sync at work
};

} // namespace slipway
