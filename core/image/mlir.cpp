// SPDX-License-Identifier: Apache-2.0
//
// The argument types of Triton functions in MLIR text: what teenygrad leaves beside a kernel as NAME_HASH.mlir. Not a
// parser of MLIR: it finds `tt.func public @NAME(` and reads the types behind the colons.

#include "core/base/text.h"
#include "core/image/kernelimage.h"

namespace slipway {

namespace {

constexpr std::string_view opener = "tt.func public @";

/// The text up to the first of `ends` outside of brackets and quotes; everything when there is none.
std::string_view upTo(std::string_view text, std::string_view ends) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        if (depth == 0 && ends.find(c) != std::string_view::npos)
            return text.substr(0, i);
        if (c == '<' || c == '(' || c == '{' || c == '[')
            ++depth;
        if ((c == '>' && (i == 0 || text[i - 1] != '-')) || c == ')' || c == '}' || c == ']')
            --depth;
        if (depth < 0)
            return text.substr(0, i);
    }
    return text;
}

void addArgument(std::string_view argument, MlirFunction &function) {
    const auto colon = argument.find(':');
    if (colon == std::string_view::npos)
        return;
    const auto type = trimmed(upTo(trimmed(argument.substr(colon + 1)), " \t\r\n{"));
    constexpr std::string_view pointer = "!tt.ptr<";
    if (type.starts_with(pointer))
        function.pointers.emplace_back(trimmed(upTo(type.substr(pointer.size()), ",>")));
    else if (!type.empty())
        function.scalars.emplace_back(type);
}

std::string nameAt(std::string_view text) {
    if (text.starts_with('"')) {
        const auto end = text.find('"', 1);
        return end == std::string_view::npos ? std::string() : std::string(text.substr(1, end - 1));
    }
    return std::string(trimmed(text.substr(0, text.find_first_of("( \t\r\n"))));
}

} // namespace

std::vector<MlirFunction> readMlirFunctions(std::string_view text) {
    std::vector<MlirFunction> functions;
    for (auto at = text.find(opener); at != std::string_view::npos; at = text.find(opener)) {
        text.remove_prefix(at + opener.size());
        MlirFunction function{.name = nameAt(text)};
        const auto open = text.find('(');
        if (open == std::string_view::npos)
            break;
        text.remove_prefix(open + 1);
        const auto arguments = upTo(text, ")");
        for (auto rest = arguments; !rest.empty();) {
            const auto argument = upTo(rest, ",");
            addArgument(argument, function);
            rest.remove_prefix(std::min(rest.size(), argument.size() + 1));
        }
        text.remove_prefix(arguments.size());
        functions.push_back(std::move(function));
    }
    return functions;
}

} // namespace slipway
