// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: ELF files, GPU's and host's.

#include "core/image/elfimage.h"
#include "core/image/kernelimage.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)slipway::readCubin(bytes);
    (void)slipway::readElf(bytes);
    (void)slipway::fatbinsInElf(bytes);
    return 0;
}
