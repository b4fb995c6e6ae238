// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"

#include <QSettings>

namespace slipway::gui {

/// What the window remembers, in $XDG_STATE_HOME/slipway/window.ini.
class WindowFile : public Settings {
public:
    explicit WindowFile(const fs::path &state);
    [[nodiscard]] std::string value(const std::string &key) const override;
    void setValue(const std::string &key, const std::string &value) override;

private:
    QSettings m_file;
};

} // namespace slipway::gui
