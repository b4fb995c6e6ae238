// SPDX-License-Identifier: Apache-2.0
//
// The kernels in a cubin, from its ELF symbol table; the file is not trusted.

#include "images.h"

#include <cstring>

namespace slipway::probe {

namespace {

constexpr std::size_t headerSize = 64;
constexpr std::size_t sectionSize = 64;
constexpr std::size_t symbolSize = 24;
constexpr std::size_t mostEntries = 4096;

/// A number at an offset that the caller knows to be inside.
template <class Number>
Number at(std::string_view bytes, std::size_t offset) {
    Number value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

/// The bytes of section `index`, empty where the table or the section leaves the file; `header` gets the section's own.
std::string_view section(std::string_view image, std::uint64_t index, std::string_view &header) {
    const auto table = at<std::uint64_t>(image, 40);
    const auto count = at<std::uint16_t>(image, 60);
    if (index >= count || table > image.size() || (image.size() - table) / sectionSize <= index)
        return {};
    header = {image.data() + table + index * sectionSize, sectionSize};
    const auto offset = at<std::uint64_t>(header, 24);
    const auto size = at<std::uint64_t>(header, 32);
    if (offset > image.size() || size > image.size() - offset)
        return {};
    return {image.data() + offset, size};
}

void addEntries(TextList &to, std::string_view symbols, std::string_view names) {
    constexpr unsigned functionType = 2;
    constexpr unsigned entryMark = 0x10; // STO_CUDA_ENTRY
    for (std::size_t i = 0; i < symbols.size() / symbolSize && to.size() < mostEntries; ++i) {
        const std::size_t symbol = i * symbolSize;
        const auto name = at<std::uint32_t>(symbols, symbol);
        const bool isEntry = (at<std::uint8_t>(symbols, symbol + 4) & 0xf) == functionType &&
                             (at<std::uint8_t>(symbols, symbol + 5) & entryMark) != 0;
        if (!isEntry || name >= names.size())
            continue;
        const char *text = names.data() + name;
        if (const void *end = std::memchr(text, 0, names.size() - name))
            to.add({text, std::size_t(static_cast<const char *>(end) - text)});
    }
}

} // namespace

TextList cubinEntries(std::string_view image) {
    TextList entries;
    constexpr std::uint16_t cudaMachine = 190;
    if (image.size() < headerSize || at<std::uint16_t>(image, 18) != cudaMachine ||
        at<std::uint16_t>(image, 58) != sectionSize)
        return entries;
    constexpr std::uint32_t symbolTable = 2;
    for (std::uint64_t i = 0; i < at<std::uint16_t>(image, 60); ++i) {
        std::string_view header;
        const std::string_view symbols = section(image, i, header);
        if (symbols.empty() || at<std::uint32_t>(header, 4) != symbolTable)
            continue;
        std::string_view ignored;
        addEntries(entries, symbols, section(image, at<std::uint32_t>(header, 40), ignored));
    }
    return entries;
}

} // namespace slipway::probe
