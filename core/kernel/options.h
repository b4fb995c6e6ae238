// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/target/capability.h"

#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// The `--options` text of `cargo teeny aot`: "capability=sm_87,ptx-version=82,opt-level=2". Slipway's own kinds of
/// kernels understand the keys below; `program` gets the text as it is.
struct AotOptions {
    std::optional<Capability> capability; ///< capability
    std::optional<PtxVersion> ptx;        ///< ptx-version
    std::optional<int> smCount;           ///< sm-count, 1 to 1024; .cu files see it as SLIPWAY_SM_COUNT
    int optLevel = 3;                     ///< opt-level, 0 to 3
    std::optional<int> maxRegisters;      ///< maxnreg, 1 to 255, of kernels that do not say it themselves
    std::vector<std::string> unknown;     ///< keys that only a `program` may know
    std::string others;                   ///< the text without capability and ptx-version, as it was written

    /// What changes the output of our own kinds, in a fixed order: "opt-level=3,maxnreg=64".
    [[nodiscard]] std::string canonical() const;
};

/// Syntax and the values of known keys; unknown keys are listed, not refused.
[[nodiscard]] Result<AotOptions> parseAotOptions(std::string_view text);
/// The error for options that none of our own kinds knows.
[[nodiscard]] Error unknownOptions(const AotOptions &options);

} // namespace slipway
