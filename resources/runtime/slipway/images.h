// SPDX-License-Identifier: Apache-2.0
//
// Finding a kernel's image in the cache that was shipped beside the program. Files are NAME_HASH.cubin (machine code
// of one capability) and NAME_HASH.o (PTX text), HASH as teenygrad computes it.
#pragma once

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
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
    long long modified = 0; ///< seconds; of two builds of one kernel the younger is meant
    bool exact = false;     ///< its HASH is the one this device and environment ask for
};

namespace detail {

constexpr std::size_t largestImage = 512u << 20;

inline std::string readFile(const std::string &path) {
    std::string bytes;
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file)
        return bytes;
    char part[65536];
    while (const std::size_t count = std::fread(part, 1, sizeof part, file)) {
        bytes.append(part, count);
        if (bytes.size() > largestImage)
            break;
    }
    std::fclose(file);
    return bytes;
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

/// HASH of a file called NAME_HASH + suffix, empty for any other file.
inline std::string hashOf(std::string_view file, const std::string &name, std::string_view suffix) {
    if (file.size() != name.size() + 1 + 64 + suffix.size() || !takePrefix(file, name + "_") ||
        file.substr(64) != suffix)
        return {};
    const std::string hash(file.substr(0, 64));
    return hash.find_first_not_of("0123456789abcdef") == std::string::npos ? hash : std::string();
}

} // namespace detail

/// What the cache holds for one kernel: the images that can run, best first, and every file seen (for messages).
struct Lookup {
    std::vector<Image> images;
    std::vector<std::string> unusable; ///< files of this kernel for other devices, with their target
    std::vector<std::string> names;    ///< kernels the folder does hold
    bool folderExists = false;
};

namespace detail {

inline bool keyMatches(const Image &image, int device, std::optional<std::uint32_t> ptxVersion) {
    const std::string plain = "sm_" + std::to_string(device);
    if (image.id.empty())
        return false;
    return image.hash == imageKey(image.id, plain, ptxVersion) ||
           (targetNumber(image.target) == device && image.hash == imageKey(image.id, image.target, ptxVersion));
}

/// Reads one file of the folder as an image of the kernel; nothing for files of other kernels.
inline std::optional<Image> readImage(const std::string &folder, const std::string &file, const std::string &name) {
    Image image;
    image.path = folder + "/" + file;
    image.hash = hashOf(file, name, ".cubin");
    image.kind = image.hash.empty() ? Image::Kind::ptx : Image::Kind::cubin;
    if (image.hash.empty())
        image.hash = hashOf(file, name, ".o");
    if (image.hash.empty())
        return std::nullopt;
    if (image.kind == Image::Kind::ptx) {
        describePtx(image, readFile(image.path));
    } else {
        describePtx(image, readFile(folder + "/" + name + "_" + image.hash + ".o")); // a cubin carries no meta lines
        image.target = cubinTarget(readFile(image.path));
    }
    if (image.entry.empty())
        image.entry = name;
    struct stat status;
    image.modified = ::stat(image.path.c_str(), &status) == 0 ? status.st_mtime : 0;
    return image;
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

} // namespace detail

/// Everything in the folder for the kernel that a device of that capability (87 for 8.7) can load, best first.
inline Lookup lookUp(const std::string &folder, const std::string &name, int device,
                     std::optional<std::uint32_t> ptxVersion) {
    Lookup found;
    DIR *dir = ::opendir(folder.c_str());
    if (!dir)
        return found;
    found.folderExists = true;
    std::vector<std::string> files;
    while (const dirent *entry = ::readdir(dir))
        files.push_back(entry->d_name);
    ::closedir(dir);
    std::sort(files.begin(), files.end());
    for (const std::string &file : files) {
        const std::size_t underscore = file.rfind('_');
        if (underscore != std::string::npos && file.size() > underscore + 65 && file[0] != '.')
            if (found.names.empty() || found.names.back() != file.substr(0, underscore))
                found.names.push_back(file.substr(0, underscore));
        std::optional<Image> image = detail::readImage(folder, file, name);
        if (!image)
            continue;
        image->exact = detail::keyMatches(*image, device, ptxVersion);
        const bool runs = image->kind == Image::Kind::cubin ? detail::targetNumber(image->target) == device
                                                            : detail::ptxRunsOn(image->target, device);
        if (runs)
            found.images.push_back(std::move(*image));
        else
            found.unusable.push_back(file + (image->target.empty() ? " (unreadable)" : " (for " + image->target + ")"));
    }
    std::stable_sort(found.images.begin(), found.images.end(), detail::isBetter);
    return found;
}

} // namespace slipway::runtime
