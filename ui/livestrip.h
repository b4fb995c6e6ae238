// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"

#include <QTimer>
#include <QWidget>

class QPushButton;

namespace slipway {

class ElidedLabel;
class LiveGauge;

/// What the shown board does right now, once a second: load of GPU and CPU, memory, temperature, power, power mode. Watches only
/// while it can be seen and the user wants it, and only a board that was reached in this session or that the user asks it to.
class LiveStrip : public QWidget {
    Q_OBJECT
public:
    explicit LiveStrip(Boards &boards, QWidget *parent = nullptr);
    ~LiveStrip() override;

    /// The board to watch; another one than before stops the watch.
    void setBoard(const std::string &name, Reach reach);
    [[nodiscard]] bool isWatching() const { return m_feed != nullptr; }

protected:
    void showEvent(QShowEvent *event) override;
    void hideEvent(QHideEvent *event) override;

private:
    struct Feed;

    void press(bool wanted);
    void startIfWanted();
    void start();
    void stop();
    void fetch();
    void show(const Sample &sample);
    void ended(const Result<void> &result);
    void say(const QString &text);

    Boards &m_boards;
    std::string m_name;
    bool m_reached = false; ///< in this session
    bool m_failed = false;  ///< ended by itself: waits for the user
    std::shared_ptr<Feed> m_feed; ///< of the watch that runs; null = none
    int m_job = 0;
    QTimer m_timer;
    LiveGauge *m_gpu;
    LiveGauge *m_cpu;
    LiveGauge *m_memory;
    LiveGauge *m_celsius;
    LiveGauge *m_power;
    LiveGauge *m_mode;
    ElidedLabel *m_note;
    QPushButton *m_watch;
};

} // namespace slipway
