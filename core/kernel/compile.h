// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/kernel/cache.h"
#include "core/kernel/source.h"
#include "core/target/target.h"

namespace slipway {

/// The programs that compile kernels, found before a run (never inside one).
struct KernelTools {
    fs::path kernelc; ///< slipway-kernelc; always there
    fs::path clang;   ///< empty = no .cu can be compiled with clang
    fs::path ptxas;   ///< empty = no cubins, and nothing is assembled as a check
    fs::path nvcc;
    fs::path cudaRoot;  ///< toolkit with headers; empty = the small prelude in `resources` is used
    fs::path libdevice; ///< libdevice.10.bc; empty = unresolved __nv_ functions are errors
    fs::path resources; ///< Slipway's own resources/
    fs::path
        preludes; ///< where CUDA's headers are kept precompiled ($XDG_CACHE_HOME/slipway/cuda-prelude); empty = never
};
[[nodiscard]] KernelTools findKernelTools(const fs::path &ownBinDirectory, const fs::path &resources,
                                          const fs::path &preludes = {});

/// What an ahead-of-time run makes.
struct AotRequest {
    std::vector<KernelSource> sources;
    std::vector<Capability> capabilities;
    std::optional<PtxVersion> ptx; ///< empty = Catalog::choosePtx for each capability, as far as our LLVM knows it
    std::optional<int> driver;     ///< cuDriverGetVersion of the board, if known
    std::string options; ///< teeny's --options text; understood for our kinds, forwarded verbatim to `program`
    fs::path cacheDirectory;
    bool force = false;
    bool cubin = true; ///< where ptxas knows the capability
    int workers = 0;   ///< 0 = all cores
};

/// What became of one kernel for one capability.
struct AotOutcome {
    KernelRecord record;
    bool built = false; ///< false = it was already there, `record.why` says so
    std::optional<Error> error;
};
struct AotReport {
    std::vector<AotOutcome> outcomes;
    std::map<Capability, PtxVersion>
        ptx;                        ///< the version of each capability: what TEENYC_PTX_VERSION must say on the board
    std::vector<std::string> notes; ///< "no ptxas here: the board will compile the PTX at first load"
    [[nodiscard]] bool allGood() const;
};

/// Compiles everything that is not in the cache yet. One kernel that fails does not stop the others; the report carries
/// it. Errors of the run as a whole: options that nobody knows (`usage`), a PTX version that the target or the board
/// cannot take
/// (`stopped`, with the value that works), a cache that cannot be written, cancelled.
[[nodiscard]] Result<AotReport> compileKernels(const AotRequest &request, const KernelTools &tools,
                                               const Catalog &catalog, Progress &progress);

} // namespace slipway
