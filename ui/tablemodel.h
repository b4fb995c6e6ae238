// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QIcon>

#include <functional>
#include <vector>

namespace slipway {

/// Role of the value that a column sorts by.
constexpr int sortRole = Qt::UserRole + 1;

/// One column of a table of `Row`s. Everything but `title` and `text` may be absent.
template <typename Row> struct Column {
    QString title;
    std::function<QString(const Row &)> text;
    std::function<QVariant(const Row &)> key; ///< what it sorts by; absent = the text
    std::function<QIcon(const Row &)> icon;
    std::function<QString(const Row &)> tip; ///< plain text; absent = the text
    bool right = false;                      ///< numbers stand on the right
};

/// A table over an immutable snapshot of rows: replaced as a whole, never changed under a view.
template <typename Row> class TableModel : public QAbstractTableModel {
public:
    TableModel(std::vector<Column<Row>> columns, QObject *parent) : QAbstractTableModel(parent), m_columns(std::move(columns)) {}

    void setRows(std::vector<Row> rows) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
    }
    [[nodiscard]] const std::vector<Row> &rows() const { return m_rows; }
    [[nodiscard]] const Row &row(int index) const { return m_rows.at(std::size_t(index)); }

    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override { return parent.isValid() ? 0 : int(m_rows.size()); }
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override { return parent.isValid() ? 0 : int(m_columns.size()); }

    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override {
        if (!index.isValid() || index.row() >= rowCount() || index.column() >= columnCount())
            return {};
        const Row &value = row(index.row());
        const auto &column = m_columns[std::size_t(index.column())];
        switch (role) {
        case Qt::DisplayRole: return column.text(value);
        case Qt::DecorationRole: return column.icon ? QVariant(column.icon(value)) : QVariant();
        case Qt::ToolTipRole: {
            const auto tip = (column.tip ? column.tip : column.text)(value);
            return tip.isEmpty() ? QVariant() : QVariant("<qt>" + tip.toHtmlEscaped() + "</qt>");
        }
        case Qt::TextAlignmentRole: return int((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        case sortRole: return column.key ? column.key(value) : QVariant(column.text(value).toCaseFolded());
        default: return {};
        }
    }

    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override {
        if (orientation != Qt::Horizontal || section < 0 || section >= columnCount())
            return {};
        const auto &column = m_columns[std::size_t(section)];
        if (role == Qt::TextAlignmentRole)
            return int((column.right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        return role == Qt::DisplayRole ? QVariant(column.title) : QVariant();
    }

private:
    std::vector<Column<Row>> m_columns;
    std::vector<Row> m_rows;
};

} // namespace slipway
