// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QIcon>
#include <QLabel>
#include <QPalette>

class QAbstractItemView;
class QHBoxLayout;
class QPushButton;
class QVBoxLayout;

namespace slipway {

/// What a colour means. Colour never stands alone: a word is always beside it.
enum class Tone { neutral, good, warning, bad, unknown, busy };

/// Spacing of the whole window: an 8/12 px grid.
constexpr int gap = 8;
constexpr int margin = 12;

/// The colour of a tone that reads well on `palette`'s base, light or dark (contrast of at least 4.5:1).
[[nodiscard]] QColor toneColor(Tone tone, const QPalette &palette);
/// A quiet background for banners of that tone.
[[nodiscard]] QColor toneWash(Tone tone, const QPalette &palette);
[[nodiscard]] bool isDark(const QPalette &palette);

/// An icon of resources/icons drawn in the palette's text colour, whatever the palette is when it is painted.
[[nodiscard]] QIcon icon(const QString &name);
/// The same in a tone's colour.
[[nodiscard]] QIcon icon(const QString &name, Tone tone);

/// A label for text from outside: plain, selectable on request, never interpreted as HTML.
[[nodiscard]] QLabel *plainLabel(const QString &text = {}, QWidget *parent = nullptr);
/// Small, quiet explaining text that wraps.
[[nodiscard]] QLabel *quietLabel(const QString &text, QWidget *parent = nullptr);
/// A page's or section's title, `step` sizes above the body text.
[[nodiscard]] QLabel *titleLabel(const QString &text, int step = 2, QWidget *parent = nullptr);
[[nodiscard]] QPushButton *button(const QString &text, const QString &iconName = {}, const QString &tip = {});

/// Layouts on the grid, without a margin of their own unless given.
[[nodiscard]] QHBoxLayout *row(int edge = 0);
[[nodiscard]] QVBoxLayout *column(int edge = 0);

/// A label that cuts its text with "…" and shows all of it in a tool tip.
class ElidedLabel : public QLabel {
public:
    explicit ElidedLabel(Qt::TextElideMode mode = Qt::ElideRight, QWidget *parent = nullptr);
    void setFullText(const QString &text);
    [[nodiscard]] QString fullText() const { return m_text; }
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    QString m_text;
    Qt::TextElideMode m_mode;
};

/// A short word in a rounded frame: SIMULATED, LIVE.
class Badge : public QLabel {
public:
    explicit Badge(const QString &text, Tone tone, QWidget *parent = nullptr);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    Tone m_tone;
};
/// How Badge paints, for delegates.
void paintBadge(QPainter *painter, const QRect &rect, const QString &text, Tone tone, const QPalette &palette);
[[nodiscard]] QSize badgeSize(const QFont &font, const QString &text);

} // namespace slipway
