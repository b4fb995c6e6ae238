// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/base/progress.h"
#include "core/image/kernelimage.h"
#include "core/kernel/key.h"

#include <filesystem>

namespace slipway {

/// What ahead-of-time compilation recorded about one image: `NAME_HASH.json` is not written beside it (boards need it
/// not); all records of a cache live in `cache/.slipway-kernels.json` on the host and in the package's manifest.
struct KernelRecord {
    std::string name;
    std::string hash;
    std::string id;         ///< the kernel id that goes into the key; empty = not known
    std::string kind;       ///< "llvm-ir", "cuda", "program", "prebuilt"
    std::string source;     ///< path as the project names it
    std::string sourceHash; ///< sha256 of the source and what it includes
    std::optional<Capability> target;
    std::optional<PtxVersion> ptx;
    std::string options; ///< everything else that changes the output
    std::string tool;    ///< "LLVM 22.1.8", "clang 22.1.8", "ptxas 13.0.88"
    std::vector<std::string> entries;
    std::vector<std::string> dtypes; ///< of the pointer arguments, where known
    int registers = -1;              ///< from ptxas -v; -1 = not known
    int sharedBytes = -1;
    int spillBytes = -1;
    int stackBytes = -1; ///< local memory of each thread
    long builtAt = 0; ///< Unix time
    std::string why;  ///< why it was built: "new", "source changed", "ptx version 8.2 -> 8.5", "forced"
};

/// One kernel of a cache directory: its files, what its image says, what was recorded.
struct CacheEntry {
    std::string name;
    std::string hash;
    fs::path
        image; ///< NAME_HASH.o (PTX), or a loose .ptx/.cubin/.fatbin; empty when there is only a cubin or leftovers
    fs::path cubin;                   ///< NAME_HASH.cubin
    std::vector<fs::path> companions; ///< .mlir, .rs, .lock
    std::uint64_t bytes = 0;          ///< of all its files
    long modified = 0;                ///< Unix time of the image
    std::optional<KernelImage> facts; ///< of the PTX image, else of the cubin
    std::optional<KernelRecord> record;
    std::vector<std::string> remarks; ///< "duplicate of …", "leftover of an interrupted run", "no image"
};

/// A directory of kernel images, ours, teenyc's or loose files. Listing reads only headers.
struct KernelCache {
    fs::path directory;
    std::vector<CacheEntry> entries; ///< sorted by name, then hash

    /// Reads a directory in parallel. Not a directory: an error. Empty: no entries.
    [[nodiscard]] static Result<KernelCache> read(const fs::path &directory, Progress &progress);
};

/// Removes what interrupted runs left (temporary files, locks without an image) and nothing else; returns what went.
[[nodiscard]] Result<std::vector<fs::path>> pruneCache(const fs::path &directory, Progress &progress);

/// The records file of a cache.
[[nodiscard]] Result<std::vector<KernelRecord>> readKernelRecords(const fs::path &cacheDirectory);
[[nodiscard]] Json toJson(const KernelRecord &record);
[[nodiscard]] Result<KernelRecord> kernelRecordFromJson(const Json &json, std::string_view what);

} // namespace slipway
