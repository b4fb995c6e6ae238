// SPDX-License-Identifier: Apache-2.0
//
// Removing what interrupted runs left in a cache, and only when nobody works with it any more.

#include "core/kernel/cache.h"

#include "core/base/text.h"
#include "core/kernel/workfolder.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace slipway {

namespace {

/// Temporary files of ours live for milliseconds, directories for a run: their age counts where no owner is told.
constexpr std::chrono::minutes fileAge{1};
constexpr std::chrono::hours directoryAge{12};

bool olderThan(const fs::path &file, fs::file_time_type::duration age) {
    std::error_code error;
    const auto modified = fs::last_write_time(file, error);
    return !error && modified + age < fs::file_time_type::clock::now();
}

/// "k_HASH.o.tmp.123" of a process that is no more.
bool isDeadTemporary(std::string_view extension) {
    const auto at = extension.find(".tmp.");
    if (at == std::string_view::npos)
        return extension.ends_with(".tmp");
    const auto pid = parseNumber(extension.substr(at + 5));
    return !pid || *pid > 0x7fffffff || *pid == 0 || (::kill(pid_t(*pid), 0) != 0 && errno == ESRCH);
}

/// Nobody holds the lock.
bool isFree(const fs::path &lock) {
    const int descriptor = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    const bool taken = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    ::close(descriptor);
    return taken;
}

/// ".k_HASH.o.Ab12Cd" of writeFileAtomically, ".slipway-Ab12Cd" of a work folder.
bool isOldScratch(const fs::path &file) {
    if (isWorkFolder(file))
        return !hasOwner(file) && olderThan(file, directoryAge);
    const auto name = file.filename().string();
    const auto inner = name.size() > 8 && name.starts_with('.') ? std::string_view(name).substr(1, name.size() - 8)
                                                                : std::string_view();
    return !inner.empty() && name[name.size() - 7] == '.' && !parseCacheFileName(inner).hash.empty() &&
           olderThan(file, fileAge);
}

} // namespace

Result<std::vector<fs::path>> pruneCache(const fs::path &directory, Progress &progress) {
    auto removed = TRY(takeOverAbandoned(directory, progress));
    std::vector<fs::path> files;
    std::set<std::string> images;
    std::error_code error;
    fs::directory_iterator at(directory, error), end;
    for (; !error && at != end; at.increment(error)) {
        files.push_back(at->path());
        if (const auto name = parseCacheFileName(at->path().filename().string());
            name.extension == ".o" || name.extension == ".cubin")
            images.insert(name.name + "_" + name.hash);
    }
    if (error)
        return fail("cannot read the kernel cache {}: {}", printable(directory.string()), error.message());
    std::sort(files.begin(), files.end());
    for (const auto &file : files) {
        TRY(progress.checkpoint());
        const auto name = parseCacheFileName(file.filename().string());
        const bool isLock =
            name.extension == ".lock" && !name.hash.empty() && !images.contains(name.name + "_" + name.hash);
        const bool isTemporary = !name.hash.empty() && isDeadTemporary(name.extension);
        if (!isTemporary && !isOldScratch(file) && !(isLock && isFree(file)))
            continue;
        fs::remove_all(file, error);
        if (error)
            return fail("cannot remove {}: {}", printable(file.string()), error.message());
        removed.push_back(file);
    }
    std::sort(removed.begin(), removed.end());
    return removed;
}

} // namespace slipway
