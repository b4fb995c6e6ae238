// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: model files whose format is told by their content: NumPy arrays, TensorRT engines, Git LFS pointers too.

#include "core/image/modelreaders.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)slipway::readNumpy(bytes);
    (void)slipway::readModel(bytes, false);
    return 0;
}
