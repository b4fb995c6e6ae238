// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/release.h"
#include "ui/tablemodel.h"

namespace slipway {

/// The releases of a destination on a board.
class ReleaseModel : public TableModel<Release> {
public:
    enum { idColumn, stateColumn, deployedColumn, byColumn, commitColumn, sizeColumn };
    explicit ReleaseModel(QObject *parent = nullptr);
};

} // namespace slipway
