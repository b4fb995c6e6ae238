// SPDX-License-Identifier: Apache-2.0
//
// Fat binaries: PTX and cubins for several capabilities in one container, as nvcc and clang put them into programs. The
// layout was measured on nvcc 13.0's output. PTX is compressed there by default (zstd; LZ4 before), cubins on request.

#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/kernelimage.h"

#include <llvm/Object/ELF.h>
#include <llvm/Object/ELFTypes.h>
#include <lz4.h>
#include <zstd.h>

#include <QFile>

#include <algorithm>
#include <functional>
#include <set>

namespace slipway {

namespace {

constexpr std::uint32_t magic = 0xBA55ED50;
constexpr std::uint64_t mostBytes = std::uint64_t(64) << 20;       // of one decompressed member
constexpr std::uint64_t mostAltogether = std::uint64_t(256) << 20; // of all of them
constexpr std::size_t mostMembers = 4096;

/// The fixed part of a member's header.
struct Member {
    std::uint16_t kind = 0; ///< 1 PTX, 2 cubin, others (LTO IR, …) are not read
    std::uint32_t headerSize = 0;
    std::uint64_t dataSize = 0; ///< padded to 8
    std::uint32_t compressedSize = 0;
    std::uint32_t sm = 0;
    std::uint64_t flags = 0;
    std::uint64_t plainSize = 0;
};

constexpr std::uint64_t flagLz4 = 0x2000, flagZstd = 0x8000, flagArchitecture = 0x100000, flagFamily = 0x200000;

std::optional<Member> readMember(std::string_view bytes) {
    ByteReader reader(bytes.substr(0, std::min<std::size_t>(bytes.size(), 0x40)));
    if (bytes.size() < 0x40)
        return std::nullopt;
    Member m;
    m.kind = *reader.number<std::uint16_t>();
    (void)reader.take(2); // version
    m.headerSize = *reader.number<std::uint32_t>();
    m.dataSize = *reader.number<std::uint64_t>();
    m.compressedSize = *reader.number<std::uint32_t>();
    (void)reader.take(4 + 2 + 2); // offset of options, minor, major
    m.sm = *reader.number<std::uint32_t>();
    (void)reader.take(4 + 4); // name
    m.flags = *reader.number<std::uint64_t>();
    (void)reader.take(8);
    m.plainSize = *reader.number<std::uint64_t>();
    return m;
}

Result<std::string> decompress(std::string_view packed, const Member &member) {
    if (member.plainSize == 0 || member.plainSize > mostBytes)
        return fail("it says that it unpacks to {} bytes (the most read here are {})", member.plainSize, mostBytes);
    if (member.flags & flagLz4 && member.plainSize / 256 > packed.size()) // LZ4 packs at most 255 to 1
        return fail("it says that {} bytes unpack to {}, which LZ4 cannot", packed.size(), member.plainSize);
    std::string plain(std::size_t(member.plainSize), '\0');
    if (member.flags & flagZstd) {
        const auto size = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
        if (ZSTD_isError(size))
            return fail("zstd cannot unpack it ({})", ZSTD_getErrorName(size));
        plain.resize(size);
        return plain;
    }
    const int size = LZ4_decompress_safe(packed.data(), plain.data(), int(packed.size()), int(plain.size()));
    if (size < 0)
        return fail("LZ4 cannot unpack it");
    plain.resize(std::size_t(size));
    return plain;
}

class FatbinReader {
public:
    /// `unpacked` = where the members go with their bytes, if they are wanted.
    explicit FatbinReader(std::string_view bytes, std::vector<FatbinMember> *unpacked = nullptr)
        : m_bytes(bytes)
        , m_members(unpacked) {
        m_image.kind = ImageKind::fatbin;
    }
    KernelImage read();

private:
    void damage(std::string text) {
        if (m_image.damage.size() < 20)
            m_image.damage.push_back(std::move(text));
    }
    void readMembers(std::string_view area);
    void addMember(const Member &member, std::string_view data);
    void addImage(KernelImage image, const Member &member, std::string_view bytes);

    std::string_view m_bytes;
    std::vector<FatbinMember> *m_members;
    KernelImage m_image;
    std::set<std::string> m_names; ///< of m_image.entries
    std::uint64_t m_unpacked = 0;
};

void FatbinReader::addImage(KernelImage image, const Member &member, std::string_view bytes) {
    if (!image.target && member.sm >= 10 && member.sm < 1000)
        image.target = Capability{int(member.sm)};
    if (image.target && image.target->flavour == Capability::Flavour::baseline) {
        if (member.flags & flagArchitecture)
            image.target->flavour = Capability::Flavour::architecture;
        else if (member.flags & flagFamily)
            image.target->flavour = Capability::Flavour::family;
    }
    for (const auto &text : image.damage)
        damage(fmt::format("member {} ({} for sm_{}): {}", m_image.members.size() + 1, imageKindName(image.kind),
                           member.sm, text));
    for (const auto &entry : image.entries) {
        if (m_names.insert(entry.name).second)
            m_image.entries.push_back(entry);
    }
    if (m_members) {
        if (member.kind == 1) // text is padded with zeros
            bytes = bytes.substr(0, bytes.find_last_not_of('\0') + 1);
        m_members->push_back({.image = image, .bytes = std::string(bytes)});
    }
    m_image.members.push_back(std::move(image));
}

void FatbinReader::addMember(const Member &member, std::string_view data) {
    if (member.kind != 1 && member.kind != 2)
        return;
    const auto read = member.kind == 1 ? readPtx : readCubin;
    if (!(member.flags & (flagLz4 | flagZstd)))
        return addImage(read(data), member, data);
    if (member.compressedSize > data.size())
        return damage(fmt::format("member {} says that it has {} bytes (there are {})", m_image.members.size() + 1,
                                  member.compressedSize, data.size()));
    m_unpacked += std::min(member.plainSize, mostBytes);
    if (m_unpacked > mostAltogether)
        return damage(fmt::format("its members unpack to more than {} bytes", mostAltogether));
    const auto plain = decompress(data.substr(0, member.compressedSize), member);
    if (!plain)
        return damage(
            fmt::format("member {} for sm_{}: {}", m_image.members.size() + 1, member.sm, plain.error().message));
    addImage(read(*plain), member, *plain);
}

void FatbinReader::readMembers(std::string_view area) {
    for (std::size_t count = 0; !area.empty(); ++count) {
        if (count == mostMembers)
            return damage(fmt::format("it has more than {} members", mostMembers));
        const auto member = readMember(area);
        if (!member || member->headerSize < 0x40 || member->headerSize > area.size())
            return damage(fmt::format("the header of member {} is damaged or cut off", count + 1));
        const auto behind = area.substr(member->headerSize);
        if (member->dataSize > behind.size())
            return damage(fmt::format("member {} has {} bytes, but says {}: it is truncated", count + 1, behind.size(),
                                      member->dataSize));
        addMember(*member, behind.substr(0, std::size_t(member->dataSize)));
        area = behind.substr(std::size_t(member->dataSize));
    }
}

KernelImage FatbinReader::read() {
    ByteReader reader(m_bytes);
    const auto mark = reader.number<std::uint32_t>();
    (void)reader.take(2); // version
    const auto headerSize = reader.number<std::uint16_t>();
    const auto size = reader.number<std::uint64_t>();
    m_image.bytes = m_bytes.size();
    if (mark != magic || !size || !headerSize || *headerSize < 16 || *headerSize > m_bytes.size()) {
        damage("it ends inside its header: it is truncated");
        return std::move(m_image);
    }
    const auto behind = m_bytes.substr(*headerSize);
    if (*size > behind.size())
        damage(fmt::format("it has {} bytes, but says {}: it is truncated", behind.size(), *size));
    else
        m_image.bytes = *headerSize + *size;
    readMembers(behind.substr(0, std::size_t(std::min<std::uint64_t>(*size, behind.size()))));
    if (m_image.members.empty() && m_image.damage.empty())
        damage("it holds no PTX and no cubin");
    return std::move(m_image);
}

/// Fat binaries lie one behind the other, padded with zeros to 8 bytes. `use` is told where each begins, and reads it.
void readSection(std::string_view bytes, const std::function<KernelImage(std::string_view)> &use) {
    for (std::size_t count = 0; count < mostMembers; ++count) {
        const auto start = bytes.find_first_not_of('\0');
        if (start == std::string_view::npos)
            return;
        bytes.remove_prefix(start / 8 * 8);
        const auto image = use(bytes);
        if (ByteReader(bytes).number<std::uint32_t>() != magic || image.bytes >= bytes.size())
            return;
        bytes.remove_prefix(std::size_t(image.bytes));
    }
}

void readSections(std::string_view bytes, const std::function<KernelImage(std::string_view)> &use) {
    auto elf = llvm::object::ELFFile<llvm::object::ELF64LE>::create(llvm::StringRef(bytes.data(), bytes.size()));
    if (!elf) {
        llvm::consumeError(elf.takeError());
        return;
    }
    auto sections = elf->sections();
    if (!sections) {
        llvm::consumeError(sections.takeError());
        return;
    }
    for (const auto &section : *sections) {
        auto name = elf->getSectionName(section);
        auto content = elf->getSectionContents(section);
        if (name && content && (*name == ".nv_fatbin" || *name == "__nv_relfatbin"))
            readSection({reinterpret_cast<const char *>(content->data()), content->size()}, use);
        llvm::consumeError(name.takeError());
        llvm::consumeError(content.takeError());
    }
}

} // namespace

KernelImage readFatbin(std::string_view bytes) {
    return FatbinReader(bytes).read();
}

std::vector<KernelImage> fatbinsInElf(std::string_view bytes) {
    std::vector<KernelImage> found;
    readSections(bytes, [&found](std::string_view fatbin) { return found.emplace_back(readFatbin(fatbin)); });
    return found;
}

std::vector<std::vector<FatbinMember>> unpackFatbins(std::string_view bytes) {
    std::vector<std::vector<FatbinMember>> found;
    std::uint64_t unpacked = 0;
    const auto unpack = [&](std::string_view fatbin) {
        if (unpacked > mostAltogether)
            return readFatbin(fatbin);
        auto &members = found.emplace_back();
        auto image = FatbinReader(fatbin, &members).read();
        for (const auto &member : members)
            unpacked += member.bytes.size();
        return image;
    };
    if (ByteReader(bytes).number<std::uint32_t>() == magic)
        (void)unpack(bytes);
    else
        readSections(bytes, unpack);
    return found;
}

Result<std::vector<KernelImage>> fatbinsInElfFile(const fs::path &file) {
    QFile mapped(QString::fromStdString(file.string()));
    if (!mapped.open(QIODevice::ReadOnly))
        return fail("cannot read {}: {}", file.string(), mapped.errorString().toStdString());
    const auto *start = mapped.size() > 0 ? mapped.map(0, mapped.size()) : nullptr;
    if (!start)
        return fail("cannot read {}: {}", file.string(), mapped.errorString().toStdString());
    return fatbinsInElf({reinterpret_cast<const char *>(start), std::size_t(mapped.size())});
}

} // namespace slipway
