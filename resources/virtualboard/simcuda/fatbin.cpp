// SPDX-License-Identifier: Apache-2.0
//
// Chooses an image from a fat binary as the driver does: machine code that fits, else PTX that can be compiled. Compressed
// PTX is accepted by what its entry says: nothing is unpacked here.
#include "image.h"

#include "table.h"

namespace simcuda {
namespace {

struct FileHeader {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint16_t headerSize;
    std::uint64_t entriesSize;
};

struct Entry {
    std::uint16_t kind; ///< 1 PTX, 2 ELF
    std::uint16_t version;
    std::uint32_t headerSize;
    std::uint64_t dataSize;
    std::uint32_t compressedSize;
    std::uint32_t optionsOffset;
    std::uint16_t minor; ///< of the PTX version
    std::uint16_t major;
    std::uint32_t sm;
    std::uint32_t nameOffset;
    std::uint32_t nameLength;
    std::uint64_t flags;
    std::uint64_t reserved;
    std::uint64_t plainSize;
};
static_assert(sizeof(Entry) == 64);

constexpr std::uint64_t compressedFlags = 0x2000 | 0x8000; ///< LZ4, zstd
constexpr std::uint64_t exactFlag = 0x100000;              ///< an 'a' target
constexpr std::uint64_t familyFlag = 0x200000;             ///< an 'f' target

char suffixOf(const Entry &entry) {
    if (entry.flags & exactFlag)
        return 'a';
    return entry.flags & familyFlag ? 'f' : char(0);
}

struct Choice {
    Entry entry{};
    std::uint64_t at = 0; ///< where its data begins
    bool found = false;
};

bool fits(const Board &board, const Entry &entry) {
    if (entry.sm > 999)
        return false;
    if (entry.kind == 2)
        return cubinRuns(int(entry.sm), suffixOf(entry), board.capability);
    char name[16];
    const char suffix[2] = {suffixOf(entry), 0};
    std::snprintf(name, sizeof name, "sm_%u%s", entry.sm, suffix);
    const TargetRow *target = findTarget(name);
    Log unused;
    return entry.kind == 1 && target && ptxTargetRuns(*target, board.capability, unused);
}

/// Machine code before PTX, then the closest capability.
bool isBetter(const Entry &entry, const Choice &than) {
    if (!than.found || entry.kind != than.entry.kind)
        return !than.found || entry.kind == 2;
    return entry.sm > than.entry.sm;
}

bool choose(const Board &board, const ForeignBytes &bytes, const FileHeader &header, Choice &best) {
    const std::uint64_t end = header.headerSize + header.entriesSize;
    for (std::uint64_t at = header.headerSize; at < end;) {
        Entry entry{};
        if (end - at < sizeof entry || !bytes.read(entry, at) || entry.headerSize < sizeof entry || entry.headerSize > end - at ||
            entry.dataSize > end - at - entry.headerSize)
            return false;
        const std::uint64_t data = at + entry.headerSize;
        unsigned char last = 0;
        if (entry.dataSize && !bytes.read(last, data + entry.dataSize - 1))
            return false;
        if (fits(board, entry) && isBetter(entry, best))
            best = {entry, data, true};
        at = data + entry.dataSize;
    }
    return true;
}

CUresult acceptCompressedPtx(const Board &board, const Entry &entry, Image &image, Log &errors, Log &info) {
    const int version = entry.major * 10 + entry.minor;
    const int most = newestPtx(board.driverCuda);
    if (version > most) {
        errors.line("ptxas application ptx input, line 9; fatal   : Unsupported .version %d.%d; current version is '%d.%d'", entry.major,
                    entry.minor, most / 10, most % 10);
        return unsupportedPtxVersion;
    }
    image.anyEntry = true;
    info.line("info    : simulated by Slipway: compressed PTX was accepted by its header, nothing was compiled");
    return success;
}

} // namespace

CUresult acceptFatbin(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors, Log &info) {
    FileHeader header{};
    constexpr std::uint64_t most = std::uint64_t(1) << 31;
    // A real driver 580 does not return from a fat binary that ends after its header (measured); this one refuses it.
    if (!bytes.read(header, 0) || header.version != 1 || header.headerSize != sizeof header || header.entriesSize == 0 ||
        header.entriesSize > most)
        return invalidImage;
    Choice choice;
    if (!choose(board, bytes, header, choice))
        return invalidImage;
    if (!choice.found)
        return noBinaryForGpu;
    const Entry &entry = choice.entry;
    const bool compressed = entry.flags & compressedFlags;
    if (entry.kind == 1 && compressed)
        return acceptCompressedPtx(board, entry, image, errors, info);
    if (compressed) {
        image.anyEntry = true;
        return success;
    }
    const ForeignBytes data = bytes.part(choice.at, entry.dataSize);
    if (entry.kind == 2)
        return acceptCubin(board, data, image, errors);
    unsigned char *text = data.copy(0, entry.dataSize);
    if (!text)
        return invalidImage;
    const CUresult result = acceptPtx(board, reinterpret_cast<const char *>(text), image, errors, info);
    std::free(text);
    return result;
}

} // namespace simcuda
