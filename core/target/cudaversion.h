// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace slipway {

/// "12.6" of 12060: cuDriverGetVersion counts 1000 for a major and 10 for a minor version (CUDA Driver API, version management).
[[nodiscard]] inline std::string cudaVersionText(int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

} // namespace slipway
