// SPDX-License-Identifier: Apache-2.0
//
// The records file of a cache. It is only ever replaced as a whole, under a lock, by whoever compiled something.

#include "core/kernel/records.h"

#include "core/base/digest.h"
#include "core/base/text.h"

#include <QLockFile>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>
#include <sys/stat.h>

namespace slipway {

namespace {

constexpr int formatVersion = 1;
constexpr std::string_view what = recordsFileName;

/// A file changed this short ago may change once more without its time showing it.
constexpr std::int64_t youngNanoseconds = 100'000'000;

Json toJson(const FileStamp &stamp) {
    return {{"file", stamp.file.string()},
            {"size", stamp.size},
            {"mtime", stamp.modified},
            {"inode", stamp.inode},
            {"sha256", stamp.sha256}};
}

Result<FileStamp> fileStampFromJson(const Json &json) {
    FileStamp stamp;
    stamp.file = TRY(required<std::string>(json, "file", what));
    stamp.size = TRY(required<std::uint64_t>(json, "size", what));
    stamp.modified = std::int64_t(TRY(required<std::uint64_t>(json, "mtime", what)));
    stamp.inode = TRY(required<std::uint64_t>(json, "inode", what));
    stamp.sha256 = TRY(required<std::string>(json, "sha256", what));
    return stamp;
}

Result<std::vector<StoredRecord>> load(const fs::path &cache) {
    std::vector<StoredRecord> all;
    std::error_code error;
    if (!fs::exists(cache / recordsFileName, error))
        return all;
    const auto json = TRY(readJsonFile(cache / recordsFileName));
    if (TRY(required<int>(json, "format", what)) != formatVersion)
        return fail("{}: format {} is not known (needed {})", what, json["format"].dump(), formatVersion);
    const auto kernels = json.find("kernels");
    if (kernels == json.end() || !kernels->is_array())
        return fail("{}: \"kernels\" is missing (needed a list)", what);
    for (const auto &kernel : *kernels)
        all.push_back(TRY(storedRecordFromJson(kernel)));
    return all;
}

/// Files of `gone` that no record in `kept` names.
void removeUnreferenced(const fs::path &cache, const std::vector<StoredRecord> &gone,
                        const std::vector<StoredRecord> &kept) {
    std::set<fs::path> used;
    for (const auto &stored : kept) {
        used.insert(stored.image.file);
        used.insert(stored.cubin.file);
    }
    std::error_code ignored;
    for (const auto &stored : gone) {
        for (const auto *stamp : {&stored.image, &stored.cubin}) {
            if (!stamp->file.empty() && !used.contains(stamp->file))
                fs::remove(cache / stamp->file, ignored);
        }
    }
}

} // namespace

std::string StoredRecord::subject() const {
    return fmt::format("{}\n{}\n{}\n{}", record.kind, record.source, record.target ? record.target->sm() : "",
                       record.ptx ? record.ptx->code() : 0);
}

Json toJson(const StoredRecord &stored) {
    auto json = slipway::toJson(stored.record);
    auto inputs = Json::array();
    for (const auto &input : stored.inputs)
        inputs.push_back(toJson(input));
    json["inputs"] = std::move(inputs);
    if (!stored.image.file.empty())
        json["image"] = toJson(stored.image);
    if (!stored.cubin.file.empty()) {
        json["cubin"] = toJson(stored.cubin);
        json["cubinTool"] = stored.cubinTool;
    }
    return json;
}

Result<StoredRecord> storedRecordFromJson(const Json &json) {
    StoredRecord stored;
    stored.record = TRY(kernelRecordFromJson(json, what));
    if (const auto inputs = json.find("inputs"); inputs != json.end() && inputs->is_array()) {
        for (const auto &input : *inputs)
            stored.inputs.push_back(TRY(fileStampFromJson(input)));
    }
    if (const auto image = json.find("image"); image != json.end())
        stored.image = TRY(fileStampFromJson(*image));
    if (const auto cubin = json.find("cubin"); cubin != json.end())
        stored.cubin = TRY(fileStampFromJson(*cubin));
    stored.cubinTool = TRY(member<std::string>(json, "cubinTool", {}, what));
    // these names are joined to the cache's directory, also to remove files
    for (const auto *stamp : {&stored.image, &stored.cubin}) {
        if (!stamp->file.empty() && (!isInsidePath(stamp->file.string()) || stamp->file.has_parent_path()))
            return fail("{}: \"{}\" is not the name of a file in the cache", what, printable(stamp->file.string()));
    }
    return stored;
}

Result<FileStamp> Contents::entry(const fs::path &file, bool ours) {
    struct stat status;
    if (::stat(file.c_str(), &status) != 0)
        return fail("cannot read {}: {}", printable(file.string()), std::strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail("{} is not a file", printable(file.string()));
    const auto modified = std::int64_t(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec;
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    return FileStamp{.file = file,
                     .size = std::uint64_t(status.st_size),
                     .modified = modified > 0 && (ours || modified < now - youngNanoseconds) ? modified : 0,
                     .inode = std::uint64_t(status.st_ino),
                     .sha256 = {}};
}

Result<FileStamp> Contents::stamp(const fs::path &file, const FileStamp *known, Progress &progress) {
    {
        const std::lock_guard lock(m_mutex);
        if (const auto at = m_stamps.find(file); at != m_stamps.end())
            return at->second;
    }
    auto stamp = TRY(entry(file));
    if (known && known->sameEntry(stamp) && !known->sha256.empty())
        stamp.sha256 = known->sha256;
    else
        stamp.sha256 = TRY(sha256OfFile(file, progress));
    const std::lock_guard lock(m_mutex);
    m_stamps[file] = stamp;
    return stamp;
}

std::vector<StoredRecord> readStoredRecords(const fs::path &cache, std::string *remark) {
    auto all = load(cache);
    if (all)
        return *std::move(all);
    if (remark)
        *remark = fmt::format("{}: what is in the cache is made again", all.error().message);
    return {};
}

std::uint64_t roomForRecords(const fs::path &cache, std::size_t more) {
    constexpr std::uint64_t each = 3000;      // some 1500 bytes with one input; kernels with many headers take more
    constexpr std::uint64_t otherwise = 8192; // the lock, and what rounding up to blocks takes
    std::error_code error;
    const auto now = fs::file_size(cache / recordsFileName, error);
    return (error ? 0 : std::uint64_t(now)) + more * each + otherwise;
}

Result<void> mergeRecords(const fs::path &cache, const std::vector<StoredRecord> &made, Progress &progress) {
    QLockFile lock(QString::fromStdString((cache / ".slipway-kernels.lock").string()));
    while (!lock.tryLock(100)) {
        if (lock.error() != QLockFile::LockFailedError)
            return fail("cannot write {}: no permission, or no room", printable((cache / recordsFileName).string()));
        TRY(progress.checkpoint());
    }
    std::set<std::string> subjects;
    for (const auto &stored : made)
        subjects.insert(stored.subject());
    std::map<fs::path, std::string> written; // an image of another subject under the same name is no more
    for (const auto &stored : made) {
        if (!stored.image.file.empty())
            written[stored.image.file] = stored.image.sha256;
    }
    std::vector<StoredRecord> kept, gone;
    for (auto &stored : readStoredRecords(cache)) {
        const auto same = written.find(stored.image.file);
        const bool isReplaced = same != written.end() && same->second != stored.image.sha256;
        (isReplaced || subjects.contains(stored.subject()) ? gone : kept).push_back(std::move(stored));
    }
    kept.insert(kept.end(), made.begin(), made.end());
    auto kernels = Json::array();
    for (const auto &stored : kept)
        kernels.push_back(toJson(stored));
    TRY(writeJsonFile(cache / recordsFileName, {{"format", formatVersion}, {"kernels", std::move(kernels)}}));
    removeUnreferenced(cache, gone, kept);
    return {};
}

Result<std::vector<KernelRecord>> readKernelRecords(const fs::path &cacheDirectory) {
    std::vector<KernelRecord> records;
    for (auto &stored : TRY(load(cacheDirectory)))
        records.push_back(std::move(stored.record));
    return records;
}

} // namespace slipway
