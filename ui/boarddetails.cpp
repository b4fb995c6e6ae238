// SPDX-License-Identifier: Apache-2.0
//
// The right side of the devices page.

#include "ui/boarddetails.h"

#include "ui/devicemodel.h"
#include "ui/factgroups.h"
#include "ui/livestrip.h"
#include "ui/parts.h"
#include "ui/text.h"

#include <QDragEnterEvent>
#include <QHeaderView>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

namespace slipway {

namespace {
QString fullStop(const QString &text) { return text.endsWith('.') ? text : text + '.'; }
} // namespace

BoardDetails::BoardDetails(Boards &boards, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_title(titleLabel({}, 4)), m_badge(new Badge(tr("SIMULATED"), Tone::warning)),
      m_dot(new QLabel), m_state(new ElidedLabel), m_ship(button(tr("&Ship…"), "ship", tr("Build, check and send a project to this board"))),
      m_refresh(button(tr("Refresh &facts"), "refresh", tr("Connect and read what this board is (F5)"))), m_problem(new Banner),
      m_live(new LiveStrip(boards)), m_age(quietLabel({})), m_facts(new FactsView), m_noFacts(nullptr), m_dest(new QLineEdit), m_releases(new ReleaseModel(this)),
      m_sorted(new QSortFilterProxyModel(this)), m_table(nullptr), m_releaseNote(quietLabel({})), m_rollBack(button(tr("&Roll back"), "rollback")) {
    auto *layout = column();
    layout->setContentsMargins(margin, 0, 0, 0);
    setLayout(layout);
    layout->addWidget(buildHeader());
    layout->addWidget(m_problem);
    layout->addWidget(m_live);
    auto *split = new QSplitter(Qt::Vertical);
    split->addWidget(buildFacts());
    split->addWidget(buildReleases());
    split->setChildrenCollapsible(false);
    split->setStretchFactor(0, 1);
    remember(m_boards.settings(), "devices/details", split, {360, 200});
    layout->addWidget(split, 1);
    setAcceptDrops(true);
}

QWidget *BoardDetails::buildHeader() {
    auto *header = new QWidget;
    auto *layout = column();
    header->setLayout(layout);
    auto *first = row();
    first->addWidget(m_title);
    first->addWidget(m_badge);
    first->addStretch();
    auto *second = row();
    second->setSpacing(5);
    second->addWidget(m_dot);
    second->addWidget(m_state, 1);
    layout->addLayout(first);
    layout->addLayout(second);
    auto *remove = button(tr("Re&move"), "remove", tr("Remove this device from the list (the board is not changed)"));
    m_ship->setObjectName("ship");
    m_ship->setDefault(true);
    m_badge->setToolTip(tr("This board is simulated on this machine: its GPU and driver are not real"));
    first->addWidget(m_ship);
    first->addWidget(m_refresh);
    first->addWidget(remove);
    connect(m_ship, &QPushButton::clicked, this, [this] { Q_EMIT shipWanted(m_name, {}); });
    connect(m_refresh, &QPushButton::clicked, this, [this] { m_boards.readFacts(m_name); });
    connect(remove, &QPushButton::clicked, this, &BoardDetails::removeWanted);
    return header;
}

QWidget *BoardDetails::buildFacts() {
    auto *inside = new QWidget;
    auto *layout = column();
    inside->setLayout(layout);
    auto *none = new EmptyState("gpu", tr("Nothing read yet"), tr("Read the board's facts to see its GPU, driver, JetPack and libraries."));
    auto *read = button(tr("Read facts"), "refresh");
    none->addAction(read);
    connect(read, &QPushButton::clicked, this, [this] { m_boards.readFacts(m_name); });
    m_noFacts = none;
    layout->addWidget(m_age);
    layout->addWidget(m_facts);
    layout->addWidget(m_noFacts, 1);
    layout->addStretch();
    auto *scroll = new QScrollArea;
    scroll->setWidget(inside);
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    return scroll;
}

QWidget *BoardDetails::buildReleases() {
    auto *part = new QWidget;
    auto *layout = column();
    part->setLayout(layout);
    m_sorted->setSourceModel(m_releases);
    m_table = makeTable(m_sorted, tr("Releases"));
    m_table->setObjectName("releases");
    m_rollBack->setObjectName("rollBack");
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->sortByColumn(ReleaseModel::deployedColumn, Qt::AscendingOrder);
    remember(m_boards.settings(), "devices/releases", m_table->horizontalHeader(), {196, 84, 92, 84, 100, 60});
    auto *read = button(tr("&List"), "refresh", tr("Read the releases in this folder of the board"));
    m_dest->setPlaceholderText(tr("/opt/… (looked for on the board when empty)"));
    m_dest->setAccessibleName(tr("Folder of the releases on the board"));
    m_dest->setClearButtonEnabled(true);
    m_rollBack->setObjectName("rollBack");
    auto *bar = row();
    auto *title = titleLabel(tr("Releases in"), 0);
    title->setBuddy(m_dest);
    bar->addWidget(title);
    bar->addWidget(m_dest, 1);
    bar->addWidget(read);
    bar->addWidget(m_rollBack);
    layout->addLayout(bar);
    layout->addWidget(m_table, 1);
    layout->addWidget(m_releaseNote);
    connect(read, &QPushButton::clicked, this, &BoardDetails::readReleases);
    connect(m_dest, &QLineEdit::returnPressed, this, &BoardDetails::readReleases);
    connect(m_dest, &QLineEdit::textEdited, this, [this](const QString &text) { m_boards.setDest(m_name, text.toStdString()); });
    connect(m_rollBack, &QPushButton::clicked, this, &BoardDetails::rollBack);
    return part;
}

void BoardDetails::show(const std::string &name) {
    const auto *row = m_boards.find(name);
    setEnabled(row);
    if (!row)
        return;
    if (name != m_name) {
        m_name = name;
        const auto known = m_known.find(name);
        m_releases->setRows(known == m_known.end() ? std::vector<Release>() : known->second);
        m_releaseNote->setText(known == m_known.end() ? tr("Not listed yet.") : QString());
        m_releaseNote->setVisible(known == m_known.end());
        m_dest->setText(qs(m_boards.dest(name)));
        m_rollBack->setEnabled(m_releases->rowCount() > 1);
    }
    if (!m_dest->hasFocus())
        m_dest->setText(qs(m_boards.dest(name)));
    showHeader(*row);
    showFacts(*row);
    m_live->setBoard(name, row->reach);
}

void BoardDetails::showHeader(const BoardRow &row) {
    const auto &device = row.board.device;
    m_title->setText(qs(device.name));
    m_badge->setVisible(device.isVirtual);
    m_dot->setPixmap(icon("dot", reachTone(row.reach)).pixmap(12, 12));
    auto address = qs(device.user.empty() ? device.host : device.user + "@" + device.host);
    if (device.port)
        address += QString(":%1").arg(device.port);
    QStringList parts{reachWord(row), address};
    if (!row.targetName.empty())
        parts << qs(row.targetName);
    parts << tr("seen %1").arg(ago(qs(device.lastSeen), unixNow()));
    if (!row.deployed.empty())
        parts << tr("runs %1").arg(qs(row.deployed));
    m_state->setFullText(parts.join(QStringLiteral("  ·  ")));
    m_refresh->setEnabled(row.reach != Reach::working);
    if (row.problem.empty())
        m_problem->setVisible(false);
    else
        m_problem->show(Tone::bad, "fail", tr("%1 was not reached").arg(qs(device.name)), sentence(qs(row.problem)));
}

void BoardDetails::showFacts(const BoardRow &row) {
    const auto &facts = row.board.facts;
    m_facts->setVisible(facts.has_value());
    m_age->setVisible(facts.has_value());
    m_noFacts->setVisible(!facts);
    if (!facts)
        return;
    auto age = facts->readAt ? tr("Facts read %1.").arg(ago(*facts->readAt, unixNow())) : tr("It is not known when these facts were read.");
    if (facts->simulated)
        age += " " + fullStop(sentence(qs(*facts->simulated)));
    for (const auto &warning : facts->warnings)
        age += " " + fullStop(sentence(qs(warning)));
    m_age->setText(age);
    m_facts->setFacts(*facts);
}

void BoardDetails::readReleases() {
    const auto dest = m_dest->text().trimmed().toStdString();
    const auto device = m_name;
    m_boards.run<std::vector<Release>>(
        device, {.title = tr("List releases on %1").arg(qs(device)), .slot = "releases"},
        [actions = m_boards.actions(), dest](const Login &login, Progress &progress) { return actions->releases(login, dest, progress); },
        this, [this, device](const Result<std::vector<Release>> &releases) { takeReleases(device, releases); });
}

void BoardDetails::takeReleases(const std::string &device, const Result<std::vector<Release>> &releases) {
    if (releases) {
        m_known[device] = *releases;
        for (const auto &release : *releases)
            if (release.current)
                m_boards.setDeployed(device, release.id);
    }
    if (device != m_name)
        return;
    if (releases)
        m_releases->setRows(*releases);
    m_rollBack->setEnabled(m_releases->rowCount() > 1);
    m_releaseNote->setText(!releases ? sentence(qs(releases.error().message)) : releases->empty() ? tr("No releases there yet.") : QString());
    m_releaseNote->setVisible(!m_releaseNote->text().isEmpty());
}

void BoardDetails::rollBack() {
    const auto chosen = m_table->selectionModel()->selectedRows();
    std::string id; // empty = the last good one
    if (!chosen.isEmpty()) {
        const auto &release = m_releases->row(m_sorted->mapToSource(chosen.front()).row());
        id = release.current ? std::string() : release.id;
    }
    const auto device = m_name;
    const auto dest = m_dest->text().trimmed().toStdString();
    const auto which = id.empty() ? tr("the last good release before the live one") : qs(id);
    askToConfirm(window(), tr("Roll back"), tr("Make %1 live again on %2?").arg(which, qs(device)), tr("&Roll back"), [=, this] {
        m_boards.run<Release>(
            device, {.title = tr("Roll back %1").arg(qs(device))},
            [actions = m_boards.actions(), dest, id](const Login &login, Progress &progress) { return actions->rollback(login, dest, id, progress); },
            this, [this](const Result<Release> &release) {
                if (!release)
                    Q_EMIT m_boards.problem(sentence(qs(release.error().message)));
                readReleases();
            });
    });
}

void BoardDetails::dragEnterEvent(QDragEnterEvent *event) {
    if (!droppedFolder(*event).isEmpty())
        event->acceptProposedAction();
}

void BoardDetails::dropEvent(QDropEvent *event) {
    Q_EMIT folderDropped(m_name, droppedFolder(*event));
}

} // namespace slipway
