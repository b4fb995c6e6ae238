// SPDX-License-Identifier: Apache-2.0
//
// JSON at the edges: text from outside is checked for depth and reported with line and column.

#include "core/base/json.h"

#include "core/base/text.h"

namespace slipway {

namespace {

/// "line 3, column 7" for a byte offset.
std::string place(std::string_view text, std::size_t offset) {
    const auto before = text.substr(0, std::min(offset, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const auto newline = before.rfind('\n');
    const auto column = newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
    return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
}

bool deeperThan(std::string_view text, int deepest) {
    int depth = 0;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (inString && c == '\\')
            ++i;
        else if (c == '"')
            inString = !inString;
        else if (!inString && (c == '{' || c == '['))
            depth += 1;
        else if (!inString && (c == '}' || c == ']'))
            depth -= 1;
        if (depth > deepest)
            return true;
    }
    return false;
}

} // namespace

Result<Json> parseJson(std::string_view text, std::string_view what, int deepest) {
    if (deeperThan(text, deepest))
        return fail("{}: nested deeper than {} levels", what, deepest);
    try {
        return Json::parse(text);
    } catch (const Json::parse_error &error) {
        std::string_view why = error.what();
        if (const auto colon = why.rfind(": "); colon != std::string_view::npos)
            why.remove_prefix(colon + 2);
        return fail("{}: {}: {}", what, place(text, error.byte > 0 ? error.byte - 1 : 0), printable(why));
    } catch (const Json::out_of_range &error) { // a number that no double holds, 1e999, is no error of the syntax
        std::string_view why = error.what();
        if (const auto end = why.find("] "); end != std::string_view::npos)
            why.remove_prefix(end + 2);
        return fail("{}: {}", what, printable(why));
    }
}

Result<Json> readJsonFile(const fs::path &file) {
    const auto text = TRY(readFile(file, std::uint64_t(64) << 20));
    return parseJson(text, printable(file.string()));
}

std::string jsonText(const Json &json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> writeJsonFile(const fs::path &file, const Json &json, unsigned mode) {
    return writeFileAtomically(file, jsonText(json), mode);
}

} // namespace slipway
