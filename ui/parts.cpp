// SPDX-License-Identifier: Apache-2.0
//
// Small pieces that several pages are built from.

#include "ui/parts.h"

#include "core/base/process.h"
#include "ui/tablemodel.h"
#include "ui/text.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDialogButtonBox>
#include <QDropEvent>
#include <QFontDatabase>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLineEdit>
#include <QMimeData>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QToolButton>
#include <QUrl>

#include <algorithm>

namespace slipway {

namespace {

/// Words as one would type them: quoted only where a shell needs it.
std::string typed(const std::string &word) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
        return std::isalnum(c) || std::strchr("-_./:@%+=,~", c);
    });
    return plain ? word : shellQuote(word);
}

std::string encoded(const QByteArray &bytes) { return bytes.toBase64().toStdString(); }
QByteArray decoded(const std::string &text) { return QByteArray::fromBase64(QByteArray::fromStdString(text)); }

/// Keeps a cell's text off the cell's edges, so that numbers on the right do not touch the next column.
class PaddedDelegate : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter *painter, const QStyleOptionViewItem &option, const QModelIndex &index) const override {
        auto item = option;
        initStyleOption(&item, index);
        const auto *style = option.widget->style();
        style->drawPrimitive(QStyle::PE_PanelItemViewItem, &item, painter, option.widget);
        item.rect.adjust(2, 0, -gap, 0);
        style->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);
    }
};

} // namespace

Banner::Banner(QWidget *parent) : QFrame(parent), m_icon(new QLabel), m_headline(titleLabel({}, 1)), m_text(quietLabel({})) {
    auto *layout = row(margin);
    setLayout(layout);
    auto *texts = column();
    texts->setSpacing(2);
    m_headline->setWordWrap(true);
    texts->addWidget(m_headline);
    texts->addWidget(m_text);
    layout->addWidget(m_icon, 0, Qt::AlignTop);
    layout->addLayout(texts, 1);
    m_headline->setObjectName("headline");
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse);
}

void Banner::show(Tone tone, const QString &iconName, const QString &headline, const QString &text) {
    m_tone = tone;
    m_icon->setPixmap(icon(iconName, tone).pixmap(24, 24));
    m_headline->setText(headline);
    m_text->setText(text);
    m_text->setVisible(!text.isEmpty());
    setAccessibleName(headline);
    setVisible(true);
    update();
}

QString Banner::headlineText() const {
    return m_headline->text();
}

void Banner::addAction(QWidget *widget) {
    static_cast<QHBoxLayout *>(layout())->addWidget(widget, 0, Qt::AlignVCenter);
}

void Banner::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(m_tone == Tone::neutral ? palette().color(QPalette::Mid) : toneColor(m_tone, palette()));
    painter.setBrush(toneWash(m_tone, palette()));
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
}

EmptyState::EmptyState(const QString &iconName, const QString &title, const QString &text, QWidget *parent)
    : QWidget(parent), m_actions(row()) {
    auto *layout = column(2 * margin);
    setLayout(layout);
    auto *picture = new QLabel;
    picture->setPixmap(icon(iconName, Tone::neutral).pixmap(56, 56));
    auto *explanation = quietLabel(text);
    explanation->setAlignment(Qt::AlignCenter);
    explanation->setFixedWidth(440);
    explanation->setFixedHeight(explanation->heightForWidth(440)); // a wrapped label in an aligned cell would be cut
    layout->addStretch(2);
    layout->addWidget(picture, 0, Qt::AlignHCenter);
    layout->addWidget(titleLabel(title), 0, Qt::AlignHCenter);
    layout->addWidget(explanation, 0, Qt::AlignHCenter);
    layout->addSpacing(gap);
    m_actions->addStretch();
    m_actions->addStretch();
    layout->addLayout(m_actions);
    layout->addStretch(3);
}

void EmptyState::addAction(QWidget *widget) {
    m_actions->insertWidget(m_actions->count() - 1, widget);
}

CommandTwin::CommandTwin(QWidget *parent) : QWidget(parent), m_text(new QLineEdit) {
    auto *layout = row();
    setLayout(layout);
    auto *label = quietLabel(tr("As a command"));
    label->setWordWrap(false);
    m_text->setReadOnly(true);
    m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    m_text->setAccessibleName(tr("The same as a command"));
    auto *copy = new QToolButton;
    copy->setIcon(icon("copy"));
    copy->setToolTip(tr("Copy the command"));
    copy->setAccessibleName(tr("Copy the command"));
    connect(copy, &QToolButton::clicked, this, [this] { QApplication::clipboard()->setText(m_text->text()); });
    layout->addWidget(label);
    layout->addWidget(m_text, 1);
    layout->addWidget(copy);
}

void CommandTwin::setCommand(const std::vector<std::string> &words) {
    QStringList all;
    for (const auto &word : words)
        all << qs(typed(word));
    m_text->setText(all.join(' '));
    m_text->setToolTip(plainTip(m_text->text()));
    m_text->setCursorPosition(0);
}

QString CommandTwin::command() const {
    return m_text->text();
}

namespace {

/// Every column of one row with its whole text, to read and to copy from.
void showRow(QTableView *table, const QModelIndex &index) {
    if (!index.isValid())
        return;
    auto *dialog = new QDialog(table->window());
    dialog->setObjectName("rowDetails");
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(table->accessibleName());
    auto *layout = column(margin);
    dialog->setLayout(layout);
    auto *form = new QFormLayout;
    form->setHorizontalSpacing(margin);
    form->setLabelAlignment(Qt::AlignLeft | Qt::AlignTop);
    for (int i = 0; i < table->model()->columnCount(); ++i) {
        const auto value = index.siblingAtColumn(i).data().toString();
        if (value.isEmpty())
            continue;
        auto *name = plainLabel(table->model()->headerData(i, Qt::Horizontal).toString());
        name->setForegroundRole(QPalette::PlaceholderText);
        auto *text = plainLabel(value);
        text->setWordWrap(true);
        text->setMinimumWidth(440);
        text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
        form->addRow(name, text);
    }
    layout->addLayout(form);
    auto *buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::close);
    layout->addWidget(buttons);
    dialog->show();
}

void addRowActions(QTableView *table) {
    auto *copy = new QAction(icon("copy"), QObject::tr("Copy rows"), table);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QAction::triggered, table, [table] {
        auto rows = table->selectionModel()->selectedRows();
        std::sort(rows.begin(), rows.end());
        QStringList lines;
        for (const auto &index : rows) {
            QStringList cells;
            for (int column = 0; column < table->model()->columnCount(); ++column)
                cells << index.siblingAtColumn(column).data().toString();
            lines << cells.join('\t');
        }
        QApplication::clipboard()->setText(lines.join('\n'));
    });
    auto *details = new QAction(QObject::tr("Show all of it…"), table);
    QObject::connect(details, &QAction::triggered, table, [table] { showRow(table, table->currentIndex()); });
    QObject::connect(table, &QTableView::doubleClicked, table, [table](const QModelIndex &index) { showRow(table, index); });
    table->addActions({details, copy});
    table->setContextMenuPolicy(Qt::ActionsContextMenu);
}

} // namespace

QTableView *makeTable(QSortFilterProxyModel *model, const QString &name) {
    auto *table = new QTableView;
    model->setSortRole(sortRole);
    model->setFilterCaseSensitivity(Qt::CaseInsensitive);
    model->setFilterKeyColumn(-1);
    table->setModel(model);
    table->setAccessibleName(name);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table->setShowGrid(false);
    table->setAlternatingRowColors(true);
    table->setWordWrap(false);
    table->setTextElideMode(Qt::ElideRight);
    table->setTabKeyNavigation(false);
    table->setItemDelegate(new PaddedDelegate(table));
    table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    table->verticalHeader()->hide();
    table->verticalHeader()->setDefaultSectionSize(table->fontMetrics().height() + 10);
    table->horizontalHeader()->setHighlightSections(false);
    table->horizontalHeader()->setStretchLastSection(true);
    table->setSortingEnabled(true);
    addRowActions(table);
    return table;
}

QString droppedFolder(const QDropEvent &event) {
    const auto urls = event.mimeData()->urls();
    return urls.size() == 1 && urls.front().isLocalFile() ? urls.front().toLocalFile() : QString();
}

void remember(Settings &settings, const std::string &key, QHeaderView *header, const QList<int> &widths) {
    for (int i = 0; i < widths.size() && i < header->count(); ++i)
        header->resizeSection(i, widths[i]);
    header->restoreState(decoded(settings.value(key)));
    const auto save = [&settings, key, header] { settings.setValue(key, encoded(header->saveState())); };
    QObject::connect(header, &QHeaderView::sectionResized, header, save);
    QObject::connect(header, &QHeaderView::sortIndicatorChanged, header, save);
}

void remember(Settings &settings, const std::string &key, QSplitter *splitter, const QList<int> &sizes) {
    splitter->setHandleWidth(gap);
    splitter->setSizes(sizes);
    splitter->restoreState(decoded(settings.value(key)));
    QObject::connect(splitter, &QSplitter::splitterMoved, splitter,
                     [&settings, key, splitter] { settings.setValue(key, encoded(splitter->saveState())); });
}

} // namespace slipway
