// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace slipway {

/// One thing that happened in an operation. Values only: safe to copy to another thread.
struct Event {
    enum class Kind {
        begin,   ///< a step opened; `text` is its title
        advance, ///< `done` of `total` `unit`; at most ten a second for each step
        end,     ///< a step closed; `text` sums it up or is empty
        skip,    ///< a step closed without work; `text` says why
        fail,    ///< a step closed without success
        note,    ///< a line for the log
        warning, ///< a line that the user should see
    };
    enum class Unit { none, bytes, files, kernels, checks };

    Kind kind = Kind::note;
    int step = 0;   ///< number of the step, unique in the operation; 0 = the operation itself
    int parent = 0; ///< the step around it
    int depth = 0;  ///< 1 for outermost steps
    std::string text;
    Unit unit = Unit::none;
    std::uint64_t done = 0;
    std::uint64_t total = 0;                 ///< 0 = unknown
    double perSecond = 0;                    ///< `unit`s a second, 0 = not known yet
    std::optional<std::chrono::seconds> left; ///< remaining time, when it can be estimated
    std::chrono::milliseconds elapsed{0};    ///< since the step began
};

/// What a long operation reports to and asks whether to go on. Passed last to every operation.
/// Thread-safe: several threads may report to one Progress.
class Progress {
public:
    using Sink = std::function<void(const Event &)>;

    /// Reports to nobody and is never cancelled.
    Progress() = default;
    Progress(Sink sink, std::stop_token stop);

    /// A step that is open as long as the object lives. Closed without `done` or `skip` it counts as failed.
    class Step {
    public:
        Step(Progress &progress, std::string title, std::uint64_t total, Event::Unit unit, std::uint64_t baseline = 0);
        ~Step();
        Step(const Step &) = delete;
        Step &operator=(const Step &) = delete;

        /// Adds `amount` to what is done; reported at most every 100 ms.
        void advance(std::uint64_t amount = 1);
        /// Sets what is done.
        void at(std::uint64_t done);
        void setTotal(std::uint64_t total);
        /// Declares success, said once and last.
        void done(std::string summary = {});
        /// Nothing had to be done, because of `why`.
        void skip(std::string why);

    private:
        void close(Event::Kind kind, std::string text);
        void report(bool always);

        Progress &m_progress;
        Event m_state;
        int m_outer;
        bool m_open = true;
        std::chrono::steady_clock::time_point m_began;
        std::chrono::steady_clock::time_point m_reported;
        std::uint64_t m_baseline; ///< what was there before this run: not counted in the speed
    };

    /// Opens a step: `auto step = progress.step("sync /usr/lib", bytes, Event::Unit::bytes);`
    [[nodiscard]] Step step(std::string title, std::uint64_t total = 0, Event::Unit unit = Event::Unit::none);

    void note(std::string text);
    void warn(std::string text);

    [[nodiscard]] bool cancelled() const { return m_stop.stop_requested(); }
    [[nodiscard]] std::stop_token stopToken() const { return m_stop; }
    /// An error of kind `cancelled` once the user asked to stop; call it at every safe point.
    [[nodiscard]] Result<void> checkpoint() const;

private:
    friend class Step;
    void send(Event event);

    Sink m_sink;
    std::stop_token m_stop;
    std::mutex m_mutex;
    int m_nextStep = 0;
    int m_openStep = 0;
    int m_depth = 0;
};

/// "12.3 MB", decimal units.
[[nodiscard]] std::string formatBytes(std::uint64_t bytes);
/// "850 ms", "3.2 s", "4 min 05 s".
[[nodiscard]] std::string formatDuration(std::chrono::milliseconds duration);

} // namespace slipway
