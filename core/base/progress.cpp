// SPDX-License-Identifier: Apache-2.0
//
// Steps open and close by scope, and the rate of events is limited where they are produced, so that neither a terminal
// nor a window has to defend itself.

#include "core/base/progress.h"

namespace slipway {

using namespace std::chrono;

namespace {
constexpr auto reportInterval = 100ms; // DESIGN section 2: at most one event per step per 100 ms
}

Progress::Progress(Sink sink, std::stop_token stop) : m_sink(std::move(sink)), m_stop(std::move(stop)) {}

void Progress::send(Event event) {
    if (!m_sink)
        return;
    const std::lock_guard lock(m_mutex);
    m_sink(event);
}

Progress::Step Progress::step(std::string title, std::uint64_t total, Event::Unit unit) {
    return Step(*this, std::move(title), total, unit);
}

void Progress::note(std::string text) {
    send(Event{.kind = Event::Kind::note, .parent = m_openStep, .depth = m_depth + 1, .text = std::move(text)});
}

void Progress::warn(std::string text) {
    send(Event{.kind = Event::Kind::warning, .parent = m_openStep, .depth = m_depth + 1, .text = std::move(text)});
}

Result<void> Progress::checkpoint() const {
    if (cancelled())
        return failAs(ErrorKind::cancelled, "cancelled");
    return {};
}

Progress::Step::Step(Progress &progress, std::string title, std::uint64_t total, Event::Unit unit,
                     std::uint64_t baseline)
    : m_progress(progress), m_outer(progress.m_openStep), m_began(steady_clock::now()), m_reported(m_began),
      m_baseline(baseline) {
    {
        const std::lock_guard lock(progress.m_mutex);
        m_state = Event{.kind = Event::Kind::begin,
                        .step = ++progress.m_nextStep,
                        .parent = m_outer,
                        .depth = ++progress.m_depth,
                        .text = std::move(title),
                        .unit = unit,
                        .done = baseline,
                        .total = total};
        progress.m_openStep = m_state.step;
    }
    progress.send(m_state);
    m_state.text.clear();
}

Progress::Step::~Step() {
    if (m_open)
        close(Event::Kind::fail, {});
}

void Progress::Step::advance(std::uint64_t amount) {
    m_state.done += amount;
    report(false);
}

void Progress::Step::at(std::uint64_t done) {
    m_state.done = done;
    report(false);
}

void Progress::Step::setTotal(std::uint64_t total) {
    m_state.total = total;
    report(true);
}

void Progress::Step::report(bool always) {
    const auto now = steady_clock::now();
    if (!always && now - m_reported < reportInterval)
        return;
    m_reported = now;
    m_state.kind = Event::Kind::advance;
    m_state.elapsed = duration_cast<milliseconds>(now - m_began);
    const double secondsSince = duration<double>(now - m_began).count();
    const auto fresh = m_state.done - std::min(m_baseline, m_state.done);
    m_state.perSecond = secondsSince > 0 ? double(fresh) / secondsSince : 0;
    m_state.left.reset();
    if (m_state.perSecond > 0 && m_state.total > m_state.done)
        m_state.left = seconds(static_cast<long>(double(m_state.total - m_state.done) / m_state.perSecond));
    m_progress.send(m_state);
}

void Progress::Step::done(std::string summary) {
    close(Event::Kind::end, std::move(summary));
}

void Progress::Step::skip(std::string why) {
    close(Event::Kind::skip, std::move(why));
}

void Progress::Step::close(Event::Kind kind, std::string text) {
    if (!std::exchange(m_open, false))
        return;
    m_state.kind = kind;
    m_state.text = std::move(text);
    m_state.elapsed = duration_cast<milliseconds>(steady_clock::now() - m_began);
    m_state.left.reset();
    {
        const std::lock_guard lock(m_progress.m_mutex);
        m_progress.m_openStep = m_outer;
        --m_progress.m_depth;
    }
    m_progress.send(m_state);
}

std::string formatBytes(std::uint64_t bytes) {
    constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
    double value = double(bytes);
    int unit = 0;
    while (value >= 999.95 && unit < 6) {
        value /= 1000;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string formatDuration(milliseconds duration) {
    if (duration < 1s)
        return fmt::format("{} ms", duration.count());
    if (duration < 60s)
        return fmt::format("{:.1f} s", double(duration.count()) / 1000);
    const auto minutesPart = duration_cast<minutes>(duration);
    return fmt::format("{} min {:02} s", minutesPart.count(), duration_cast<seconds>(duration - minutesPart).count());
}

} // namespace slipway
