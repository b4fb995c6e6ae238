// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: conf/env: what is read, written and read again is the same.

#include "core/package/package.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char *>(data), size);
    const auto env = slipway::parseEnvFile(bytes);
    if (!env || bytes.find('\0') != std::string_view::npos)
        return 0;
    const auto again = slipway::parseEnvFile(slipway::envFileText(*env));
    if (!again || *again != *env)
        std::abort();
    return 0;
}
