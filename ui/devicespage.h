// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"

#include <QWidget>

class QPushButton;
class QStackedWidget;

namespace slipway {

class BoardDetails;
class BoardList;

/// The saved boards: a list, and the chosen one's details, releases and actions.
class DevicesPage : public QWidget {
    Q_OBJECT
public:
    explicit DevicesPage(Boards &boards, QWidget *parent = nullptr);
    void addDevice();
    void removeSelected();
    void listReleases();

Q_SIGNALS:
    void shipWanted(const std::string &device, const QString &projectFolder);
    void packageDropped(const std::string &device, const QString &package);

private:
    QWidget *buildEmpty();
    QWidget *buildFilled();
    void refresh();
    /// A package is checked against the device, a project shipped to it.
    void takeFolder(const std::string &device, const QString &folder);

    Boards &m_boards;
    QStackedWidget *m_stack;
    BoardList *m_list;
    BoardDetails *m_details;
};

} // namespace slipway
