// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include <deque>
#include <optional>

namespace slipway {

/// One figure of a board: its name, its value now, and, where it is a share of a whole, how it went in the last minute.
class LiveGauge : public QWidget {
public:
    explicit LiveGauge(const QString &name, QWidget *parent = nullptr);

    /// `percent` joins the curve; without one there is none. An empty `text` says that the board does not tell.
    void add(const QString &text, std::optional<double> percent);
    /// Forgets everything: another board, or nobody looks.
    void clear();
    [[nodiscard]] QString text() const { return m_text; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    void paintCurve(QPainter &painter, const QRect &place) const;
    void tell();

    QString m_name;
    QString m_text;
    bool m_known = true;
    std::deque<double> m_history; ///< percent, the newest last, one a second
};

} // namespace slipway
