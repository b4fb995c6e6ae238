// SPDX-License-Identifier: Apache-2.0
//
// Removes library paths of another machine from an ELF, in place: the entry of the dynamic section goes, or its text is
// replaced by a shorter one. Layout: ELF gABI, chapters 4 and 5.

#include "core/image/elfpatch.h"

#include "core/base/text.h"

#include <cstring>
#include <elf.h>
#include <fmt/ranges.h>
#include <optional>
#include <vector>

namespace slipway {

namespace {

/// A table in a file, untrusted: nothing when it does not lie inside.
template <typename T>
std::optional<std::vector<T>> tableAt(const std::string &bytes, std::uint64_t offset, std::uint64_t count) {
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(T))
        return std::nullopt;
    std::vector<T> table(static_cast<std::size_t>(count));
    if (count > 0)
        std::memcpy(table.data(), bytes.data() + offset, table.size() * sizeof(T));
    return table;
}

/// What of the file is needed to find and change the paths.
struct Dynamic {
    std::uint64_t offset = 0; ///< of the section, in the file
    std::vector<Elf64_Dyn> entries;
    std::uint64_t strings = 0;     ///< offset of its string table
    std::uint64_t stringsSize = 0;
    std::vector<std::uint64_t> names; ///< offsets in the string table that something else refers to
};

std::optional<std::uint64_t> fileOffset(const std::vector<Elf64_Phdr> &segments, std::uint64_t address) {
    for (const auto &segment : segments) {
        if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
            return segment.p_offset + (address - segment.p_vaddr);
    }
    return std::nullopt;
}

/// Names that symbols and needed versions refer to, from their sections.
void collectNames(const std::string &bytes, const Elf64_Ehdr &header, Dynamic &dynamic) {
    const auto sections = tableAt<Elf64_Shdr>(bytes, header.e_shoff, header.e_shnum);
    for (const auto &section : sections.value_or(std::vector<Elf64_Shdr>())) {
        if (section.sh_type == SHT_DYNSYM) {
            for (const auto &symbol : tableAt<Elf64_Sym>(bytes, section.sh_offset, section.sh_size / sizeof(Elf64_Sym)).value_or(std::vector<Elf64_Sym>()))
                dynamic.names.push_back(symbol.st_name);
        } else if (section.sh_type == SHT_GNU_verneed || section.sh_type == SHT_GNU_verdef) {
            // Their records are of 32-bit words, of which some are names: taking every word for one is on the safe side.
            for (const auto word : tableAt<std::uint32_t>(bytes, section.sh_offset, section.sh_size / 4).value_or(std::vector<std::uint32_t>()))
                dynamic.names.push_back(word);
        }
    }
}

Result<Dynamic> readDynamic(const std::string &bytes) {
    const auto header = tableAt<Elf64_Ehdr>(bytes, 0, 1);
    if (!header || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64 || bytes[EI_DATA] != ELFDATA2LSB)
        return fail("it is not a 64-bit little-endian ELF file");
    const auto segments = tableAt<Elf64_Phdr>(bytes, (*header)[0].e_phoff, (*header)[0].e_phnum);
    if (!segments)
        return fail("its table of segments lies behind the end of the file");
    Dynamic dynamic;
    for (const auto &segment : *segments) {
        if (segment.p_type != PT_DYNAMIC)
            continue;
        const auto entries = tableAt<Elf64_Dyn>(bytes, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn));
        if (!entries)
            return fail("its dynamic section lies behind the end of the file");
        dynamic.offset = segment.p_offset;
        dynamic.entries = *entries;
    }
    for (const auto &entry : dynamic.entries) {
        if (entry.d_tag == DT_STRTAB)
            dynamic.strings = fileOffset(*segments, entry.d_un.d_ptr).value_or(0);
        else if (entry.d_tag == DT_STRSZ)
            dynamic.stringsSize = entry.d_un.d_val;
        else if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME)
            dynamic.names.push_back(entry.d_un.d_val);
    }
    if (dynamic.strings == 0 || dynamic.strings > bytes.size() || dynamic.stringsSize > bytes.size() - dynamic.strings)
        return fail("its dynamic names lie behind the end of the file");
    collectNames(bytes, (*header)[0], dynamic);
    return dynamic;
}

/// Writes the shorter text over the old one, unless something else uses its bytes.
Result<void> replaceText(std::string &bytes, const Dynamic &dynamic, std::uint64_t at, std::size_t length, const std::string &text) {
    for (const auto name : dynamic.names) {
        if (name >= at && name <= at + length)
            return fail("another name of the file shares its bytes");
    }
    std::fill_n(bytes.begin() + long(dynamic.strings + at), length, '\0');
    std::copy(text.begin(), text.end(), bytes.begin() + long(dynamic.strings + at));
    return {};
}

} // namespace

Result<std::string> withRpath(std::string bytes, const std::function<bool(std::string_view)> &keep) {
    auto dynamic = TRY(readDynamic(bytes));
    std::vector<Elf64_Dyn> left;
    for (const auto &entry : dynamic.entries) {
        if (entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH) {
            left.push_back(entry);
            continue;
        }
        const auto at = entry.d_un.d_val;
        if (at >= dynamic.stringsSize)
            return fail("its library path lies outside of its names");
        const auto rest = std::string_view(bytes).substr(std::size_t(dynamic.strings + at), std::size_t(dynamic.stringsSize - at));
        const std::string old(rest.substr(0, rest.find('\0')));
        std::vector<std::string_view> kept;
        for (const auto piece : split(old, ':')) {
            if (keep(piece))
                kept.push_back(piece);
        }
        if (kept.empty())
            continue;
        left.push_back(entry);
        const auto text = fmt::format("{}", fmt::join(kept, ":"));
        if (text != old)
            TRY(replaceText(bytes, dynamic, at, old.size(), text));
    }
    left.resize(dynamic.entries.size(), Elf64_Dyn{}); // DT_NULL ends the list
    if (!left.empty())
        std::memcpy(bytes.data() + dynamic.offset, left.data(), left.size() * sizeof(Elf64_Dyn));
    return bytes;
}

} // namespace slipway
