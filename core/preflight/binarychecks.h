// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// The checks of programs and libraries (DESIGN section 7): one function for each row of the table in checks().
[[nodiscard]] std::vector<Finding> checkElfArch(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkGlibc(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkLibstdcxx(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkNeededLibs(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkCudaLibs(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkPackageFiles(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkExecutable(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkRpath(const Evidence &evidence, Progress &progress);
[[nodiscard]] std::vector<Finding> checkRehearsal(const Evidence &evidence, Progress &progress);

/// The loader that the distributions of Jetson, Spark and PCs have at this path (ABI supplement of each machine); empty =
/// not known for that machine.
[[nodiscard]] std::string usualInterpreter(std::string_view arch);

/// Whether one piece of an RPATH is fit for a board: $ORIGIN or a folder of its own system, no stubs.
[[nodiscard]] bool isPathForBoards(std::string_view piece);

} // namespace slipway
