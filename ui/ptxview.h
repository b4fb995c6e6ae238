// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QsciScintilla;

namespace slipway {

/// Read-only PTX text with line numbers and colours that follow the palette.
class PtxView : public QWidget {
    Q_OBJECT
public:
    explicit PtxView(QWidget *parent = nullptr);
    void setText(const QString &text);
    [[nodiscard]] QString text() const;
    /// Puts `text`'s next occurrence in view; false when there is none.
    bool find(const QString &text);

protected:
    void changeEvent(QEvent *event) override;

private:
    void adoptPalette();

    QsciScintilla *m_editor;
};

} // namespace slipway
