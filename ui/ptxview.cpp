// SPDX-License-Identifier: Apache-2.0
//
// QScintilla with a small lexer for PTX: comments, directives, registers, labels, numbers.

#include "ui/ptxview.h"

#include "ui/look.h"

#include <QEvent>
#include <QFontDatabase>
#include <QVBoxLayout>

#define slots Q_SLOTS // QScintilla's headers use the keywords that QT_NO_KEYWORDS takes away
#define signals Q_SIGNALS
#include <Qsci/qscilexercustom.h>
#include <Qsci/qsciscintilla.h>
#undef slots
#undef signals

namespace slipway {

namespace {

enum Style { plain, comment, directive, reg, number, label, styles };

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }

class PtxLexer : public QsciLexerCustom {
public:
    using QsciLexerCustom::QsciLexerCustom;
    [[nodiscard]] const char *language() const override { return "PTX"; }
    [[nodiscard]] QString description(int style) const override {
        constexpr const char *names[] = {"Text", "Comment", "Directive", "Register", "Number", "Label"};
        return style >= 0 && style < styles ? QString::fromLatin1(names[style]) : QString();
    }

    void styleText(int start, int end) override {
        QByteArray bytes(end - start + 1, '\0');
        editor()->SendScintilla(QsciScintillaBase::SCI_GETTEXTRANGE, ulong(start), ulong(end), bytes.data());
        bytes.chop(1);
        startStyling(start);
        for (qsizetype at = 0; at < bytes.size();)
            at = token(bytes, at);
    }

private:
    qsizetype token(const QByteArray &text, qsizetype at) {
        const char c = text[at];
        qsizetype end = at + 1;
        if (c == '/' && end < text.size() && text[end] == '/') {
            end = text.indexOf('\n', at);
            return style(at, end < 0 ? text.size() : end, comment);
        }
        if (c != '%' && !isWord(c))
            return style(at, end, plain);
        while (end < text.size() && isWord(text[end]))
            ++end;
        if (c == '%')
            return style(at, end, reg);
        if (c == '.')
            return style(at, end, directive);
        if (std::isdigit(static_cast<unsigned char>(c)))
            return style(at, end, number);
        const bool isLabel = end < text.size() && text[end] == ':';
        return style(at, end, isLabel || c == '$' ? label : plain);
    }

    qsizetype style(qsizetype from, qsizetype to, Style which) {
        setStyling(int(to - from), which);
        return to;
    }
};

} // namespace

PtxView::PtxView(QWidget *parent) : QWidget(parent), m_editor(new QsciScintilla) {
    auto *layout = column();
    setLayout(layout);
    layout->addWidget(m_editor);
    setFocusProxy(m_editor);
    m_editor->setLexer(new PtxLexer(m_editor));
    m_editor->setReadOnly(true);
    m_editor->setUtf8(true);
    m_editor->setAccessibleName(tr("Text of the kernel"));
    m_editor->setMarginType(0, QsciScintilla::NumberMargin);
    m_editor->setMarginWidth(1, 0);
    m_editor->setCaretLineVisible(true);
    m_editor->setScrollWidth(10);
    m_editor->setScrollWidthTracking(true);
    m_editor->setTabWidth(8);
    adoptPalette();
}

void PtxView::adoptPalette() {
    const auto colours = palette();
    const auto font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    const auto base = colours.color(QPalette::Base), ink = colours.color(QPalette::Text);
    auto *lexer = m_editor->lexer();
    lexer->setDefaultFont(font);
    lexer->setDefaultPaper(base);
    lexer->setDefaultColor(ink);
    lexer->setFont(font, -1);
    lexer->setPaper(base, -1);
    const QColor inks[] = {ink, toneColor(Tone::neutral, colours), toneColor(Tone::busy, colours), toneColor(Tone::unknown, colours),
                           toneColor(Tone::good, colours), toneColor(Tone::warning, colours)};
    for (int style = 0; style < styles; ++style)
        lexer->setColor(inks[style], style);
    m_editor->setMarginsFont(font);
    m_editor->setMarginsBackgroundColor(colours.color(QPalette::Window));
    m_editor->setMarginsForegroundColor(colours.color(QPalette::PlaceholderText));
    m_editor->setCaretForegroundColor(ink);
    m_editor->setCaretLineBackgroundColor(colours.color(QPalette::AlternateBase));
    m_editor->setSelectionBackgroundColor(colours.color(QPalette::Highlight));
    m_editor->setSelectionForegroundColor(colours.color(QPalette::HighlightedText));
}

void PtxView::setText(const QString &text) {
    m_editor->setText(text);
    m_editor->setMarginWidth(0, QString::number(std::max(100, m_editor->lines() * 10)));
    m_editor->setCursorPosition(0, 0);
}

QString PtxView::text() const {
    return m_editor->text();
}

bool PtxView::find(const QString &text) {
    return !text.isEmpty() && m_editor->findFirst(text, false, false, false, true);
}

void PtxView::changeEvent(QEvent *event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        adoptPalette();
    QWidget::changeEvent(event);
}

} // namespace slipway
