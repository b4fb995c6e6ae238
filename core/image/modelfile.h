// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

#include <map>
#include <optional>
#include <vector>

namespace slipway {

/// One tensor of a model file.
struct Tensor {
    std::string name;
    std::string dtype; ///< safetensors' names: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I64 I32 I16 I8 U8 BOOL …; GGUF: as its
                       ///< own names
    std::vector<std::uint64_t> shape;
    std::uint64_t bytes = 0;
};

/// What a model file's header says; the data itself is not read.
struct ModelFile {
    std::string format; ///< "safetensors", "gguf", "onnx", "numpy", "tensorrt", "git-lfs pointer", "unknown"
    std::vector<Tensor> tensors;
    std::map<std::string, std::uint64_t> dtypes; ///< dtype -> number of tensors
    std::map<std::string, std::string> metadata;
    std::string quantisation; ///< the text of its "quantization_config" (JSON, not checked), where it has one
    /// Files beside it that hold tensor data (ONNX) -> the bytes that each must have at least.
    std::map<std::string, std::uint64_t> external;
    std::uint64_t bytes = 0;
    std::vector<std::string> damage; ///< truncated, offsets out of range, overlapping …
};

/// Reads the header of a model file of any known format.
[[nodiscard]] Result<ModelFile> readModelFile(const fs::path &file);

} // namespace slipway
