// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: GGUF models.

#include "core/image/modelreaders.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)slipway::readGguf(bytes);
    return 0;
}
