// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// The files of a make rule "target: a b \<newline> c", with "\ " for a blank in a name.
[[nodiscard]] std::vector<fs::path> dependenciesOf(std::string_view rule);

} // namespace slipway
