// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/cache.h"

#include <map>
#include <mutex>

namespace slipway {

/// A file as it was when its content was read. The content counts; the rest only saves reading an untouched file again.
struct FileStamp {
    fs::path file;
    std::uint64_t size = 0;
    std::int64_t modified = 0; ///< nanoseconds; 0 = too young to be trusted
    std::uint64_t inode = 0;
    std::string sha256;

    /// Same file, untouched as far as its directory entry tells.
    [[nodiscard]] bool sameEntry(const FileStamp &other) const {
        return modified != 0 && size == other.size && modified == other.modified && inode == other.inode;
    }
};

/// A record as `cache/.slipway-kernels.json` holds it: with what is needed to see whether it still holds.
struct StoredRecord {
    KernelRecord record;
    std::vector<FileStamp> inputs; ///< the source first
    FileStamp image;               ///< NAME_HASH.o; `file` is a name in the cache, empty when there is only a cubin
    FileStamp cubin;
    std::string cubinTool; ///< "ptxas 13.0.88"

    /// What one compilation is identified by: source, kind, capability, PTX version. Its outputs replace those before
    /// it.
    [[nodiscard]] std::string subject() const;
};

[[nodiscard]] Json toJson(const StoredRecord &stored);
/// Names of images that are not plain names in the cache are refused.
[[nodiscard]] Result<StoredRecord> storedRecordFromJson(const Json &json);

/// Contents of files by digest, each read at most once in a run. Thread-safe.
class Contents {
public:
    /// Size, time and inode of `file`. Not there: an error. `ours` = only ever replaced by rename, so that its time can
    /// be trusted at once.
    [[nodiscard]] static Result<FileStamp> entry(const fs::path &file, bool ours = false);
    /// The same with the digest; taken from `known` when its entry is untouched.
    [[nodiscard]] Result<FileStamp> stamp(const fs::path &file, const FileStamp *known, Progress &progress);

private:
    std::mutex m_mutex;
    std::map<fs::path, FileStamp> m_stamps;
};

/// All records of a cache; no file: none. A file that cannot be read counts as none too, since everything can be made
/// again: `remark` then says so.
[[nodiscard]] std::vector<StoredRecord> readStoredRecords(const fs::path &cache, std::string *remark = nullptr);

/// What the records file needs on the disk when `more` records are added to it, as a high estimate in bytes.
[[nodiscard]] std::uint64_t roomForRecords(const fs::path &cache, std::size_t more);

/// Puts `made` in the place of the records with the same subject and removes images that nothing refers to any more.
/// Safe when several processes do it at once.
[[nodiscard]] Result<void> mergeRecords(const fs::path &cache, const std::vector<StoredRecord> &made,
                                        Progress &progress);

/// The name of the records file in a cache.
inline constexpr const char *recordsFileName = ".slipway-kernels.json";

} // namespace slipway
