// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/release.h"

#include <set>

namespace slipway {

/// One line of DEST/.slipway/log.jsonl.
struct LogEntry {
    long time = 0;  ///< Unix time, host's clock
    std::string by; ///< user@host
    std::string release;
    std::string name;
    std::string commit;
    bool dirty = false;
    std::uint64_t bytes = 0;
    std::string outcome; ///< "live" (deployed and healthy), "restored" (by rollback), "failed", "rolled back"
    std::string reason;
    std::vector<std::string> allowed; ///< checks that were allowed to fail

    [[nodiscard]] std::string line() const;
    /// Nothing for a line that cannot be read: a log never stops a deploy.
    [[nodiscard]] static std::optional<LogEntry> fromLine(std::string_view line);
};

/// What is below DEST on a board.
struct BoardState {
    std::string dest;     ///< absolute
    std::string live;     ///< id that `current` points to; empty = none
    bool foreign = false; ///< `current` is something that Slipway did not make
    std::set<std::string> releases;
    std::set<std::string> partials;
    std::set<std::string> good;
    std::vector<LogEntry> log;        ///< oldest first
    std::optional<Manifest> manifest; ///< of the live release

    /// When a release was last deployed with success (its place in the log), -1 = never.
    [[nodiscard]] int rank(const std::string &id) const;
    /// The good release that was deployed last before the live one, leaving out `except`; empty = none.
    [[nodiscard]] std::string lastGood(const std::string &except) const;
};

/// Reads DEST. Errors: a destination that is neither absolute nor below "~/".
[[nodiscard]] Result<BoardState> readBoard(Session &session, const std::string &dest, Progress &progress);
/// The parser of what the script prints; pure.
[[nodiscard]] BoardState parseBoard(std::string_view text);

/// May this be a release's directory name: letters, digits, '.', '_', '-', '+', not hidden.
[[nodiscard]] bool isReleaseId(std::string_view id);

} // namespace slipway
