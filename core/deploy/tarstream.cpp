// SPDX-License-Identifier: Apache-2.0
//
// A tar written by libarchive into a small buffer, refilled as the channel takes it.

#include "core/deploy/tarstream.h"

#include "core/base/text.h"

#include <archive.h>
#include <archive_entry.h>

#include <cstring>
#include <fstream>

namespace slipway {

struct TarStream::State {
    fs::path directory;
    std::vector<PackagedFile> files;
    std::map<std::string, std::string> texts;
    long time = 0;
    archive *tar = nullptr;
    std::string ready; ///< tar bytes that were not taken yet
    std::size_t taken = 0;
    std::size_t next = 0; ///< index of the next file
    std::ifstream input;
    std::uint64_t left = 0; ///< of the open file
    std::uint64_t content = 0;
    bool closed = false;
    std::string block = std::string(256 * 1024, '\0');

    Result<void> step();
    Result<void> openNext();
    Result<void> copyBlock();
    [[nodiscard]] Error broken(const char *what) const {
        const char *said = archive_error_string(tar);
        return Error{.message = fmt::format("cannot {} the tar: {}", what, said ? said : "unknown error")};
    }
};

namespace {

la_ssize_t collect(archive * /*tar*/, void *state, const void *bytes, size_t count) {
    static_cast<std::string *>(state)->append(static_cast<const char *>(bytes), count);
    return la_ssize_t(count);
}

struct EntryFree {
    void operator()(archive_entry *entry) const { archive_entry_free(entry); }
};

} // namespace

TarStream::TarStream(fs::path directory, std::vector<PackagedFile> files, std::map<std::string, std::string> texts,
                     long time)
    : m_state(std::make_unique<State>()) {
    m_state->directory = std::move(directory);
    m_state->files = std::move(files);
    m_state->texts = std::move(texts);
    m_state->time = time;
    m_state->tar = archive_write_new();
    archive_write_set_format_pax_restricted(m_state->tar); // ustar, with pax headers only for long names and sizes
    archive_write_set_options(m_state->tar, "pax:hdrcharset=BINARY"); // names are bytes, whatever this machine's locale
    archive_write_set_bytes_per_block(m_state->tar, 0);
    archive_write_open(m_state->tar, &m_state->ready, nullptr, collect, nullptr);
}

TarStream::~TarStream() {
    archive_write_free(m_state->tar);
}

std::uint64_t TarStream::contentBytes() const {
    return m_state->content;
}

Result<void> TarStream::State::openNext() {
    const auto &file = files[next++];
    std::unique_ptr<archive_entry, EntryFree> entry(archive_entry_new());
    archive_entry_set_pathname(entry.get(), file.path.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), file.mode);
    archive_entry_set_size(entry.get(), la_int64_t(file.size));
    archive_entry_set_mtime(entry.get(), time, 0);
    if (archive_write_header(tar, entry.get()) != ARCHIVE_OK)
        return std::unexpected(broken("write"));
    const auto text = texts.find(file.path);
    if (text != texts.end()) {
        content += text->second.size();
        if (archive_write_data(tar, text->second.data(), text->second.size()) < 0)
            return std::unexpected(broken("write"));
        return {};
    }
    std::error_code error;
    const auto path = directory / file.path;
    const auto size = fs::file_size(path, error);
    if (error || size != file.size)
        return fail("{} of the package {}", printable(file.path),
                    error ? "cannot be read: " + error.message() : "changed since it was packed");
    input = std::ifstream(path, std::ios::binary);
    left = file.size;
    return {};
}

Result<void> TarStream::State::copyBlock() {
    const auto wanted = std::size_t(std::min<std::uint64_t>(left, block.size()));
    if (!input.read(block.data(), std::streamsize(wanted)))
        return fail("{} of the package became shorter while it was sent", printable(files[next - 1].path));
    if (archive_write_data(tar, block.data(), wanted) != la_ssize_t(wanted))
        return std::unexpected(broken("write"));
    left -= wanted;
    content += wanted;
    return {};
}

Result<void> TarStream::State::step() {
    if (left > 0)
        return copyBlock();
    if (next < files.size())
        return openNext();
    closed = true;
    if (archive_write_close(tar) != ARCHIVE_OK)
        return std::unexpected(broken("finish"));
    return {};
}

Result<std::size_t> TarStream::read(std::span<char> buffer) {
    auto &state = *m_state;
    while (state.taken == state.ready.size() && !state.closed) {
        state.ready.clear();
        state.taken = 0;
        TRY(state.step());
    }
    const auto count = std::min(buffer.size(), state.ready.size() - state.taken);
    std::memcpy(buffer.data(), state.ready.data() + state.taken, count);
    state.taken += count;
    return count;
}

} // namespace slipway
