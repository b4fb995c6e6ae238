// SPDX-License-Identifier: Apache-2.0
//
// PTX text to tokens.

#include "core/image/ptxlexer.h"

#include "core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace slipway {

namespace {

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool isDigit(char c) {
    return c >= '0' && c <= '9';
}
bool isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

/// Characters at which skipPlain looks closer: 1 = the end of plain text, 2 = maybe ".shared".
constexpr std::array<std::uint8_t, 256> closer = [] {
    std::array<std::uint8_t, 256> table{};
    for (std::size_t c = 0; c < table.size(); ++c)
        table[c] = c >= 0x80 || (c < 0x20 && !(c >= '\t' && c <= '\r'));
    for (const char c : {'{', '}', '/', '"'})
        table[std::size_t(c)] = 1;
    table['.'] = 2;
    return table;
}();

template <typename Predicate>
std::size_t lengthWhile(std::string_view text, std::size_t from, Predicate belongs) {
    return std::size_t(
        std::find_if_not(text.begin() + std::ptrdiff_t(std::min(from, text.size())), text.end(), belongs) -
        text.begin());
}

} // namespace

PtxLexer::PtxLexer(std::string_view text)
    : m_rest(text) {
    if (m_rest.starts_with("\xEF\xBB\xBF")) {
        m_rest.remove_prefix(3);
        report("it begins with a UTF-8 byte-order mark, which no PTX assembler accepts");
    }
    // The driver wants PTX to end in NUL and fat binaries pad with it: NULs at the very end are fine.
    while (m_rest.ends_with('\0'))
        m_rest.remove_suffix(1);
}

void PtxLexer::report(std::string text) {
    if (damage.size() < 20)
        damage.push_back(std::move(text));
}

void PtxLexer::skipLineComment() {
    const auto end = m_rest.find('\n');
    const auto comment = trimmed(m_rest.substr(2, end == std::string_view::npos ? end : end - 2));
    if (comment.starts_with("meta:")) {
        const auto equals = comment.find('=');
        if (equals != std::string_view::npos)
            meta[std::string(trimmed(comment.substr(5, equals - 5)))] = trimmed(comment.substr(equals + 1));
    }
    if (std::any_of(comment.begin(), comment.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }) &&
        !m_saidNonAscii) {
        m_saidNonAscii = true;
        report(fmt::format("a non-ASCII character on line {}, which ptxas refuses even in comments", m_line));
    }
    m_rest.remove_prefix(std::min(end, m_rest.size())); // the line end is left for the caller, who counts it
}

void PtxLexer::skipBlockComment() {
    const auto end = m_rest.find("*/", 2);
    if (end == std::string_view::npos)
        report(fmt::format("a comment that begins on line {} has no end", m_line));
    const auto length = end == std::string_view::npos ? m_rest.size() : end + 2;
    m_line += int(std::count(m_rest.begin(), m_rest.begin() + std::ptrdiff_t(length), '\n'));
    m_rest.remove_prefix(length);
}

void PtxLexer::skipBlanksAndComments() {
    while (!m_rest.empty()) {
        const char c = m_rest.front();
        if (m_rest.starts_with("//"))
            skipLineComment();
        else if (m_rest.starts_with("/*"))
            skipBlockComment();
        else if (isBlank(c)) {
            m_line += c == '\n';
            m_rest.remove_prefix(1);
        } else
            return;
    }
}

PtxToken PtxLexer::take(PtxToken::Kind kind, std::size_t length) {
    const PtxToken token{kind, m_rest.substr(0, length), m_line};
    m_rest.remove_prefix(token.text.size());
    return token;
}

PtxToken PtxLexer::takeString() {
    std::size_t at = 1;
    while (at < m_rest.size() && m_rest[at] != '"' && m_rest[at] != '\n')
        at += m_rest[at] == '\\' && at + 1 < m_rest.size() ? 2 : 1;
    if (at >= m_rest.size() || m_rest[at] != '"') {
        report(fmt::format("a text that begins on line {} has no closing quote", m_line));
        return take(PtxToken::Kind::string, std::min(at, m_rest.size()));
    }
    return take(PtxToken::Kind::string, at + 1);
}

void PtxLexer::skipPlain() {
    std::size_t at = 0;
    for (; at < m_rest.size(); ++at) {
        const auto kind = closer[static_cast<unsigned char>(m_rest[at])];
        if (kind == 0)
            continue;
        const auto inWord = [&] { return at > 0 && (isLetter(m_rest[at - 1]) || isDigit(m_rest[at - 1])); };
        if (kind == 1 || (m_rest.substr(at, 7) == ".shared" && !inWord()))
            break;
    }
    m_line += int(std::count(m_rest.begin(), m_rest.begin() + std::ptrdiff_t(at), '\n'));
    m_rest.remove_prefix(at);
}

PtxToken PtxLexer::next() {
    skipBlanksAndComments();
    if (m_rest.empty())
        return {PtxToken::Kind::end, {}, m_line};
    const char c = m_rest.front();
    const auto inWord = [](char ch) { return isLetter(ch) || isDigit(ch) || ch == '.'; };
    if (c == '.' && m_rest.size() > 1 && isLetter(m_rest[1]))
        return take(PtxToken::Kind::directive,
                    lengthWhile(m_rest, 1, [](char ch) { return isLetter(ch) || isDigit(ch); }));
    if (isLetter(c))
        return take(PtxToken::Kind::word, lengthWhile(m_rest, 1, inWord));
    if (isDigit(c))
        return take(PtxToken::Kind::number, lengthWhile(m_rest, 1, inWord));
    if (c == '"')
        return takeString();
    if (c == '\0') {
        report(fmt::format("a NUL byte on line {} with text behind it", m_line));
        m_rest = {};
        return {PtxToken::Kind::end, {}, m_line};
    }
    if ((static_cast<unsigned char>(c) >= 0x80 || static_cast<unsigned char>(c) < 0x20) && !m_saidNonAscii) {
        m_saidNonAscii = true;
        report(fmt::format("a non-ASCII character on line {}", m_line));
    }
    return take(PtxToken::Kind::punctuation, 1);
}

} // namespace slipway
