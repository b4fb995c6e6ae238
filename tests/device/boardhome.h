// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QByteArray>

#include <cstdlib>
#include <filesystem>

namespace slipway {

/// What virtual boards are made from in this build.
inline const std::filesystem::path boardResources = SLIPWAY_BINARY_DIR "/share/slipway/virtualboard";

/// Where the packages of a board's userland are kept on this machine: downloaded once for all tests.
inline std::filesystem::path packageCache() {
    const char *cache = std::getenv("XDG_CACHE_HOME");
    return (cache && *cache ? std::filesystem::path(cache) : std::filesystem::path(qgetenv("HOME").toStdString()) / ".cache") / "slipway/debs";
}

} // namespace slipway
