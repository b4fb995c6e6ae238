// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: saved facts of a board.

#include "core/target/facts.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto json = slipway::parseJson(bytes, "facts");
    const auto facts = json ? slipway::BoardFacts::fromJson(*json, "facts") : slipway::fail("no JSON");
    if (facts && !slipway::BoardFacts::fromJson(facts->toJson(), "again"))
        std::abort();
    return 0;
}
