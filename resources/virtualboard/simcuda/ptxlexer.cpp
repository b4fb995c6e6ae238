// SPDX-License-Identifier: Apache-2.0
//
// The tokens of PTX text, as far as headers, entries and calls need them.
#include "ptxlexer.h"

namespace simcuda {
namespace {

bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'; }

bool isWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

} // namespace

void PtxLexer::advance() {
    if (m_text[m_at++] == '\n')
        ++m_line;
}

void PtxLexer::skipBlanks() {
    while (m_at < m_text.size()) {
        const char c = m_text[m_at];
        const char after = m_at + 1 < m_text.size() ? m_text[m_at + 1] : '\0';
        if (isBlank(c)) {
            advance();
        } else if (c == '/' && after == '/') {
            while (m_at < m_text.size() && m_text[m_at] != '\n')
                ++m_at;
        } else if (c == '/' && after == '*') {
            m_at += 2;
            while (m_at < m_text.size() && !(m_text[m_at] == '*' && m_at + 1 < m_text.size() && m_text[m_at + 1] == '/'))
                advance();
            m_at = m_at + 2 < m_text.size() ? m_at + 2 : m_text.size();
        } else {
            return;
        }
    }
}

void PtxLexer::next() {
    skipBlanks();
    m_tokenLine = m_line;
    const std::size_t begin = m_at;
    if (m_at < m_text.size()) {
        const char first = m_text[m_at];
        advance();
        if (first == '"') {
            while (m_at < m_text.size() && m_text[m_at] != '"')
                advance();
            if (m_at < m_text.size())
                ++m_at;
        } else if (isWord(first) || first == '.') {
            while (m_at < m_text.size() && isWord(m_text[m_at]))
                ++m_at;
        }
    }
    m_token = piece(m_text, begin, m_at - begin);
}

void PtxLexer::skipLine() {
    const int line = m_tokenLine;
    while (!atEnd() && m_tokenLine == line)
        next();
}

} // namespace simcuda
