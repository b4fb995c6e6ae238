// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// One image that the board could choose: a file of the cache, or a member of a fatbin.
struct Candidate {
    std::string path;
    const KernelImage *image;
};

/// One kernel as the program knows it, with every image of it: it passes when any of them runs on the board.
struct KernelGroup {
    std::string name;
    std::string subject;               ///< the file, or the first of several
    std::vector<Candidate> candidates; ///< of known target; a file that cannot be read has none
};

/// The kernels of the package: files of one kernel for several capabilities (same name and id, or without a recorded id
/// same name and entries) form one group; each fatbin inside a binary is one more. Made anew unless the evidence has them.
[[nodiscard]] std::shared_ptr<const std::vector<KernelGroup>> kernelGroups(const Evidence &evidence);

/// Whether one image, whose target is known, runs on a device, and by which rule.
[[nodiscard]] Loadable imageRuns(const PtxIsa &isa, const KernelImage &image, Capability device);

/// "PTX for sm_89", "a cubin for sm_80"
[[nodiscard]] std::string describe(const KernelImage &image);
/// The command that compiles the kernels for this board: "slipway aot --target jetson-orin-nano --capability sm_87
/// --ptx-version 85".
[[nodiscard]] std::string aotCommand(const Evidence &evidence, std::optional<Capability> capability,
                                     std::optional<PtxVersion> ptx);
/// "CUDA 12.6"
[[nodiscard]] std::string cudaName(int driver);
/// A finding without its check's id, which preflight() fills in.
[[nodiscard]] Finding makeFinding(Status status, std::string subject, std::string found, std::string needed, std::string why, std::string fix);
/// The one finding of a check that does not apply.
[[nodiscard]] std::vector<Finding> skippedBecause(std::string why);
/// The one finding of a check whose facts are missing.
[[nodiscard]] Finding notKnown(std::string subject, std::string missing, std::string fix);

} // namespace slipway
