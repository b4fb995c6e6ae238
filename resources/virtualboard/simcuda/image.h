// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "basics.h"
#include "board.h"
#include "cuda.h"

namespace simcuda {

/// The kernels of an accepted image. Names are copies that the image owns.
class Image {
public:
    Image() = default;
    Image(const Image &) = delete;
    Image &operator=(const Image &) = delete;
    ~Image() {
        for (char *name : m_entries)
            std::free(name);
    }
    void addEntry(std::string_view name);
    [[nodiscard]] bool has(std::string_view name) const;
    /// A compressed image: its names cannot be read here, so every name counts as present.
    bool anyEntry = false;

private:
    List<char *> m_entries;
};

/// Bytes of the caller whose length is unknown until their own headers were read.
/// Reading them past their end must not end the process, so they are copied through the kernel, which reports a bad address.
class ForeignBytes {
public:
    /// A pointer that the caller passed: what lies behind it is found out on the way.
    explicit ForeignBytes(const void *start) : m_start(static_cast<const unsigned char *>(start)) {}
    /// A file that we read into memory ourselves.
    ForeignBytes(const void *start, std::size_t size) : m_start(static_cast<const unsigned char *>(start)), m_size(size), m_ours(true) {}
    /// Copies [offset, offset + count); false when part of it is not readable.
    bool read(void *to, std::uint64_t offset, std::size_t count) const;
    template <typename T> bool read(T &to, std::uint64_t offset) const { return read(&to, offset, sizeof to); }
    /// The `size` bytes at `offset`, which need not be readable.
    [[nodiscard]] ForeignBytes part(std::uint64_t offset, std::size_t size) const;
    /// A copy of `count` bytes, which the caller frees; null when they are not readable or too many.
    [[nodiscard]] unsigned char *copy(std::uint64_t offset, std::uint64_t count) const;
    /// Text up to its NUL (or to the end of a file).
    [[nodiscard]] std::string_view text() const;
    /// What a pointer inside the image points to.
    [[nodiscard]] static ForeignBytes at(std::uint64_t address);

private:
    const unsigned char *m_start;
    std::size_t m_size = ~std::size_t(0);
    bool m_ours = false;
};

/// Accepts or refuses an image of any kind as the board's driver would.
[[nodiscard]] CUresult acceptImage(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors, Log &info);
/// PTX text. `size` excludes the terminating NUL.
[[nodiscard]] CUresult acceptPtx(const Board &board, std::string_view text, Image &image, Log &errors, Log &info);
/// A cubin (ELF for the CUDA machine).
[[nodiscard]] CUresult acceptCubin(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors);
/// A fat binary: the fitting cubin wins over PTX.
[[nodiscard]] CUresult acceptFatbin(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors, Log &info);

struct TargetRow;
/// Whether PTX for `target` runs on the capability; if not, ptxas's words are logged.
[[nodiscard]] bool ptxTargetRuns(const TargetRow &target, int capability, Log &errors);
/// Whether machine code for `number` (with suffix 'a', 'f' or 0) runs on the capability.
[[nodiscard]] bool cubinRuns(int number, char suffix, int capability);

} // namespace simcuda
