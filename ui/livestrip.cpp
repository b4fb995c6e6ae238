// SPDX-License-Identifier: Apache-2.0
//
// The live strip of a board. The samples come on a job's thread into a box that a timer of the window looks into: neither waits for
// the other.

#include "ui/livestrip.h"

#include "ui/livegauge.h"
#include "ui/look.h"
#include "ui/text.h"

#include <QHBoxLayout>
#include <QPushButton>

#include <atomic>
#include <mutex>

namespace slipway {

namespace {

constexpr int lookEvery = 200;                        // ms; the board sends once a second
constexpr auto silentAfter = std::chrono::seconds(6); // emulated boards need some for their first sample
constexpr const char *settingsKey = "devices/live";   // "off" = the user switched it off

QString percentText(const std::optional<double> &percent) {
    return percent ? QObject::tr("%1 %").arg(*percent, 0, 'f', 0) : QString();
}

} // namespace

/// What the watch has to say to the window.
struct LiveStrip::Feed {
    std::atomic<bool> wanted = true; ///< false = it was stopped, perhaps while the user was asked for a password
    std::mutex mutex;
    std::vector<Sample> waiting;
    std::chrono::steady_clock::time_point heard = std::chrono::steady_clock::now();

    void put(const Sample &sample) {
        const std::lock_guard lock(mutex);
        waiting.push_back(sample);
        heard = std::chrono::steady_clock::now();
    }
};

LiveStrip::LiveStrip(Boards &boards, QWidget *parent)
    : QWidget(parent), m_boards(boards), m_gpu(new LiveGauge(tr("GPU"))), m_cpu(new LiveGauge(tr("CPU"))), m_memory(new LiveGauge(tr("Memory"))),
      m_celsius(new LiveGauge(tr("Temperature"))), m_power(new LiveGauge(tr("Power"))), m_mode(new LiveGauge(tr("Power mode"))),
      m_note(new ElidedLabel), m_watch(button(tr("&Live"), "activity", tr("Watch load, memory, temperature and power once a second while this page is open"))) {
    auto *layout = column();
    layout->setSpacing(4);
    setLayout(layout);
    auto *first = row();
    first->addWidget(m_watch);
    first->addWidget(m_note, 1);
    auto *gauges = row();
    for (auto *gauge : {m_gpu, m_cpu, m_memory, m_celsius, m_power, m_mode})
        gauges->addWidget(gauge);
    layout->addLayout(first);
    layout->addLayout(gauges);
    m_watch->setObjectName("watchLive");
    m_watch->setCheckable(true);
    m_watch->setChecked(m_boards.settings().value(settingsKey) != "off");
    m_note->setObjectName("liveNote");
    m_gpu->setObjectName("liveGpu");
    m_cpu->setObjectName("liveCpu");
    m_memory->setObjectName("liveMemory");
    m_celsius->setObjectName("liveTemperature");
    m_power->setObjectName("livePower");
    m_mode->setObjectName("liveMode");
    m_timer.setInterval(lookEvery);
    connect(&m_timer, &QTimer::timeout, this, &LiveStrip::fetch);
    connect(m_watch, &QPushButton::clicked, this, &LiveStrip::press);
}

LiveStrip::~LiveStrip() {
    stop();
}

void LiveStrip::setBoard(const std::string &name, Reach reach) {
    if (name != m_name) {
        stop();
        m_name = name;
        m_failed = false;
        m_watch->setChecked(m_boards.settings().value(settingsKey) != "off");
    }
    m_reached = reach == Reach::ready;
    startIfWanted();
}

void LiveStrip::showEvent(QShowEvent *event) {
    QWidget::showEvent(event);
    startIfWanted();
}

void LiveStrip::hideEvent(QHideEvent *event) {
    stop(); // also when the window is minimised: nobody looks
    QWidget::hideEvent(event);
}

void LiveStrip::press(bool wanted) {
    m_boards.settings().setValue(settingsKey, wanted ? "on" : "off");
    m_failed = false;
    if (wanted)
        start(); // also a board that was not reached yet: the user asks for it
    else
        stop();
    if (!wanted)
        say(tr("Switched off."));
}

void LiveStrip::startIfWanted() {
    if (m_feed || !m_watch->isChecked() || m_failed || m_name.empty() || !isVisible())
        return;
    if (m_reached)
        start();
    else
        say(tr("Begins once the board was reached: refresh its facts."));
}

void LiveStrip::start() {
    if (m_feed || m_name.empty() || !isVisible())
        return;
    m_feed = std::make_shared<Feed>();
    say(tr("Connecting…"));
    m_timer.start();
    const auto feed = m_feed;
    m_job = m_boards.run<void>(
        m_name, {.title = tr("Watch %1").arg(qs(m_name)), .quiet = true},
        [actions = m_boards.actions(), feed](const Login &login, Progress &progress) -> Result<void> {
            if (!feed->wanted)
                return failAs(ErrorKind::cancelled, "nobody looks any more");
            return actions->watch(login, [feed](const Sample &sample) { feed->put(sample); }, progress);
        },
        this, [this, feed](const Result<void> &result) {
            if (feed == m_feed) // else it was stopped, and another may run
                ended(result);
        });
}

void LiveStrip::stop() {
    if (m_feed) {
        m_feed->wanted = false;
        m_boards.jobs().cancel(m_job);
    }
    m_feed.reset();
    m_timer.stop();
    for (auto *gauge : {m_gpu, m_cpu, m_memory, m_celsius, m_power, m_mode})
        gauge->clear();
    say({});
}

void LiveStrip::fetch() {
    std::vector<Sample> samples;
    std::chrono::steady_clock::time_point heard;
    {
        const std::lock_guard lock(m_feed->mutex);
        samples.swap(m_feed->waiting);
        heard = m_feed->heard;
    }
    for (const auto &sample : samples)
        show(sample);
    if (!samples.empty() && !m_reached)
        m_boards.noteReached(m_name);
    if (samples.empty() && std::chrono::steady_clock::now() - heard > silentAfter)
        say(tr("The board sends nothing."));
}

void LiveStrip::show(const Sample &sample) {
    std::optional<double> memory;
    if (sample.memoryUsed && sample.memoryTotal && *sample.memoryTotal > 0)
        memory = 100.0 * double(*sample.memoryUsed) / double(*sample.memoryTotal);
    m_gpu->add(percentText(sample.gpuPercent), sample.gpuPercent);
    m_cpu->add(percentText(sample.cpuPercent), sample.cpuPercent);
    m_memory->add(memory ? tr("%1 % of %2").arg(QString::number(*memory, 'f', 0), sizeText(*sample.memoryTotal)) : QString(), memory);
    m_celsius->add(sample.celsius ? tr("%1 °C").arg(*sample.celsius, 0, 'f', 1) : QString(), sample.celsius);
    m_power->add(sample.milliwatts ? tr("%1 W").arg(*sample.milliwatts / 1000.0, 0, 'f', 1) : QString(), {});
    m_mode->add(sample.powerMode ? qs(*sample.powerMode) : QString(), {});
    const bool nothing = !sample.gpuPercent && !sample.celsius && !sample.milliwatts;
    say(nothing ? tr("From %1. This board tells nothing of GPU, temperature and power.").arg(qs(sample.source))
                : tr("From %1, once a second.").arg(qs(sample.source)));
}

void LiveStrip::ended(const Result<void> &result) {
    stop();
    m_failed = true;
    const bool declined = !result && result.error().kind == ErrorKind::cancelled;
    say(declined ? tr("Not watched: %1").arg(qs(result.error().message))
        : result ? tr("The board ended it.")
                 : tr("Stopped: %1. Press Live to try again.").arg(qs(result.error().message)));
    m_watch->setChecked(false); // as it is now; the wish itself stays in the settings
}

void LiveStrip::say(const QString &text) {
    m_note->setFullText(text);
    m_note->setAccessibleName(text);
}

} // namespace slipway
