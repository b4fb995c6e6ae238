// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: host programs and libraries, also the change of their library paths.

#include "core/image/elfimage.h"
#include "core/image/elfpatch.h"
#include "core/image/kernelimage.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    (void)slipway::readElf(bytes);
    (void)slipway::fatbinsInElf(bytes);
    (void)slipway::withRpath(std::string(bytes), [](std::string_view piece) { return piece.size() % 2 == 0; });
    return 0;
}
