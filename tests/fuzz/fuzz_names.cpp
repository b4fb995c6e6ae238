// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: names that say something: cache files (NAME_HASH.o, as teenyc writes them) and mangled entries.

#include "core/kernel/key.h"
#include "core/preflight/modelparts.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string text(reinterpret_cast<const char *>(data), size);
    const auto parsed = slipway::parseCacheFileName(text);
    if (parsed.name + (parsed.hash.empty() ? "" : "_" + parsed.hash) + parsed.extension != text)
        std::abort();
    (void)slipway::mangledPointers(text);
    return 0;
}
