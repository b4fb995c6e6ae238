// SPDX-License-Identifier: Apache-2.0
//
// conf/env: what a program of the package must see. A POSIX shell can read it, and so can we, without one.

#include "core/package/package.h"

#include "core/base/text.h"

namespace slipway {

namespace {

constexpr std::string_view releaseMark = "$RELEASE";

bool beginsWithRelease(std::string_view value) {
    return value == releaseMark || value.starts_with("$RELEASE/");
}

/// The text of one shell word: pieces that are bare, in single quotes, in double quotes or behind a backslash.
Result<std::string> unquoted(std::string_view word, std::size_t line) {
    std::string text;
    while (!word.empty()) {
        const char c = word.front();
        if (c == '\'' || c == '"') {
            const auto end = word.find(c, 1);
            if (end == std::string_view::npos)
                return fail("conf/env: line {}: a quote is not closed", line);
            text += word.substr(1, end - 1);
            word.remove_prefix(end + 1);
        } else if (c == '\\' && word.size() > 1) {
            text += word[1];
            word.remove_prefix(2);
        } else if (std::string_view(" \t;&|<>()`").find(c) != std::string_view::npos) {
            return fail("conf/env: line {}: found '{}' outside quotes (needed NAME=VALUE)", line, c);
        } else {
            text += c;
            word.remove_prefix(1);
        }
    }
    return text;
}

} // namespace

Result<std::map<std::string, std::string>> parseEnvFile(std::string_view text) {
    std::map<std::string, std::string> env;
    std::size_t number = 0;
    for (auto line : lines(text)) {
        number += 1;
        line = trimmed(line);
        if (line.starts_with("export "))
            line = trimmed(line.substr(7));
        if (line.empty() || line.front() == '#')
            continue;
        const auto equals = line.find('=');
        constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
        if (equals == std::string_view::npos || equals == 0 || line.substr(0, equals).find_first_not_of(letters) != std::string_view::npos
            || (line.front() >= '0' && line.front() <= '9'))
            return fail("conf/env: line {}: found \"{}\" (needed NAME=VALUE)", number, printable(line, 60));
        env[std::string(line.substr(0, equals))] = TRY(unquoted(line.substr(equals + 1), number));
    }
    return env;
}

std::string envFileText(const std::map<std::string, std::string> &env) {
    std::string text;
    for (const auto &[name, value] : env) {
        text += name + "=";
        if (beginsWithRelease(value)) {
            const auto rest = std::string_view(value).substr(releaseMark.size());
            text += "\"$RELEASE\"" + (rest.empty() ? "" : shellQuote(rest));
        } else {
            text += shellQuote(value);
        }
        text += "\n";
    }
    return text;
}

std::map<std::string, std::string> resolvedEnv(const std::map<std::string, std::string> &env, const std::string &release) {
    auto resolved = env;
    for (auto &[name, value] : resolved) {
        if (beginsWithRelease(value))
            value = release + value.substr(releaseMark.size());
    }
    return resolved;
}

} // namespace slipway
