// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

#include <QScrollArea>
#include <QSortFilterProxyModel>

#include <optional>

class QGridLayout;
class QLabel;
class QPushButton;

namespace slipway {

/// All of one finding: both values, the rule, the fix with a button that copies it.
class FindingDetails : public QScrollArea {
    Q_OBJECT
public:
    explicit FindingDetails(QWidget *parent = nullptr);
    void show(const Finding *finding);

protected:
    /// Names stand beside the texts where there is room, else above them.
    void resizeEvent(QResizeEvent *event) override;

private:
    QLabel *addPart(const QString &title, const char *name);
    void set(QLabel *label, const std::string &text);

    void arrange(bool narrow);

    QGridLayout *m_parts;
    std::vector<std::pair<QLabel *, QLabel *>> m_rows; ///< name and text
    bool m_narrow = false;
    QLabel *m_icon;
    QLabel *m_title;
    QLabel *m_subject;
    QLabel *m_found;
    QLabel *m_needed;
    QLabel *m_why;
    QLabel *m_fix;
    QPushButton *m_copyFix;
};

/// Findings of one status only, or all of them.
class FindingFilter : public QSortFilterProxyModel {
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void show(std::optional<Status> status);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;

private:
    std::optional<Status> m_status;
};

} // namespace slipway
