// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "basics.h"

namespace simcuda {

/// Splits PTX text into words, strings and single characters; skips blanks and both kinds of comments.
class PtxLexer {
public:
    explicit PtxLexer(std::string_view text) : m_text(text) { next(); }

    /// The current token; empty at the end of the text. A directive keeps its dot: ".target".
    [[nodiscard]] std::string_view token() const { return m_token; }
    /// The line (from 1) that the current token is on; at the end, the last line.
    [[nodiscard]] int line() const { return m_tokenLine; }
    [[nodiscard]] bool atEnd() const { return m_token.empty(); }
    void next();
    /// Drops the rest of the current token's line (`.file` and `.loc` have no semicolon).
    void skipLine();
    /// Takes the current token if it is `word`.
    bool take(std::string_view word) {
        if (m_token != word)
            return false;
        next();
        return true;
    }

private:
    void skipBlanks();
    void advance();

    std::string_view m_text;
    std::size_t m_at = 0;
    int m_line = 1;
    std::string_view m_token;
    int m_tokenLine = 1;
};

} // namespace simcuda
