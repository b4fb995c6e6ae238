// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <QAbstractItemModel>
#include <QDateTime>
#include <QIcon>
#include <QStringList>

#include <vector>

namespace slipway {

enum class JobState { running, asking, done, skipped, failed, cancelled, stopped, rolledBack };
/// "Running", "Waiting for an answer", "Done" …
[[nodiscard]] QString jobStateWord(JobState state);
[[nodiscard]] QIcon jobStateIcon(JobState state);

/// One step of a job as it was last reported.
struct StepRow {
    int number = 0;
    int parent = 0; ///< number of the step around it
    QString title;
    QString summary; ///< "12 files", or why it was skipped
    JobState state = JobState::running;
    Event last; ///< amounts, speed, remaining time
};

/// One job: everything the activity panel and the small job views show of it.
struct JobRow {
    int id = 0;
    QString title;
    JobState state = JobState::running;
    QDateTime began;
    QDateTime ended;
    std::vector<StepRow> steps;
    QStringList log;
    QString outcome; ///< the error's message, or empty
    QString hint;
    QString detail;

    /// The innermost step at work; null = none.
    [[nodiscard]] const StepRow *current() const;
    /// The step whose amounts tell how far the job is; null = not known.
    [[nodiscard]] const StepRow *measured() const;
    /// All of it as text: title, outcome, steps, log.
    [[nodiscard]] QString text() const;
};

/// "34 % · 12.3 MB of 36.0 MB · 8.1 MB/s · 3 s left"; empty when nothing is known.
[[nodiscard]] QString amountText(const Event &event);

/// Jobs and, below each, its nested steps. Fed by Jobs' signals.
class JobModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { titleColumn, progressColumn, amountColumn, stateColumn, columns };
    /// 0…100, -1 = at work without a known end, absent = nothing to show.
    static constexpr int percentRole = Qt::UserRole + 2;

    explicit JobModel(QObject *parent = nullptr);

    void start(int id, const QString &title);
    void report(int id, const QList<Event> &events);
    void finish(int id, const Error *error);
    /// Removes what is not at work.
    void clearFinished();

    [[nodiscard]] const JobRow *job(int id) const;
    [[nodiscard]] const JobRow *jobAt(const QModelIndex &index) const;
    [[nodiscard]] QModelIndex indexOf(int id) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex &parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex &child) const override;
    [[nodiscard]] int rowCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex &parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex &index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

Q_SIGNALS:
    void jobChanged(int id);

private:
    [[nodiscard]] int position(int id) const;
    [[nodiscard]] std::vector<int> children(const JobRow &job, int parentStep) const;
    [[nodiscard]] QModelIndex stepIndex(const JobRow &job, int step) const;
    void apply(JobRow &job, const Event &event);
    void openStep(JobRow &job, const Event &event);
    [[nodiscard]] QVariant jobData(const JobRow &job, int column, int role) const;
    [[nodiscard]] QVariant stepData(const StepRow &step, int column, int role) const;

    std::vector<JobRow> m_jobs;
};

} // namespace slipway
