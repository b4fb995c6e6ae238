// SPDX-License-Identifier: Apache-2.0
//
// Tells the kinds of image apart by their first bytes, and reads the caller's memory without trusting it.
#include "image.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace simcuda {
namespace {

constexpr std::uint64_t largestCopy = std::uint64_t(256) << 20;
constexpr std::uint32_t fatbinMagic = 0xBA55ED50;
constexpr std::uint32_t wrapperMagic = 0x466243B1;
constexpr std::uint32_t elfMagic = 0x464C457F;

/// The pointer form that compiled programs pass: {magic, version, data, file name}.
struct Wrapper {
    std::uint32_t magic;
    std::uint32_t version;
    std::uint64_t data;
};

/// Copies through a pipe: the kernel answers EFAULT where a load would end the process. The bare system call is used
/// because sanitizers would report the attempt.
bool copyThroughKernel(unsigned char *to, const unsigned char *from, std::size_t count) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    bool ok = true;
    while (ok && count > 0) {
        const std::size_t chunk = count < 4096 ? count : 4096;
        const long written = syscall(SYS_write, ends[1], from, chunk);
        ok = written > 0;
        for (long got = 0; ok && got < written;) {
            const ssize_t n = ::read(ends[0], to + got, std::size_t(written - got));
            ok = n > 0;
            got += n;
        }
        if (ok) {
            to += written;
            from += written;
            count -= std::size_t(written);
        }
    }
    close(ends[0]);
    close(ends[1]);
    return ok;
}

} // namespace

void Image::addEntry(std::string_view name) {
    auto *copy = static_cast<char *>(std::malloc(name.size() + 1));
    if (!copy)
        return;
    std::memcpy(copy, name.data(), name.size());
    copy[name.size()] = 0;
    if (!m_entries.add(copy))
        std::free(copy);
}

bool Image::has(std::string_view name) const {
    for (const char *entry : m_entries) {
        if (name == entry)
            return true;
    }
    return anyEntry && !name.empty();
}

bool ForeignBytes::read(void *to, std::uint64_t offset, std::size_t count) const {
    if (offset > m_size || count > m_size - offset)
        return false;
    if (!m_ours)
        return copyThroughKernel(static_cast<unsigned char *>(to), m_start + offset, count);
    if (count)
        std::memcpy(to, m_start + offset, count);
    return true;
}

ForeignBytes ForeignBytes::part(std::uint64_t offset, std::size_t size) const {
    if (offset > m_size || size > m_size - offset)
        return {m_start, 0};
    ForeignBytes bytes(m_start + offset, size);
    bytes.m_ours = m_ours;
    return bytes;
}

unsigned char *ForeignBytes::copy(std::uint64_t offset, std::uint64_t count) const {
    if (count > largestCopy)
        return nullptr;
    auto *bytes = static_cast<unsigned char *>(std::malloc(count + 1));
    if (bytes && !read(bytes, offset, count)) {
        std::free(bytes);
        return nullptr;
    }
    if (bytes)
        bytes[count] = 0;
    return bytes;
}

std::string_view ForeignBytes::text() const {
    std::size_t length = 0;
    while (length < m_size && m_start[length])
        ++length;
    return {reinterpret_cast<const char *>(m_start), length};
}

ForeignBytes ForeignBytes::at(std::uint64_t address) {
    return ForeignBytes(reinterpret_cast<const void *>(std::uintptr_t(address))); // NOLINT(performance-no-int-to-ptr)
}

CUresult acceptImage(const Board &board, const ForeignBytes &bytes, Image &image, Log &errors, Log &info) {
    std::uint32_t magic = 0;
    if (bytes.read(magic, 0)) {
        Wrapper wrapper{};
        if (magic == wrapperMagic && bytes.read(wrapper, 0))
            return acceptFatbin(board, ForeignBytes::at(wrapper.data), image, errors, info);
        if (magic == fatbinMagic)
            return acceptFatbin(board, bytes, image, errors, info);
        if (magic == elfMagic)
            return acceptCubin(board, bytes, image, errors);
    }
    return acceptPtx(board, bytes.text(), image, errors, info);
}

} // namespace simcuda
