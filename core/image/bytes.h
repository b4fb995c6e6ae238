// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>

namespace slipway {

/// Reads little-endian numbers from untrusted bytes, each with its bounds checked. After a failed read everything
/// fails.
class ByteReader {
public:
    explicit ByteReader(std::string_view bytes)
        : m_bytes(bytes) {}

    /// The next number, or nothing when the bytes end before it.
    template <typename T>
    [[nodiscard]] std::optional<T> number() {
        static_assert(std::is_unsigned_v<T>);
        const auto piece = take(sizeof(T));
        if (!piece)
            return std::nullopt;
        T value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i)
            value = T(value | T(T(static_cast<unsigned char>((*piece)[i])) << (8 * i)));
        return value;
    }
    /// The next `count` bytes, or nothing when there are fewer.
    [[nodiscard]] std::optional<std::string_view> take(std::uint64_t count) {
        if (count > m_bytes.size() - m_at) {
            m_at = m_bytes.size();
            return std::nullopt;
        }
        const auto piece = m_bytes.substr(m_at, std::size_t(count));
        m_at += std::size_t(count);
        return piece;
    }
    [[nodiscard]] std::size_t position() const { return m_at; }
    [[nodiscard]] std::size_t left() const { return m_bytes.size() - m_at; }

private:
    std::string_view m_bytes;
    std::size_t m_at = 0;
};

} // namespace slipway
