// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 (FIPS 180-4), small enough to live in a header: the kernel cache's file names are made of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace slipway::runtime {

namespace detail {

inline std::uint32_t rotateRight(std::uint32_t value, unsigned bits) {
    return (value >> bits) | (value << (32 - bits));
}

/// Mixes one 64-byte block into the eight state words.
inline void sha256Block(std::array<std::uint32_t, 8> &state, const unsigned char *block) {
    static constexpr std::uint32_t constants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    std::uint32_t words[64];
    for (unsigned i = 0; i < 16; ++i)
        words[i] = std::uint32_t(block[4 * i]) << 24 | std::uint32_t(block[4 * i + 1]) << 16 |
                   std::uint32_t(block[4 * i + 2]) << 8 | std::uint32_t(block[4 * i + 3]);
    for (unsigned i = 16; i < 64; ++i) {
        const std::uint32_t a = words[i - 15];
        const std::uint32_t b = words[i - 2];
        words[i] = words[i - 16] + (rotateRight(a, 7) ^ rotateRight(a, 18) ^ (a >> 3)) + words[i - 7] +
                   (rotateRight(b, 17) ^ rotateRight(b, 19) ^ (b >> 10));
    }
    std::array<std::uint32_t, 8> s = state;
    for (unsigned i = 0; i < 64; ++i) {
        const std::uint32_t sum1 = rotateRight(s[4], 6) ^ rotateRight(s[4], 11) ^ rotateRight(s[4], 25);
        const std::uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const std::uint32_t first = s[7] + sum1 + choice + constants[i] + words[i];
        const std::uint32_t sum0 = rotateRight(s[0], 2) ^ rotateRight(s[0], 13) ^ rotateRight(s[0], 22);
        const std::uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        s = {first + sum0 + majority, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
    }
    for (unsigned i = 0; i < 8; ++i)
        state[i] += s[i];
}

} // namespace detail

/// Lower-case hex of the SHA-256 of the bytes.
inline std::string sha256Hex(std::string_view bytes) {
    std::array<std::uint32_t, 8> state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::string padded(bytes);
    padded += char(0x80);
    padded.append((120 - padded.size() % 64) % 64, '\0');
    const std::uint64_t bits = std::uint64_t(bytes.size()) * 8;
    for (int shift = 56; shift >= 0; shift -= 8)
        padded += char(bits >> shift & 0xff);
    for (std::size_t at = 0; at < padded.size(); at += 64)
        detail::sha256Block(state, reinterpret_cast<const unsigned char *>(padded.data() + at));
    std::string hex;
    for (const std::uint32_t word : state)
        for (int shift = 28; shift >= 0; shift -= 4)
            hex += "0123456789abcdef"[word >> shift & 0xf];
    return hex;
}

} // namespace slipway::runtime
