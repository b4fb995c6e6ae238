// SPDX-License-Identifier: Apache-2.0
//
// What matters of an ELF file for running it elsewhere, read through LLVM Object, whose accessors check every offset.

#include "core/base/text.h"
#include "core/image/elfimage.h"

#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFTypes.h>

#include <QFile>

#include <algorithm>
#include <cstring>
#include <map>

namespace slipway {

namespace {

namespace object = llvm::object;

std::string machineName(unsigned machine) {
    switch (machine) {
    case llvm::ELF::EM_AARCH64:
        return "aarch64";
    case llvm::ELF::EM_X86_64:
        return "x86_64";
    case llvm::ELF::EM_386:
        return "i386";
    case llvm::ELF::EM_ARM:
        return "arm";
    case llvm::ELF::EM_RISCV:
        return "riscv";
    case 190:
        return "cuda";
    default:
        return fmt::format("machine {}", machine);
    }
}

template <typename ElfType>
class ElfReader {
    using Elf = object::ELFFile<ElfType>;
    using Section = typename Elf::Elf_Shdr;

public:
    ElfReader(std::string_view bytes, ElfImage &image)
        : m_bytes(bytes)
        , m_image(image) {}
    void read();

private:
    void damage(std::string text) {
        if (m_image.damage.size() < 20)
            m_image.damage.push_back(std::move(text));
    }
    void damage(std::string_view what, llvm::Error error) {
        damage(fmt::format("{} cannot be read ({}): it is truncated or damaged", what,
                           printable(llvm::toString(std::move(error)))));
    }
    void readType(const Elf &elf);
    void readSegments(const Elf &elf);
    void readDynamic(const Elf &elf);
    void addDynamic(std::int64_t tag, std::uint64_t value);
    /// The name at `offset` of a table of names, empty with `damage` when there is none.
    std::string nameAt(std::string_view table, std::uint64_t offset);
    void readSections(const Elf &elf);
    void readVersionNeeds(const Elf &elf, const Section &needs);
    void readVersionDefinitions(const Elf &elf, const Section &definitions);
    void nameSymbols(const Elf &elf);

    std::string_view m_bytes;
    ElfImage &m_image;
    std::string_view m_strings; ///< DT_STRTAB
    /// Bytes of names still to be kept. Entries share names, so a linker's names may take more than their tables; those of a
    /// file made to exhaust us are its largest name, once for each entry.
    std::uint64_t m_namesLeft = 4 * m_bytes.size();
    bool m_isPie = false;
    bool m_isDynamic = false;
    bool m_isDynamicCut = false; ///< a dynamic segment lies behind the end of the file
    const Section *m_symbols = nullptr;
    const Section *m_symbolVersions = nullptr;
    std::map<unsigned, std::size_t> m_versionOfIndex; ///< index in .gnu.version -> place in m_image.versions
};

template <typename ElfType>
void ElfReader<ElfType>::readType(const Elf &elf) {
    switch (elf.getHeader().e_type) {
    case llvm::ELF::ET_REL:
        m_image.type = "relocatable";
        break;
    case llvm::ELF::ET_CORE:
        m_image.type = "core";
        break;
    case llvm::ELF::ET_EXEC:
        m_image.type = "executable";
        break;
    case llvm::ELF::ET_DYN: // libc.so.6 has an interpreter too, so that alone does not make a program
        m_image.type =
            m_isPie || (!m_image.interpreter.empty() && m_image.soname.empty()) ? "executable" : "shared object";
        break;
    default:
        m_image.type = fmt::format("type {}", unsigned(elf.getHeader().e_type));
    }
    m_image.isStatic = m_image.type == "executable" && m_image.interpreter.empty() && m_image.needed.empty();
}

template <typename ElfType>
void ElfReader<ElfType>::readSegments(const Elf &elf) {
    auto segments = elf.program_headers();
    if (!segments)
        return damage("the table of segments", segments.takeError());
    for (const auto &segment : *segments) {
        const std::uint64_t offset = segment.p_offset;
        const std::uint64_t size = segment.p_filesz;
        if (offset > m_bytes.size() || size > m_bytes.size() - offset) {
            damage("a segment lies behind the end of the file: it is truncated");
            m_isDynamicCut = m_isDynamicCut || segment.p_type == llvm::ELF::PT_DYNAMIC;
            continue;
        }
        m_isDynamic = m_isDynamic || segment.p_type == llvm::ELF::PT_DYNAMIC;
        if (segment.p_type == llvm::ELF::PT_INTERP) {
            const auto text = m_bytes.substr(std::size_t(offset), std::size_t(size));
            m_image.interpreter = printable(text.substr(0, text.find('\0')), 4096);
        }
    }
}

template <typename ElfType>
std::string ElfReader<ElfType>::nameAt(std::string_view table, std::uint64_t offset) {
    if (offset >= table.size()) {
        damage("a name lies outside of its table");
        return {};
    }
    const auto most = table.substr(std::size_t(offset), 4096);
    const auto text = most.substr(0, most.find('\0'));
    if (text.size() > m_namesLeft) {
        damage("its names take more room than the file has");
        return {};
    }
    m_namesLeft -= text.size();
    return printable(text, 4096);
}

template <typename ElfType>
void ElfReader<ElfType>::addDynamic(std::int64_t tag, std::uint64_t value) {
    const auto pieces = [](const std::string &text, std::vector<std::string> &into) {
        into.clear(); // of several the loader takes the last
        for (const auto piece : split(text, ':'))
            into.emplace_back(piece);
    };
    switch (tag) {
    case llvm::ELF::DT_NEEDED:
        m_image.needed.push_back(nameAt(m_strings, value));
        break;
    case llvm::ELF::DT_SONAME:
        m_image.soname = nameAt(m_strings, value);
        break;
    case llvm::ELF::DT_RPATH:
        pieces(nameAt(m_strings, value), m_image.rpath);
        break;
    case llvm::ELF::DT_RUNPATH:
        pieces(nameAt(m_strings, value), m_image.runpath);
        break;
    case llvm::ELF::DT_FLAGS_1:
        m_isPie = value & llvm::ELF::DF_1_PIE;
        break;
    default:
        break;
    }
}

template <typename ElfType>
void ElfReader<ElfType>::readDynamic(const Elf &elf) {
    if (!m_isDynamic || m_isDynamicCut) // LLVM does not check whether the segment lies in the file
        return;
    auto entries = elf.dynamicEntries();
    if (!entries)
        return damage("the dynamic section", entries.takeError());
    std::uint64_t size = 0;
    for (const auto &entry : *entries) {
        if (entry.getTag() == llvm::ELF::DT_STRSZ)
            size = entry.getVal();
    }
    for (const auto &entry : *entries) {
        if (entry.getTag() != llvm::ELF::DT_STRTAB)
            continue;
        auto start = elf.toMappedAddr(entry.getPtr());
        if (!start)
            return damage("the table of dynamic names", start.takeError());
        const auto offset = std::uint64_t(reinterpret_cast<const char *>(*start) - m_bytes.data());
        if (offset > m_bytes.size() || size > m_bytes.size() - offset)
            return damage("the table of dynamic names lies behind the end of the file: it is truncated");
        m_strings = m_bytes.substr(std::size_t(offset), std::size_t(size));
    }
    for (const auto &entry : *entries)
        addDynamic(entry.getTag(), entry.getVal());
}

/// Hands each record of one list to `take`: `count` records from `offset` of the section's `bytes`, each of which tells with
/// `next` where the one after it begins. What lies outside of the section, or tells more records than fit into it, is
/// false. `left` is how many records the section has room for: lists that share their bytes, which no linker writes and
/// with which a file of a few kilobytes can tell of billions of records, use it up.
template <typename Record, typename Take>
bool walkRecords(std::string_view bytes, std::uint64_t offset, std::uint64_t count, std::uint64_t &left, auto next, Take take) {
    for (std::uint64_t i = 0; i < count; ++i) {
        if (left == 0 || offset > bytes.size() || bytes.size() - offset < sizeof(Record))
            return false;
        --left;
        Record record;
        std::memcpy(&record, bytes.data() + offset, sizeof record);
        if (!take(record, offset))
            return false;
        offset += record.*next;
    }
    return true;
}

// LLVM has readers of the two tables of versions; they believe every count in the file, and want gigabytes when it lies.

template <typename ElfType>
void ElfReader<ElfType>::readVersionNeeds(const Elf &elf, const Section &needs) {
    using Need = typename Elf::Elf_Verneed;
    using Aux = typename Elf::Elf_Vernaux;
    auto names = elf.getLinkAsStrtab(needs);
    if (!names)
        return damage("the table of needed versions", names.takeError());
    const auto bytes = m_bytes.substr(std::size_t(needs.sh_offset), std::size_t(needs.sh_size));
    std::uint64_t left = bytes.size() / sizeof(Aux);
    const bool isWhole = walkRecords<Need>(bytes, 0, needs.sh_info, left, &Need::vn_next, [&](const Need &need, std::uint64_t at) {
        return walkRecords<Aux>(bytes, at + need.vn_aux, need.vn_cnt, left, &Aux::vna_next, [&](const Aux &aux, std::uint64_t) {
            m_versionOfIndex[aux.vna_other & 0x7fff] = m_image.versions.size();
            m_image.versions.push_back({.library = nameAt(*names, need.vn_file),
                                        .version = nameAt(*names, aux.vna_name),
                                        .symbols = {},
                                        .weak = (aux.vna_flags & llvm::ELF::VER_FLG_WEAK) != 0});
            return true;
        });
    });
    if (!isWhole)
        damage("the table of needed versions ends before its last entry: it is truncated or damaged");
}

template <typename ElfType>
void ElfReader<ElfType>::readVersionDefinitions(const Elf &elf, const Section &definitions) {
    using Definition = typename Elf::Elf_Verdef;
    using Aux = typename Elf::Elf_Verdaux;
    auto names = elf.getLinkAsStrtab(definitions);
    if (!names)
        return damage("the table of offered versions", names.takeError());
    const auto bytes = m_bytes.substr(std::size_t(definitions.sh_offset), std::size_t(definitions.sh_size));
    std::uint64_t left = bytes.size() / sizeof(Definition);
    const bool isWhole =
        walkRecords<Definition>(bytes, 0, definitions.sh_info, left, &Definition::vd_next, [&](const Definition &definition, std::uint64_t at) {
            // The base one is the library's own name; of the others the first name counts, the rest are their parents.
            std::uint64_t one = 1;
            return (definition.vd_flags & llvm::ELF::VER_FLG_BASE) || definition.vd_cnt == 0 ||
                   walkRecords<Aux>(bytes, at + definition.vd_aux, 1, one, &Aux::vda_next, [&](const Aux &aux, std::uint64_t) {
                       m_image.defines.insert(nameAt(*names, aux.vda_name));
                       return true;
                   });
        });
    if (!isWhole)
        damage("the table of offered versions ends before its last entry: it is truncated or damaged");
}

/// Which undefined symbols ask for which version: .gnu.version runs parallel to .dynsym.
template <typename ElfType>
void ElfReader<ElfType>::nameSymbols(const Elf &elf) {
    if (!m_symbols || !m_symbolVersions || m_versionOfIndex.empty())
        return;
    auto indices = elf.template getSectionContentsAsArray<typename Elf::Elf_Versym>(*m_symbolVersions);
    auto symbols = elf.symbols(m_symbols);
    auto strings = elf.getStringTableForSymtab(*m_symbols);
    if (!indices || !symbols || !strings)
        return damage(
            "the versions of symbols",
            llvm::joinErrors(llvm::joinErrors(indices.takeError(), symbols.takeError()), strings.takeError()));
    const auto count = std::min<std::size_t>(indices->size(), symbols->size());
    for (std::size_t i = 0; i < count; ++i) {
        const auto found = m_versionOfIndex.find((*indices)[i].vs_index & 0x7fff);
        if (found == m_versionOfIndex.end() || (*symbols)[i].st_shndx != llvm::ELF::SHN_UNDEF)
            continue;
        m_image.versions[found->second].symbols.push_back(nameAt(*strings, (*symbols)[i].st_name));
    }
}

template <typename ElfType>
void ElfReader<ElfType>::readSections(const Elf &elf) {
    auto sections = elf.sections();
    if (!sections)
        return damage("the table of sections", sections.takeError());
    if (sections->empty() && m_isDynamic)
        damage("it has no section headers, so the library versions that it needs cannot be read");
    for (const auto &section : *sections) {
        const std::uint64_t offset = section.sh_offset;
        if (section.sh_type != llvm::ELF::SHT_NOBITS && section.sh_type != llvm::ELF::SHT_NULL &&
            (offset > m_bytes.size() || section.sh_size > m_bytes.size() - offset)) {
            damage("a section lies behind the end of the file: it is truncated");
            continue;
        }
        if (section.sh_type == llvm::ELF::SHT_GNU_verneed)
            readVersionNeeds(elf, section);
        else if (section.sh_type == llvm::ELF::SHT_GNU_verdef)
            readVersionDefinitions(elf, section);
        else if (section.sh_type == llvm::ELF::SHT_GNU_versym)
            m_symbolVersions = &section;
        else if (section.sh_type == llvm::ELF::SHT_DYNSYM)
            m_symbols = &section;
        auto name = elf.getSectionName(section);
        if (!name)
            return damage("a section's name", name.takeError());
        m_image.hasFatbin = m_image.hasFatbin || *name == ".nv_fatbin" || *name == "__nv_relfatbin";
    }
    nameSymbols(elf);
}

template <typename ElfType>
void ElfReader<ElfType>::read() {
    auto elf = Elf::create(llvm::StringRef(m_bytes.data(), m_bytes.size()));
    if (!elf)
        return damage("its header", elf.takeError());
    m_image.machine = machineName(elf->getHeader().e_machine);
    readSegments(*elf);
    readDynamic(*elf);
    readSections(*elf);
    readType(*elf);
}

} // namespace

bool isElf(std::string_view bytes) {
    return bytes.starts_with("\x7F"
                             "ELF");
}

Result<ElfImage> readElf(std::string_view bytes) {
    if (!isElf(bytes))
        return fail("it is not an ELF file (it begins with \"{}\")", printable(bytes.substr(0, 16)));
    ElfImage image;
    image.bytes = bytes.size();
    if (bytes.size() < 16) {
        image.damage.emplace_back("it ends inside its header: it is truncated");
        return image;
    }
    image.bits = bytes[4] == 1 ? 32 : 64;
    image.littleEndian = bytes[5] != 2;
    if (image.bits == 64 && image.littleEndian)
        ElfReader<object::ELF64LE>(bytes, image).read();
    else if (image.bits == 64)
        ElfReader<object::ELF64BE>(bytes, image).read();
    else if (image.littleEndian)
        ElfReader<object::ELF32LE>(bytes, image).read();
    else
        ElfReader<object::ELF32BE>(bytes, image).read();
    return image;
}

Result<ElfImage> readElfFile(const fs::path &file) {
    // Mapped, not read: CUDA's libraries have gigabytes, of which a few tables matter.
    QFile mapped(QString::fromStdString(file.string()));
    if (!mapped.open(QIODevice::ReadOnly))
        return fail("cannot read {}: {}", file.string(), mapped.errorString().toStdString());
    if (mapped.size() == 0)
        return fail("{}: it is empty (needed an ELF file)", file.string());
    const auto *start = mapped.map(0, mapped.size());
    if (!start)
        return fail("cannot read {}: {}", file.string(), mapped.errorString().toStdString());
    const std::string_view bytes(reinterpret_cast<const char *>(start), std::size_t(mapped.size()));
    return TRY_IN(readElf(bytes), file.string());
}

} // namespace slipway
