// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"
#include "ui/look.h"

#include <QFrame>

class QHeaderView;
class QLineEdit;
class QSplitter;
class QTableView;
class QSortFilterProxyModel;

class QDropEvent;

namespace slipway {

/// A line across the page that says how things are: icon, headline, explanation.
class Banner : public QFrame {
public:
    explicit Banner(QWidget *parent = nullptr);
    void show(Tone tone, const QString &iconName, const QString &headline, const QString &text = {});
    [[nodiscard]] QString headlineText() const;
    /// A place for buttons on the right.
    void addAction(QWidget *widget);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    QLabel *m_icon;
    QLabel *m_headline;
    QLabel *m_text;
    Tone m_tone = Tone::neutral;
};

/// What to show where there is nothing yet: why, and the one thing to do.
class EmptyState : public QWidget {
public:
    EmptyState(const QString &iconName, const QString &title, const QString &text, QWidget *parent = nullptr);
    void addAction(QWidget *widget);

private:
    QHBoxLayout *m_actions;
};

/// The command line that does the same, with a button that copies it.
class CommandTwin : public QWidget {
    Q_OBJECT
public:
    explicit CommandTwin(QWidget *parent = nullptr);
    void setCommand(const std::vector<std::string> &words);
    [[nodiscard]] QString command() const;

private:
    QLineEdit *m_text;
};

/// A table in the house's style over `model`, sortable; `name` is for assistive technology. Its context menu copies the selected
/// rows as tab-separated text (Ctrl+C) and shows all of a row, as a double click does.
[[nodiscard]] QTableView *makeTable(QSortFilterProxyModel *model, const QString &name);

/// The one local folder or file that is dragged; empty = something else.
[[nodiscard]] QString droppedFolder(const QDropEvent &event);

/// Keeps column widths / a splitter's places in `settings` under `key`.
void remember(Settings &settings, const std::string &key, QHeaderView *header, const QList<int> &widths);
void remember(Settings &settings, const std::string &key, QSplitter *splitter, const QList<int> &sizes);

} // namespace slipway
