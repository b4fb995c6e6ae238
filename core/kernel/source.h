// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"

#include <filesystem>
#include <string>
#include <vector>

namespace slipway {

/// What kernels come from (DESIGN section 4).
enum class SourceKind { llvmIr, cuda, program, prebuilt };
[[nodiscard]] const char *sourceKindName(SourceKind kind); ///< "llvm-ir", "cuda", "program", "prebuilt"
[[nodiscard]] Result<SourceKind> parseSourceKind(std::string_view text);

/// One source to compile: a file, a program to run, or a finished image.
struct KernelSource {
    SourceKind kind = SourceKind::llvmIr;
    std::string name;  ///< of the image: the file's stem
    fs::path file;     ///< absolute; for `program` the executable; for `prebuilt` also a whole cache directory
    std::string label; ///< as the project names it, for people
    std::vector<std::string> arguments; ///< program: what comes before --device
    std::string compiler;               ///< cuda: "clang" or "nvcc"
    std::vector<std::string> flags;     ///< cuda: extra compiler flags
};

/// Functions that PTX may leave open because the CUDA driver has them (CUDA C++ programming guide: formatted output,
/// dynamic memory, assertion).
[[nodiscard]] bool driverProvides(std::string_view function);

} // namespace slipway
