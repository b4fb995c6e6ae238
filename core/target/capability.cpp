// SPDX-License-Identifier: Apache-2.0
//
// Names of compute capabilities and PTX versions, read and written.

#include "core/target/capability.h"

#include "core/base/text.h"

#include <cstdint>
#include <optional>

namespace slipway {

namespace {

/// "8.7" as (8, 7): both parts present, the first 1 to `mostMajor`, the second one digit or zeros ("9.00").
std::optional<std::pair<int, int>> parseDotted(std::string_view text, int mostMajor) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || text.size() > 8)
        return std::nullopt;
    const auto major = parseNumber(text.substr(0, dot));
    const auto minor = parseNumber(text.substr(dot + 1));
    if (!major || !minor || *major < 1 || *major > std::uint64_t(mostMajor) || *minor > 9)
        return std::nullopt;
    return std::pair(int(*major), int(*minor));
}

/// The digits and the letter after "sm_" or "compute_".
std::optional<Capability> parseSm(std::string_view text) {
    auto flavour = Capability::Flavour::baseline;
    if (text.ends_with('a'))
        flavour = Capability::Flavour::architecture;
    else if (text.ends_with('f'))
        flavour = Capability::Flavour::family;
    if (flavour != Capability::Flavour::baseline)
        text.remove_suffix(1);
    const auto number = parseNumber(text);
    if (!number || text.size() < 2 || text.size() > 3 || *number < 10)
        return std::nullopt;
    return Capability{int(*number), flavour};
}

} // namespace

std::string Capability::sm() const {
    const char *suffix = flavour == Flavour::architecture ? "a" : flavour == Flavour::family ? "f" : "";
    return fmt::format("sm_{}{}", number, suffix);
}

std::string Capability::dotted() const {
    return fmt::format("{}.{}", major(), minor());
}

Result<Capability> Capability::parse(std::string_view text) {
    text = trimmed(text);
    std::optional<Capability> found;
    if (text.starts_with("sm_"))
        found = parseSm(text.substr(3));
    else if (text.starts_with("compute_"))
        found = parseSm(text.substr(8));
    else if (const auto dotted = parseDotted(text, 99))
        found = Capability{dotted->first * 10 + dotted->second, Flavour::baseline};
    if (!found)
        return failAs(ErrorKind::usage,
                      "\"{}\" is not a compute capability (needed sm_N, sm_Na, sm_Nf or M.N, such as sm_87 or 8.7)",
                      printable(text, 40));
    return *found;
}

std::string PtxVersion::text() const {
    return fmt::format("{}.{}", major, minor);
}

Result<PtxVersion> PtxVersion::parse(std::string_view text) {
    text = trimmed(text);
    if (const auto dotted = parseDotted(text, 99))
        return PtxVersion{dotted->first, dotted->second};
    const auto code = parseNumber(text);
    if (!code || text.size() < 2 || text.size() > 3 || *code < 10)
        return failAs(ErrorKind::usage, "\"{}\" is not a PTX version (needed M.m or its digits, such as 8.2 or 82)",
                      printable(text, 40));
    return fromCode(int(*code));
}

} // namespace slipway
