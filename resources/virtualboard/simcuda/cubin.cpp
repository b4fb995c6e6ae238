// SPDX-License-Identifier: Apache-2.0
//
// Accepts or refuses a cubin by the capability in its ELF header, and lists its kernels. Both layouts of e_flags are known:
// ABI 8 (CUDA 13) and ABI 7 (CUDA 12 and older; a driver 580 loads those too, measured).
#include "image.h"

#include "table.h"

#include <elf.h>

namespace simcuda {
namespace {

constexpr unsigned cudaMachine = 190;
constexpr unsigned char entryFlag = 0x10; ///< STO_CUDA_ENTRY in st_other
constexpr char arch[] = "-arch sm_";

struct Sections {
    unsigned char *bytes = nullptr;
    unsigned count = 0;
    ~Sections() { std::free(bytes); }
    [[nodiscard]] Elf64_Shdr at(unsigned i) const {
        Elf64_Shdr header;
        std::memcpy(&header, bytes + i * sizeof header, sizeof header);
        return header;
    }
};

/// One section's bytes, freed at the end of the scope.
struct Contents {
    unsigned char *bytes = nullptr;
    std::size_t size = 0;
    Contents(const ForeignBytes &file, const Elf64_Shdr &header) : bytes(file.copy(header.sh_offset, header.sh_size)) {
        size = bytes ? header.sh_size : 0;
    }
    Contents(const Contents &) = delete;
    Contents &operator=(const Contents &) = delete;
    ~Contents() { std::free(bytes); }
    /// The string at `offset`, which ends at its NUL or at the section's end.
    [[nodiscard]] std::string_view string(std::size_t offset) const {
        if (offset >= size)
            return {};
        const char *text = reinterpret_cast<const char *>(bytes) + offset;
        return {text, strnlen(text, size - offset)};
    }
};

int capabilityOf(const Elf64_Ehdr &header) {
    return header.e_ident[EI_ABIVERSION] >= 8 ? int(header.e_flags >> 8 & 0xff) : int(header.e_flags & 0xff);
}

/// The letter after the number in "-arch sm_90a", which e_flags does not tell; 0 when there is none.
char suffixIn(const Contents &note) {
    for (std::size_t i = 0; i + sizeof arch <= note.size; ++i) {
        if (std::memcmp(note.bytes + i, arch, sizeof arch - 1) != 0)
            continue;
        std::size_t end = i + sizeof arch - 1;
        while (end < note.size && note.bytes[end] >= '0' && note.bytes[end] <= '9')
            ++end;
        if (end < note.size && (note.bytes[end] == 'a' || note.bytes[end] == 'f'))
            return char(note.bytes[end]);
        return 0;
    }
    return 0;
}

void addKernels(const Contents &symbols, const Contents &names, Image &image) {
    for (std::size_t i = 0; i + sizeof(Elf64_Sym) <= symbols.size; i += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        std::memcpy(&symbol, symbols.bytes + i, sizeof symbol);
        if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL && (symbol.st_other & entryFlag))
            image.addEntry(names.string(symbol.st_name));
    }
}

bool readSections(const ForeignBytes &bytes, const Elf64_Ehdr &header, Sections &sections) {
    if (header.e_shentsize != sizeof(Elf64_Shdr) || header.e_shnum == 0 || header.e_shstrndx >= header.e_shnum)
        return false;
    sections.count = header.e_shnum;
    sections.bytes = bytes.copy(header.e_shoff, std::uint64_t(sections.count) * sizeof(Elf64_Shdr));
    // Behind the end of a truncated image lies something else: its name table gives it away.
    return sections.bytes && sections.at(0).sh_type == SHT_NULL && sections.at(header.e_shstrndx).sh_type == SHT_STRTAB;
}

} // namespace

bool cubinRuns(int number, char suffix, int capability) {
    if (number == 101)
        number = 110;
    if (isTegra(number) || isTegra(capability) || suffix == 'a')
        return number == capability;
    return number / 10 == capability / 10 && number <= capability;
}

CUresult acceptCubin(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors) {
    Elf64_Ehdr header{};
    if (!bytes.read(header, 0))
        return invalidImage;
    if (header.e_machine != cudaMachine || header.e_ident[EI_CLASS] != ELFCLASS64) {
        errors.line("error   : Binary format for key='0', ident='' is not recognized");
        return invalidImage;
    }
    Sections sections;
    if (!readSections(bytes, header, sections))
        return invalidImage;
    char suffix = 0;
    for (unsigned i = 0; i < sections.count; ++i) {
        const Elf64_Shdr section = sections.at(i);
        if (section.sh_type == SHT_NOTE) {
            const Contents note(bytes, section);
            const char found = note.bytes ? suffixIn(note) : char(0);
            suffix = found ? found : suffix;
        }
    }
    if (!cubinRuns(capabilityOf(header), suffix, board.capability))
        return noBinaryForGpu;
    for (unsigned i = 0; i < sections.count; ++i) {
        const Elf64_Shdr section = sections.at(i);
        if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.count)
            continue;
        const Contents symbols(bytes, section);
        const Contents names(bytes, sections.at(section.sh_link));
        if (!symbols.bytes || !names.bytes)
            return invalidImage;
        addKernels(symbols, names, image);
    }
    return success;
}

} // namespace simcuda
