// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/image/modelfile.h"

namespace slipway {

/// Readers of one format each, from the bytes of a whole file (which is mapped: only what they touch is read). They
/// never fail: what is wrong is in `damage`.

/// Header, dtypes, shapes and offsets, checked as the format demands: in range, without holes or overlaps.
[[nodiscard]] ModelFile readSafetensors(std::string_view bytes);
/// Metadata (texts and numbers) and the table of tensors.
[[nodiscard]] ModelFile readGguf(std::string_view bytes);
/// Initialisers of the main graph, and the external files that hold their data.
[[nodiscard]] ModelFile readOnnx(std::string_view bytes);
/// dtype and shape of a .npy file.
[[nodiscard]] ModelFile readNumpy(std::string_view bytes);
/// Decides by content. `isNamedOnnx`: ONNX has no magic number, so its file name counts.
[[nodiscard]] ModelFile readModel(std::string_view bytes, bool isNamedOnnx);

namespace detail {
/// Product of the dimensions, or nothing when it does not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> elements(const std::vector<std::uint64_t> &shape);
/// Adds a line of damage, unless there are plenty already.
void addDamage(ModelFile &model, std::string text);
/// Adds a tensor and counts its dtype.
void addTensor(ModelFile &model, Tensor tensor);
} // namespace detail

} // namespace slipway
