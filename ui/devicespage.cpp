// SPDX-License-Identifier: Apache-2.0
//
// The page of boards, and what it says while there is none.

#include "ui/devicespage.h"

#include "ui/adddevicewizard.h"
#include "ui/boarddetails.h"
#include "ui/boardlist.h"
#include "ui/parts.h"
#include "ui/text.h"

#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace slipway {

DevicesPage::DevicesPage(Boards &boards, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_stack(new QStackedWidget), m_list(new BoardList), m_details(new BoardDetails(boards)) {
    auto *layout = column(margin);
    setLayout(layout);
    layout->addWidget(m_stack);
    m_stack->addWidget(buildEmpty());
    m_stack->addWidget(buildFilled());
    connect(&m_boards, &Boards::changed, this, &DevicesPage::refresh);
    connect(&m_boards, &Boards::selectedChanged, this, &DevicesPage::refresh);
    connect(m_list, &BoardList::boardChosen, &m_boards, &Boards::select);
    connect(m_details, &BoardDetails::shipWanted, this, &DevicesPage::shipWanted);
    connect(m_list, &BoardList::folderDropped, this, &DevicesPage::takeFolder);
    connect(m_details, &BoardDetails::folderDropped, this, &DevicesPage::takeFolder);
    connect(m_details, &BoardDetails::removeWanted, this, &DevicesPage::removeSelected);
    refresh();
}

QWidget *DevicesPage::buildEmpty() {
    auto *empty = new EmptyState("devices", tr("No devices yet"),
                                 tr("Slipway builds here and ships to a board over SSH. Add yours, or try everything on a virtual "
                                    "board: a Jetson-like system on this machine, clearly labelled as simulated."));
    auto *add = button(tr("&Add a device…"), "add");
    auto *start = button(tr("Start the &virtual board"), "run");
    add->setObjectName("addFirstDevice");
    start->setObjectName("startVirtualBoard");
    empty->addAction(add);
    empty->addAction(start);
    connect(add, &QPushButton::clicked, this, &DevicesPage::addDevice);
    connect(start, &QPushButton::clicked, &m_boards, &Boards::startVirtualBoard);
    return empty;
}

QWidget *DevicesPage::buildFilled() {
    auto *split = new QSplitter;
    auto *left = new QWidget;
    auto *leftLayout = column();
    left->setLayout(leftLayout);
    auto *add = button(tr("&Add…"), "add", tr("Add a device: name, address, key"));
    auto *start = button(tr("&Virtual board"), "run", tr("Start the virtual board: a Jetson-like system on this machine"));
    auto *buttons = row();
    buttons->addWidget(add);
    buttons->addWidget(start);
    buttons->addStretch();
    leftLayout->addWidget(m_list, 1);
    leftLayout->addLayout(buttons);
    split->addWidget(left);
    split->addWidget(m_details);
    split->setChildrenCollapsible(false);
    split->setStretchFactor(1, 1);
    remember(m_boards.settings(), "devices/split", split, {236, 700});
    connect(add, &QPushButton::clicked, this, &DevicesPage::addDevice);
    connect(start, &QPushButton::clicked, &m_boards, &Boards::startVirtualBoard);
    return split;
}

void DevicesPage::refresh() {
    m_stack->setCurrentIndex(m_boards.rows().empty() ? 0 : 1);
    m_list->setBoards(m_boards.rows(), m_boards.selected());
    m_details->show(m_boards.selected());
}

void DevicesPage::addDevice() {
    auto *wizard = new AddDeviceWizard(m_boards, window());
    wizard->setAttribute(Qt::WA_DeleteOnClose);
    wizard->open();
}

void DevicesPage::listReleases() {
    if (m_boards.find(m_boards.selected()))
        m_details->readReleases();
}

void DevicesPage::takeFolder(const std::string &device, const QString &folder) {
    m_boards.jobs().start<bool>(
        {.title = tr("Look into %1").arg(folder), .slot = "drop", .quiet = true},
        [actions = m_boards.actions(), path = fs::path(folder.toStdString())](Progress &progress) { return actions->isPackage(path, progress); },
        this, [this, device, folder](const Result<bool> &package) {
            if (package.value_or(false))
                Q_EMIT packageDropped(device, folder);
            else
                Q_EMIT shipWanted(device, folder);
        });
}

void DevicesPage::removeSelected() {
    const auto name = m_boards.selected();
    if (!m_boards.find(name))
        return;
    askToConfirm(window(), tr("Remove a device"),
                 tr("Remove %1 from the list? Nothing on the board changes; its sysroot on this machine stays.").arg(qs(name)),
                 tr("&Remove"), [this, name] { m_boards.remove(name); });
}

} // namespace slipway
