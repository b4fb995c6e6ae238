// SPDX-License-Identifier: Apache-2.0
//
// The files of a package: listing, copying, hashing.

#include "core/package/contents.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/image/elfimage.h"
#include "core/package/package.h"

#include <QCryptographicHash>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

namespace slipway {

namespace {

constexpr std::size_t mostFiles = 1'000'000;
constexpr int deepest = 64;

Result<void> listFolder(const fs::path &directory, const std::string &folder, int depth, std::vector<std::string> &paths) {
    std::error_code error;
    if (depth > deepest)
        return fail("{}: folders are nested deeper than {}", printable(folder), deepest);
    for (const auto &entry : fs::directory_iterator(directory / folder, error)) {
        const auto name = entry.path().filename().string();
        const auto path = folder + "/" + name;
        const auto status = entry.symlink_status(error);
        if (status.type() == fs::file_type::directory) {
            TRY(listFolder(directory, path, depth + 1, paths));
            continue;
        }
        if (path == "conf/manifest.json" || (folder == "cache" && isLeftover(name)))
            continue;
        if (status.type() != fs::file_type::regular)
            return fail("{} is no plain file (needed one: a package holds neither links nor special files)", printable(path));
        if (printable(path, path.size() + 1) != path)
            return fail("the name of {} is not printable UTF-8", printable(path));
        paths.push_back(path);
        if (paths.size() > mostFiles)
            return fail("{} holds more than {} files", directory.string(), mostFiles);
    }
    if (error)
        return fail("cannot list {}: {}", (directory / folder).string(), error.message());
    return {};
}

} // namespace

bool isLeftover(std::string_view name) {
    for (const std::string_view ending : {".rs", ".mlir", ".lock"}) {
        if (name.ends_with(ending))
            return true;
    }
    return name.starts_with('.') || name.ends_with(".tmp") || name.find(".tmp.") != std::string_view::npos;
}

unsigned modeByContent(std::string_view head) { return isElf(head) || head.starts_with("#!") ? 0755 : 0644; }

Result<std::vector<std::string>> packagedPaths(const fs::path &directory) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const char *folder : {"bin", "cache", "conf", "data"}) {
        if (fs::exists(fs::symlink_status(directory / folder, error)))
            TRY_IN(listFolder(directory, folder, 0, paths), directory.string());
    }
    std::ranges::sort(paths);
    return paths;
}

Result<std::vector<PackagedFile>> hashedContents(const fs::path &directory, Progress &progress) {
    std::vector<PackagedFile> files;
    const auto paths = TRY(packagedPaths(directory));
    auto step = progress.step("hash the package", paths.size(), Event::Unit::files);
    for (const auto &path : paths) {
        std::error_code error;
        const auto file = directory / path;
        files.push_back({.path = path,
                         .size = fs::file_size(file, error),
                         .mode = modeByContent(TRY(readHead(file, 4))),
                         .sha256 = TRY(sha256OfFile(file, progress))});
        step.advance();
    }
    step.done();
    return files;
}

Result<void> setTime(const fs::path &path, long time) {
    const timespec times[2] = {{.tv_sec = time, .tv_nsec = 0}, {.tv_sec = time, .tv_nsec = 0}};
    if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0)
        return fail("cannot set the time of {}: {}", path.string(), std::strerror(errno));
    return {};
}

Result<PackagedFile> copyInto(const fs::path &directory, const std::string &path, const fs::path &source, long time,
                              Progress &progress) {
    const auto target = directory / path;
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    std::ifstream in(source, std::ios::binary);
    if (!in)
        return fail("cannot read {}: {}", printable(source.string()), std::strerror(errno));
    std::ofstream out(target, std::ios::binary | std::ios::trunc);
    QCryptographicHash hash(QCryptographicHash::Sha256);
    PackagedFile file{.path = path};
    std::string block(std::size_t(1) << 20, '\0');
    while (in) {
        TRY(progress.checkpoint());
        in.read(block.data(), std::streamsize(block.size()));
        const auto count = std::size_t(in.gcount());
        if (file.size == 0)
            file.mode = modeByContent(std::string_view(block).substr(0, count));
        hash.addData(QByteArrayView(block.data(), qsizetype(count)));
        out.write(block.data(), std::streamsize(count));
        file.size += count;
    }
    out.close();
    if (in.bad() || !out)
        return fail("cannot copy {} to {}: {}", printable(source.string()), target.string(), std::strerror(errno));
    file.sha256 = hash.result().toHex().toStdString();
    ::chmod(target.c_str(), file.mode);
    TRY(setTime(target, time));
    return file;
}

} // namespace slipway
