// SPDX-License-Identifier: Apache-2.0
//
// Text, lists and JSON without libstdc++.

#include "text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>

namespace slipway::probe {

namespace {

constexpr int outOfMemory = 4;

void *resized(void *memory, std::size_t size) {
    void *result = ::realloc(memory, size);
    if (!result)
        ::_exit(outOfMemory);
    return result;
}

/// How many bytes at the front of the text are one valid UTF-8 character; 0 when they are none.
std::size_t utf8Length(std::string_view text) {
    const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = at(0);
    if (first < 0x80)
        return 1;
    const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80)
            return 0;
    const unsigned char second = at(1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogateOrBeyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return overlong || surrogateOrBeyond ? 0 : length;
}

} // namespace

char *Text::reserve(std::size_t count) {
    if (count > m_capacity - m_size) {
        const std::size_t wanted = m_size + count;
        m_capacity = wanted > 2 * m_capacity ? wanted : 2 * m_capacity;
        m_data = static_cast<char *>(resized(m_data, m_capacity));
    }
    return m_data + m_size;
}

Text &Text::append(std::string_view text) {
    if (text.empty())
        return *this;
    std::memcpy(reserve(text.size()), text.data(), text.size());
    m_size += text.size();
    return *this;
}

Text &Text::number(std::uint64_t value) {
    char digits[20];
    std::size_t at = sizeof digits;
    do
        digits[--at] = char('0' + value % 10);
    while (value /= 10);
    return append(std::string_view(digits + at, sizeof digits - at));
}

Text &Text::milliseconds(std::uint64_t microseconds) {
    const unsigned rest = unsigned(microseconds % 1000);
    const char fraction[] = {'.', char('0' + rest / 100), char('0' + rest / 10 % 10), char('0' + rest % 10)};
    return number(microseconds / 1000).append(std::string_view(fraction, sizeof fraction));
}

Text &Text::json(std::string_view text) {
    append('"');
    while (!text.empty()) {
        const std::size_t length = utf8Length(text);
        const unsigned char c = static_cast<unsigned char>(text.front());
        if (length == 0)
            append("\\ufffd");
        else if (c == '"' || c == '\\')
            append('\\').append(char(c));
        else if (c == '\n')
            append("\\n");
        else if (c == '\t')
            append("\\t");
        else if (c < 0x20 || c == 0x7f)
            append("\\u00").append("0123456789abcdef"[c >> 4]).append("0123456789abcdef"[c & 15]);
        else
            append(std::string_view(text.data(), length));
        text.remove_prefix(length ? length : 1);
    }
    return append('"');
}

Text &Text::key(std::string_view name) {
    if (!empty() && m_data[m_size - 1] != '{')
        append(',');
    return json(name).append(':');
}

Text::~Text() {
    ::free(m_data);
}

void Text::removePrefix(std::size_t count) {
    std::memmove(m_data, m_data + count, m_size - count);
    m_size -= count;
}

const char *Text::c_str() {
    *reserve(1) = '\0';
    return m_data;
}

void TextList::add(std::string_view text) {
    if (m_size == m_capacity) {
        m_capacity = m_capacity ? 2 * m_capacity : 16;
        m_items = static_cast<char **>(resized(m_items, m_capacity * sizeof *m_items));
    }
    char *copy = static_cast<char *>(resized(nullptr, text.size() + 1));
    std::memcpy(copy, text.data(), text.size());
    copy[text.size()] = '\0';
    m_items[m_size++] = copy;
}

void TextList::sort(std::size_t from) {
    const auto compare = [](const void *a, const void *b) {
        return std::strcmp(*static_cast<char *const *>(a), *static_cast<char *const *>(b));
    };
    if (from < m_size)
        ::qsort(m_items + from, m_size - from, sizeof *m_items, compare);
}

bool TextList::contains(std::string_view text) const {
    for (std::size_t i = 0; i < m_size; ++i)
        if (text == m_items[i])
            return true;
    return false;
}

void TextList::appendJson(Text &to) const {
    to.append('[');
    for (std::size_t i = 0; i < m_size; ++i)
        to.append(i ? "," : "").json(m_items[i]);
    to.append(']');
}

std::uint64_t now() {
    timespec time;
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::uint64_t(time.tv_sec) * 1000000 + std::uint64_t(time.tv_nsec) / 1000;
}

void writeAll(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count > 0)
            text.remove_prefix(std::size_t(count));
        else if (errno != EINTR)
            ::_exit(1);
    }
}

long wholeNumber(std::string_view text) {
    long value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9' || value > 100000000)
            return -1;
        value = value * 10 + (c - '0');
    }
    return text.empty() ? -1 : value;
}

bool startsWith(std::string_view text, std::string_view prefix) {
    return text.size() >= prefix.size() && std::memcmp(text.data(), prefix.data(), prefix.size()) == 0;
}

bool endsWith(std::string_view text, std::string_view suffix) {
    return text.size() >= suffix.size() &&
           std::memcmp(text.data() + text.size() - suffix.size(), suffix.data(), suffix.size()) == 0;
}

} // namespace slipway::probe
