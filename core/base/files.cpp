// SPDX-License-Identifier: Apache-2.0
//
// Reading with a limit and writing by rename.

#include "core/base/files.h"

#include "core/base/text.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

namespace slipway {

namespace {

std::unexpected<Error> cannot(const char *what, const fs::path &file, int error = errno) {
    return fail("cannot {} {}: {}", what, printable(file.string()), std::strerror(error));
}

Result<void> writeAll(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const auto count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail("{}", std::strerror(errno));
        bytes.remove_prefix(std::size_t(count));
    }
    return {};
}

} // namespace

Result<std::string> readHead(const fs::path &file, std::size_t count) {
    std::error_code error;
    const auto type = fs::status(file, error).type();
    if (type == fs::file_type::directory)
        return cannot("read", file, EISDIR);
    if (type == fs::file_type::fifo || type == fs::file_type::socket) // opening one waits for somebody
        return fail("cannot read {}: it is no plain file", printable(file.string()));
    std::ifstream in(file, std::ios::binary);
    if (!in)
        return cannot("read", file);
    std::string bytes;
    constexpr std::size_t block = 1 << 16;
    while (in && bytes.size() < count) {
        const auto before = bytes.size();
        bytes.resize(before + std::min(block, count - before));
        in.read(bytes.data() + before, std::streamsize(bytes.size() - before));
        bytes.resize(before + std::size_t(in.gcount()));
    }
    if (in.bad())
        return cannot("read", file);
    return bytes;
}

Result<std::string> readFile(const fs::path &file, std::uint64_t most) {
    auto bytes = TRY(readHead(file, std::size_t(most) + 1));
    if (bytes.size() > most)
        return fail("{} is larger than the {} bytes that are read of such a file", printable(file.string()), most);
    return bytes;
}

Result<void> writeFileAtomically(const fs::path &file, std::string_view bytes, unsigned mode, Durable durable) {
    std::error_code error;
    if (file.has_parent_path())
        fs::create_directories(file.parent_path(), error);
    std::string temporary = (file.parent_path() / ("." + file.filename().string() + ".XXXXXX")).string();
    const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (descriptor < 0)
        return cannot("write", file);
    auto written = writeAll(descriptor, bytes);
    if (written && ::fchmod(descriptor, mode) != 0)
        written = fail("{}", std::strerror(errno));
    // Without this a power cut could leave the new name with no content.
    if (written && durable == Durable::yes && ::fsync(descriptor) != 0)
        written = fail("{}", std::strerror(errno));
    ::close(descriptor);
    if (written && ::rename(temporary.c_str(), file.c_str()) != 0)
        written = fail("{}", std::strerror(errno));
    if (!written) {
        ::unlink(temporary.c_str());
        return std::unexpected(std::move(written).error().in(fmt::format("cannot write {}", printable(file.string()))));
    }
    return {};
}

bool isInsidePath(std::string_view relative) {
    if (relative.empty() || relative.front() == '/' || relative.find('\0') != std::string_view::npos)
        return false;
    for (const auto part : split(relative, '/')) {
        if (part.empty() || part == "." || part == "..")
            return false;
    }
    return true;
}

Result<ScratchDir> ScratchDir::in(const fs::path &parent) {
    std::error_code error;
    fs::create_directories(parent, error);
    std::string path = (parent / ".slipway-XXXXXX").string();
    if (!::mkdtemp(path.data()))
        return cannot("make a directory in", parent);
    return ScratchDir(path);
}

ScratchDir::~ScratchDir() {
    std::error_code ignored;
    if (!m_path.empty())
        fs::remove_all(m_path, ignored);
}

Result<void> ScratchDir::commit(const fs::path &destination) {
    std::error_code error;
    ::chmod(m_path.c_str(), 0755); // mkdtemp makes it private
    // rename cannot replace a directory that holds something: move the old one aside, into what is removed with us.
    const fs::path aside = destination.parent_path() / (m_path.filename().string() + ".old");
    const bool replaces = fs::exists(fs::symlink_status(destination, error));
    if (replaces && ::rename(destination.c_str(), aside.c_str()) != 0)
        return cannot("replace", destination);
    if (::rename(m_path.c_str(), destination.c_str()) != 0) {
        const int why = errno;
        if (replaces)
            ::rename(aside.c_str(), destination.c_str());
        return cannot("write", destination, why);
    }
    m_path.clear();
    fs::remove_all(aside, error);
    return {};
}

} // namespace slipway
