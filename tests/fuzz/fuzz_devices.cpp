// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: entries of devices.json and addresses as people type them: a device that was read, written and read
// again is the same.

#include "core/device/device.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto json = slipway::parseJson(bytes, "devices.json");
    for (const auto &device : {json ? slipway::Device::fromJson(*json, "device") : slipway::fail("no JSON"),
                               slipway::Device::fromAddress("board", bytes)}) {
        if (!device)
            continue;
        const auto again = slipway::Device::fromJson(device->toJson(), "again");
        if (!again || again->toJson() != device->toJson())
            std::abort();
    }
    return 0;
}
