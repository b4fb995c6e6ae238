// SPDX-License-Identifier: Apache-2.0
//
// Geometry, column widths and last choices; no secrets.

#include "app/gui/windowfile.h"

namespace slipway::gui {

WindowFile::WindowFile(const fs::path &state) : m_file(QString::fromStdString((state / "window.ini").string()), QSettings::IniFormat) {}

std::string WindowFile::value(const std::string &key) const {
    return m_file.value(QString::fromStdString(key)).toString().toStdString();
}

void WindowFile::setValue(const std::string &key, const std::string &value) {
    m_file.setValue(QString::fromStdString(key), QString::fromStdString(value));
}

} // namespace slipway::gui
