// SPDX-License-Identifier: Apache-2.0
//
// cubins: ELF files for the GPU. The layout was measured on ptxas 13.0's output (ABI 8); that of older toolkits (ABI 7)
// is from LLVM's ELF.h. e_flags hold the SM; whether it is an `a` or `f` target only notes tell.

#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/kernelimage.h"

#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFTypes.h>

#include <algorithm>
#include <set>

namespace slipway {

namespace {

using Elf = llvm::object::ELFFile<llvm::object::ELF64LE>;
using Section = Elf::Elf_Shdr;

constexpr unsigned machineCuda = 190;
constexpr unsigned char entryFlag = 0x10;           // STO_CUDA_ENTRY in st_other
constexpr std::uint32_t acceleratorsFlagV7 = 0x800; // EF_CUDA_ACCELERATORS: sm_90a before ABI 8
constexpr unsigned char compatArchitecture = 0x09;  // record of .nv.compat that is 1 for `a` targets

std::string why(llvm::Error error) {
    return printable(llvm::toString(std::move(error)));
}

class CubinReader {
public:
    explicit CubinReader(std::string_view bytes)
        : m_bytes(bytes) {
        m_image.kind = ImageKind::cubin;
        m_image.bytes = bytes.size();
    }
    KernelImage read();

private:
    void damage(std::string text) {
        if (m_image.damage.size() < 20)
            m_image.damage.push_back(std::move(text));
    }
    void readFlags(const Elf &elf);
    void checkSegments(const Elf &elf);
    void readSections(const Elf &elf);
    void readNotes(std::string_view text);
    void readCompat(std::string_view records);
    void readSymbols(const Elf &elf, const Section &table);

    std::string_view m_bytes;
    KernelImage m_image;
    std::set<std::string_view> m_code; ///< names behind ".text."
    std::uint64_t m_shared = 0;
};

void CubinReader::readFlags(const Elf &elf) {
    const auto &header = elf.getHeader();
    const std::uint32_t flags = header.e_flags;
    const unsigned abi = header.e_ident[llvm::ELF::EI_ABIVERSION];
    Capability target;
    if (abi == 8) {
        target.number = int((flags >> 8) & 0xff);
    } else if (abi == 7) {
        target.number = int(flags & 0xff);
        if (flags & acceleratorsFlagV7)
            target.flavour = Capability::Flavour::architecture;
        m_image.addressSize = flags & 0x400 ? 64 : 32;
    } else {
        damage(fmt::format("its cubin format is version {} (known are 7 and 8)", abi));
        return;
    }
    if (target.number < 10)
        damage(fmt::format("its header names no capability (flags 0x{:08x})", flags));
    else
        m_image.target = target;
}

void CubinReader::checkSegments(const Elf &elf) {
    auto segments = elf.program_headers();
    if (!segments) {
        damage(fmt::format("its segments cannot be read ({}): it is truncated or damaged", why(segments.takeError())));
        return;
    }
    for (const auto &segment : *segments) {
        const std::uint64_t offset = segment.p_offset;
        if (offset > m_bytes.size() || segment.p_filesz > m_bytes.size() - offset) {
            damage("a segment lies behind the end of the file: it is truncated");
            return;
        }
    }
}

/// `.note.nv.tkinfo` holds NUL-separated texts: the tool's name and release, and its command line.
void CubinReader::readNotes(std::string_view text) {
    for (const auto piece : split(text, '\0')) {
        if (const auto at = piece.find("Cuda compilation tools"); at != std::string_view::npos && m_image.tools.empty())
            m_image.tools = printable(piece.substr(at), 100);
        const auto arch = piece.find("-arch ");
        if (arch == std::string_view::npos)
            continue;
        auto name = piece.substr(arch + 6);
        name = name.substr(0, name.find(' '));
        const auto capability = Capability::parse(name);
        if (capability && m_image.target && capability->number == m_image.target->number)
            m_image.target = *capability;
    }
}

/// Records of four bytes: format, id, value.
void CubinReader::readCompat(std::string_view records) {
    ByteReader reader(records);
    while (reader.left() >= 4) {
        (void)reader.take(1);
        const auto id = reader.number<std::uint8_t>();
        const auto value = reader.number<std::uint16_t>();
        if (id == compatArchitecture && value == 1 && m_image.target)
            m_image.target->flavour = Capability::Flavour::architecture;
    }
}

void CubinReader::readSymbols(const Elf &elf, const Section &table) {
    auto symbols = elf.symbols(&table);
    auto strings = elf.getStringTableForSymtab(table);
    if (!symbols || !strings) {
        damage(fmt::format("its symbols cannot be read ({})",
                           why(llvm::joinErrors(symbols.takeError(), strings.takeError()))));
        return;
    }
    std::size_t namesLeft = m_bytes.size(); // symbols that share one long name could ask for more memory than there is
    for (const auto &symbol : *symbols) {
        if (symbol.getType() != llvm::ELF::STT_FUNC || !(symbol.st_other & entryFlag))
            continue;
        auto name = symbol.getName(*strings);
        if (!name) {
            damage(fmt::format("a kernel's name cannot be read ({})", why(name.takeError())));
            continue;
        }
        if (name->size() > namesLeft) {
            damage("the names of its kernels take more room than the file has");
            return;
        }
        namesLeft -= name->size();
        KernelEntry entry{.name = printable(*name, 4096)};
        if (!m_code.contains(*name))
            damage(fmt::format("the kernel {} has no code (needed a section .text.{})", printable(entry.name, 80),
                               printable(entry.name, 80)));
        m_image.entries.push_back(std::move(entry));
    }
}

void CubinReader::readSections(const Elf &elf) {
    auto sections = elf.sections();
    if (!sections) {
        damage(fmt::format("its sections cannot be read ({}): it is truncated or damaged", why(sections.takeError())));
        return;
    }
    const Section *symbols = nullptr;
    for (const auto &section : *sections) {
        auto name = elf.getSectionName(section);
        if (!name) {
            damage(fmt::format("a section's name cannot be read ({})", why(name.takeError())));
            continue;
        }
        if (section.sh_type == llvm::ELF::SHT_SYMTAB)
            symbols = &section;
        if (name->starts_with(".nv.shared."))
            m_shared = std::max<std::uint64_t>(m_shared, section.sh_size);
        if (name->starts_with(".text."))
            m_code.insert(name->substr(6));
        if (section.sh_type == llvm::ELF::SHT_NOBITS)
            continue;
        auto content = elf.getSectionContents(section);
        if (!content) {
            damage(fmt::format("section {} cannot be read ({}): it is truncated or damaged", printable(name->str(), 60),
                               why(content.takeError())));
            continue;
        }
        const std::string_view bytes(reinterpret_cast<const char *>(content->data()), content->size());
        if (*name == ".note.nv.tkinfo")
            readNotes(bytes);
        else if (*name == ".nv.compat")
            readCompat(bytes);
    }
    if (symbols)
        readSymbols(elf, *symbols);
}

KernelImage CubinReader::read() {
    auto elf = Elf::create(llvm::StringRef(m_bytes.data(), m_bytes.size()));
    if (!elf) {
        damage(fmt::format("its header cannot be read ({}): it is truncated", why(elf.takeError())));
        return std::move(m_image);
    }
    const auto &header = elf->getHeader();
    if (header.e_ident[llvm::ELF::EI_CLASS] != llvm::ELF::ELFCLASS64 ||
        header.e_ident[llvm::ELF::EI_DATA] != llvm::ELF::ELFDATA2LSB || header.e_machine != machineCuda) {
        damage("it is an ELF file, but not a 64-bit one for CUDA");
        return std::move(m_image);
    }
    readFlags(*elf);
    readSections(*elf);
    checkSegments(*elf);
    if (m_image.entries.empty() && m_image.damage.empty())
        damage("it has no kernel");
    if (!m_image.entries.empty())
        m_image.sharedBytes = m_shared;
    return std::move(m_image);
}

} // namespace

KernelImage readCubin(std::string_view bytes) {
    return CubinReader(bytes).read();
}

} // namespace slipway
