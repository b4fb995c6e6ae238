// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/target/capability.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// The HASH of a cache file name: lower-case hex of sha256(id ‖ cpu text ‖ ptx version as u32 little-endian, if set),
/// as teenygrad's runtime computes it (facts/domain.md section 8). `cpu` is what `keyCpu` says.
[[nodiscard]] std::string cacheKey(std::string_view id, std::string_view cpu, std::optional<PtxVersion> ptx);

/// The cpu text in the key of an image for `capability`. A process asks its device, and a device reports no flavour: so
/// the text is "sm_90" for sm_90a too, as in teenyc's caches. Only where one run makes several flavours of a number
/// (`all`) do all but the plainest carry their own text ("sm_90a"), since they would overwrite each other; Slipway's
/// own runtime header finds those too.
[[nodiscard]] std::string keyCpu(Capability capability, const std::vector<Capability> &all);

/// NAME and HASH of a cache file name "NAME_HASH.ext".
struct CacheFileName {
    std::string name;
    std::string hash;      ///< empty for loose files
    std::string extension; ///< ".o", ".cubin", ".mlir", ".rs", ".lock", ".o.tmp.123"
};
[[nodiscard]] CacheFileName parseCacheFileName(std::string_view fileName);

/// The id of a kernel whose source text is known: lower-case hex sha256 of it (teenygrad's graph path; ours too).
[[nodiscard]] std::string sourceId(std::string_view source);

} // namespace slipway
