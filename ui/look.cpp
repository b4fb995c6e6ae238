// SPDX-License-Identifier: Apache-2.0
//
// The window's look in one place: colours that follow the palette, icons drawn in its text colour, spacing, small labels.

#include "ui/look.h"

#include "ui/text.h"

#include <QAbstractItemView>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QIconEngine>
#include <QPainter>
#include <QPushButton>
#include <QSvgRenderer>

#include <optional>

namespace slipway {

namespace {

class TintedIcon : public QIconEngine {
public:
    TintedIcon(QString file, std::optional<Tone> tone) : m_file(std::move(file)), m_tone(tone) {}

    void paint(QPainter *painter, const QRect &rect, QIcon::Mode mode, QIcon::State state) override {
        const auto ratio = painter->device() ? painter->device()->devicePixelRatioF() : 1.0;
        painter->drawPixmap(rect, pixmap(rect.size() * ratio, mode, state));
    }

    QPixmap pixmap(const QSize &size, QIcon::Mode mode, QIcon::State) override {
        QPixmap result(size);
        result.fill(Qt::transparent);
        QSvgRenderer drawing(m_file);
        QPainter painter(&result);
        const int side = std::min(size.width(), size.height());
        drawing.render(&painter, QRectF((size.width() - side) / 2.0, (size.height() - side) / 2.0, side, side));
        painter.setCompositionMode(QPainter::CompositionMode_SourceIn);
        painter.fillRect(result.rect(), colour(mode));
        return result;
    }

    [[nodiscard]] QIconEngine *clone() const override { return new TintedIcon(*this); }

private:
    [[nodiscard]] QColor colour(QIcon::Mode mode) const {
        const auto palette = QGuiApplication::palette();
        if (mode == QIcon::Disabled)
            return palette.color(QPalette::Disabled, QPalette::WindowText);
        if (mode == QIcon::Selected)
            return palette.color(QPalette::HighlightedText);
        return m_tone ? toneColor(*m_tone, palette) : palette.color(QPalette::WindowText);
    }

    QString m_file;
    std::optional<Tone> m_tone;
};

} // namespace

bool isDark(const QPalette &palette) {
    return palette.color(QPalette::Window).lightness() < 128;
}

QColor toneColor(Tone tone, const QPalette &palette) {
    const bool dark = isDark(palette);
    switch (tone) {
    case Tone::good: return dark ? QColor(0x6c, 0xcb, 0x7d) : QColor(0x1a, 0x7f, 0x37);
    case Tone::warning: return dark ? QColor(0xe3, 0xb3, 0x41) : QColor(0x8f, 0x5a, 0x00);
    case Tone::bad: return dark ? QColor(0xff, 0x8a, 0x80) : QColor(0xb3, 0x26, 0x1e);
    case Tone::unknown: return dark ? QColor(0xc4, 0xa7, 0xf5) : QColor(0x6b, 0x3f, 0xc0);
    case Tone::busy: return dark ? QColor(0x7a, 0xb8, 0xff) : QColor(0x0b, 0x5c, 0xb8);
    case Tone::neutral: break;
    }
    return palette.color(QPalette::Active, QPalette::PlaceholderText);
}

QColor toneWash(Tone tone, const QPalette &palette) {
    auto wash = toneColor(tone, palette);
    const auto base = palette.color(QPalette::Window);
    const qreal part = isDark(palette) ? 0.18 : 0.12;
    return QColor::fromRgbF(float(base.redF() + (wash.redF() - base.redF()) * part),
                            float(base.greenF() + (wash.greenF() - base.greenF()) * part),
                            float(base.blueF() + (wash.blueF() - base.blueF()) * part));
}

QIcon icon(const QString &name) {
    return QIcon(new TintedIcon(":/icons/" + name + ".svg", std::nullopt));
}

QIcon icon(const QString &name, Tone tone) {
    return QIcon(new TintedIcon(":/icons/" + name + ".svg", tone));
}

QLabel *plainLabel(const QString &text, QWidget *parent) {
    auto *label = new QLabel(parent);
    label->setTextFormat(Qt::PlainText);
    label->setText(text);
    return label;
}

QLabel *quietLabel(const QString &text, QWidget *parent) {
    auto *label = plainLabel(text, parent);
    label->setWordWrap(true);
    label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

QLabel *titleLabel(const QString &text, int step, QWidget *parent) {
    auto *label = plainLabel(text, parent);
    auto font = label->font();
    font.setPointSizeF(font.pointSizeF() + step);
    font.setBold(true);
    label->setFont(font);
    return label;
}

QPushButton *button(const QString &text, const QString &iconName, const QString &tip) {
    auto *made = new QPushButton(text);
    if (!iconName.isEmpty())
        made->setIcon(icon(iconName));
    made->setToolTip(tip);
    return made;
}

QHBoxLayout *row(int edge) {
    auto *layout = new QHBoxLayout;
    layout->setContentsMargins(edge, edge, edge, edge);
    layout->setSpacing(gap);
    return layout;
}

QVBoxLayout *column(int edge) {
    auto *layout = new QVBoxLayout;
    layout->setContentsMargins(edge, edge, edge, edge);
    layout->setSpacing(gap);
    return layout;
}

ElidedLabel::ElidedLabel(Qt::TextElideMode mode, QWidget *parent) : QLabel(parent), m_mode(mode) {
    setTextFormat(Qt::PlainText);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
}

void ElidedLabel::setFullText(const QString &text) {
    m_text = text;
    setText(text); // for accessibility and size hints; painting elides
    setToolTip(plainTip(text));
    update();
}

QSize ElidedLabel::minimumSizeHint() const {
    return {fontMetrics().averageCharWidth() * 8, fontMetrics().height()};
}

QSize ElidedLabel::sizeHint() const {
    return {fontMetrics().horizontalAdvance(m_text) + 2, fontMetrics().height()};
}

void ElidedLabel::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    const auto line = QString(m_text).replace('\n', ' ');
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, foregroundRole()));
    painter.drawText(rect(), int(alignment()), fontMetrics().elidedText(line, m_mode, width()));
}

QSize badgeSize(const QFont &font, const QString &text) {
    auto small = font;
    small.setPointSizeF(font.pointSizeF() - 1);
    small.setBold(true);
    const QFontMetrics metrics(small);
    return {metrics.horizontalAdvance(text) + 12, metrics.height() + 4};
}

void paintBadge(QPainter *painter, const QRect &rect, const QString &text, Tone tone, const QPalette &palette) {
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    auto font = painter->font();
    font.setPointSizeF(font.pointSizeF() - 1);
    font.setBold(true);
    painter->setFont(font);
    painter->setPen(toneColor(tone, palette));
    painter->setBrush(toneWash(tone, palette));
    painter->drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter->drawText(rect, Qt::AlignCenter, text);
    painter->restore();
}

Badge::Badge(const QString &text, Tone tone, QWidget *parent) : QLabel(text, parent), m_tone(tone) {
    setTextFormat(Qt::PlainText);
    setFixedSize(badgeSize(font(), text));
}

void Badge::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    paintBadge(&painter, rect(), text(), m_tone, palette());
}

} // namespace slipway
