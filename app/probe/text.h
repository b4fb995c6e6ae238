// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace slipway::probe {

/// A growing text: the probe has no libstdc++ to bring std::string.
class Text {
public:
    Text() = default;
    Text(std::string_view text) { append(text); }
    Text(const Text &other) { append(other); }
    Text &operator=(const Text &) = delete;
    ~Text();

    Text &append(std::string_view text);
    Text &append(char c) { return append(std::string_view(&c, 1)); }
    Text &number(std::uint64_t value);
    /// `12.345` for 12345 microseconds.
    Text &milliseconds(std::uint64_t microseconds);
    /// The text as a JSON string in quotes; bytes that are not UTF-8 become U+FFFD.
    Text &json(std::string_view text);

    /// `"key":`, after a comma unless it is the object's first.
    Text &key(std::string_view name);
    Text &field(std::string_view name, std::string_view text) { return key(name).json(text); }
    Text &field(std::string_view name, std::uint64_t value) { return key(name).number(value); }

    void clear() { m_size = 0; }
    void removePrefix(std::size_t count);
    bool empty() const { return m_size == 0; }
    std::size_t size() const { return m_size; }
    char *data() { return m_data; }
    /// Room for `count` bytes behind the text; they become part of it with grow().
    char *reserve(std::size_t count);
    void grow(std::size_t count) { m_size += count; }
    /// NUL-terminated.
    const char *c_str();
    operator std::string_view() const { return {m_data, m_size}; }

private:
    char *m_data = nullptr;
    std::size_t m_size = 0;
    std::size_t m_capacity = 0;
};

/// NUL-terminated texts that live as long as the process, which is one command long; copies share them.
class TextList {
public:
    void add(std::string_view text);
    void sort(std::size_t from);
    bool contains(std::string_view text) const;
    std::size_t size() const { return m_size; }
    const char *operator[](std::size_t i) const { return m_items[i]; }
    /// `["a","b"]`
    void appendJson(Text &to) const;

private:
    char **m_items = nullptr;
    std::size_t m_size = 0;
    std::size_t m_capacity = 0;
};

/// Microseconds of a clock that only goes forward.
std::uint64_t now();

/// Writes everything to the descriptor; a reader that went away ends the program.
void writeAll(int descriptor, std::string_view text);

/// The number that is the whole text, or -1.
long wholeNumber(std::string_view text);

bool startsWith(std::string_view text, std::string_view prefix);
bool endsWith(std::string_view text, std::string_view suffix);

} // namespace slipway::probe
