// SPDX-License-Identifier: Apache-2.0
//
// A pool of slipway-kernelc processes. Each has one job at a time, so that it is always known whose fault a crash is.

#include "core/kernel/worker.h"

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/kernel/parallel.h"

#include <QProcess>

#include <algorithm>
#include <csignal>
#include <deque>

namespace slipway {

namespace {

constexpr int pollMilliseconds = 50; // cancel is seen this fast
constexpr int startMilliseconds = 10000;

/// Jobs by source: a worker goes on with the source it has parsed, and takes from others only when none is untouched.
class Queue {
public:
    explicit Queue(const std::vector<WorkerJob> &jobs) {
        std::map<fs::path, std::size_t> groupOf;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            const auto [at, isNew] = groupOf.try_emplace(jobs[i].input, m_groups.size());
            if (isNew)
                m_groups.emplace_back();
            m_groups[at->second].push_back(i);
        }
    }

    /// The next job for a worker whose last one was of `group`, which is updated.
    std::optional<std::size_t> take(std::optional<std::size_t> &group) {
        const std::lock_guard lock(m_mutex);
        if (m_stopped)
            return std::nullopt;
        if (!group || m_groups[*group].empty()) {
            if (m_untouched < m_groups.size()) {
                group = m_untouched++;
            } else {
                const auto fullest = std::max_element(m_groups.begin(), m_groups.end(),
                                                      [](const auto &a, const auto &b) { return a.size() < b.size(); });
                if (fullest == m_groups.end() || fullest->empty())
                    return std::nullopt;
                group = std::size_t(fullest - m_groups.begin());
            }
        }
        const auto job = m_groups[*group].front();
        m_groups[*group].pop_front();
        return job;
    }

    void stop() {
        const std::lock_guard lock(m_mutex);
        m_stopped = true;
    }

private:
    std::mutex m_mutex;
    std::vector<std::deque<std::size_t>> m_groups;
    std::size_t m_untouched = 0;
    bool m_stopped = false;
};

/// One process. Lives on the thread that made it.
class Worker {
public:
    explicit Worker(const fs::path &program)
        : m_program(program) {}
    ~Worker() { end(); }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    Result<WorkerResult> run(const WorkerJob &job, Progress &progress) {
        auto result = TRY(attempt(job, progress));
        if (!result && (m_signal == SIGKILL || m_signal == SIGTERM)) // not the kernel's fault, or not surely
            result = TRY(attempt(job, progress));
        if (result)
            return *std::move(result);
        return WorkerResult{.input = job.input,
                            .output = job.output,
                            .error = fmt::format("slipway-kernelc {} while it compiled this kernel", m_end),
                            .detail = tailLines(m_errors, 20),
                            .hint = "LLVM crashed on it; the other kernels are not affected"};
    }

private:
    /// The answer, or nothing when the process ended without one: `m_end`, `m_signal` and `m_errors` say how.
    Result<std::optional<WorkerResult>> attempt(const WorkerJob &job, Progress &progress) {
        TRY(start());
        const auto line = toJson(job).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        m_process->write(line.data(), qint64(line.size()));
        while (!m_process->canReadLine()) {
            if (progress.cancelled()) {
                end();
                return failAs(ErrorKind::cancelled, "cancelled while {} was compiled", job.name);
            }
            if (!m_process->waitForReadyRead(pollMilliseconds) && m_process->state() == QProcess::NotRunning &&
                !m_process->canReadLine()) {
                noteEnd();
                return std::nullopt;
            }
        }
        const auto answer = m_process->readLine();
        auto result =
            workerResultFromJson(TRY(parseJson({answer.data(), std::size_t(answer.size())}, "slipway-kernelc")));
        if (result && result->last)
            end();
        if (!result)
            return std::unexpected(result.error());
        return std::optional(*std::move(result));
    }

    Result<void> start() {
        if (m_process && m_process->state() == QProcess::Running)
            return {};
        m_process = std::make_unique<QProcess>();
        m_process->setProgram(QString::fromStdString(m_program.string()));
        m_process->start();
        if (!m_process->waitForStarted(startMilliseconds))
            return std::unexpected(Error{.message = fmt::format("cannot start {}: {}", m_program.string(),
                                                                m_process->errorString().toStdString()),
                                         .hint = "it belongs to Slipway: install Slipway again"});
        return {};
    }

    void noteEnd() {
        m_signal = m_process->exitStatus() == QProcess::CrashExit ? m_process->exitCode() : 0;
        m_end = m_signal ? fmt::format("was ended by signal {} ({})", m_signal, ::strsignal(m_signal))
                         : fmt::format("ended with exit status {}", m_process->exitCode());
        m_errors = m_process->readAllStandardError().toStdString();
        m_process.reset();
    }

    void end() {
        if (!m_process)
            return;
        m_process->closeWriteChannel();
        m_process->kill();
        m_process->waitForFinished(1000);
        m_process.reset();
    }

    fs::path m_program;
    std::unique_ptr<QProcess> m_process;
    int m_signal = 0;
    std::string m_end;
    std::string m_errors;
};

} // namespace

Result<WorkerDescription> describeWorker(const fs::path &kernelc, Progress &progress) {
    const auto finished = TRY(runChecked(
        {.program = kernelc.string(), .arguments = {"--describe"}, .timeout = std::chrono::seconds(30)}, progress));
    return workerDescriptionFromJson(TRY(parseJson(finished.output, "slipway-kernelc --describe")));
}

Result<void> runWorkers(const fs::path &kernelc, const std::vector<WorkerJob> &jobs, int workers,
                        const WorkerSink &sink, Progress &progress) {
    Queue queue(jobs);
    std::mutex mutex;
    std::optional<Error> failure;
    inParallel(std::min(jobs.size(), std::size_t(threadCount(workers))), workers, progress, [&](std::size_t) {
        Worker worker(kernelc);
        std::optional<std::size_t> group;
        while (const auto index = queue.take(group)) {
            const auto result = worker.run(jobs[*index], progress);
            const std::lock_guard lock(mutex);
            if (!result && !failure)
                failure = result.error();
            if (!result || !sink(*index, *result))
                queue.stop();
        }
        return true;
    });
    if (failure)
        return std::unexpected(*failure);
    return progress.checkpoint();
}

} // namespace slipway
