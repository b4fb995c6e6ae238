// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: conf/manifest.json: what is read is written and read again.

#include "core/package/manifest.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto json = slipway::parseJson(bytes, "manifest");
    const auto manifest = json ? slipway::Manifest::fromJson(*json, "manifest") : slipway::fail("no JSON");
    if (manifest && !slipway::Manifest::fromJson(manifest->toJson(), "again"))
        std::abort();
    return 0;
}
