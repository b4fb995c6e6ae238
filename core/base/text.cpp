// SPDX-License-Identifier: Apache-2.0
//
// Small text functions that the readers share.

#include "core/base/text.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

namespace slipway {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blank = " \t\r\n\v\f";
    const auto first = text.find_first_not_of(blank);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const auto at = text.find(separator);
        pieces.push_back(text.substr(0, at));
        if (at == std::string_view::npos)
            return pieces;
        text.remove_prefix(at + 1);
    }
}

std::vector<std::string_view> lines(std::string_view text) {
    auto pieces = split(text, '\n');
    if (pieces.back().empty())
        pieces.pop_back();
    for (auto &line : pieces) {
        if (line.ends_with('\r'))
            line.remove_suffix(1);
    }
    return pieces;
}

std::optional<std::uint64_t> parseNumber(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

namespace {

/// Length of the valid UTF-8 sequence at the start of `text`, 0 if there is none.
std::size_t utf8Length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5                   ? 4
                                                                             : 0;
    if (length == 0 || length > text.size())
        return 0;
    const auto continuation = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
    return std::all_of(text.begin() + 1, text.begin() + long(length), continuation) ? length : 0;
}

} // namespace

std::string printable(std::string_view text, std::size_t most) {
    std::string out;
    while (!text.empty()) {
        if (out.size() >= most)
            return out + "…";
        const auto byte = static_cast<unsigned char>(text.front());
        const auto length = utf8Length(text);
        if (length == 0)
            out += "\xEF\xBF\xBD"; // U+FFFD
        else if (byte < 0x20 || byte == 0x7F)
            out += ' ';
        else
            out += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out;
}

std::string tailLines(std::string_view text, std::size_t count) {
    const auto all = lines(text);
    std::string out;
    for (std::size_t i = all.size() - std::min(count, all.size()); i < all.size(); ++i)
        out.append(all[i]).append("\n");
    return out;
}

std::string nearestWord(std::string_view word, const std::vector<std::string> &candidates) {
    std::string best;
    std::size_t fewest = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const auto &candidate : candidates) {
        std::vector<std::size_t> row(candidate.size() + 1); // Levenshtein's distance, one row at a time
        std::iota(row.begin(), row.end(), std::size_t(0));
        for (std::size_t i = 0; i < word.size(); ++i) {
            auto diagonal = std::exchange(row[0], i + 1);
            for (std::size_t j = 0; j < candidate.size(); ++j) {
                const auto replaced = diagonal + (word[i] == candidate[j] ? 0 : 1);
                diagonal = row[j + 1];
                row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
            }
        }
        if (row.back() < fewest) {
            fewest = row.back();
            best = candidate;
        }
    }
    return best;
}

int compareVersions(std::string_view a, std::string_view b) {
    const auto left = split(a, '.');
    const auto right = split(b, '.');
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
        const auto x = i < left.size() ? parseNumber(left[i]).value_or(0) : 0;
        const auto y = i < right.size() ? parseNumber(right[i]).value_or(0) : 0;
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

} // namespace slipway
