// SPDX-License-Identifier: Apache-2.0
//
// Work folders, and what becomes of those whose process was killed.

#include "core/kernel/workfolder.h"

#include "core/base/text.h"
#include "core/kernel/journal.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

namespace slipway {

namespace {

constexpr const char *ownerFile = "owner";

/// Takes the lock in a folder whose process is gone; -1 = it lives, or nobody can tell.
int lockAbandoned(const fs::path &workFolder) {
    const int descriptor = ::open((workFolder / ownerFile).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        return descriptor;
    ::close(descriptor);
    return -1;
}

/// Everything but the lock, which goes last: without it, nobody could tell that what remains is abandoned.
void removeContents(const fs::path &workFolder) {
    std::error_code error;
    for (fs::directory_iterator at(workFolder, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        if (at->path().filename() != ownerFile)
            fs::remove_all(at->path(), ignored);
    }
}

bool isUntouched(const FileStamp &stamp, const fs::path &cache) {
    if (stamp.file.empty())
        return true;
    const auto now = Contents::entry(cache / stamp.file, true);
    return now && stamp.sameEntry(*now);
}

/// The records of compilations whose images are all still those that were recorded: another run may have made them
/// anew.
std::vector<StoredRecord> stillTrue(std::vector<StoredRecord> records, const fs::path &cache) {
    std::set<std::string> outdated;
    for (const auto &stored : records) {
        if (!isUntouched(stored.image, cache) || !isUntouched(stored.cubin, cache))
            outdated.insert(stored.subject());
    }
    std::erase_if(records, [&](const StoredRecord &stored) { return outdated.contains(stored.subject()); });
    return records;
}

} // namespace

Result<WorkFolder> WorkFolder::in(const fs::path &cache) {
    WorkFolder folder(TRY(ScratchDir::in(cache)));
    const auto lock = folder.path() / ownerFile;
    const auto unlocked = folder.path() / "owner.new"; // under its name only when the lock is held
    folder.m_lock = ::open(unlocked.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (folder.m_lock < 0)
        return fail("cannot write {}: {}", printable(unlocked.string()), std::strerror(errno));
    const bool taken = ::flock(folder.m_lock, LOCK_EX | LOCK_NB) == 0;
    if (taken && ::rename(unlocked.c_str(), lock.c_str()) != 0)
        return fail("cannot write {}: {}", printable(lock.string()), std::strerror(errno));
    return folder;
}

WorkFolder::~WorkFolder() {
    if (m_lock < 0)
        return;
    removeContents(path());
    ::close(m_lock);
}

bool isWorkFolder(const fs::path &directory) {
    const auto name = directory.filename().string();
    std::error_code error;
    return name.starts_with(".slipway-") && name.size() == std::strlen(".slipway-XXXXXX") &&
           fs::is_directory(fs::symlink_status(directory, error));
}

bool hasOwner(const fs::path &workFolder) {
    std::error_code error;
    return fs::exists(workFolder / ownerFile, error);
}

Result<std::vector<fs::path>> takeOverAbandoned(const fs::path &cache, Progress &progress) {
    std::vector<fs::path> removed;
    std::error_code error;
    for (fs::directory_iterator at(cache, error), end; !error && at != end; at.increment(error)) {
        const int lock = isWorkFolder(at->path()) ? lockAbandoned(at->path()) : -1;
        if (lock < 0)
            continue;
        const auto finished = stillTrue(RunJournal::read(at->path()), cache);
        const auto recorded = finished.empty() ? Result<void>() : mergeRecords(cache, finished, progress);
        if (recorded) {
            removeContents(at->path());
            std::error_code ignored;
            fs::remove_all(at->path(), ignored);
            removed.push_back(at->path());
        }
        ::close(lock);
        TRY(recorded);
    }
    std::sort(removed.begin(), removed.end());
    return removed;
}

} // namespace slipway
