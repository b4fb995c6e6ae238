// SPDX-License-Identifier: Apache-2.0
//
// Finding a kernel's image in the cache that was shipped beside the program. Files are NAME_HASH.cubin (machine code
// of one capability) and NAME_HASH.o (PTX text), HASH as teenygrad computes it.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sha256.h"

namespace slipway::runtime {

/// The file name's HASH: sha256 of the kernel's id, the capability text (`sm_87`) and, if set, the PTX version.
inline std::string imageKey(std::string_view id, std::string_view capability, std::optional<std::uint32_t> ptxVersion) {
    std::string bytes(id);
    bytes += capability;
    if (ptxVersion)
        for (int shift = 0; shift < 32; shift += 8)
            bytes += char(*ptxVersion >> shift & 0xff);
    return sha256Hex(bytes);
}

/// $TEENYC_PTX_VERSION as a number (82 means 8.2); unset, or not a number (said on stderr), is none.
inline std::optional<std::uint32_t> ptxVersionOfEnvironment() {
    const char *text = std::getenv("TEENYC_PTX_VERSION");
    if (!text || !*text)
        return std::nullopt;
    std::uint32_t value = 0;
    for (const char *at = text; *at; ++at) {
        if (*at < '0' || *at > '9' || value > 99999) {
            std::fprintf(stderr, "slipway: TEENYC_PTX_VERSION is \"%s\", needed a number such as 82; it is ignored\n",
                         text);
            return std::nullopt;
        }
        value = value * 10 + std::uint32_t(*at - '0');
    }
    return value;
}

inline bool isFolder(const std::string &path) {
    struct stat status;
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The package's root: the folder that holds `bin/`, from where the running program lies.
inline std::string packageFolder() {
    std::string path(4096, '\0');
    const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
    path.resize(length > 0 ? std::size_t(length) : 0);
    for (int level = 0; level < 2; ++level)
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    return path;
}

/// `cache/` beside `bin/`, else $TEENYC_CACHE_DIR, else /tmp/teenyc_cache.
inline std::string cacheFolder() {
    const std::string shipped = packageFolder() + "/cache";
    if (isFolder(shipped))
        return shipped;
    const char *named = std::getenv("TEENYC_CACHE_DIR");
    return named && *named ? named : "/tmp/teenyc_cache";
}

/// A file of the cache that may hold the wanted kernel.
struct Image {
    enum class Kind { cubin, ptx };

    Kind kind = Kind::ptx;
    std::string path;
    std::string hash;
    std::string id;         ///< `// meta:id`, empty when the file does not say
    std::string entry;      ///< name of the kernel in the image
    std::string target;     ///< such as sm_90a; empty when unreadable
    long long modified = 0; ///< seconds; of two builds of one kernel the younger is meant; 0 when there is only one
    bool exact = false;     ///< its HASH is the one this device and environment ask for
};

namespace detail {

constexpr std::size_t largestImage = 512u << 20;

/// The first `most` bytes of a file, or all that there are; nothing when it cannot be read. `padding` NULs follow.
inline std::string readFile(const std::string &path, std::size_t most = largestImage, std::size_t padding = 0) {
    std::string bytes(padding, '\0');
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return bytes;
    struct stat status;
    if (::fstat(file, &status) == 0 && status.st_size > 0)
        bytes.resize(std::min(most, std::size_t(status.st_size)) + padding);
    std::size_t length = 0;
    while (length + padding < bytes.size()) {
        const ssize_t count = ::read(file, &bytes[length], bytes.size() - padding - length);
        if (count == 0 || (count < 0 && errno != EINTR))
            break;
        length += count > 0 ? std::size_t(count) : 0;
    }
    ::close(file);
    bytes.resize(length + padding);
    return bytes;
}

/// An image as a driver wants it: PTX must end in NUL, and a truncated cubin must not be read past our memory.
inline std::string readImageFile(const std::string &path) {
    return readFile(path, largestImage, 64);
}

inline std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())))
        text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())))
        text.remove_suffix(1);
    return text;
}

inline bool takePrefix(std::string_view &text, std::string_view prefix) {
    if (text.substr(0, prefix.size()) != prefix)
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

/// The leading characters that can be part of a PTX name.
inline std::string leadingName(std::string_view text) {
    std::size_t end = 0;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '$'))
        ++end;
    return std::string(text.substr(0, end));
}

/// Fills id, entry and target from PTX text: our `// meta:` lines first, the text itself otherwise.
inline void describePtx(Image &image, std::string_view text) {
    std::string firstEntry;
    while (!text.empty() && (image.target.empty() || (image.entry.empty() && firstEntry.empty()))) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (takePrefix(line, "// meta:id="))
            image.id = line;
        else if (takePrefix(line, "// meta:name="))
            image.entry = line;
        else if (image.target.empty() && takePrefix(line, ".target"))
            image.target = leadingName(trimmed(line));
        else if (firstEntry.empty() && (takePrefix(line, ".visible .entry") || takePrefix(line, ".entry")))
            firstEntry = leadingName(trimmed(line));
    }
    if (image.entry.empty())
        image.entry = firstEntry;
}

/// The same from a file. What is wanted stands in its first lines as a rule, so the rest is only read when it does not.
inline void describePtxFile(Image &image, const std::string &path) {
    constexpr std::size_t headSize = 4096;
    const std::string head = readFile(path, headSize);
    const bool isWhole = head.size() < headSize;
    describePtx(image, std::string_view(head).substr(0, isWhole ? head.size() : head.rfind('\n') + 1));
    if (!isWhole && (image.target.empty() || image.entry.empty()))
        describePtx(image, readFile(path));
}

/// The capability a cubin was made for, as `sm_N`, or nothing for another kind of file.
inline std::string cubinTarget(std::string_view bytes) {
    const auto at = [&bytes](std::size_t i) { return unsigned(static_cast<unsigned char>(bytes[i])); };
    if (bytes.size() < 64 ||
        bytes.substr(0, 4) != "\x7f"
                              "ELF" ||
        at(18) != 190)
        return {};
    const unsigned flags = at(48) | at(49) << 8 | at(50) << 16 | at(51) << 24;
    return "sm_" + std::to_string(at(8) >= 8 ? flags >> 8 & 0xff : flags & 0xff);
}

/// The number in `sm_90a`, 0 when there is none.
inline int targetNumber(const std::string &target) {
    int number = 0;
    for (std::size_t i = 3; i < target.size() && std::isdigit(static_cast<unsigned char>(target[i])) && number < 10000;
         ++i)
        number = number * 10 + (target[i] - '0');
    return number;
}

/// Whether PTX for the target runs on the device: sm_N from N on, sm_Na only on N, sm_Nf in its family from N on.
inline bool ptxRunsOn(const std::string &target, int device) {
    int wanted = targetNumber(target);
    const char suffix = target.empty() ? ' ' : target.back();
    if (wanted == 0)
        return false;
    if (suffix == 'a' || suffix == 'f') { // sm_101 became sm_110; the plain form compares as it is written
        wanted = wanted == 101 ? 110 : wanted;
        device = device == 101 ? 110 : device;
    }
    if (suffix == 'a')
        return device == wanted;
    return device >= wanted && (suffix != 'f' || device / 10 == wanted / 10);
}

/// Whether the text is a HASH.
inline bool isHash(std::string_view text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

inline bool keyMatches(const Image &image, int device, std::optional<std::uint32_t> ptxVersion) {
    const std::string plain = "sm_" + std::to_string(device);
    if (image.id.empty())
        return false;
    return image.hash == imageKey(image.id, plain, ptxVersion) ||
           (targetNumber(image.target) == device && image.hash == imageKey(image.id, image.target, ptxVersion));
}

/// Smaller is better: cubin by key, cubin by capability, PTX by key, then PTX by falling target.
inline int rank(const Image &image) {
    if (image.kind == Image::Kind::cubin)
        return image.exact ? 0 : 1;
    return image.exact ? 2 : 10000 - targetNumber(image.target);
}

inline bool isBetter(const Image &a, const Image &b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.modified > b.modified;
}

/// Best first. Files are only asked for their age where it decides.
inline void sortByPreference(std::vector<Image> &images) {
    for (Image &image : images) {
        const auto isAlike = [&image](const Image &other) { return rank(other) == rank(image); };
        struct stat status;
        if (std::count_if(images.begin(), images.end(), isAlike) > 1 && ::stat(image.path.c_str(), &status) == 0)
            image.modified = status.st_mtime;
    }
    std::stable_sort(images.begin(), images.end(), isBetter);
}

} // namespace detail

/// What the cache holds for one kernel: the images that can run, best first, and every file seen (for messages).
struct Lookup {
    std::vector<Image> images;
    std::vector<std::string> unusable; ///< files of this kernel for other devices, with their target
    std::vector<std::string> names;    ///< kernels the folder does hold; only told when there is no image
    bool folderExists = false;
};

/// A folder of images. Its files are listed once, and again when the folder was changed since; what is in them is read
/// at each look-up. Safe to use from several threads.
class Folder {
public:
    explicit Folder(std::string path)
        : m_path(std::move(path)) {}

    const std::string &path() const { return m_path; }

    /// Everything in it for the kernel that a device of that capability (87 for 8.7) can load, best first.
    Lookup lookUp(const std::string &name, int device, std::optional<std::uint32_t> ptxVersion) {
        const std::lock_guard<std::mutex> lock(m_mutex);
        Lookup found;
        found.folderExists = list();
        const auto kernel = m_kernels.find(name);
        Image text;
        if (kernel != m_kernels.end())
            for (const File &file : kernel->second)
                judge(describe(file, name, text), file.file, device, ptxVersion, found);
        detail::sortByPreference(found.images);
        if (found.images.empty())
            found.names = m_names;
        return found;
    }

private:
    /// NAME_HASH.cubin or NAME_HASH.o.
    struct File {
        std::string file;
        std::string hash;
        Image::Kind kind;
    };

    /// Makes the list true again; false when there is no such folder.
    bool list() {
        constexpr long coarsest = 2; // seconds: the coarsest clock of a file system
        struct stat status;
        if (::stat(m_path.c_str(), &status) != 0) {
            m_isListed = false;
            m_kernels.clear();
            m_names.clear();
            return false;
        }
        if (m_isListed && status.st_mtim.tv_sec == m_modified.tv_sec && status.st_mtim.tv_nsec == m_modified.tv_nsec &&
            status.st_ino == m_inode)
            return true;
        // a folder changed just now may change once more without its time showing it
        m_isListed = std::labs(long(std::time(nullptr) - status.st_mtim.tv_sec)) > coarsest;
        m_modified = status.st_mtim;
        m_inode = status.st_ino;
        return readNames();
    }

    bool readNames() {
        m_kernels.clear();
        m_names.clear();
        DIR *dir = ::opendir(m_path.c_str());
        if (!dir) {
            m_isListed = false;
            return false;
        }
        std::vector<std::string> files;
        while (const dirent *entry = ::readdir(dir))
            files.push_back(entry->d_name);
        ::closedir(dir);
        std::sort(files.begin(), files.end());
        for (const std::string &file : files)
            add(file);
        return true;
    }

    void add(const std::string &file) {
        const std::size_t underscore = file.rfind('_');
        if (underscore == std::string::npos || file.size() <= underscore + 65 || file[0] == '.')
            return;
        const std::string name = file.substr(0, underscore);
        if (m_names.empty() || m_names.back() != name)
            m_names.push_back(name);
        const std::string hash = file.substr(underscore + 1, 64);
        const std::string suffix = file.substr(underscore + 65);
        if (detail::isHash(hash) && (suffix == ".cubin" || suffix == ".o"))
            m_kernels[name].push_back({file, hash, suffix == ".o" ? Image::Kind::ptx : Image::Kind::cubin});
    }

    /// What the file says of itself. `text` keeps what its PTX says, for the cubin and the PTX of one HASH.
    Image describe(const File &file, const std::string &name, Image &text) const {
        if (text.hash != file.hash) { // the files of one HASH follow each other
            text = Image();
            text.hash = file.hash;
            detail::describePtxFile(text, m_path + "/" + name + "_" + file.hash + ".o");
            if (text.entry.empty())
                text.entry = name;
        }
        Image image = text;
        image.kind = file.kind;
        image.path = m_path + "/" + file.file;
        if (image.kind == Image::Kind::cubin) // its name, id and entry are those of the PTX beside it
            image.target = detail::cubinTarget(detail::readFile(image.path, 64));
        return image;
    }

    static void judge(Image image, const std::string &file, int device, std::optional<std::uint32_t> ptxVersion,
                      Lookup &found) {
        image.exact = detail::keyMatches(image, device, ptxVersion);
        const bool runs = image.kind == Image::Kind::cubin ? detail::targetNumber(image.target) == device
                                                           : detail::ptxRunsOn(image.target, device);
        if (runs)
            found.images.push_back(std::move(image));
        else
            found.unusable.push_back(file + (image.target.empty() ? " (unreadable)" : " (for " + image.target + ")"));
    }

    std::string m_path;
    std::mutex m_mutex;
    std::map<std::string, std::vector<File>> m_kernels;
    std::vector<std::string> m_names; ///< sorted, also of files that are no images
    timespec m_modified = {};         ///< of the folder when it was listed
    ino_t m_inode = 0;
    bool m_isListed = false;
};

/// The same for a folder that is asked once.
inline Lookup lookUp(const std::string &folder, const std::string &name, int device,
                     std::optional<std::uint32_t> ptxVersion) {
    return Folder(folder).lookUp(name, device, ptxVersion);
}

} // namespace slipway::runtime
