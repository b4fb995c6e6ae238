// SPDX-License-Identifier: Apache-2.0
//
// The names that a board's process will look up, recomputed as teenygrad's runtime does (facts/domain.md section 8),
// and whether such files are there.

#include "core/kernel/predict.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

/// The id of a kernel of the graph path: its .rs is a fixed beginning and then the source whose SHA-256 is the id. The
/// split is the line from which the id leads to the file's own HASH.
std::string idFromSource(const CacheEntry &entry, const std::optional<KernelImage> &image) {
    const auto file = std::find_if(entry.companions.begin(), entry.companions.end(),
                                   [](const auto &p) { return p.extension() == ".rs"; });
    if (file == entry.companions.end() || !image || !image->target)
        return {};
    const auto text = readFile(*file, 4U << 20);
    if (!text)
        return {};
    for (std::size_t from = 0; from < text->size();) {
        const auto id = sourceId(std::string_view(*text).substr(from));
        for (const auto &ptx : {std::optional<PtxVersion>(), image->ptxVersion}) {
            if (cacheKey(id, image->target->baseline().sm(), ptx) == entry.hash)
                return id;
        }
        const auto end = text->find('\n', from);
        from = end == std::string::npos ? text->size() : end + 1;
    }
    return {};
}

/// The entries of one kernel.
using Shipped = std::vector<const CacheEntry *>;

void explainMiss(KernelPrediction &prediction, const std::string &id, const Shipped &shipped, const PtxIsa &isa,
                 Capability device, std::optional<PtxVersion> ptx, std::optional<KeyParts> &last) {
    prediction.outcome = KernelPrediction::Outcome::miss;
    std::vector<std::string> found;
    for (const auto *entry : shipped) {
        const auto parts = explainKey(isa, id, entry->hash, last);
        last = parts ? parts : last;
        found.push_back(parts ? spokenKey(parts->capability, parts->ptx) : "something else");
        if (!parts || parts->capability.number != device.number)
            continue;
        prediction.fix = parts->ptx
                             ? fmt::format("set TEENYC_PTX_VERSION={} where the program runs", parts->ptx->code())
                             : "run the program without TEENYC_PTX_VERSION";
    }
    prediction.why = fmt::format("the cache has it for {}; the process asks for {}", fmt::join(found, " and "),
                                 spokenKey(device, ptx));
    if (prediction.fix.empty())
        prediction.fix = fmt::format("slipway aot --capability {}{}", device.sm(),
                                     ptx ? fmt::format(" --ptx-version {}", ptx->code()) : "");
}

KernelPrediction predict(const std::string &name, const std::string &id, const Shipped &shipped, const PtxIsa &isa,
                         Capability device, std::optional<PtxVersion> ptx, std::optional<KeyParts> &last) {
    KernelPrediction prediction{.name = name};
    const auto hash = cacheKey(id, device.baseline().sm(), ptx);
    prediction.lookUp = fmt::format("{}_{}.o", name, hash);
    const auto found =
        std::find_if(shipped.begin(), shipped.end(), [&](const auto *entry) { return entry->hash == hash; });
    if (found == shipped.end()) {
        explainMiss(prediction, id, shipped, isa, device, ptx, last);
    } else if ((*found)->image.empty()) {
        prediction.outcome = KernelPrediction::Outcome::miss;
        prediction.why = (*found)->cubin.empty()
                             ? "it has no image"
                             : "there is a .cubin only: Slipway's own runtime finds it, teenygrad's does not";
        prediction.fix = "slipway aot --force";
    } else {
        prediction.outcome = KernelPrediction::Outcome::hit;
        const auto &facts = (*found)->facts;
        if (!facts || !facts->damage.empty()) // nothing is checked before the load
            prediction.why =
                fmt::format("but it cannot be loaded: {}", facts ? facts->damage.front() : "it is no kernel image");
    }
    return prediction;
}

} // namespace

std::string spokenKey(Capability capability, std::optional<PtxVersion> ptx) {
    return fmt::format("{}, {}", capability.baseline().sm(),
                       ptx ? fmt::format("TEENYC_PTX_VERSION={}", ptx->code()) : "TEENYC_PTX_VERSION not set");
}

std::optional<KeyParts> explainKey(const PtxIsa &isa, const std::string &id, const std::string &hash,
                                   const std::optional<KeyParts> &last) {
    if (last && cacheKey(id, last->capability.sm(), last->ptx) == hash)
        return last;
    for (const auto &target : isa.targets()) {
        if (target.capability.flavour != Capability::Flavour::baseline)
            continue;
        if (cacheKey(id, target.capability.sm(), std::nullopt) == hash)
            return KeyParts{target.capability, std::nullopt};
        for (int code = 10; code <= isa.newest().code(); ++code) {
            if (cacheKey(id, target.capability.sm(), PtxVersion::fromCode(code)) == hash)
                return KeyParts{target.capability, PtxVersion::fromCode(code)};
        }
    }
    return std::nullopt;
}

std::string kernelId(const CacheEntry &entry, const std::optional<KernelImage> &image) {
    if (entry.record && !entry.record->id.empty())
        return entry.record->id;
    if (image) {
        if (const auto meta = image->meta.find("id"); meta != image->meta.end())
            return meta->second;
    }
    return idFromSource(entry, image);
}

const char *outcomeName(KernelPrediction::Outcome outcome) {
    switch (outcome) {
    case KernelPrediction::Outcome::hit:
        return "hit";
    case KernelPrediction::Outcome::miss:
        return "miss";
    case KernelPrediction::Outcome::unknown:
        break;
    }
    return "unknown";
}

std::vector<KernelPrediction> predictLookUps(const KernelCache &cache, const PtxIsa &isa, Capability device,
                                             std::optional<PtxVersion> ptx) {
    std::map<std::pair<std::string, std::string>, Shipped> kernels;
    std::vector<KernelPrediction> predictions;
    for (const auto &entry : cache.entries) {
        if (entry.image.empty() && entry.cubin.empty())
            continue;
        const auto id = entry.hash.empty() ? std::string() : kernelId(entry, entry.facts);
        if (!id.empty())
            kernels[{entry.name, id}].push_back(&entry);
        else if (entry.hash.empty())
            predictions.push_back({.name = entry.name, .why = "a loose file, which is found by name and not by key"});
        else
            predictions.push_back({.name = entry.name,
                                   .why = "its id is neither recorded nor told by a .rs beside it",
                                   .fix = "compile it with slipway aot, which records the id"});
    }
    std::optional<KeyParts> last;
    for (const auto &[key, shipped] : kernels)
        predictions.push_back(predict(key.first, key.second, shipped, isa, device, ptx, last));
    std::sort(predictions.begin(), predictions.end(),
              [](const auto &a, const auto &b) { return std::tie(a.name, a.lookUp) < std::tie(b.name, b.lookUp); });
    return predictions;
}

std::optional<PtxVersion> builtPtxVersion(const KernelCache &cache, Capability device) {
    std::set<std::optional<PtxVersion>> versions;
    for (const auto &entry : cache.entries) {
        if (entry.record && entry.record->target && entry.record->target->number == device.number)
            versions.insert(entry.record->ptx);
    }
    return versions.size() == 1 ? *versions.begin() : std::nullopt;
}

} // namespace slipway
