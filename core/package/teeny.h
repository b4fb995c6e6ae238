// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/package/package.h"

namespace slipway {

/// conf/.cargo-teeny-package, as `cargo teeny package` writes it and `cargo teeny deploy` looks for it.
struct TeenyMarker {
    std::string target;
    bool isExample = false;         ///< EXAMPLE= instead of BIN=
    std::vector<std::string> names; ///< "a,b" in the file
    std::string device;
    std::string options;
    long time = 0;
    std::string commit; ///< empty = "unknown" in the file
};
[[nodiscard]] Result<TeenyMarker> parseTeenyMarker(std::string_view text);
[[nodiscard]] std::string teenyMarkerText(const TeenyMarker &marker);

/// What a program must see so that a cache made with these is hit, see envFileText.
[[nodiscard]] std::map<std::string, std::string> cacheEnv(std::optional<PtxVersion> ptx);

/// A package that has only the marker: names, options and environment from it, every file hashed.
[[nodiscard]] Result<Package> openTeenyPackage(const fs::path &directory, Progress &progress);

} // namespace slipway
