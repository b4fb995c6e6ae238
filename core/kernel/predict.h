// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/cache.h"
#include "core/target/ptxisa.h"

namespace slipway {

/// What a HASH was made of, besides the kernel's id.
struct KeyParts {
    Capability capability;
    std::optional<PtxVersion> ptx;
};

/// "sm_87, TEENYC_PTX_VERSION=82"
[[nodiscard]] std::string spokenKey(Capability capability, std::optional<PtxVersion> ptx);

/// Finds by trying every capability and version of the table, `last` first: what explained one kernel of a cache
/// explains most others. Nothing when none gives the HASH.
[[nodiscard]] std::optional<KeyParts> explainKey(const PtxIsa &isa, const std::string &id, const std::string &hash,
                                                 const std::optional<KeyParts> &last);

/// The id that goes into a kernel's key: recorded, said by its image (`// meta:id`), or recomputed from the .rs beside
/// it, which is taken only when it leads to the file's own HASH. Empty = cannot be told.
[[nodiscard]] std::string kernelId(const CacheEntry &entry, const std::optional<KernelImage> &image);

/// What a process on a board will find when it looks up one kernel.
struct KernelPrediction {
    enum class Outcome { hit, miss, unknown };
    std::string name;
    std::string lookUp; ///< "NAME_HASH.o"; empty when the id is not known
    Outcome outcome = Outcome::unknown;
    std::string why;
    std::string fix; ///< what would turn a miss into a hit
};
[[nodiscard]] const char *outcomeName(KernelPrediction::Outcome outcome); ///< "hit", "miss", "unknown"

/// One prediction for each kernel (name and id) of a cache, for a process on a GPU of capability `device` with that
/// TEENYC_PTX_VERSION (nothing = not set).
[[nodiscard]] std::vector<KernelPrediction> predictLookUps(const KernelCache &cache, const PtxIsa &isa,
                                                           Capability device, std::optional<PtxVersion> ptx);

/// The TEENYC_PTX_VERSION with which a cache was built, as `slipway package` writes it for the board: that of its
/// records for `device` when they agree.
[[nodiscard]] std::optional<PtxVersion> builtPtxVersion(const KernelCache &cache, Capability device);

} // namespace slipway
