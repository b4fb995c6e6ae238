// SPDX-License-Identifier: Apache-2.0
//
// The one crossing between the engine's threads and the window's: events are gathered in a mailbox and fetched in one
// queued call, so that an operation that prints thousands of lines cannot drown the event loop.

#include "ui/jobs.h"

#include <mutex>

namespace slipway {

/// What a job reported and the window has not fetched yet.
struct Jobs::Mailbox {
    static constexpr std::size_t most = 4000; ///< lines between two fetches; what is above is dropped from the log

    std::mutex mutex;
    QList<Event> events;
    bool posted = false;

    /// True when the window must be told.
    bool put(const Event &event) {
        const std::lock_guard lock(mutex);
        const bool line = event.kind == Event::Kind::note;
        if (!line || std::size_t(events.size()) < most)
            events.push_back(event);
        return !std::exchange(posted, true);
    }
    QList<Event> take() {
        const std::lock_guard lock(mutex);
        posted = false;
        return std::exchange(events, {});
    }
};

Jobs::Jobs(QObject *parent) : QObject(parent) {}

Jobs::~Jobs() {
    for (auto &[id, running] : m_running)
        running.job->cancel(); // all first, so that the joins below wait for the slowest only
    m_running.clear();
}

int Jobs::begin(const JobSpec &spec, Job::Operation operation, std::function<void()> deliver) {
    supersede(spec.slot);
    const int id = spec.again ? spec.again : ++m_last;
    auto mailbox = std::make_shared<Mailbox>();
    const auto onEvent = [this, id, mailbox](const Event &event) {
        if (mailbox->put(event))
            QMetaObject::invokeMethod(this, [this, id] { drain(id); }, Qt::QueuedConnection);
    };
    const auto onFinished = [this, id](const Result<void> &result) {
        QMetaObject::invokeMethod(this, [this, id, result] { end(id, result); }, Qt::QueuedConnection);
    };
    if (!spec.quiet)
        Q_EMIT started(id, spec.title);
    auto &running = m_running[id];
    running.spec = spec;
    running.mailbox = mailbox;
    running.deliver = std::move(deliver);
    running.job = std::make_unique<Job>(std::move(operation), onEvent, onFinished);
    return id;
}

void Jobs::supersede(const QString &slot) {
    if (slot.isEmpty())
        return;
    for (auto &[id, running] : m_running) {
        if (running.spec.slot == slot && !running.stale) {
            running.stale = true;
            running.job->cancel();
        }
    }
}

void Jobs::drain(int id) {
    const auto found = m_running.find(id);
    if (found == m_running.end())
        return;
    const auto events = found->second.mailbox->take();
    if (!events.isEmpty() && !found->second.spec.quiet)
        Q_EMIT reported(id, events);
}

void Jobs::end(int id, const Result<void> &result) {
    drain(id);
    const auto node = m_running.extract(id); // joins at the end of this function: the thread is past its work
    if (node.empty())
        return;
    const auto &running = node.mapped();
    if (!running.spec.quiet)
        Q_EMIT finished(id, result ? nullptr : &result.error());
    if (!running.stale)
        running.deliver();
}

void Jobs::cancel(int id) {
    if (const auto found = m_running.find(id); found != m_running.end())
        found->second.job->cancel();
}

void Jobs::cancelAll() {
    for (auto &[id, running] : m_running)
        running.job->cancel();
}

void Jobs::giveUp(int id, const Error &error) {
    if (!m_running.contains(id))
        Q_EMIT finished(id, &error);
}

int Jobs::runningCount() const {
    return int(std::count_if(m_running.begin(), m_running.end(), [](const auto &item) { return !item.second.spec.quiet; }));
}

} // namespace slipway
