// SPDX-License-Identifier: Apache-2.0
//
// Reading a cache directory: what is there, what each image says of itself, what was recorded, and what looks wrong.

#include "core/kernel/cache.h"

#include "core/base/text.h"
#include "core/kernel/parallel.h"
#include "core/kernel/records.h"

#include <algorithm>
#include <mutex>
#include <sys/stat.h>

namespace slipway {

namespace {

/// An entry while it is read.
struct Draft {
    CacheEntry entry;
    std::size_t contentHash = 0; ///< of the image, to find duplicates
};

bool isTemporary(std::string_view extension) {
    return extension.find(".tmp.") != std::string_view::npos || extension.ends_with(".tmp");
}

/// Sorts one file of a kernel into its place.
void addFile(CacheEntry &entry, const fs::path &file, const CacheFileName &name) {
    struct stat status = {};
    ::stat(file.c_str(), &status);
    entry.bytes += std::uint64_t(status.st_size);
    const bool isLoose = name.hash.empty();
    if (isTemporary(name.extension)) {
        entry.remarks.push_back(fmt::format("leftover of an interrupted run: {}", printable(file.filename().string())));
    } else if (name.extension == ".o" || (isLoose && (name.extension == ".ptx" || name.extension == ".fatbin"))) {
        entry.image = file;
        entry.modified = long(status.st_mtime);
    } else if (name.extension == ".cubin") {
        entry.cubin = file;
        if (entry.image.empty())
            entry.modified = long(status.st_mtime);
    } else {
        entry.companions.push_back(file);
    }
}

bool belongsToAKernel(const CacheFileName &name) {
    static constexpr std::string_view known[] = {".o", ".ptx", ".cubin", ".fatbin", ".mlir", ".rs", ".lock"};
    return isTemporary(name.extension) ||
           std::find(std::begin(known), std::end(known), name.extension) != std::end(known);
}

Result<std::vector<Draft>> list(const fs::path &directory) {
    std::map<std::pair<std::string, std::string>, CacheEntry> entries;
    std::error_code error;
    fs::directory_iterator at(directory, error), end;
    for (; !error && at != end; at.increment(error)) {
        const auto fileName = at->path().filename().string();
        const auto name = parseCacheFileName(fileName);
        std::error_code ignored;
        if (fileName.starts_with('.') || !belongsToAKernel(name) || !at->is_regular_file(ignored))
            continue;
        // loose files of one stem are different kernels unless they say the same name
        auto &entry = entries[{name.name, name.hash.empty() ? name.extension : name.hash}];
        entry.name = name.name;
        entry.hash = name.hash;
        addFile(entry, at->path(), name);
    }
    if (error)
        return fail("cannot read the kernel cache {}: {}", printable(directory.string()), error.message());
    std::vector<Draft> drafts;
    drafts.reserve(entries.size());
    for (auto &[key, entry] : entries)
        drafts.push_back({.entry = std::move(entry)});
    return drafts;
}

void readFacts(Draft &draft) {
    auto &entry = draft.entry;
    const auto &file = entry.image.empty() ? entry.cubin : entry.image;
    if (file.empty()) {
        if (!entry.companions.empty())
            entry.remarks.emplace_back("no image");
        return;
    }
    const auto bytes = readFile(file);
    if (!bytes) {
        entry.remarks.push_back(bytes.error().message);
        return;
    }
    draft.contentHash = std::hash<std::string_view>()(*bytes);
    if (auto image = readKernelImage(*bytes))
        entry.facts = *std::move(image);
    else
        entry.remarks.push_back(bytes->empty() ? "the image is empty" : image.error().message);
}

void attachRecords(std::vector<Draft> &drafts, const fs::path &directory) {
    std::map<std::pair<std::string, std::string>, const StoredRecord *> byName;
    const auto records = readStoredRecords(directory);
    for (const auto &stored : records)
        byName[{stored.record.name, stored.record.hash}] = &stored;
    for (auto &draft : drafts) {
        const auto found = byName.find({draft.entry.name, draft.entry.hash});
        if (found == byName.end())
            continue;
        draft.entry.record = found->second->record;
        std::error_code error;
        const auto &inputs = found->second->inputs;
        if (!inputs.empty() && !fs::exists(inputs.front().file, error))
            draft.entry.remarks.push_back(
                fmt::format("orphan: its source {} is gone", printable(found->second->record.source)));
    }
}

/// Same name and same bytes under another key: only one of them can be looked up.
void remarkDuplicates(std::vector<Draft> &drafts) {
    std::map<std::pair<std::string, std::size_t>, const CacheEntry *> seen;
    for (auto &draft : drafts) {
        if (draft.entry.image.empty() || !draft.entry.facts)
            continue;
        const auto [first, isNew] = seen.try_emplace({draft.entry.name, draft.contentHash}, &draft.entry);
        if (!isNew && first->second->facts->bytes == draft.entry.facts->bytes)
            draft.entry.remarks.push_back(fmt::format("duplicate of {}", first->second->image.filename().string()));
    }
}

} // namespace

Result<KernelCache> KernelCache::read(const fs::path &directory, Progress &progress) {
    std::error_code error;
    if (!fs::is_directory(directory, error))
        return std::unexpected(Error{
            .message = fmt::format("{} is not a directory (needed a kernel cache)", printable(directory.string())),
            .hint = "slipway aot makes one"});
    auto drafts = TRY(list(directory));
    auto step = progress.step("read kernels", drafts.size(), Event::Unit::kernels);
    std::mutex counting;
    inParallel(drafts.size(), 0, progress, [&](std::size_t index) {
        readFacts(drafts[index]);
        const std::lock_guard lock(counting);
        step.advance();
        return true;
    });
    TRY(progress.checkpoint());
    step.done();
    attachRecords(drafts, directory);
    remarkDuplicates(drafts);
    KernelCache cache{.directory = directory, .entries = {}};
    cache.entries.reserve(drafts.size());
    for (auto &draft : drafts)
        cache.entries.push_back(std::move(draft.entry));
    return cache;
}

} // namespace slipway
