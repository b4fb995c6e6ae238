// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: safetensors, and the description of quantised weights that they may hold.

#include "core/image/modelreaders.h"
#include "core/preflight/modelparts.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto model = slipway::readSafetensors(bytes);
    std::vector<slipway::Finding> findings;
    slipway::checkQuantised("model", model, slipway::readQuantisation(model, "/nowhere/model.safetensors"), findings);
    return 0;
}
