// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace slipway {

/// One token of PTX text.
struct PtxToken {
    enum class Kind {
        end,
        directive,   ///< ".target", with its dot; also the type in ".param .u64 x"
        word,        ///< a name, an instruction with its modifiers ("ld.param.u64"), a register
        number,      ///< "8.2", "128", "0f3F800000"
        string,      ///< with its quotes
        punctuation, ///< one character
    };
    Kind kind = Kind::end;
    std::string_view text;
    int line = 1;

    [[nodiscard]] bool is(Kind k, std::string_view t) const { return kind == k && text == t; }
    [[nodiscard]] bool is(char c) const { return kind == Kind::punctuation && text.front() == c; }
};

/// Cuts PTX text into tokens as ptxas does: comments of both kinds are skipped. What ptxas refuses on this level (a
/// byte-order mark, other non-ASCII bytes, a NUL with text behind it, a comment or string without end) goes to
/// `damage`; reading goes on.
class PtxLexer {
public:
    explicit PtxLexer(std::string_view text);

    [[nodiscard]] PtxToken next();
    /// Skips tokens that say nothing about a function's body: all but braces, texts, comments, characters that PTX does not
    /// have, and declarations in shared memory. Most of a PTX file is such text.
    void skipPlain();
    /// `// meta:key=value` lines so far.
    std::map<std::string, std::string> meta;
    std::vector<std::string> damage;

private:
    void skipBlanksAndComments();
    void skipLineComment();
    void skipBlockComment();
    void report(std::string text);
    [[nodiscard]] PtxToken take(PtxToken::Kind kind, std::size_t length);
    [[nodiscard]] PtxToken takeString();

    std::string_view m_rest;
    int m_line = 1;
    bool m_saidNonAscii = false;
};

} // namespace slipway
