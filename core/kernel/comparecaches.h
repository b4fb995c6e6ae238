// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/cache.h"

namespace slipway {

/// One kernel for one GPU in two caches.
struct CacheDifference {
    enum class Kind {
        same,
        otherName,    ///< the same image under another HASH: a process finds it in one of the two only
        otherContent, ///< the PTX differs
        otherCubin,   ///< the PTX is the same; a cubin is missing in one, or differs
        onlyLeft,
        onlyRight
    };

    std::string name;
    const CacheEntry *left = nullptr; ///< in the cache that was compared; none when it is not there
    const CacheEntry *right = nullptr;
    Kind kind = Kind::same;
};

/// "same", "other name", "other content", "other cubin", "only left", "only right"
[[nodiscard]] const char *differenceName(CacheDifference::Kind kind);

/// Kernels side by side, by name and GPU. What differs is decided by the bytes of the images, which are read; one that
/// cannot be read is like no other.
[[nodiscard]] Result<std::vector<CacheDifference>> compareCaches(const KernelCache &left, const KernelCache &right,
                                                                 Progress &progress);

} // namespace slipway
