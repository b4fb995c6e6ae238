// SPDX-License-Identifier: Apache-2.0
//
// What factsparse.cpp and factsdriver.cpp share. Nobody else includes this.
#pragma once

#include "core/base/text.h"
#include "core/target/facts.h"

#include <regex>

namespace slipway {

/// The parts of the script's output by name, as factsSections gives them.
using FactsSections = std::map<std::string, std::string_view>;

constexpr std::size_t longestFactsLine = 2000; ///< std::regex recurses: no board's line that we match is longer

inline std::string_view factsSection(const FactsSections &sections, const char *name) {
    const auto found = sections.find(name);
    return found == sections.end() ? std::string_view() : trimmed(found->second);
}

inline std::optional<std::string> firstLine(std::string_view text, std::size_t most = 200) {
    const auto all = lines(trimmed(text));
    if (all.empty() || trimmed(all.front()).empty())
        return {};
    return printable(trimmed(all.front()), most);
}

/// The first match in the text; nothing when there is none or the text is longer than any line that we match.
inline std::optional<std::smatch> matched(const std::string &text, const char *pattern) {
    std::smatch match;
    if (text.size() > longestFactsLine || !std::regex_search(text, match, std::regex(pattern)))
        return {};
    return match;
}

/// The driver, the GPUs, cuda-compat and the toolkit: from the probe, where it did not run from nvidia-smi.
void readDriver(const FactsSections &sections, BoardFacts &facts);

} // namespace slipway
