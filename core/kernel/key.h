// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/target/capability.h"

#include <filesystem>
#include <optional>
#include <string>

namespace slipway {

/// The HASH of a cache file name: lower-case hex of sha256(id ‖ cpu text ‖ ptx version as u32 little-endian, if set), as
/// teenygrad's runtime computes it (facts/domain.md section 8). `cpu` is the Capability text without flavour ("sm_90").
[[nodiscard]] std::string cacheKey(std::string_view id, std::string_view cpu, std::optional<PtxVersion> ptx);

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
