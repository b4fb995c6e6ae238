// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/cachemodel.h"

#include <QWidget>

class QLabel;
class QLineEdit;
class QSortFilterProxyModel;
class QStackedWidget;
class QTableView;
class QTreeWidget;

namespace slipway {

class CommandTwin;
class ElidedLabel;
class PtxView;

/// The kernel caches of each target: which kernels, for what, how big; the PTX text of the chosen one.
class CachePage : public QWidget {
    Q_OBJECT
public:
    explicit CachePage(Boards &boards, QWidget *parent = nullptr);
    /// Shows the kernels of a directory.
    void open(const fs::path &directory);
    void refresh();

private:
    QWidget *buildPlaces();
    QWidget *buildKernels();
    QWidget *buildText();
    void addRowActions();
    [[nodiscard]] const CacheEntry *selected() const;
    void fillPlaces();
    void showCache(const Result<KernelCache> &cache);
    void showKernel();
    void showState(const QString &title, const QString &text);

    Boards &m_boards;
    QTreeWidget *m_places;
    QStackedWidget *m_stack;
    QLineEdit *m_filter;
    CacheModel *m_model;
    QSortFilterProxyModel *m_sorted;
    QTableView *m_table;
    QLabel *m_sum;
    ElidedLabel *m_kernel;
    PtxView *m_ptx;
    CommandTwin *m_twin;
    fs::path m_directory;
    fs::path m_opened; ///< a folder outside the workspace
};

} // namespace slipway
