// SPDX-License-Identifier: Apache-2.0
//
// Caches on the left by target, kernels on the right with the text of the chosen one below.

#include "ui/cachepage.h"

#include "ui/look.h"
#include "ui/parts.h"
#include "ui/ptxview.h"
#include "ui/text.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QDesktopServices>
#include <QFileDialog>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedWidget>
#include <QTableView>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>

#include <map>

namespace slipway {

namespace {
constexpr int directoryRole = Qt::UserRole;
constexpr std::uint64_t mostText = 8 << 20; // what an editor shows without delay
} // namespace

CachePage::CachePage(Boards &boards, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_places(new QTreeWidget), m_stack(new QStackedWidget), m_filter(new QLineEdit),
      m_model(new CacheModel(this)), m_sorted(new QSortFilterProxyModel(this)), m_table(nullptr), m_sum(quietLabel({})),
      m_kernel(new ElidedLabel), m_ptx(new PtxView), m_twin(new CommandTwin) {
    auto *layout = column(margin);
    setLayout(layout);
    auto *split = new QSplitter;
    auto *right = new QSplitter(Qt::Vertical); // a kernel's line is as long as a line of its text
    right->addWidget(buildKernels());
    right->addWidget(buildText());
    right->setChildrenCollapsible(false);
    split->addWidget(buildPlaces());
    split->addWidget(right);
    split->setChildrenCollapsible(false);
    split->setStretchFactor(1, 1);
    remember(m_boards.settings(), "cache/places", split, {180, 740});
    remember(m_boards.settings(), "cache/text", right, {400, 600});
    layout->addWidget(split, 1);
    layout->addWidget(m_twin);
    connect(&m_boards, &Boards::changed, this, &CachePage::fillPlaces);
    fillPlaces();
    showState(tr("No cache chosen"), tr("Build a project's kernels, or open a folder with kernel images."));
}

QWidget *CachePage::buildPlaces() {
    auto *part = new QWidget;
    auto *layout = column();
    part->setLayout(layout);
    m_places->setHeaderHidden(true);
    m_places->setAccessibleName(tr("Kernel caches by target"));
    m_places->setObjectName("places");
    auto *open = button(tr("&Open a folder…"), "folder");
    layout->addWidget(m_places, 1);
    layout->addWidget(open);
    connect(m_places, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem *item) {
        const auto directory = item ? item->data(0, directoryRole).toString() : QString();
        if (directory.isEmpty() || directory.toStdString() == m_directory.string())
            return;
        m_directory = directory.toStdString();
        refresh();
    });
    connect(open, &QPushButton::clicked, this, [this] {
        const auto folder = QFileDialog::getExistingDirectory(this, tr("Folder with kernel images"));
        if (!folder.isEmpty())
            this->open(folder.toStdString());
    });
    return part;
}

QWidget *CachePage::buildKernels() {
    auto *part = new QWidget;
    auto *layout = column();
    part->setLayout(layout);
    m_filter->setPlaceholderText(tr("Filter: name, capability, source…"));
    m_filter->setAccessibleName(tr("Filter the kernels"));
    m_filter->setClearButtonEnabled(true);
    m_filter->addAction(icon("search", Tone::neutral), QLineEdit::LeadingPosition);
    m_sorted->setSourceModel(m_model);
    m_table = makeTable(m_sorted, tr("Kernels"));
    m_table->setObjectName("kernels");
    m_table->sortByColumn(CacheModel::nameColumn, Qt::AscendingOrder);
    remember(m_boards.settings(), "cache/columns", m_table->horizontalHeader(), {112, 80, 44, 50, 74, 62, 66, 146, 94, 70, 60});
    addRowActions();
    m_stack->addWidget(m_table);
    layout->addWidget(m_filter);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_sum);
    connect(m_filter, &QLineEdit::textChanged, m_sorted, &QSortFilterProxyModel::setFilterFixedString);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, &CachePage::showKernel);
    return part;
}

void CachePage::addRowActions() {
    const auto add = [this](const char *iconName, const QString &text, std::function<void(const fs::path &)> what) {
        auto *action = new QAction(icon(iconName), text, m_table);
        connect(action, &QAction::triggered, this, [this, what] {
            const auto *entry = selected();
            if (entry && !(entry->image.empty() && entry->cubin.empty()))
                what(entry->image.empty() ? entry->cubin : entry->image);
        });
        m_table->addAction(action);
    };
    add("folder", tr("&Open the image's file"), [](const fs::path &file) { QDesktopServices::openUrl(QUrl::fromLocalFile(qs(file.string()))); });
    add("copy", tr("Copy the file's &path"), [](const fs::path &file) { QApplication::clipboard()->setText(qs(file.string())); });
    add("copy", tr("Copy the &text"), [this](const fs::path &) { QApplication::clipboard()->setText(m_ptx->text()); });
}

const CacheEntry *CachePage::selected() const {
    const auto current = m_table->currentIndex();
    return current.isValid() ? &m_model->row(m_sorted->mapToSource(current).row()) : nullptr;
}

QWidget *CachePage::buildText() {
    auto *part = new QWidget;
    auto *layout = column();
    part->setLayout(layout);
    m_kernel->setMinimumHeight(m_filter->sizeHint().height());
    m_ptx->setMinimumWidth(200);
    layout->addWidget(m_kernel);
    layout->addWidget(m_ptx, 1);
    return part;
}

void CachePage::fillPlaces() {
    const QSignalBlocker quiet(m_places);
    m_places->clear();
    std::map<std::string, QTreeWidgetItem *> targets;
    const auto targetItem = [&](const std::string &id) {
        auto &item = targets[id];
        if (!item) {
            const auto &all = m_boards.overview().targets;
            const auto known = std::find_if(all.begin(), all.end(), [&](const Target &t) { return t.id == id; });
            item = new QTreeWidgetItem(m_places, {known == all.end() ? qs(id) : qs(known->name)});
            item->setIcon(0, icon("gpu"));
            item->setExpanded(true);
        }
        return item;
    };
    const auto add = [&](QTreeWidgetItem *item, const fs::path &directory) {
        item->setData(0, directoryRole, qs(directory.string()));
        item->setIcon(0, icon("cache"));
        item->setToolTip(0, plainTip(qs(directory.string())));
        if (directory == m_directory)
            m_places->setCurrentItem(item);
    };
    for (const auto &place : m_boards.overview().caches)
        add(new QTreeWidgetItem(targetItem(place.target), {qs(place.project)}), place.directory);
    if (!m_opened.empty())
        add(new QTreeWidgetItem(m_places, {qs(m_opened.filename().string())}), m_opened);
    m_places->expandAll();
    if (m_directory.empty() && !m_boards.overview().caches.empty())
        open(m_boards.overview().caches.front().directory);
}

void CachePage::open(const fs::path &directory) {
    m_directory = directory;
    const auto &caches = m_boards.overview().caches;
    if (std::none_of(caches.begin(), caches.end(), [&](const CachePlace &place) { return place.directory == directory; }))
        m_opened = directory;
    fillPlaces();
    refresh();
}

void CachePage::refresh() {
    if (m_directory.empty())
        return;
    m_twin->setCommand({"slipway", "cache", "list", m_directory.string()});
    m_boards.jobs().start<KernelCache>(
        {.title = tr("Read the cache"), .slot = "cache", .quiet = true},
        [actions = m_boards.actions(), directory = m_directory](Progress &progress) { return actions->readCache(directory, progress); },
        this, [this](const Result<KernelCache> &cache) { showCache(cache); });
}

void CachePage::showCache(const Result<KernelCache> &cache) {
    m_ptx->setText({});
    m_kernel->setFullText({});
    if (!cache)
        return showState(tr("Cannot be read"), sentence(qs(cache.error().message)));
    if (cache->entries.empty())
        return showState(tr("No kernels here"), tr("This folder holds no kernel images yet. Ahead-of-time compilation fills it: slipway aot, or Ship."));
    m_model->setRows(cache->entries);
    std::uint64_t bytes = 0;
    int cubins = 0;
    for (const auto &entry : cache->entries) {
        bytes += entry.bytes;
        cubins += entry.cubin.empty() ? 0 : 1;
    }
    m_sum->setText(tr("%1 kernels, %2 with a cubin, %3").arg(cache->entries.size()).arg(cubins).arg(sizeText(bytes)));
    m_stack->setCurrentIndex(0);
    m_table->selectRow(0);
    showKernel();
}

void CachePage::showState(const QString &title, const QString &text) {
    m_model->setRows({});
    m_sum->setText({});
    if (auto *old = m_stack->widget(1))
        delete old;
    m_stack->addWidget(new EmptyState("cache", title, text));
    m_stack->setCurrentIndex(1);
}

void CachePage::showKernel() {
    const auto *entry = selected();
    if (!entry)
        return;
    const auto file = entry->image.empty() ? entry->cubin : entry->image;
    m_kernel->setFullText(qs(file.filename().string()));
    if (file.empty())
        return m_ptx->setText(tr("// no image: only leftovers of a run that was interrupted"));
    m_boards.jobs().start<std::string>(
        {.title = tr("Read an image"), .slot = "image", .quiet = true},
        [actions = m_boards.actions(), file](Progress &progress) { return actions->readImageText(file, progress); }, this,
        [this](const Result<std::string> &text) {
            if (!text)
                m_ptx->setText("// " + qs(text.error().message));
            else if (text->size() > mostText)
                m_ptx->setText(qs(std::string_view(*text).substr(0, mostText)) + tr("\n// … the rest is not shown"));
            else
                m_ptx->setText(qs(*text));
        });
}

} // namespace slipway
