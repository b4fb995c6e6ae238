// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: PTX and MLIR text.

#include "core/image/kernelimage.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char *>(data), size);
    (void)slipway::readPtx(text);
    (void)slipway::readKernelImage(text);
    (void)slipway::readMlirFunctions(text);
    return 0;
}
