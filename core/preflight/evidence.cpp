// SPDX-License-Identifier: Apache-2.0
//
// What the checks look at, read once: the images of the cache, the ELF files, and the three values that most rules
// need.

#include "core/preflight/evidence.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

namespace slipway {

std::optional<Capability> Evidence::capability() const {
    if (const auto *gpu = facts.gpu())
        return gpu->capability.baseline();
    return target ? target->capability : std::nullopt;
}

std::optional<int> Evidence::driver() const {
    if (facts.cudaDriver)
        return facts.cudaDriver;
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

namespace {

/// Calls `work(i)` for each i below `count` on as many threads as there are cores.
template <typename Work>
void inParallel(std::size_t count, Progress &progress, const Work &work) {
    std::atomic<std::size_t> next{0};
    const auto loop = [&] {
        for (auto i = next++; i < count && !progress.cancelled(); i = next++)
            work(i);
    };
    std::vector<std::future<void>> others;
    const auto threads = std::min<std::size_t>(std::max(1U, std::thread::hardware_concurrency()), count);
    for (std::size_t t = 1; t < threads; ++t)
        others.push_back(std::async(std::launch::async, loop));
    loop();
}

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

bool looksLikeElf(const fs::path &file) {
    const auto head = readHead(file, 4);
    return head && *head == "\x7f"
                            "ELF";
}

} // namespace

Result<std::vector<ShippedKernel>> readShippedKernels(const Package &package, Progress &progress) {
    const auto directory = package.directory / "cache";
    std::error_code ignored;
    if (!fs::is_directory(directory, ignored))
        return std::vector<ShippedKernel>();
    const auto cache = TRY(KernelCache::read(directory, progress));
    std::vector<ShippedKernel> kernels(cache.entries.size());
    inParallel(kernels.size(), progress, [&](std::size_t i) {
        kernels[i].entry = cache.entries[i];
        for (const auto &file : {cache.entries[i].image, cache.entries[i].cubin}) {
            if (!file.empty())
                kernels[i].images.push_back(readImage(file));
        }
    });
    TRY(progress.checkpoint());
    for (auto &kernel : kernels) {
        const auto &entry = kernel.entry;
        const auto &records = package.manifest.kernels;
        const auto record = std::find_if(records.begin(), records.end(),
                                         [&](const auto &r) { return r.name == entry.name && r.hash == entry.hash; });
        if (record != records.end())
            kernel.entry.record = *record;
    }
    return kernels;
}

Result<std::vector<ShippedElf>> readShippedElves(const Package &package, Progress &progress) {
    std::vector<ShippedElf> elves;
    for (const auto &file : package.manifest.files) {
        TRY(progress.checkpoint());
        if (file.path.starts_with("cache/") || !isInsidePath(file.path) || !looksLikeElf(package.directory / file.path))
            continue;
        ShippedElf shipped{.path = file.path};
        auto elf = readElfFile(package.directory / file.path);
        if (elf)
            shipped.elf = std::move(*elf);
        else
            shipped.elf.damage.push_back(elf.error().message);
        if (shipped.elf.machine == "cuda")
            continue;
        if (shipped.elf.hasFatbin) {
            if (const auto bytes = readFile(package.directory / file.path))
                shipped.fatbins = fatbinsInElf(*bytes);
        }
        elves.push_back(std::move(shipped));
    }
    return elves;
}

} // namespace slipway
