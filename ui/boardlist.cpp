// SPDX-License-Identifier: Apache-2.0
//
// Paints a board's entry: a dot and a word for its state, a badge for simulated ones.

#include "ui/boardlist.h"

#include "ui/parts.h"
#include "ui/text.h"

#include <QDragEnterEvent>
#include <QPainter>
#include <QStyledItemDelegate>

namespace slipway {

namespace {

class BoardDelegate : public QStyledItemDelegate {
public:
    BoardDelegate(const DeviceModel &model, QObject *parent) : QStyledItemDelegate(parent), m_model(model) {}

    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem &option, const QModelIndex &) const override {
        return {200, 3 * option.fontMetrics.height() + 2 * gap + 6};
    }

    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override {
        auto frame = option;
        initStyleOption(&frame, index);
        frame.text.clear();
        frame.widget->style()->drawControl(QStyle::CE_ItemViewItem, &frame, painter, frame.widget);
        const auto &row = m_model.row(index.row());
        const bool selected = option.state.testFlag(QStyle::State_Selected);
        const auto ink = option.palette.color(selected ? QPalette::HighlightedText : QPalette::Text);
        const auto quiet = selected ? ink : option.palette.color(QPalette::PlaceholderText);
        const int height = option.fontMetrics.height();
        QRect line(option.rect.left() + margin, option.rect.top() + gap, option.rect.width() - 2 * margin, height);
        painter->save();
        paintName(painter, option, row, line, ink);
        line.translate(0, height + 3);
        const int dot = height - 4;
        icon("dot", reachTone(row.reach)).paint(painter, line.left(), line.top() + 2, dot, dot, Qt::AlignCenter,
                                                selected ? QIcon::Selected : QIcon::Normal);
        drawText(painter, option, line.adjusted(dot + 5, 0, 0, 0), reachWord(row), ink);
        line.translate(0, height + 3);
        const auto target = row.targetName.empty() ? m_model.index(index.row(), DeviceModel::targetColumn).data().toString()
                                                   : qs(row.targetName);
        const auto seen = m_model.index(index.row(), DeviceModel::seenColumn).data().toString();
        drawText(painter, option, line, target + QStringLiteral(" · ") + seen, quiet);
        painter->restore();
    }

private:
    static void drawText(QPainter *painter, const QStyleOptionViewItem &option, const QRect &rect, const QString &text, const QColor &ink) {
        painter->setPen(ink);
        painter->drawText(rect, Qt::AlignVCenter, option.fontMetrics.elidedText(text, Qt::ElideRight, rect.width()));
    }

    static void paintName(QPainter *painter, const QStyleOptionViewItem &option, const BoardRow &row, QRect line, const QColor &ink) {
        const auto plain = painter->font();
        if (row.board.device.isVirtual) {
            const auto badge = QObject::tr("SIMULATED");
            const auto size = badgeSize(option.font, badge);
            const QRect place(line.right() - size.width() + 1, line.top() - 1, size.width(), size.height());
            painter->setFont(option.font);
            paintBadge(painter, place, badge, Tone::warning, option.palette);
            line.setRight(place.left() - gap);
        }
        auto bold = option.font;
        bold.setBold(true);
        painter->setFont(bold);
        painter->setPen(ink);
        painter->drawText(line, Qt::AlignVCenter, QFontMetrics(bold).elidedText(qs(row.board.device.name), Qt::ElideRight, line.width()));
        painter->setFont(plain);
    }

    const DeviceModel &m_model;
};

} // namespace

BoardList::BoardList(QWidget *parent) : QListView(parent), m_model(new DeviceModel(this)) {
    setModel(m_model);
    setItemDelegate(new BoardDelegate(*m_model, this));
    setAccessibleName(tr("Devices"));
    setMinimumWidth(220);
    setAcceptDrops(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(selectionModel(), &QItemSelectionModel::currentChanged, this, [this] {
        if (!m_filling)
            Q_EMIT boardChosen(current());
    });
}

void BoardList::setBoards(const std::vector<BoardRow> &rows, const std::string &selected) {
    m_filling = true;
    m_model->setRows(rows);
    for (int i = 0; i < m_model->rowCount(); ++i)
        if (rows[std::size_t(i)].board.device.name == selected)
            setCurrentIndex(m_model->index(i, 0));
    m_filling = false;
}

void BoardList::dragEnterEvent(QDragEnterEvent *event) {
    if (!droppedFolder(*event).isEmpty())
        event->acceptProposedAction();
}

void BoardList::dragMoveEvent(QDragMoveEvent *event) {
    event->setAccepted(indexAt(event->position().toPoint()).isValid());
}

void BoardList::dropEvent(QDropEvent *event) {
    const auto at = indexAt(event->position().toPoint());
    if (at.isValid())
        Q_EMIT folderDropped(m_model->row(at.row()).board.device.name, droppedFolder(*event));
}

std::string BoardList::current() const {
    return currentIndex().isValid() ? m_model->row(currentIndex().row()).board.device.name : std::string();
}

} // namespace slipway
