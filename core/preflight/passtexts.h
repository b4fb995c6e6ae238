// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/evidence.h"

namespace slipway {

// What each check found when nothing was wrong, with the values that it compared: a list of bare ticks proves little to a reader.
[[nodiscard]] std::string passedCapability(const Evidence &evidence);
[[nodiscard]] std::string passedPtxVersion(const Evidence &evidence);
[[nodiscard]] std::string passedCachePresent(const Evidence &evidence);
[[nodiscard]] std::string passedKernelIntegrity(const Evidence &evidence);
[[nodiscard]] std::string passedCacheKeys(const Evidence &evidence);
[[nodiscard]] std::string passedRuntimeEnv(const Evidence &evidence);
[[nodiscard]] std::string passedTuning(const Evidence &evidence);
[[nodiscard]] std::string passedDtype(const Evidence &evidence);
[[nodiscard]] std::string passedModelFile(const Evidence &evidence);
[[nodiscard]] std::string passedElfArch(const Evidence &evidence);
[[nodiscard]] std::string passedGlibc(const Evidence &evidence);
[[nodiscard]] std::string passedLibstdcxx(const Evidence &evidence);
[[nodiscard]] std::string passedNeededLibs(const Evidence &evidence);
[[nodiscard]] std::string passedPackageFiles(const Evidence &evidence);
[[nodiscard]] std::string passedExecutable(const Evidence &evidence);
[[nodiscard]] std::string passedCudaLibs(const Evidence &evidence);
[[nodiscard]] std::string passedRpath(const Evidence &evidence);
[[nodiscard]] std::string passedBoardIdentity(const Evidence &evidence);
[[nodiscard]] std::string passedDiskSpace(const Evidence &evidence);
[[nodiscard]] std::string passedDestWritable(const Evidence &evidence);
[[nodiscard]] std::string passedNoexec(const Evidence &evidence);
[[nodiscard]] std::string passedClock(const Evidence &evidence);
[[nodiscard]] std::string passedRemoteShell(const Evidence &evidence);
[[nodiscard]] std::string passedRemoteTools(const Evidence &evidence);
[[nodiscard]] std::string passedLoad(const Evidence &evidence);
[[nodiscard]] std::string passedRehearsal(const Evidence &evidence);

/// What the package's options were chosen for, as people say it: "8 SMs", "power mode 15W", "block-size=256".
[[nodiscard]] std::vector<std::string> tunedFor(const Evidence &evidence);

} // namespace slipway
