// SPDX-License-Identifier: Apache-2.0
//
// Two palettes for desktops that do not tell Qt theirs.

#include "app/gui/palette.h"

namespace slipway::gui {

namespace {

void setInk(QPalette &palette, const QColor &ink, const QColor &faint, const QColor &quiet) {
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        palette.setColor(role, ink);
        palette.setColor(QPalette::Disabled, role, faint);
    }
    palette.setColor(QPalette::PlaceholderText, quiet);
}

} // namespace

QPalette darkPalette() {
    QPalette dark(QColor(0x2b, 0x2d, 0x30), QColor(0x2b, 0x2d, 0x30));
    dark.setColor(QPalette::Base, QColor(0x1e, 0x1f, 0x22));
    dark.setColor(QPalette::AlternateBase, QColor(0x25, 0x26, 0x29));
    dark.setColor(QPalette::ToolTipBase, QColor(0x39, 0x3b, 0x40));
    dark.setColor(QPalette::ToolTipText, QColor(0xdf, 0xe1, 0xe5));
    dark.setColor(QPalette::Highlight, QColor(0x2e, 0x5c, 0x9e));
    dark.setColor(QPalette::HighlightedText, Qt::white);
    dark.setColor(QPalette::Link, QColor(0x7a, 0xb8, 0xff));
    setInk(dark, QColor(0xdf, 0xe1, 0xe5), QColor(0x6f, 0x73, 0x7a), QColor(0x9a, 0x9d, 0xa4));
    return dark;
}

QPalette lightPalette() {
    QPalette light(QColor(0xf3, 0xf4, 0xf6), QColor(0xf3, 0xf4, 0xf6));
    light.setColor(QPalette::Base, Qt::white);
    light.setColor(QPalette::AlternateBase, QColor(0xf7, 0xf8, 0xfa));
    light.setColor(QPalette::Highlight, QColor(0x1f, 0x6f, 0xd0));
    light.setColor(QPalette::HighlightedText, Qt::white);
    light.setColor(QPalette::Link, QColor(0x0b, 0x5c, 0xb8));
    setInk(light, QColor(0x1c, 0x1e, 0x21), QColor(0xa0, 0xa4, 0xab), QColor(0x5f, 0x65, 0x70));
    return light;
}

} // namespace slipway::gui
