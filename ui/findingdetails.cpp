// SPDX-License-Identifier: Apache-2.0
//
// The pane beside the checklist.

#include "ui/findingdetails.h"

#include "ui/findingmodel.h"
#include "ui/text.h"

#include <QApplication>
#include <QClipboard>
#include <QPushButton>
#include <QVBoxLayout>

namespace slipway {

FindingDetails::FindingDetails(QWidget *parent)
    : QScrollArea(parent), m_icon(new QLabel), m_title(titleLabel({}, 1)), m_subject(quietLabel({})), m_copyFix(button(tr("Copy the fix"), "copy")) {
    auto *inside = new QWidget;
    auto *layout = column(margin);
    inside->setLayout(layout);
    auto *head = row();
    head->addWidget(m_icon, 0, Qt::AlignTop);
    head->addWidget(m_title, 1);
    m_title->setWordWrap(true);
    layout->addLayout(head);
    layout->addWidget(m_subject);
    setWidget(inside);
    m_found = addPart(tr("Found"), "found");
    m_needed = addPart(tr("Needed"), "needed");
    m_why = addPart(tr("Why"), "why");
    m_fix = addPart(tr("How to fix"), "fix");
    layout->addWidget(m_copyFix, 0, Qt::AlignLeft);
    layout->addStretch();
    setWidgetResizable(true);
    setMinimumWidth(220);
    connect(m_copyFix, &QPushButton::clicked, this, [this] { QApplication::clipboard()->setText(m_fix->text()); });
    show(nullptr);
}

QLabel *FindingDetails::addPart(const QString &title, const char *name) {
    auto *layout = static_cast<QVBoxLayout *>(widget()->layout());
    auto *part = new QWidget;
    auto *inside = column();
    inside->setSpacing(2);
    part->setLayout(inside);
    auto *head = quietLabel(title);
    auto *text = plainLabel();
    text->setObjectName(name);
    text->setAccessibleName(title);
    text->setWordWrap(true);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    inside->addWidget(head);
    inside->addWidget(text);
    layout->addWidget(part);
    return text;
}

void FindingDetails::set(QLabel *label, const std::string &text) {
    label->setText(qs(text));
    label->parentWidget()->setVisible(!text.empty());
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
    m_title->setText(statusWord(finding->status) + ": " + qs(finding->id));
    m_subject->setText(qs(finding->subject));
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
