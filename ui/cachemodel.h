// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/cache.h"
#include "ui/tablemodel.h"

namespace slipway {

/// The kernels of a cache directory.
class CacheModel : public TableModel<CacheEntry> {
public:
    enum { nameColumn, capabilityColumn, ptxColumn, cubinColumn, registersColumn, sharedColumn, sizeColumn, sourceColumn,
           ageColumn, remarksColumn, entryColumn };
    explicit CacheModel(QObject *parent = nullptr);
};

} // namespace slipway
