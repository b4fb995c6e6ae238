// SPDX-License-Identifier: Apache-2.0
//
// The pane beside the checklist.

#include "ui/findingdetails.h"

#include "ui/findingmodel.h"
#include "ui/text.h"

#include <QApplication>
#include <QClipboard>
#include <QGridLayout>
#include <QPushButton>
#include <QVBoxLayout>

namespace slipway {

FindingDetails::FindingDetails(QWidget *parent)
    : QScrollArea(parent), m_parts(new QGridLayout), m_icon(new QLabel), m_title(titleLabel({}, 1)), m_subject(quietLabel({})),
      m_copyFix(button(tr("Copy the fix"), "copy")) {
    auto *inside = new QWidget;
    auto *layout = column(margin);
    inside->setLayout(layout);
    auto *head = row();
    head->addWidget(m_icon, 0, Qt::AlignTop);
    head->addWidget(m_title, 1);
    head->addWidget(m_copyFix, 0, Qt::AlignTop);
    m_title->setWordWrap(true);
    m_title->setMinimumWidth(1);
    m_subject->setMinimumWidth(1);
    layout->addLayout(head);
    layout->addWidget(m_subject);
    layout->addLayout(m_parts);
    m_parts->setHorizontalSpacing(margin);
    m_parts->setColumnStretch(1, 1);
    m_found = addPart(tr("Found"), "found");
    m_needed = addPart(tr("Needed"), "needed");
    m_why = addPart(tr("Why"), "why");
    m_fix = addPart(tr("How to fix"), "fix");
    arrange(m_narrow);
    layout->addStretch();
    setWidget(inside);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setMinimumSize(220, 96);
    m_copyFix->setObjectName("copyFix");
    connect(m_copyFix, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(m_fix->text()); });
    show(nullptr);
}

QLabel *FindingDetails::addPart(const QString &title, const char *name) {
    auto *head = plainLabel(title);
    head->setForegroundRole(QPalette::PlaceholderText);
    auto *text = plainLabel();
    text->setObjectName(name);
    text->setAccessibleName(title);
    text->setWordWrap(true);
    text->setMinimumWidth(1); // a long path must not make the pane wider than it is
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_rows.emplace_back(head, text);
    return text;
}

void FindingDetails::set(QLabel *label, const std::string &text) {
    label->setText(qs(text));
    for (const auto &[head, field] : m_rows) {
        if (field == label)
            head->setVisible(!text.empty());
    }
    label->setVisible(!text.empty());
}

// A grid and not a form: QFormLayout of Qt 6.4 writes outside its arrays when a row with a wrapping text is hidden.
void FindingDetails::arrange(bool narrow) {
    m_narrow = narrow;
    for (int i = 0; i < int(m_rows.size()); ++i) {
        const auto &[head, text] = m_rows[std::size_t(i)];
        m_parts->removeWidget(head);
        m_parts->removeWidget(text);
        m_parts->addWidget(head, 2 * i, 0, 1, narrow ? 2 : 1, Qt::AlignTop);
        m_parts->addWidget(text, narrow ? 2 * i + 1 : 2 * i, narrow ? 0 : 1, 1, narrow ? 2 : 1);
    }
}

void FindingDetails::resizeEvent(QResizeEvent *event) {
    if (const bool narrow = width() < 420; narrow != m_narrow)
        arrange(narrow);
    QScrollArea::resizeEvent(event);
}

void FindingDetails::show(const Finding *finding) {
    m_icon->setVisible(finding);
    m_copyFix->setVisible(finding && !finding->fix.empty());
    if (!finding) {
        m_title->setText(tr("Details"));
        m_subject->setText(tr("Select a row to see both values, the rule behind it and how to fix it."));
        for (auto *label : {m_found, m_needed, m_why, m_fix})
            set(label, {});
        return;
    }
    m_icon->setPixmap(statusIcon(finding->status).pixmap(20, 20));
    m_title->setText(statusWord(finding->status) + ": " + checkTitle(*finding));
    m_subject->setText(QStringList{qs(finding->id), qs(finding->subject)}.join(QStringLiteral("  ·  ")));
    set(m_found, finding->found);
    set(m_needed, finding->needed);
    set(m_why, finding->why);
    set(m_fix, finding->fix);
}

void FindingFilter::show(std::optional<Status> status) {
    m_status = status;
    invalidateFilter();
}

bool FindingFilter::filterAcceptsRow(int row, const QModelIndex &parent) const {
    const auto *model = static_cast<const FindingModel *>(sourceModel());
    return (!m_status || model->row(row).status == *m_status) && QSortFilterProxyModel::filterAcceptsRow(row, parent);
}

} // namespace slipway
