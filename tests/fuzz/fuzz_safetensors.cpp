// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: model files of every format.

#include "core/image/modelreaders.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)slipway::readSafetensors(bytes);
    (void)slipway::readGguf(bytes);
    (void)slipway::readOnnx(bytes);
    (void)slipway::readNumpy(bytes);
    (void)slipway::readModel(bytes, false);
    return 0;
}
