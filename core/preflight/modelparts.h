// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/image/modelfile.h"
#include "core/preflight/check.h"

#include <set>

namespace slipway {

// What the checks of models share. Private to this folder.

/// One model of the package: declared ones and what looks like one by its name.
struct ShippedModel {
    std::string path;
    std::string declared; ///< the dtype that the project declares, as it is written; empty = none
    Result<ModelFile> file;
};
/// Models of the manifest; those that lie outside of the package are errors. Read anew unless the evidence has them.
[[nodiscard]] std::shared_ptr<const std::vector<ShippedModel>> readShippedModels(const Evidence &evidence, Progress &progress);

/// Names that people write for safetensors' type names: "float16" is "F16".
[[nodiscard]] std::string normalisedDtype(std::string_view dtype);
/// Scales, zero points and the like, which accompany quantised weights and have types of their own.
[[nodiscard]] bool isCompanion(std::string_view tensor);

/// How the quantised tensors of a model are packed, from its `quantization_config` (in the file as teeny-quant writes it, or
/// in config.json beside it as Hugging Face does).
struct Quantisation {
    bool known = false; ///< there is a configuration that could be read
    std::string format; ///< "pack-quantized", "int-quantized", "float-quantized"
    int bits = 0;       ///< of a weight; 0 = not said
    bool symmetric = true;
    std::uint64_t groupSize = 0; ///< 0 = not by groups
    std::set<std::string> ignored;
    /// teeny-quant: weight -> the elements that it has before two were packed into each byte.
    std::map<std::string, std::uint64_t> packed;
    std::string damage; ///< why it could not be read
};
[[nodiscard]] Quantisation readQuantisation(const ModelFile &model, const fs::path &file);

/// Quantised weights without what they need to be understood, or of shapes that contradict it.
void checkQuantised(const std::string &path, const ModelFile &model, const Quantisation &scheme, std::vector<Finding> &findings);

/// The element types that kernels take, by kernel; a kernel that does not say is absent. From the manifest's records, MLIR
/// beside the image, and the mangled names of entries (_Z5saxpyPKfPf takes f32).
[[nodiscard]] std::map<std::string, std::set<std::string>> kernelDtypes(const Evidence &evidence);
/// Element types of the pointer parameters in a mangled C++ function name (Itanium C++ ABI, 5.1); empty = it does not say.
[[nodiscard]] std::set<std::string> mangledPointers(std::string_view name);

} // namespace slipway
