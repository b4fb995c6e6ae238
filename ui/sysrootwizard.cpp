// SPDX-License-Identifier: Apache-2.0
//
// Five named steps. Nothing is copied before the second page said how much; closing during the copy asks.

#include "ui/sysrootwizard.h"

#include "ui/jobview.h"
#include "ui/parts.h"
#include "ui/sysrootpage.h"
#include "ui/text.h"

#include <QComboBox>
#include <QFormLayout>
#include <QHeaderView>
#include <QPushButton>
#include <QTreeWidget>
#include <QVBoxLayout>

#include <algorithm>

namespace slipway {

/// A page that begins its work when it is entered and lets "Next" through when that is done.
class StepPage : public QWizardPage {
public:
    explicit StepPage(const QString &title, const QString &text) {
        setTitle(title);
        setSubTitle(text);
        setLayout(column());
    }
    std::function<void()> entered;
    void initializePage() override {
        setComplete(!entered);
        if (entered)
            entered();
    }
    void setComplete(bool complete) {
        m_complete = complete;
        Q_EMIT completeChanged();
    }
    [[nodiscard]] bool isComplete() const override { return m_complete; }
    void add(QWidget *widget, int stretch = 0) { static_cast<QVBoxLayout *>(layout())->addWidget(widget, stretch); }

private:
    bool m_complete = true;
};

SysrootWizard::SysrootWizard(Boards &boards, JobModel &model, const std::string &device, QWidget *parent)
    : QWizard(parent), m_boards(boards), m_model(model), m_device(new QComboBox), m_folders(new QTreeWidget), m_findings(new QTreeWidget),
      m_planBanner(new Banner), m_syncBanner(new Banner), m_verifyBanner(new Banner), m_summary(new Banner),
      m_planJob(new JobView(boards.jobs(), model)), m_syncJob(new JobView(boards.jobs(), model)), m_verifyJob(new JobView(boards.jobs(), model)) {
    setWindowTitle(tr("Sync a sysroot"));
    setWindowModality(Qt::NonModal);
    setWizardStyle(QWizard::ModernStyle);
    setOption(QWizard::NoBackButtonOnStartPage);
    setMinimumSize(700, 500);
    for (const auto &row : m_boards.rows())
        m_device->addItem(icon("devices"), qs(row.board.device.name));
    m_device->setCurrentText(qs(device));
    addPage(buildDevicePage());
    addPage(buildPlanPage());
    addPage(buildSyncPage());
    addPage(buildVerifyPage());
    addPage(buildSummaryPage());
    setButtonText(QWizard::CommitButton, tr("&Sync now"));
}

std::string SysrootWizard::device() const {
    return m_device->currentText().toStdString();
}

QWizardPage *SysrootWizard::buildDevicePage() {
    auto *page = new StepPage(tr("1  Which board?"), tr("Its libraries and headers are copied to this machine. The board is only read."));
    auto *part = new QWidget;
    auto *form = new QFormLayout(part);
    form->setContentsMargins(0, 0, 0, 0);
    m_device->setAccessibleName(tr("Board"));
    form->addRow(tr("&Board"), m_device);
    page->add(part);
    page->add(quietLabel(tr("Needs rsync here and on the board. It runs over the SSH session that Slipway has already: one login, no new keys.")));
    static_cast<QVBoxLayout *>(page->layout())->addStretch();
    return page;
}

QWizardPage *SysrootWizard::buildPlanPage() {
    m_planPage = new StepPage(tr("2  What will be copied?"), tr("Sizes are measured on the board. A sync that was interrupted goes on where it stopped."));
    m_planPage->setCommitPage(true);
    m_folders->setHeaderLabels({tr("Folder on the board"), tr("Size")});
    m_folders->setRootIsDecorated(false);
    m_folders->setAccessibleName(tr("Folders to copy"));
    m_folders->header()->resizeSection(0, 420);
    m_planPage->add(m_planBanner);
    m_planPage->add(m_planJob);
    m_planPage->add(m_folders, 1);
    m_planPage->entered = [this] { plan(); };
    return m_planPage;
}

QWizardPage *SysrootWizard::buildSyncPage() {
    m_syncPage = new StepPage(tr("3  Copying"), tr("Cancel stops within a second; what is here already is kept for the next time."));
    m_syncPage->add(m_syncBanner);
    m_syncPage->add(m_syncJob);
    static_cast<QVBoxLayout *>(m_syncPage->layout())->addStretch();
    m_syncPage->entered = [this] { sync(); };
    return m_syncPage;
}

QWizardPage *SysrootWizard::buildVerifyPage() {
    m_verifyPage = new StepPage(tr("4  Does it link?"), tr("Links and linker scripts are looked through, then a C and a C++ program are linked against the copy."));
    m_findings->setHeaderLabels({tr("Result"), tr("Subject"), tr("What was found")});
    m_findings->setRootIsDecorated(false);
    m_findings->setAccessibleName(tr("Results of the verification"));
    m_findings->header()->resizeSection(1, 220);
    m_verifyPage->add(m_verifyBanner);
    m_verifyPage->add(m_verifyJob);
    m_verifyPage->add(m_findings, 1);
    m_verifyPage->entered = [this] { verify(); };
    return m_verifyPage;
}

QWizardPage *SysrootWizard::buildSummaryPage() {
    auto *page = new StepPage(tr("5  Done"), tr("Builds for this board use the copy from now on."));
    page->add(m_summary);
    static_cast<QVBoxLayout *>(page->layout())->addStretch();
    page->entered = [this, page] {
        summarise();
        page->setComplete(true);
    };
    return page;
}

void SysrootWizard::plan() {
    m_folders->clear();
    m_planBanner->show(Tone::busy, "running", tr("Measuring on %1…").arg(qs(device())));
    const int id = m_boards.run<SysrootPlan>(
        device(), {.title = tr("Measure the sysroot of %1").arg(qs(device())), .slot = "sysroot-plan"},
        [actions = m_boards.actions()](const Login &login, Progress &progress) { return actions->planSysroot(login, progress); }, this,
        [this](const Result<SysrootPlan> &plan) { showPlan(plan); });
    m_planJob->follow(id);
}

void SysrootWizard::showPlan(const Result<SysrootPlan> &plan) {
    m_planJob->follow(0);
    if (!plan) {
        m_planBanner->show(Tone::bad, "fail", sentence(qs(plan.error().message)), sentence(qs(plan.error().hint)));
        return;
    }
    m_plan = *plan;
    std::uint64_t bytes = 0;
    for (const auto &folder : plan->folders) {
        bytes += folder.bytes;
        const auto size = !folder.present ? tr("not on this board") : folder.bytes ? sizeText(folder.bytes) : tr("not measured");
        auto *item = new QTreeWidgetItem(m_folders, {qs(folder.path), size});
        item->setIcon(0, icon("folder"));
        item->setDisabled(!folder.present);
    }
    const auto place = tr("To %1, %2 free there.").arg(qs(plan->destination.string()), sizeText(plan->freeBytes));
    const bool fits = plan->existing || plan->freeBytes == 0 || bytes < plan->freeBytes;
    if (!fits)
        m_planBanner->show(Tone::bad, "fail", tr("%1 do not fit").arg(sizeText(bytes)), place);
    else if (plan->existing)
        m_planBanner->show(Tone::neutral, "sync", tr("%1 on the board; only what differs is copied").arg(sizeText(bytes)),
                           place + tr(" The copy here is from %1.").arg(ago(plan->existing->syncedAt, unixNow())));
    else
        m_planBanner->show(Tone::neutral, "sync", tr("%1 will be copied").arg(sizeText(bytes)), place);
    m_planPage->setComplete(fits);
}

void SysrootWizard::sync() {
    m_syncBanner->show(Tone::busy, "running", tr("Copying from %1…").arg(qs(device())));
    m_running = m_boards.run<Sysroot>(
        device(), {.title = tr("Sync the sysroot of %1").arg(qs(device())), .slot = "sysroot-sync"},
        [actions = m_boards.actions(), destination = m_plan->destination](const Login &login, Progress &progress) {
            return actions->syncSysroot(login, destination, progress);
        },
        this, [this](const Result<Sysroot> &sysroot) { showSynced(sysroot); });
    m_syncJob->follow(m_running);
}

void SysrootWizard::showSynced(const Result<Sysroot> &sysroot) {
    m_running = 0;
    m_syncJob->follow(0);
    if (!sysroot) {
        const bool cancelled = sysroot.error().kind == ErrorKind::cancelled;
        m_syncBanner->show(cancelled ? Tone::neutral : Tone::bad, cancelled ? "skipped" : "fail",
                           cancelled ? tr("Cancelled") : sentence(qs(sysroot.error().message)),
                           cancelled ? tr("What was copied is kept; the next sync goes on from there. It is not used for builds until it is whole.")
                                     : sentence(qs(sysroot.error().hint)));
        return;
    }
    m_sysroot = *sysroot;
    m_syncBanner->show(Tone::good, "pass", tr("%1 files, %2").arg(sysroot->files).arg(sizeText(sysroot->bytes)), qs(sysroot->path.string()));
    m_syncPage->setComplete(true);
    m_boards.refresh();
}

void SysrootWizard::verify() {
    m_findings->clear();
    m_verifyBanner->show(Tone::busy, "running", tr("Verifying…"));
    const int id = m_boards.jobs().start<std::vector<SysrootFinding>>(
        {.title = tr("Verify the sysroot of %1").arg(qs(device())), .slot = "sysroot-verify"},
        [actions = m_boards.actions(), sysroot = *m_sysroot](Progress &progress) { return actions->verifySysroot(sysroot, progress); }, this,
        [this](const Result<std::vector<SysrootFinding>> &findings) { showVerified(findings); });
    m_verifyJob->follow(id);
}

void SysrootWizard::showVerified(const Result<std::vector<SysrootFinding>> &findings) {
    m_verifyJob->follow(0);
    if (!findings) {
        m_verifyBanner->show(Tone::bad, "fail", tr("Not verified: %1").arg(qs(findings.error().message)), sentence(qs(findings.error().hint)));
        m_problems = 1;
    } else {
        m_problems = std::count_if(findings->begin(), findings->end(), [](const SysrootFinding &f) { return !f.good; });
        if (m_problems)
            m_verifyBanner->show(Tone::warning, "warn", tr("%1 problems").arg(m_problems), tr("The copy is kept; programs that need these parts will not link."));
        else
            m_verifyBanner->show(Tone::good, "pass", tr("Programs link against it"));
        fillSysrootFindings(m_findings, *findings);
    }
    m_verifyPage->setComplete(true);
}

void SysrootWizard::summarise() {
    const auto &made = *m_sysroot;
    const auto text = tr("%1 in %2 files at %3\nL4T %4, glibc %5, CUDA %6")
                          .arg(sizeText(made.bytes)).arg(made.files)
                          .arg(qs(made.path.string()), qs(made.l4t), qs(made.glibc), made.cudaToolkit.empty() ? tr("not there") : qs(made.cudaToolkit));
    if (m_problems)
        m_summary->show(Tone::warning, "warn", tr("The sysroot of %1 is here, with problems").arg(qs(made.device)), text);
    else
        m_summary->show(Tone::good, "pass", tr("The sysroot of %1 is ready").arg(qs(made.device)), text);
}

void SysrootWizard::reject() {
    if (!m_running)
        return QWizard::reject();
    askToConfirm(this, tr("Copying"), tr("Stop copying? What is here already is kept for the next time."), tr("&Stop"), [this] {
        m_boards.jobs().cancel(m_running);
        QWizard::reject();
    });
}

} // namespace slipway
