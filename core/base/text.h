// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

[[nodiscard]] std::string_view trimmed(std::string_view text);
/// Splits at each `separator`; empty pieces are kept.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their ends (LF or CRLF); a last empty line is not one.
[[nodiscard]] std::vector<std::string_view> lines(std::string_view text);
/// A whole decimal number without sign, or nothing.
[[nodiscard]] std::optional<std::uint64_t> parseNumber(std::string_view text);
/// `text` safe to print in one line: control bytes and invalid UTF-8 replaced, cut to `most` bytes with "…".
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 200);
/// The last `count` lines, for error details.
[[nodiscard]] std::string tailLines(std::string_view text, std::size_t count);
/// The word that `word` was probably meant to be: the one with the fewest edits, if that is at most a third of its letters
/// (at least one); empty when none is near.
[[nodiscard]] std::string nearestWord(std::string_view word, const std::vector<std::string> &candidates);
/// Dotted versions compared number by number: "2.9" < "2.34". Parts that are not numbers count as 0.
[[nodiscard]] int compareVersions(std::string_view a, std::string_view b);

} // namespace slipway
