// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: fat binaries, compressed members included.

#include "core/image/kernelimage.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    (void)slipway::readFatbin({reinterpret_cast<const char *>(data), size});
    (void)slipway::unpackFatbins({reinterpret_cast<const char *>(data), size});
    return 0;
}
