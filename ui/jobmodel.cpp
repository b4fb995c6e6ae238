// SPDX-License-Identifier: Apache-2.0
//
// Turns the stream of events into rows. An index holds its job's id and the step's number (0 = the job itself).

#include "ui/jobmodel.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QCoreApplication>

#include <algorithm>

namespace slipway {

namespace {

constexpr int mostLogLines = 5000;
constexpr quintptr stepBits = 20; // a job has at most a million steps

quintptr makeId(int job, int step) { return (quintptr(job) << stepBits) | quintptr(step); }
int jobOf(quintptr id) { return int(id >> stepBits); }
int stepOf(quintptr id) { return int(id & ((quintptr(1) << stepBits) - 1)); }

JobState stateOf(const Error *error) {
    if (!error)
        return JobState::done;
    switch (error->kind) {
    case ErrorKind::cancelled: return JobState::cancelled;
    case ErrorKind::stopped: return JobState::stopped;
    case ErrorKind::rolledBack: return JobState::rolledBack;
    case ErrorKind::hostKeyUnknown:
    case ErrorKind::hostKeyChanged:
    case ErrorKind::passwordNeeded:
    case ErrorKind::passphraseNeeded: return JobState::asking;
    default: return JobState::failed;
    }
}

QString amount(Event::Unit unit, std::uint64_t value) {
    if (unit == Event::Unit::bytes)
        return sizeText(value);
    return QString::number(value);
}

QString unitWord(Event::Unit unit) {
    switch (unit) {
    case Event::Unit::files: return JobModel::tr(" files");
    case Event::Unit::kernels: return JobModel::tr(" kernels");
    case Event::Unit::checks: return JobModel::tr(" checks");
    default: return {};
    }
}

QVariant percentOf(const StepRow *step, JobState state) {
    if (state == JobState::done || state == JobState::skipped)
        return 100;
    if (state != JobState::running)
        return {};
    if (!step || !step->last.total)
        return -1;
    return int(std::min<double>(100, 100.0 * double(step->last.done) / double(step->last.total)));
}

} // namespace

QString jobStateWord(JobState state) {
    switch (state) {
    case JobState::running: return JobModel::tr("Running");
    case JobState::asking: return JobModel::tr("Waiting for an answer");
    case JobState::done: return JobModel::tr("Done");
    case JobState::skipped: return JobModel::tr("Skipped");
    case JobState::failed: return JobModel::tr("Failed");
    case JobState::cancelled: return JobModel::tr("Cancelled");
    case JobState::stopped: return JobModel::tr("Stopped by pre-flight");
    case JobState::rolledBack: return JobModel::tr("Rolled back");
    }
    return {};
}

QIcon jobStateIcon(JobState state) {
    switch (state) {
    case JobState::running: return icon("running", Tone::busy);
    case JobState::asking: return icon("unknown", Tone::unknown);
    case JobState::done: return icon("pass", Tone::good);
    case JobState::skipped: return icon("skipped", Tone::neutral);
    case JobState::failed: return icon("fail", Tone::bad);
    case JobState::cancelled: return icon("skipped", Tone::neutral);
    case JobState::stopped: return icon("fail", Tone::bad);
    case JobState::rolledBack: return icon("warn", Tone::warning);
    }
    return {};
}

QString amountText(const Event &event) {
    QStringList parts;
    if (event.total)
        parts << JobModel::tr("%1 of %2%3").arg(amount(event.unit, event.done), amount(event.unit, event.total), unitWord(event.unit));
    else if (event.done)
        parts << amount(event.unit, event.done) + unitWord(event.unit);
    if (event.unit == Event::Unit::bytes && event.perSecond >= 1)
        parts << sizeText(std::uint64_t(event.perSecond)) + "/s";
    if (event.left)
        parts << JobModel::tr("%1 left").arg(qs(formatDuration(std::max(*event.left, std::chrono::seconds(1)))));
    return parts.join(QStringLiteral(" · "));
}

const StepRow *JobRow::current() const {
    const auto found = std::find_if(steps.rbegin(), steps.rend(), [](const StepRow &step) { return step.state == JobState::running; });
    return found == steps.rend() ? nullptr : &*found;
}

const StepRow *JobRow::measured() const {
    const auto found = std::find_if(steps.rbegin(), steps.rend(), [](const StepRow &step) {
        return step.state == JobState::running && step.last.total > 0;
    });
    return found == steps.rend() ? nullptr : &*found;
}

QString JobRow::text() const {
    QStringList all{title, jobStateWord(state)};
    for (const auto &piece : {outcome, hint, detail})
        if (!piece.isEmpty())
            all << piece;
    all << QString();
    for (const auto &step : steps) {
        auto line = QString(2 * std::max(0, step.last.depth - 1), ' ') + jobStateWord(step.state) + "  " + step.title;
        all << (step.summary.isEmpty() ? line : line + ": " + step.summary);
    }
    if (!log.isEmpty())
        all << QString() << log;
    return all.join('\n') + '\n';
}

JobModel::JobModel(QObject *parent) : QAbstractItemModel(parent) {}

int JobModel::position(int id) const {
    const auto found = std::find_if(m_jobs.begin(), m_jobs.end(), [id](const JobRow &job) { return job.id == id; });
    return found == m_jobs.end() ? -1 : int(found - m_jobs.begin());
}

const JobRow *JobModel::job(int id) const {
    const int at = position(id);
    return at < 0 ? nullptr : &m_jobs[std::size_t(at)];
}

const JobRow *JobModel::jobAt(const QModelIndex &index) const {
    return index.isValid() ? job(jobOf(index.internalId())) : nullptr;
}

QModelIndex JobModel::indexOf(int id) const {
    const int at = position(id);
    return at < 0 ? QModelIndex() : createIndex(at, 0, makeId(id, 0));
}

std::vector<int> JobModel::children(const JobRow &job, int parentStep) const {
    std::vector<int> found;
    for (const auto &step : job.steps)
        if (step.parent == parentStep)
            found.push_back(step.number);
    return found;
}

QModelIndex JobModel::stepIndex(const JobRow &job, int step) const {
    if (step == 0)
        return indexOf(job.id);
    const auto found = std::find_if(job.steps.begin(), job.steps.end(), [step](const StepRow &row) { return row.number == step; });
    if (found == job.steps.end())
        return {};
    const auto siblings = children(job, found->parent);
    const auto at = std::find(siblings.begin(), siblings.end(), step) - siblings.begin();
    return createIndex(int(at), 0, makeId(job.id, step));
}

void JobModel::start(int id, const QString &title) {
    if (const int at = position(id); at >= 0) { // goes on after a question: its steps begin anew
        auto &job = m_jobs[std::size_t(at)];
        const auto roots = int(children(job, 0).size());
        if (roots > 0) {
            beginRemoveRows(indexOf(id), 0, roots - 1);
            job.steps.clear();
            endRemoveRows();
        }
        job.state = JobState::running;
        job.outcome = job.hint = job.detail = QString();
    } else {
        const int end = int(m_jobs.size());
        beginInsertRows({}, end, end);
        m_jobs.push_back({.id = id, .title = title, .began = QDateTime::currentDateTime()});
        endInsertRows();
    }
    Q_EMIT jobChanged(id);
}

void JobModel::report(int id, const QList<Event> &events) {
    const int at = position(id);
    if (at < 0)
        return;
    auto &job = m_jobs[std::size_t(at)];
    for (const auto &event : events)
        apply(job, event);
    const auto top = indexOf(id);
    Q_EMIT dataChanged(top, top.siblingAtColumn(columns - 1));
    Q_EMIT jobChanged(id);
}

void JobModel::openStep(JobRow &job, const Event &event) {
    const bool known = std::any_of(job.steps.begin(), job.steps.end(), [&](const StepRow &s) { return s.number == event.parent; });
    const int parent = known ? event.parent : 0;
    const int end = int(children(job, parent).size());
    beginInsertRows(stepIndex(job, parent), end, end);
    job.steps.push_back({.number = event.step, .parent = parent, .title = qs(event.text), .last = event});
    endInsertRows();
}

void JobModel::apply(JobRow &job, const Event &event) {
    using Kind = Event::Kind;
    if (event.kind == Kind::note || event.kind == Kind::warning) {
        job.log << (event.kind == Kind::warning ? tr("warning: ") : QString()) + qs(event.text);
        if (job.log.size() > mostLogLines)
            job.log.erase(job.log.begin(), job.log.begin() + mostLogLines / 10);
        return;
    }
    if (event.kind == Kind::begin)
        return openStep(job, event);
    const auto step = std::find_if(job.steps.begin(), job.steps.end(), [&](const StepRow &row) { return row.number == event.step; });
    if (step == job.steps.end())
        return;
    step->last = event;
    if (event.kind == Kind::end)
        step->state = JobState::done;
    else if (event.kind == Kind::skip)
        step->state = JobState::skipped;
    else if (event.kind == Kind::fail)
        step->state = JobState::failed;
    if (!event.text.empty())
        step->summary = qs(event.text);
    const auto index = stepIndex(job, event.step);
    Q_EMIT dataChanged(index, index.siblingAtColumn(columns - 1));
}

void JobModel::finish(int id, const Error *error) {
    const int at = position(id);
    if (at < 0)
        return;
    auto &job = m_jobs[std::size_t(at)];
    job.state = stateOf(error);
    job.ended = QDateTime::currentDateTime();
    if (error) {
        job.outcome = qs(error->message);
        job.hint = qs(error->hint);
        job.detail = qs(error->detail);
    }
    const auto top = indexOf(id);
    Q_EMIT dataChanged(top, top.siblingAtColumn(columns - 1));
    Q_EMIT jobChanged(id);
}

void JobModel::clearFinished() {
    for (int at = int(m_jobs.size()) - 1; at >= 0; --at) {
        const auto state = m_jobs[std::size_t(at)].state;
        if (state == JobState::running || state == JobState::asking)
            continue;
        beginRemoveRows({}, at, at);
        m_jobs.erase(m_jobs.begin() + at);
        endRemoveRows();
    }
}

QModelIndex JobModel::index(int row, int column, const QModelIndex &parent) const {
    if (row < 0 || column < 0 || column >= columns || row >= rowCount(parent))
        return {};
    if (!parent.isValid())
        return createIndex(row, column, makeId(m_jobs[std::size_t(row)].id, 0));
    const auto *above = jobAt(parent);
    return createIndex(row, column, makeId(above->id, children(*above, stepOf(parent.internalId()))[std::size_t(row)]));
}

QModelIndex JobModel::parent(const QModelIndex &child) const {
    const auto *owner = jobAt(child);
    const int number = child.isValid() ? stepOf(child.internalId()) : 0;
    if (!owner || number == 0)
        return {};
    const auto step = std::find_if(owner->steps.begin(), owner->steps.end(), [number](const StepRow &row) { return row.number == number; });
    return step == owner->steps.end() ? QModelIndex() : stepIndex(*owner, step->parent);
}

int JobModel::rowCount(const QModelIndex &parent) const {
    if (!parent.isValid())
        return int(m_jobs.size());
    const auto *above = jobAt(parent);
    return above && parent.column() == 0 ? int(children(*above, stepOf(parent.internalId())).size()) : 0;
}

int JobModel::columnCount(const QModelIndex &) const {
    return columns;
}

QVariant JobModel::jobData(const JobRow &job, int column, int role) const {
    if (role == percentRole && column == progressColumn)
        return percentOf(job.measured(), job.state);
    if (role == Qt::DecorationRole && column == titleColumn)
        return jobStateIcon(job.state);
    if (role == Qt::ToolTipRole)
        return plainTip(job.outcome.isEmpty() ? job.title : job.outcome);
    if (role != Qt::DisplayRole)
        return {};
    const auto *measured = job.measured();
    switch (column) {
    case titleColumn: return job.title;
    case amountColumn: return measured ? amountText(measured->last) : QString();
    case stateColumn: return job.outcome.isEmpty() ? jobStateWord(job.state) : jobStateWord(job.state) + ": " + job.outcome;
    default: return {};
    }
}

QVariant JobModel::stepData(const StepRow &step, int column, int role) const {
    if (role == percentRole && column == progressColumn)
        return step.state == JobState::running && step.last.total ? percentOf(&step, step.state) : QVariant();
    if (role == Qt::DecorationRole && column == titleColumn)
        return jobStateIcon(step.state);
    if (role == Qt::ToolTipRole)
        return plainTip(step.summary.isEmpty() ? step.title : step.title + ": " + step.summary);
    if (role != Qt::DisplayRole)
        return {};
    switch (column) {
    case titleColumn: return step.title;
    case amountColumn: return step.state == JobState::running ? amountText(step.last) : qs(formatDuration(step.last.elapsed));
    case stateColumn: return step.summary.isEmpty() ? jobStateWord(step.state) : jobStateWord(step.state) + ": " + step.summary;
    default: return {};
    }
}

QVariant JobModel::data(const QModelIndex &index, int role) const {
    const auto *owner = jobAt(index);
    if (!owner)
        return {};
    const int number = stepOf(index.internalId());
    if (number == 0)
        return jobData(*owner, index.column(), role);
    const auto step = std::find_if(owner->steps.begin(), owner->steps.end(), [number](const StepRow &row) { return row.number == number; });
    return step == owner->steps.end() ? QVariant() : stepData(*step, index.column(), role);
}

QVariant JobModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole)
        return {};
    switch (section) {
    case titleColumn: return tr("Task");
    case progressColumn: return tr("Progress");
    case amountColumn: return tr("Amount");
    case stateColumn: return tr("State");
    default: return {};
    }
}

} // namespace slipway
