// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"
#include "core/package/package.h"

namespace slipway {

/// One release on a board, as DEST/.slipway/log.jsonl and releases/ show it.
struct Release {
    std::string id;
    std::string name;
    std::string commit;
    bool dirty = false;
    long deployedAt = 0; ///< Unix time, host's clock
    std::string by;      ///< user@host that deployed it
    bool current = false;
    bool good = false; ///< passed its checks and was current once: a target for rollback
    std::uint64_t bytes = 0;
    std::string outcome; ///< "live", "kept", "failed: …", "rolled back", "partial"
};

[[nodiscard]] Result<std::vector<Release>> listReleases(Session &session, const std::string &dest, Progress &progress);

/// Makes the last good release before the current one live again (or `id`). Runs nothing.
[[nodiscard]] Result<Release> rollback(Session &session, const std::string &dest, const std::string &id,
                                       Progress &progress);

} // namespace slipway
