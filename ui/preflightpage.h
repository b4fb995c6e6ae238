// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/findingmodel.h"

#include <QWidget>

class QButtonGroup;
class QComboBox;
class QLineEdit;
class QPushButton;
class QSplitter;
class QTableView;

namespace slipway {

class Banner;
class CommandTwin;
class FindingDetails;
class FindingFilter;
class JobModel;
class JobView;

/// The checklist of a package against a board, a target profile or saved facts.
class PreflightPage : public QWidget {
    Q_OBJECT
public:
    PreflightPage(Boards &boards, JobModel &model, QWidget *parent = nullptr);
    void setPackage(const QString &folder);
    /// Runs the checks.
    void check();
    void showVerdict(const Verdict &verdict);

Q_SIGNALS:
    /// The user wants to look at the kernels of the package that is checked.
    void cacheWanted(const QString &directory);

protected:
    /// The details stand beside the table, or below it where the page is narrow.
    void resizeEvent(QResizeEvent *event) override;
    void dragEnterEvent(QDragEnterEvent *event) override;
    void dropEvent(QDropEvent *event) override;

private:
    void build();
    QLayout *buildInputs();
    QLayout *buildFilters();
    QWidget *buildTable();
    void fillAgainst();
    void chooseFactsFile();
    void inputsChanged();
    void showDetails();
    void addRowActions();
    void selectFinding(const std::string &id, const std::string &subject);
    [[nodiscard]] const Finding *selected() const;
    void showError(const Error &error);
    /// Does what is safe, and shows the verdict after it.
    void fix();
    void showFixed(const FixOutcome &outcome);
    /// What the verdict is, and a line below it.
    void showBanner(const QString &below);
    /// Starts `operation` on the package against what is chosen; `take` gets its result.
    template <typename T>
    void start(const QString &title, std::function<Result<T>(const fs::path &, const Against &, Progress &)> operation,
               std::function<void(const Result<T> &)> take);

    Boards &m_boards;
    QLineEdit *m_package;
    QComboBox *m_against;
    QPushButton *m_check;
    QPushButton *m_fix;
    QPushButton *m_copy;
    Banner *m_banner;
    JobView *m_job;
    QButtonGroup *m_filters;
    FindingModel *m_model;
    FindingFilter *m_sorted;
    QTableView *m_table;
    QSplitter *m_split;
    FindingDetails *m_details;
    CommandTwin *m_twin;
    Verdict m_verdict;
    QString m_factsFile;
    QString m_chosen; ///< what the user chose to check against; empty = the selected device
    bool m_hasVerdict = false;
};

} // namespace slipway
