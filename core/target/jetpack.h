// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/target/capability.h"

#include <optional>
#include <vector>

namespace slipway {

/// One JetPack release and what comes with it.
struct JetPack {
    std::string version;          ///< "6.2"
    std::vector<std::string> l4t; ///< "36.4.3"
    std::string ubuntu;           ///< "22.04"
    std::string glibc;            ///< "2.35"
    std::string glibcxx;          ///< "3.4.30"
    std::string cxxabi;           ///< "1.3.13"; empty = unknown
    std::string cuda;             ///< "12.6"
    int driver = 0;               ///< 12060
    std::string tensorrt;
};

/// The table of releases (targets/jetpack.json), oldest first.
class JetPacks {
public:
    [[nodiscard]] static Result<JetPacks> fromJson(const Json &json);
    [[nodiscard]] const std::vector<JetPack> &all() const { return m_all; }
    /// The release of an L4T version. An unknown patch level takes the release with the same major.minor before it.
    [[nodiscard]] const JetPack *ofL4t(std::string_view l4t) const;
    [[nodiscard]] const JetPack *find(std::string_view version) const;
    /// Newer than everything in the table.
    [[nodiscard]] bool isNewerThanTable(std::string_view l4t) const;

private:
    std::vector<JetPack> m_all;
};

} // namespace slipway
