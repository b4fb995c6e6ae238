// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/job.h"

#include <QList>
#include <QObject>
#include <QPointer>

#include <map>

namespace slipway {

/// How a job presents itself.
struct JobSpec {
    QString title;   ///< "Ship vector_add to virtual-orin"
    QString slot;    ///< a newer job of the same slot cancels this one and makes its result stale; empty = none
    bool quiet = false; ///< reads of milliseconds: not listed
    int again = 0;   ///< id of the job that this one goes on with, after a question to the user
};

/// Runs engine operations beside the window: each on its own core::Job, the results delivered in the window's thread.
/// A result whose receiver is gone, or whose slot has a newer job, is dropped. Destroying it cancels and joins all.
class Jobs : public QObject {
    Q_OBJECT
public:
    explicit Jobs(QObject *parent = nullptr);
    ~Jobs() override;

    /// Starts `operation`; `done` gets its result as long as `receiver` lives. Returns the job's id.
    template <typename T>
    int start(const JobSpec &spec, std::function<Result<T>(Progress &)> operation, QObject *receiver,
              std::function<void(const Result<T> &)> done) {
        auto value = std::make_shared<std::optional<Result<T>>>();
        const auto run = [operation = std::move(operation), value](Progress &progress) -> Result<void> {
            value->emplace(operation(progress));
            if (!value->value())
                return std::unexpected(value->value().error());
            return {};
        };
        const QPointer<QObject> alive(receiver);
        return begin(spec, run, [alive, done = std::move(done), value] {
            if (alive && done)
                done(value->value());
        });
    }

    void cancel(int id);
    void cancelAll();
    /// Declares the end of a job that waited for an answer which did not come.
    void giveUp(int id, const Error &error);
    [[nodiscard]] bool isRunning(int id) const { return m_running.contains(id); }
    /// Jobs at work that the user knows of.
    [[nodiscard]] int runningCount() const;

Q_SIGNALS:
    void started(int id, const QString &title);
    void reported(int id, const QList<slipway::Event> &events);
    /// The end, or a pause for a question: `error.kind` tells. A null pointer is success.
    void finished(int id, const slipway::Error *error);

private:
    struct Mailbox;
    struct Running {
        JobSpec spec;
        std::shared_ptr<Mailbox> mailbox;
        std::function<void()> deliver;
        bool stale = false;
        std::unique_ptr<Job> job; // last: joins before the rest goes
    };

    int begin(const JobSpec &spec, Job::Operation operation, std::function<void()> deliver);
    void drain(int id);
    void end(int id, const Result<void> &result);
    void supersede(const QString &slot);

    std::map<int, Running> m_running;
    int m_last = 0;
};

} // namespace slipway
