// SPDX-License-Identifier: Apache-2.0
//
// The files to load, and the kernels that their text promises.

#include "images.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

namespace slipway::probe {

namespace {

constexpr std::size_t largestImage = 512u << 20;
constexpr std::size_t padding = 64u << 10;
constexpr std::size_t mostEntries = 4096;

bool isImageName(std::string_view name) {
    return name.front() != '.' &&
           (endsWith(name, ".o") || endsWith(name, ".cubin") || endsWith(name, ".ptx") || endsWith(name, ".fatbin"));
}

bool isNameCharacter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           c == '.' || c == '%';
}

/// Walks PTX text word by word; comments and strings are no words.
class Words {
public:
    explicit Words(std::string_view text)
        : m_at(text.data())
        , m_end(text.data() + text.size()) {}

    /// The next word, or the next single other character; empty at the end.
    std::string_view next() {
        skip();
        const char *begin = m_at;
        while (m_at < m_end && isNameCharacter(*m_at))
            ++m_at;
        if (m_at == begin && m_at < m_end)
            ++m_at;
        return {begin, std::size_t(m_at - begin)};
    }

private:
    bool at(const char *two) const { return m_end - m_at >= 2 && m_at[0] == two[0] && m_at[1] == two[1]; }

    void skip() {
        while (m_at < m_end) {
            if (*m_at == ' ' || (*m_at >= '\t' && *m_at <= '\r'))
                ++m_at;
            else if (at("//"))
                skipTo('\n');
            else if (at("/*"))
                skipComment();
            else if (*m_at == '"')
                ++m_at, skipTo('"');
            else
                return;
        }
    }

    void skipTo(char last) {
        while (m_at < m_end && *m_at != last)
            ++m_at;
        m_at += m_at < m_end;
    }

    void skipComment() {
        for (m_at += 2; m_at < m_end && !at("*/"); ++m_at)
            ;
        m_at = m_end - m_at >= 2 ? m_at + 2 : m_end;
    }

    const char *m_at;
    const char *m_end;
};

/// The value of a `// meta:name=` line, which stand at the text's beginning.
std::string_view metaName(std::string_view text) {
    while (startsWith(text, "//")) {
        std::size_t end = text.find('\n');
        end = end == std::string_view::npos ? text.size() : end;
        std::string_view line(text.data(), end);
        while (!line.empty() && (line.back() == '\r' || line.back() == ' '))
            line.remove_suffix(1);
        constexpr std::string_view prefix = "// meta:name=";
        if (startsWith(line, prefix)) {
            line.remove_prefix(prefix.size());
            return line;
        }
        text.remove_prefix(end < text.size() ? end + 1 : end);
    }
    return {};
}

} // namespace

void addImages(TextList &to, const char *path) {
    DIR *dir = ::opendir(path);
    if (!dir) {
        to.add(path);
        return;
    }
    const std::size_t before = to.size();
    while (const dirent *entry = ::readdir(dir))
        if (isImageName(entry->d_name))
            to.add(Text(path).append(endsWith(path, "/") ? "" : "/").append(entry->d_name));
    ::closedir(dir);
    to.sort(before);
}

bool readImage(const char *path, Text &bytes, std::size_t &size, Text &reason) {
    const int file = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t count = file < 0 ? -1 : 1;
    while (count > 0 && bytes.size() <= largestImage) {
        count = ::read(file, bytes.reserve(1u << 20), 1u << 20);
        if (count > 0)
            bytes.grow(std::size_t(count));
    }
    if (count < 0)
        reason.append(std::strerror(errno));
    else if (bytes.size() > largestImage)
        reason.append("larger than 512 MiB");
    if (file >= 0)
        ::close(file);
    size = bytes.size();
    std::memset(bytes.reserve(padding), 0, padding);
    bytes.grow(padding);
    return reason.empty();
}

TextList namedEntries(std::string_view image) {
    TextList entries;
    if (startsWith(image, "\x7f"
                          "ELF"))
        return cubinEntries(image);
    if (startsWith(image, "\x50\xed\x55\xba") || std::memchr(image.data(), 0, image.size())) // a fatbin, or no text
        return entries;
    if (const std::string_view name = metaName(image); !name.empty())
        entries.add(name);
    Words words(image);
    for (std::string_view word = words.next(); !word.empty() && entries.size() < mostEntries; word = words.next())
        if (word == ".entry")
            if (const std::string_view name = words.next(); !name.empty() && !entries.contains(name))
                entries.add(name);
    return entries;
}

} // namespace slipway::probe
