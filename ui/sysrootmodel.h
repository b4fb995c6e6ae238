// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"
#include "ui/tablemodel.h"

namespace slipway {

/// Each board and its sysroot, if it has one.
class SysrootModel : public TableModel<Board> {
public:
    enum { deviceColumn, stateColumn, l4tColumn, glibcColumn, cudaColumn, sizeColumn, syncedColumn };
    explicit SysrootModel(QObject *parent = nullptr);
};

/// What moved on the board since the copy was made; empty = nothing known to have moved.
[[nodiscard]] QString sysrootDrift(const Board &board);

} // namespace slipway
