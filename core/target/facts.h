// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/target/capability.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// One GPU as its driver reports it.
struct GpuFacts {
    std::string name;
    Capability capability;
    std::optional<int> smCount; ///< depends on the power mode on Jetson
    std::optional<bool> integrated;
    std::optional<std::uint64_t> memoryBytes;
};

/// A driver library of NVIDIA's cuda-compat package, beside the board's own: a program whose LD_LIBRARY_PATH names the
/// folder gets it instead, and with it another newest PTX version.
struct CudaCompat {
    std::string path;          ///< folder: "/usr/local/cuda-12.8/compat"
    std::string status;        ///< as cudaDriverStatus; "error" where it does not fit the system below it
    std::optional<int> driver; ///< what cuDriverGetVersion says then: 12080
    std::vector<std::string> links{}; ///< other paths of the same folder: "/usr/local/cuda/compat"
};

/// One mounted file system of the board.
struct DiskFacts {
    std::string mount;
    std::uint64_t freeBytes = 0;
    bool readOnly = false;
    bool noexec = false;
    std::string type; ///< "ext4", "tmpfs", "overlay"; empty = unknown
};

/// What is known about a board, by reading it or from a file. A fact that could not be read is absent, and what depends
/// on it is `unknown`, never a pass. The JSON form is that of DESIGN section 7.
struct BoardFacts {
    std::optional<std::string> model; ///< device-tree model without its NUL
    std::optional<std::vector<std::string>> compatible;
    std::optional<std::string> tnspec;
    std::optional<std::string> serial;
    std::optional<std::string> l4t;     ///< "36.4.3"
    std::optional<std::string> jetpack; ///< "6.2", from the table
    std::optional<std::string> os;
    std::optional<std::string> arch; ///< "aarch64"
    std::optional<std::string> kernel;
    std::optional<std::string> glibc;   ///< "2.35"
    std::optional<std::string> glibcxx; ///< "3.4.30"
    std::optional<std::string> cxxabi;  ///< "1.3.13"
    std::optional<int> cudaDriver; ///< cuDriverGetVersion: 12060; absent when there is no driver or it was not asked
    std::optional<std::string> cudaDriverStatus; ///< "ok", "absent", "error", "hung", "crashed"
    std::optional<std::string> cudaDriverLibrary;
    std::optional<std::string> cudaToolkit; ///< "12.6"
    std::vector<CudaCompat> cudaCompat;     ///< in the order of their folders' names
    std::optional<std::vector<GpuFacts>> gpus;
    std::optional<std::uint64_t> memoryBytes;
    std::optional<bool> cpuAes; ///< the processor has AES instructions: decides how a session is encrypted
    std::optional<std::string> machineId;
    std::optional<std::string> powerMode;
    std::optional<std::vector<DiskFacts>> disks;
    std::optional<std::map<std::string, std::string>>
        tools; ///< name -> version, "" when present without one; absent tool = absent key
    std::optional<std::vector<std::string>> libraries; ///< sonames the board's loader knows
    std::optional<long> clockSkewSeconds;              ///< board minus host
    std::optional<bool> shellQuiet;
    std::optional<std::map<std::string, std::string>> env; ///< CUDA_*, TEENYC_*, LD_LIBRARY_PATH of a login there
    std::optional<std::string> simulated;                  ///< set on a virtual board: what is simulated
    std::optional<long> readAt;                            ///< Unix time of reading
    std::vector<std::string> warnings;                     ///< "JetPack 7.9 is newer than the table", …

    [[nodiscard]] Json toJson() const;
    /// Unknown keys are ignored, wrong types are errors that name the key.
    [[nodiscard]] static Result<BoardFacts> fromJson(const Json &json, std::string_view what);

    /// The GPU that a program gets as device 0, if known.
    [[nodiscard]] const GpuFacts *gpu() const { return gpus && !gpus->empty() ? &gpus->front() : nullptr; }

    /// cuDriverGetVersion of a program with this LD_LIBRARY_PATH: that of the first cuda-compat folder in it that works, else
    /// `cudaDriver`.
    [[nodiscard]] std::optional<int> driverWith(std::string_view libraryPath) const;
};

} // namespace slipway
