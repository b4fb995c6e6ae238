// SPDX-License-Identifier: Apache-2.0
//
// What the pages share about boards. A secret lives in the logins here, is asked for once per board, and goes with the window.

#include "ui/boards.h"

#include "ui/text.h"

#include <QWidget>

#include <algorithm>
#include <tuple>

namespace slipway {

Boards::Boards(std::shared_ptr<Actions> actions, Jobs &jobs, Settings &settings, QWidget *window)
    : QObject(window), m_actions(std::move(actions)), m_jobs(jobs), m_settings(settings), m_window(window),
      m_selected(settings.value("device")) {}

void Boards::refresh() {
    m_jobs.start<Overview>({.title = tr("Read the workspace"), .slot = "overview", .quiet = true},
                           [actions = m_actions](Progress &progress) { return actions->overview(progress); }, this,
                           [this](const Result<Overview> &overview) {
                               if (overview)
                                   take(*overview);
                               else
                                   Q_EMIT problem(sentence(qs(overview.error().message)));
                           });
}

void Boards::take(const Overview &overview) {
    m_overview = overview;
    std::vector<BoardRow> rows;
    for (const auto &board : overview.boards) {
        BoardRow next{.board = board, .deployed = m_settings.value("deployed/" + board.device.name)};
        if (const auto known = m_reach.find(board.device.name); known != m_reach.end())
            std::tie(next.reach, next.problem) = known->second;
        const auto target = std::find_if(overview.targets.begin(), overview.targets.end(),
                                         [&](const Target &t) { return t.id == board.device.target; });
        next.targetName = target == overview.targets.end() ? board.device.target : target->name;
        rows.push_back(std::move(next));
    }
    m_rows = std::move(rows);
    for (const auto &text : overview.problems)
        Q_EMIT problem(sentence(qs(text)));
    if (!find(m_selected))
        select(m_rows.empty() ? std::string() : m_rows.front().board.device.name);
    Q_EMIT changed();
}

const BoardRow *Boards::find(const std::string &name) const {
    const auto found = std::find_if(m_rows.begin(), m_rows.end(), [&](const BoardRow &row) { return row.board.device.name == name; });
    return found == m_rows.end() ? nullptr : &*found;
}

void Boards::setReach(const std::string &name, Reach reach, const std::string &problem) {
    m_reach[name] = {reach, problem};
    for (auto &row : m_rows) {
        if (row.board.device.name == name)
            std::tie(row.reach, row.problem) = m_reach[name];
    }
    Q_EMIT changed();
}

void Boards::select(const std::string &name) {
    if (name == m_selected)
        return;
    m_selected = name;
    m_settings.setValue("device", name);
    Q_EMIT selectedChanged(name);
}

Login Boards::loginOf(const std::string &name) {
    auto &login = m_logins[name];
    if (const auto *found = find(name)) {
        login.device = found->board.device;
        if (found->board.facts)
            login.boardAes = found->board.facts->cpuAes;
    }
    return login;
}

void Boards::noteStart(const std::string &name) {
    if (m_reach[name].first == Reach::idle)
        setReach(name, Reach::working);
}

void Boards::noteOutcome(const std::string &name, const Error *error) {
    const auto before = m_reach[name].first;
    if (error && error->kind == ErrorKind::unreachable)
        setReach(name, Reach::failed, error->message);
    else
        setReach(name, !error ? Reach::ready : before == Reach::working ? Reach::idle : before);
    if (!error) {
        m_askedSecret.erase(name);
        m_logins[name].replaceChangedKey = false; // the answer was about this one change
    }
}

void Boards::ask(const std::string &name, int answersBefore, const Error &error, std::function<void(bool)> answered) {
    if (m_answers[name] != answersBefore)
        return answered(true);
    auto &waiting = m_waiting[name];
    waiting.push_back(std::move(answered));
    if (waiting.size() > 1)
        return;
    const bool before = std::exchange(m_askedSecret[name], error.subject) == error.subject && !error.subject.empty();
    askQuestion(m_window, error, before, loginOf(name), [this, name](const Login *login) {
        if (login) {
            m_logins[name] = *login;
            ++m_answers[name];
        }
        for (const auto &goOn : std::exchange(m_waiting[name], {}))
            goOn(login != nullptr);
    });
}

void Boards::readFacts(const std::string &name) {
    setReach(name, Reach::working);
    run<BoardFacts>(
        name, {.title = tr("Read facts of %1").arg(qs(name)), .slot = "facts/" + qs(name)},
        [actions = m_actions](const Login &login, Progress &progress) { return actions->readFacts(login, progress); }, this,
        [this, name](const Result<BoardFacts> &facts) {
            if (!facts) {
                const bool cancelled = facts.error().kind == ErrorKind::cancelled;
                setReach(name, cancelled ? Reach::idle : Reach::failed, cancelled ? std::string() : facts.error().message);
                Q_EMIT problem(sentence(qs(facts.error().message)));
            }
            refresh();
        });
}

void Boards::save(const Device &device, bool readFactsToo) {
    m_jobs.start<void>({.title = tr("Save %1").arg(qs(device.name)), .quiet = true},
                       [actions = m_actions, device](Progress &progress) { return actions->saveBoard(device, progress); }, this,
                       [this, device, readFactsToo](const Result<void> &saved) {
                           if (!saved)
                               Q_EMIT problem(sentence(qs(saved.error().message)));
                           m_logins.erase(device.name);
                           m_logins[device.name].device = device;
                           select(device.name);
                           refresh();
                           if (saved && readFactsToo)
                               readFacts(device.name);
                       });
}

void Boards::remove(const std::string &name) {
    m_jobs.start<void>({.title = tr("Remove %1").arg(qs(name)), .quiet = true},
                       [actions = m_actions, name](Progress &progress) { return actions->removeBoard(name, progress); }, this,
                       [this, name](const Result<void> &removed) {
                           if (!removed)
                               Q_EMIT problem(sentence(qs(removed.error().message)));
                           m_logins.erase(name);
                           m_reach.erase(name);
                           m_settings.setValue("deployed/" + name, {});
                           refresh();
                       });
}

void Boards::startVirtualBoard() {
    const VirtualBoardAsk ask{.profile = "orin-nano-jp62", .name = "virtual-orin"};
    m_jobs.start<Device>({.title = tr("Start the virtual board"), .slot = "virtual"},
                         [actions = m_actions, ask](Progress &progress) { return actions->startVirtualBoard(ask, progress); }, this,
                         [this](const Result<Device> &device) {
                             if (!device) {
                                 Q_EMIT problem(sentence(qs(device.error().message)));
                                 return;
                             }
                             m_logins.erase(device->name);
                             m_logins[device->name].device = *device;
                             select(device->name);
                             refresh();
                             readFacts(device->name);
                         });
}

std::string Boards::dest(const std::string &name) const {
    return m_settings.value("dest/" + name);
}

void Boards::setDest(const std::string &name, const std::string &dest) {
    m_settings.setValue("dest/" + name, dest);
}

void Boards::setDeployed(const std::string &name, const std::string &release) {
    m_settings.setValue("deployed/" + name, release);
    for (auto &row : m_rows) {
        if (row.board.device.name == name)
            row.deployed = release;
    }
    Q_EMIT changed();
}

} // namespace slipway
