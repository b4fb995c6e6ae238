// SPDX-License-Identifier: Apache-2.0
//
// What the checks look at, read once: the images of the cache, the ELF files, and the three values that most rules
// need.

#include "core/preflight/evidence.h"

#include "core/kernel/parallel.h"

#include <algorithm>
#include <sys/stat.h>

namespace slipway {

std::optional<Capability> Evidence::capability() const {
    if (const auto *gpu = facts.gpu())
        return gpu->capability.baseline();
    return target ? target->capability : std::nullopt;
}

std::optional<int> Evidence::driver() const {
    if (const auto driver = facts.driverWith(variable("LD_LIBRARY_PATH").value_or("")))
        return driver;
    const auto *release = facts.l4t ? catalog.jetpacks.ofL4t(*facts.l4t) : nullptr;
    if (!release && facts.jetpack)
        release = catalog.jetpacks.find(*facts.jetpack);
    return release && release->driver > 0 ? std::optional(release->driver) : std::nullopt;
}

std::optional<std::string> Evidence::variable(const std::string &name) const {
    if (const auto own = package.env.find(name); own != package.env.end())
        return own->second;
    if (facts.env) {
        if (const auto theirs = facts.env->find(name); theirs != facts.env->end())
            return theirs->second;
    }
    return std::nullopt;
}

const DiskFacts *Evidence::disk(const std::string &path) const {
    const DiskFacts *best = nullptr;
    if (!facts.disks)
        return best;
    for (const auto &disk : *facts.disks) {
        const bool holds = disk.mount == "/" || path == disk.mount || path.starts_with(disk.mount + "/");
        if (holds && (!best || disk.mount.size() > best->mount.size()))
            best = &disk;
    }
    return best;
}

namespace {

ShippedImage readImage(const fs::path &file) {
    ShippedImage shipped{.path = "cache/" + file.filename().string()};
    const auto bytes = readFile(file);
    if (!bytes) {
        shipped.unreadable = bytes.error().message;
        return shipped;
    }
    auto image = readKernelImage(*bytes);
    if (image)
        shipped.image = std::move(*image);
    else
        shipped.unreadable = image.error().message;
    return shipped;
}

/// Listing the cache has read one image of each kernel already.
ShippedImage knownImage(CacheEntry &entry, const fs::path &file) {
    const bool isListed = entry.facts && file == (entry.image.empty() ? entry.cubin : entry.image);
    if (!isListed)
        return readImage(file);
    return {.path = "cache/" + file.filename().string(), .image = std::exchange(entry.facts, std::nullopt), .unreadable = {}};
}

/// Whether a folder of the package is one, through no link.
bool isPlainFolder(const fs::path &package, const std::string &folder, std::map<std::string, bool> &known) {
    if (folder.empty())
        return true;
    const auto [entry, isNew] = known.try_emplace(folder, false);
    if (isNew) {
        std::error_code ignored;
        const auto slash = folder.rfind('/');
        const bool above = isPlainFolder(package, slash == std::string::npos ? std::string() : folder.substr(0, slash), known);
        known[folder] = above && fs::symlink_status(package / folder, ignored).type() == fs::file_type::directory;
    }
    return known[folder];
}

std::optional<UnsoundFile> unsound(const Package &package, const PackagedFile &file, std::map<std::string, bool> &folders) {
    const auto slash = file.path.rfind('/');
    struct stat status {};
    if (!isInsidePath(file.path) || !isPlainFolder(package.directory, file.path.substr(0, slash == std::string::npos ? 0 : slash), folders))
        return UnsoundFile{file.path, "it lies behind a link, or in no folder of the package", "a plain file of the package"};
    if (::lstat((package.directory / file.path).c_str(), &status) != 0)
        return UnsoundFile{file.path, "it is missing", "the file that the manifest lists"};
    if (!S_ISREG(status.st_mode))
        return UnsoundFile{file.path, S_ISLNK(status.st_mode) ? "a symbolic link" : "a special file", "a plain file"};
    if (std::uint64_t(status.st_size) != file.size)
        return UnsoundFile{file.path, fmt::format("{} bytes", std::uint64_t(status.st_size)), fmt::format("{} bytes, as the manifest says", file.size)};
    return std::nullopt;
}

ShippedElf readShippedElf(const Package &package, const std::string &path) {
    ShippedElf shipped{.path = path};
    auto elf = readElfFile(package.directory / path);
    if (elf)
        shipped.elf = std::move(*elf);
    else
        shipped.elf.damage.push_back(elf.error().message);
    if (shipped.elf.hasFatbin && shipped.elf.machine != "cuda") {
        if (auto fatbins = fatbinsInElfFile(package.directory / path))
            shipped.fatbins = std::move(*fatbins);
    }
    return shipped;
}

bool looksLikeElf(const fs::path &file) {
    const auto head = readHead(file, 4);
    return head && *head == "\x7f"
                            "ELF";
}

} // namespace

Result<std::vector<ShippedKernel>> readShippedKernels(const Package &package, Progress &progress) {
    const auto directory = package.directory / "cache";
    std::error_code ignored;
    if (fs::symlink_status(directory, ignored).type() != fs::file_type::directory)
        return std::vector<ShippedKernel>();
    auto cache = TRY(KernelCache::read(directory, progress));
    std::vector<ShippedKernel> kernels(cache.entries.size());
    inParallel(kernels.size(), 0, progress, [&](std::size_t i) {
        auto &kernel = kernels[i];
        kernel.entry = std::move(cache.entries[i]);
        for (const auto &file : {kernel.entry.image, kernel.entry.cubin}) {
            if (!file.empty())
                kernel.images.push_back(knownImage(kernel.entry, file));
        }
        return true;
    });
    TRY(progress.checkpoint());
    std::map<std::pair<std::string, std::string>, const KernelRecord *> records;
    for (const auto &record : package.manifest.kernels)
        records.emplace(std::pair(record.name, record.hash), &record);
    for (auto &kernel : kernels) {
        const auto record = records.find({kernel.entry.name, kernel.entry.hash});
        if (record != records.end())
            kernel.entry.record = *record->second;
    }
    return kernels;
}

std::vector<UnsoundFile> takeUnsoundFiles(Package &package) {
    std::vector<UnsoundFile> found;
    std::map<std::string, bool> folders;
    std::erase_if(package.manifest.files, [&](const auto &file) {
        auto wrong = unsound(package, file, folders);
        if (wrong)
            found.push_back(std::move(*wrong));
        return wrong.has_value();
    });
    return found;
}

Result<std::vector<ShippedElf>> readShippedElves(const Package &package, Progress &progress) {
    const auto &files = package.manifest.files;
    std::vector<std::optional<ShippedElf>> read(files.size());
    inParallel(files.size(), 0, progress, [&](std::size_t i) {
        const auto &path = files[i].path;
        if (!path.starts_with("cache/") && isInsidePath(path) && looksLikeElf(package.directory / path))
            read[i] = readShippedElf(package, path);
        return true;
    });
    TRY(progress.checkpoint());
    std::vector<ShippedElf> elves;
    for (auto &shipped : read) {
        if (shipped && shipped->elf.machine != "cuda")
            elves.push_back(std::move(*shipped));
    }
    return elves;
}

} // namespace slipway
