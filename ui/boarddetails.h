// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/releasemodel.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QTableView;

namespace slipway {

class Badge;
class Banner;
class ElidedLabel;
class FactsView;
class LiveStrip;

/// One board: header with actions, facts in groups, its releases.
class BoardDetails : public QWidget {
    Q_OBJECT
public:
    explicit BoardDetails(Boards &boards, QWidget *parent = nullptr);
    void show(const std::string &name);
    /// Reads the releases of the board that is shown.
    void readReleases();

Q_SIGNALS:
    void shipWanted(const std::string &device, const QString &projectFolder);
    void folderDropped(const std::string &device, const QString &folder);
    void removeWanted();

protected:
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dropEvent(QDropEvent *event) override;

private:
    QWidget *buildHeader();
    QWidget *buildFacts();
    QWidget *buildReleases();
    void showHeader(const BoardRow &row);
    void showFacts(const BoardRow &row);
    void rollBack();
    void takeReleases(const std::string &device, const Result<std::vector<Release>> &releases);

    Boards &m_boards;
    std::string m_name;
    QLabel *m_title;
    Badge *m_badge;
    QLabel *m_dot;
    ElidedLabel *m_state;
    QPushButton *m_ship;
    QPushButton *m_refresh;
    Banner *m_problem;
    LiveStrip *m_live;
    QLabel *m_age;
    FactsView *m_facts;
    QWidget *m_noFacts;
    QLineEdit *m_dest;
    ReleaseModel *m_releases;
    QSortFilterProxyModel *m_sorted;
    QTableView *m_table;
    QLabel *m_releaseNote;
    QPushButton *m_rollBack;
    std::map<std::string, std::vector<Release>> m_known; ///< this session's, by board
};

} // namespace slipway
