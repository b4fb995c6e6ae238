// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: what a board answers to the script that reads its facts.

#include "core/device/probe.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    static const auto catalog = slipway::Catalog::load({slipway::fs::path(SLIPWAY_SOURCE_DIR) / "targets"}).value();
    const auto facts = slipway::parseFacts({reinterpret_cast<const char *>(data), size}, catalog, 1764433500);
    if (facts && !slipway::BoardFacts::fromJson(facts->toJson(), "again"))
        std::abort();
    return 0;
}
