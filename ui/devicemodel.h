// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/boards.h"
#include "ui/look.h"
#include "ui/tablemodel.h"

namespace slipway {

/// "Ready", "Reading facts…", "Not contacted yet", "Unreachable" …
[[nodiscard]] QString reachWord(const BoardRow &row);
[[nodiscard]] Tone reachTone(Reach reach);

/// The saved boards: name, state, target, what is deployed, last seen.
class DeviceModel : public TableModel<BoardRow> {
public:
    enum { nameColumn, stateColumn, targetColumn, deployedColumn, seenColumn };
    explicit DeviceModel(QObject *parent = nullptr);
};

} // namespace slipway
