// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>

#include <chrono>
#include <string>
#include <string_view>

namespace slipway {

/// The engine speaks UTF-8 std::string; the window converts at its edge, here.
[[nodiscard]] inline QString qs(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

/// "just now", "4 min ago", "3 h ago", "12 days ago"; "never" for 0.
[[nodiscard]] QString ago(long unixTime, long now);
/// The same from an ISO 8601 time; "never" when it is empty or unreadable.
[[nodiscard]] QString ago(const QString &isoTime, long now);
/// Seconds since 1970.
[[nodiscard]] long unixNow();
/// "12.3 MB"
[[nodiscard]] QString sizeText(std::uint64_t bytes);
/// A tool tip that shows `text` as it is, even if it looks like HTML: it may come from a board.
[[nodiscard]] QString plainTip(const QString &text);
/// "First letter up": engine messages are lower case, sentences in the window are not.
[[nodiscard]] QString sentence(const QString &text);

} // namespace slipway
