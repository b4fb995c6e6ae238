// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/devicemodel.h"

#include <QListView>

namespace slipway {

/// The saved boards as a list of three-line entries over a DeviceModel: name and badge, state, target and when seen.
class BoardList : public QListView {
    Q_OBJECT
public:
    explicit BoardList(QWidget *parent = nullptr);
    void setBoards(const std::vector<BoardRow> &rows, const std::string &selected);
    [[nodiscard]] std::string current() const;

Q_SIGNALS:
    void boardChosen(const std::string &name);
    /// A folder was dropped onto a board's entry.
    void folderDropped(const std::string &name, const QString &folder);

protected:
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dragMoveEvent(QDragMoveEvent *event) override;
    void dropEvent(QDropEvent *event) override;

private:
    DeviceModel *m_model;
    bool m_filling = false;
};

} // namespace slipway
