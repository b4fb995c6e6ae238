// SPDX-License-Identifier: Apache-2.0
//
// A figure with its curve, drawn in the palette's colours.

#include "ui/livegauge.h"

#include "ui/look.h"
#include "ui/text.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>

namespace slipway {

namespace {

constexpr std::size_t minute = 60; ///< samples that the curve has room for
constexpr int curveHeight = 18;
constexpr const char *widest = "62.8 of 62.8 GB"; ///< the longest value that must not be cut

} // namespace

LiveGauge::LiveGauge(const QString &name, QWidget *parent) : QWidget(parent), m_name(name) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    tell();
}

void LiveGauge::add(const QString &text, std::optional<double> percent) {
    m_known = !text.isEmpty();
    m_text = text;
    if (percent)
        m_history.push_back(std::clamp(*percent, 0.0, 100.0));
    while (m_history.size() > minute)
        m_history.pop_front();
    tell();
    update();
}

void LiveGauge::clear() {
    m_history.clear();
    m_text.clear();
    m_known = true;
    tell();
    update();
}

void LiveGauge::tell() {
    const auto value = m_known ? m_text : tr("not told by this board");
    setToolTip(plainTip(value.isEmpty() ? m_name : tr("%1: %2").arg(m_name, value)));
    setAccessibleName(m_name);
    setAccessibleDescription(value);
}

QSize LiveGauge::sizeHint() const {
    const QFontMetrics metrics(font());
    return {metrics.horizontalAdvance(widest) + gap, 2 * metrics.height() + curveHeight + gap};
}

void LiveGauge::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QFontMetrics metrics(font());
    const QRect name(0, 0, width(), metrics.height());
    const QRect value(0, name.bottom() + 1, width(), metrics.height());
    painter.setPen(toneColor(Tone::neutral, palette()));
    painter.drawText(name, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(m_name, Qt::ElideRight, width()));
    if (m_known)
        painter.setPen(palette().color(QPalette::WindowText));
    auto bold = font();
    bold.setBold(m_known);
    painter.setFont(bold);
    const auto text = m_known ? m_text : tr("not told");
    painter.drawText(value, Qt::AlignLeft | Qt::AlignVCenter, QFontMetrics(bold).elidedText(text, Qt::ElideRight, width()));
    if (!m_history.empty())
        paintCurve(painter, QRect(0, value.bottom() + gap / 2, width() - gap, curveHeight));
}

void LiveGauge::paintCurve(QPainter &painter, const QRect &place) const {
    const auto step = double(place.width()) / double(minute - 1);
    const auto y = [&place](double percent) { return place.bottom() - percent / 100.0 * place.height(); };
    QPainterPath line;
    double x = place.right() - step * double(m_history.size() - 1);
    const double left = x;
    line.moveTo(x, y(m_history.front()));
    for (std::size_t i = 1; i < m_history.size(); ++i)
        line.lineTo(x += step, y(m_history[i]));
    auto area = line;
    area.lineTo(place.right(), place.bottom());
    area.lineTo(left, place.bottom());
    painter.setPen(QPen(toneWash(Tone::busy, palette()), 1));
    painter.drawLine(place.bottomLeft(), place.bottomRight());
    painter.fillPath(area, toneWash(Tone::busy, palette()));
    painter.setPen(QPen(toneColor(Tone::busy, palette()), 1.5));
    painter.drawPath(line);
}

} // namespace slipway
