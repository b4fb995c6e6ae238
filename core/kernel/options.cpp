// SPDX-License-Identifier: Apache-2.0
//
// The --options text.

#include "core/kernel/options.h"

#include "core/base/text.h"

namespace slipway {

namespace {

Result<int> numberIn(std::string_view key, std::string_view value, int least, int most) {
    const auto number = parseNumber(value);
    if (!number || *number < std::uint64_t(least) || *number > std::uint64_t(most))
        return failAs(ErrorKind::usage, "option {} is \"{}\", needed a number from {} to {}", key, printable(value, 40),
                      least, most);
    return int(*number);
}

Result<void> take(AotOptions &options, std::string_view key, std::string_view value) {
    if (key == "capability") {
        options.capability = TRY_IN(Capability::parse(value), "option capability");
    } else if (key == "ptx-version") {
        options.ptx = TRY_IN(PtxVersion::parse(value), "option ptx-version");
    } else if (key == "sm-count") {
        options.smCount = TRY(numberIn(key, value, 1, 1024));
    } else if (key == "opt-level") {
        options.optLevel = TRY(numberIn(key, value, 0, 3));
    } else if (key == "maxnreg") {
        options.maxRegisters = TRY(numberIn(key, value, 1, 255));
    } else {
        options.unknown.emplace_back(key);
    }
    return {};
}

} // namespace

std::string AotOptions::canonical() const {
    auto text = fmt::format("opt-level={}", optLevel);
    if (maxRegisters)
        text += fmt::format(",maxnreg={}", *maxRegisters);
    if (smCount)
        text += fmt::format(",sm-count={}", *smCount);
    return text;
}

Result<AotOptions> parseAotOptions(std::string_view text) {
    AotOptions options;
    if (trimmed(text).empty())
        return options;
    for (const auto part : split(text, ',')) {
        const auto option = trimmed(part);
        const auto equals = option.find('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == option.size())
            return failAs(ErrorKind::usage, "option \"{}\" was found, needed key=value", printable(option, 60));
        const auto key = option.substr(0, equals);
        TRY(take(options, key, option.substr(equals + 1)));
        if (key != "capability" && key != "ptx-version")
            options.others += (options.others.empty() ? "" : ",") + std::string(option);
    }
    return options;
}

Error unknownOptions(const AotOptions &options) {
    return Error{.kind = ErrorKind::usage,
                 .message =
                     fmt::format("unknown option {} (needed capability, ptx-version, sm-count, opt-level or maxnreg)",
                                 printable(fmt::format("{}", fmt::join(options.unknown, ", ")), 80)),
                 .hint = "other options are understood only by kernels of kind program"};
}

} // namespace slipway
