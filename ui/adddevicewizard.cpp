// SPDX-License-Identifier: Apache-2.0
//
// Two steps: where the board is, and does it answer. The device is saved when the first is right; the second runs at once.

#include "ui/adddevicewizard.h"

#include "ui/parts.h"
#include "ui/text.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>

namespace slipway {

namespace {

/// A page whose "Next" runs a check.
class CheckedPage : public QWizardPage {
public:
    std::function<bool()> check;
    std::function<void()> entered;
    [[nodiscard]] bool validatePage() override { return !check || check(); }
    void initializePage() override {
        if (entered)
            entered();
    }
};

QLineEdit *entry(const QString &placeholder, const QString &name) {
    auto *edit = new QLineEdit;
    edit->setPlaceholderText(placeholder);
    edit->setAccessibleName(name);
    return edit;
}

} // namespace

AddDeviceWizard::AddDeviceWizard(Boards &boards, QWidget *parent)
    : QWizard(parent), m_boards(boards), m_name(entry("orin-lab", tr("Name"))), m_host(entry("192.168.55.1 or host:port", tr("Host"))),
      m_user(entry(tr("as in ~/.ssh/config, else yours"), tr("User"))), m_key(entry(tr("as ssh would choose"), tr("Key file"))),
      m_target(new QComboBox), m_problem(new Banner), m_outcome(new Banner) {
    setWindowTitle(tr("Add a device"));
    setWizardStyle(QWizard::ModernStyle);
    setOption(QWizard::NoBackButtonOnStartPage);
    setMinimumSize(620, 420);
    setButtonText(QWizard::CommitButton, tr("&Save and test"));
    m_name->setObjectName("deviceName");
    m_host->setObjectName("deviceHost");
    m_user->setObjectName("deviceUser");
    addPage(buildAddressPage());
    addPage(buildTestPage());
}

QWizardPage *AddDeviceWizard::buildAddressPage() {
    auto *page = new CheckedPage;
    page->setTitle(tr("1  Where is it?"));
    page->setCommitPage(true);
    page->setSubTitle(tr("Over SSH, as ssh itself would: with your config, agent and known hosts."));
    auto *form = new QFormLayout;
    form->setSpacing(gap);
    auto *keyRow = row();
    auto *browse = slipway::button(tr("&Browse…"));
    keyRow->addWidget(m_key, 1);
    keyRow->addWidget(browse);
    m_target->setAccessibleName(tr("Target"));
    m_target->addItem(tr("Ask the board"), QString());
    for (const auto &target : m_boards.overview().targets)
        m_target->addItem(qs(target.name), qs(target.id));
    form->addRow(tr("&Name"), m_name);
    form->addRow(tr("&Host"), m_host);
    form->addRow(tr("&User"), m_user);
    auto *keyLabel = new QLabel(tr("&Key"));
    keyLabel->setBuddy(m_key); // a label of a row of two takes none by itself
    form->addRow(keyLabel, keyRow);
    form->addRow(tr("&Target"), m_target);
    auto *layout = column();
    layout->addLayout(form);
    layout->addWidget(m_problem);
    layout->addStretch();
    m_problem->setVisible(false);
    page->setLayout(layout);
    page->check = [this] {
        const auto made = device();
        if (!made)
            showProblem(sentence(qs(made.error().message)));
        return made.has_value();
    };
    connect(browse, &QPushButton::clicked, this, [this] {
        const auto file = QFileDialog::getOpenFileName(this, tr("Key file"));
        if (!file.isEmpty())
            m_key->setText(file);
    });
    return page;
}

QWizardPage *AddDeviceWizard::buildTestPage() {
    auto *page = new CheckedPage;
    page->setTitle(tr("2  Does it answer?"));
    page->setSubTitle(tr("The device is saved. This test may be closed: it goes on in the activity pane."));
    auto *layout = column();
    layout->addWidget(m_outcome);
    layout->addStretch();
    page->setLayout(layout);
    page->entered = [this] { test(); };
    return page;
}

void AddDeviceWizard::showProblem(const QString &text) {
    m_problem->show(Tone::bad, "fail", text);
}

Result<Device> AddDeviceWizard::device() const {
    const auto name = m_name->text().trimmed().toStdString();
    if (name.empty())
        return fail("a name is needed, such as orin-lab");
    if (m_boards.find(name))
        return fail("there is a device named {} already", name);
    const auto allowed = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_' || c == '-'; };
    if (!std::all_of(name.begin(), name.end(), allowed) || name.front() == '.' || name.front() == '-')
        return fail("the name may have letters, digits, '.', '_' and '-'");
    if (m_host->text().trimmed().isEmpty())
        return fail("a host is needed: a name, an address, or a Host of ~/.ssh/config");
    auto made = Device::fromAddress(name, m_host->text().trimmed().toStdString());
    if (!made)
        return made;
    if (const auto user = m_user->text().trimmed(); !user.isEmpty())
        made->user = user.toStdString();
    made->identity = m_key->text().trimmed().toStdString();
    made->target = m_target->currentData().toString().toStdString();
    return made;
}

void AddDeviceWizard::test() {
    const auto made = device();
    if (!made)
        return;
    const auto name = made->name;
    m_outcome->show(Tone::busy, "running", tr("Connecting to %1…").arg(qs(name)));
    connect(&m_boards, &Boards::changed, this, [this, name] {
        const auto *row = m_boards.find(name);
        if (!row || row->reach == Reach::working || row->reach == Reach::idle)
            return;
        if (row->reach == Reach::failed) {
            m_outcome->show(Tone::bad, "fail", tr("No success"), sentence(qs(row->problem)));
            return;
        }
        const auto *gpu = row->board.facts ? row->board.facts->gpu() : nullptr;
        m_outcome->show(Tone::good, "pass", tr("%1 answers").arg(qs(name)),
                        gpu ? tr("%1, capability %2").arg(qs(gpu->name), qs(gpu->capability.dotted())) : tr("Its GPU is not known yet."));
    });
    m_boards.save(*made, true);
}

} // namespace slipway
