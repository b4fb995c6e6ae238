// SPDX-License-Identifier: Apache-2.0
//
// Will the board's process look for the files that are shipped: cache keys and the environment that goes into them
// (facts/domain.md section 8: HASH = sha256(id, capability text, PTX version)).

#include "core/base/text.h"
#include "core/kernel/predict.h"
#include "core/preflight/kernelchecks.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>

namespace slipway {

namespace {

/// What TEENYC_PTX_VERSION gives: a number, nothing when it is not set, nothing with `bad` when it is no number.
struct EnvironmentPtx {
    std::optional<PtxVersion> version;
    std::string text; ///< as it is set; empty = not set
    bool bad = false;
};

EnvironmentPtx environmentPtx(const Evidence &evidence) {
    const auto text = evidence.variable("TEENYC_PTX_VERSION");
    if (!text || text->empty())
        return {};
    const auto number = parseNumber(*text);
    if (!number || *number > 9999)
        return {.text = *text, .bad = true};
    return {.version = PtxVersion::fromCode(int(*number)), .text = *text};
}

/// One kernel by its id, with the HASHes under which it is shipped.
struct KeyedKernel {
    std::string name;
    std::string id;
    std::vector<std::string> hashes;
};

Finding missed(const Evidence &evidence, const KeyedKernel &kernel, const std::string &wanted, Capability device,
               std::optional<PtxVersion> ptx, std::optional<KeyParts> &last) {
    const auto parts = explainKey(evidence.catalog.isa, kernel.id, kernel.hashes.front(), last);
    last = parts ? parts : last;
    Finding finding{
        .status = Status::fail,
        .subject = fmt::format("cache/{}_{}.o", kernel.name, kernel.hashes.front()),
        .found =
            parts ? fmt::format("a key for {}", spokenKey(parts->capability, parts->ptx)) : "a key for something else",
        .needed = fmt::format("{}_{}.o ({})", kernel.name, wanted, spokenKey(device, ptx)),
        .why = "the program looks for HASH = sha256(kernel id, capability, TEENYC_PTX_VERSION); no such file means a "
               "look-up that misses, and the board has no compiler"};
    if (parts && parts->capability.number == device.number && parts->ptx)
        finding.fix =
            fmt::format("set TEENYC_PTX_VERSION={} in conf/env (slipway package writes it)", parts->ptx->code());
    else if (parts && parts->capability.number == device.number)
        finding.fix = "remove TEENYC_PTX_VERSION from conf/env and from the board, or rebuild: " +
                      aotCommand(evidence, device, ptx);
    else
        finding.fix = aotCommand(evidence, device, ptx);
    return finding;
}

bool builtByTeeny(const Evidence &evidence) {
    const auto &records = evidence.package.manifest.kernels;
    return evidence.package.fromTeeny ||
           std::any_of(records.begin(), records.end(), [](const auto &r) { return r.kind == "program"; });
}

void checkPtxVariable(const Evidence &evidence, std::vector<Finding> &findings) {
    const auto env = environmentPtx(evidence);
    const auto built = evidence.package.manifest.ptx;
    Finding finding{.status = Status::fail,
                    .subject = "conf/env",
                    .found = env.text.empty() ? "TEENYC_PTX_VERSION not set" : "TEENYC_PTX_VERSION=" + env.text};
    finding.why = "the PTX version is part of every cache key (facts/domain.md section 8): another one, or none, "
                  "misses every look-up";
    if (env.bad) {
        finding.needed = built ? std::to_string(built->code()) : "a number such as 82";
        finding.why = "teenygrad ignores a value that is not a number, and looks for keys without a version";
    } else if (built && env.version != built) {
        finding.needed = fmt::format("TEENYC_PTX_VERSION={}, with which the cache was built", built->code());
    } else if (built && !evidence.package.env.contains("TEENYC_PTX_VERSION")) {
        finding.status = Status::warn;
        finding.found = fmt::format("TEENYC_PTX_VERSION={} only in the board's own environment", env.text);
        finding.needed = "it in conf/env";
    } else {
        return;
    }
    finding.fix = built ? fmt::format("TEENYC_PTX_VERSION={} in conf/env (slipway package writes it)", built->code())
                        : "correct conf/env";
    findings.push_back(std::move(finding));
}

/// TEENYC_CACHE_DIR may be absent (`cache/` beside `bin/` is found) or name this release's cache; anything else looks
/// elsewhere.
void checkCacheVariable(const Evidence &evidence, std::vector<Finding> &findings) {
    const auto set = evidence.variable("TEENYC_CACHE_DIR");
    if (!set || set->empty() || *set == "$RELEASE/cache" || *set == "$RELEASE/cache/")
        return;
    const bool ours = evidence.package.env.contains("TEENYC_CACHE_DIR");
    findings.push_back(
        {.status = Status::fail,
         .subject = ours ? "conf/env" : "the board's environment",
         .found = "TEENYC_CACHE_DIR=" + printable(*set),
         .needed = "TEENYC_CACHE_DIR=$RELEASE/cache",
         .why = "the variable decides where kernels are looked for, and the shipped ones are in the release",
         .fix = "TEENYC_CACHE_DIR=$RELEASE/cache in conf/env (slipway package writes it)"});
}

/// Where the driver keeps what it compiled from PTX: it must outlive releases and boots, else each start costs minutes
/// (furnari-flow #3; NVIDIA CUDA programming guide, CUDA_CACHE_PATH).
void checkJitCache(const Evidence &evidence, std::vector<Finding> &findings) {
    const auto set = evidence.variable("CUDA_CACHE_PATH");
    if (!set)
        return;
    const auto dest = evidence.destination();
    auto path = *set;
    std::string wrong;
    if (path == "$RELEASE" || path.starts_with("$RELEASE/"))
        path = dest.empty() ? "" : fs::path(dest + "/releases/ID" + path.substr(8)).lexically_normal().generic_string();
    if (path.empty() && !dest.empty())
        wrong = "an empty path";
    else if (!path.starts_with('/') && !path.starts_with('~') && !dest.empty())
        wrong = "a path that depends on the current directory";
    else if (!dest.empty() && path.starts_with(dest + "/releases/"))
        wrong = "a folder of the release, which goes with it";
    else if (const auto *disk = evidence.disk(path); disk && disk->readOnly)
        wrong = fmt::format("{}, which is mounted read-only", disk->mount);
    else if (disk && disk->type == "tmpfs")
        wrong = fmt::format("{}, which is in memory", disk->mount);
    if (!wrong.empty())
        findings.push_back({.status = Status::warn,
                            .subject = evidence.package.env.contains("CUDA_CACHE_PATH") ? "conf/env" : "the board's environment",
                            .found = fmt::format("CUDA_CACHE_PATH={}: {}", printable(*set), wrong),
                            .needed = "a folder that lasts and can be written",
                            .why = "the driver compiles PTX at its first load and keeps the result there",
                            .fix = "CUDA_CACHE_PATH=$RELEASE/../../.slipway/cuda in conf/env (slipway package writes it)"});
}

} // namespace

std::vector<Finding> checkCacheKeys(const Evidence &evidence, Progress &progress) {
    std::map<std::pair<std::string, std::string>, KeyedKernel> keyed;
    std::size_t unknown = 0;
    std::size_t loose = 0;
    for (const auto &kernel : evidence.kernels) {
        if (progress.cancelled() || kernel.images.empty())
            continue;
        if (kernel.entry.hash.empty()) {
            ++loose;
            continue;
        }
        const auto id = kernelId(kernel.entry, kernel.images.front().image);
        if (id.empty()) {
            ++unknown;
            continue;
        }
        auto &group = keyed[{kernel.entry.name, id}];
        group.name = kernel.entry.name;
        group.id = id;
        group.hashes.push_back(kernel.entry.hash);
    }
    if (keyed.empty() && unknown == 0)
        return skippedBecause(loose > 0 ? "the kernels are loose files that are found by name"
                                        : "the package holds no kernels");
    const auto device = evidence.capability();
    if (!device)
        return {notKnown("cache/", "no GPU capability of the board, which is part of every key",
                         "slipway device facts NAME --json, or --target")};
    const auto ptx = environmentPtx(evidence).version;
    std::vector<Finding> findings;
    std::optional<KeyParts> explained;
    for (const auto &[key, kernel] : keyed) {
        const auto wanted = cacheKey(kernel.id, device->sm(), ptx);
        if (std::find(kernel.hashes.begin(), kernel.hashes.end(), wanted) == kernel.hashes.end())
            findings.push_back(missed(evidence, kernel, wanted, *device, ptx, explained));
    }
    if (unknown > 0)
        findings.push_back(notKnown("cache/", fmt::format("{} kernels without a recorded id or source", unknown),
                                    "build them with slipway aot, which records the id"));
    return findings;
}

std::vector<Finding> checkRuntimeEnv(const Evidence &evidence, Progress &) {
    if (evidence.kernels.empty())
        return skippedBecause("the package holds no kernels");
    std::vector<Finding> findings;
    checkPtxVariable(evidence, findings);
    checkCacheVariable(evidence, findings);
    checkJitCache(evidence, findings);
    if (builtByTeeny(evidence) && !evidence.variable("TEENYC_PATH"))
        findings.push_back({.status = Status::warn,
                            .subject = "conf/env",
                            .found = "TEENYC_PATH not set",
                            .needed = "TEENYC_PATH, with any text",
                            .why = "teenygrad's graph path wants a compiler's path before it looks into the cache, and "
                                   "never uses it on a hit",
                            .fix = "TEENYC_PATH=none in conf/env (slipway package writes it)"});
    if (evidence.variable("CUDA_CACHE_DISABLE") == "1")
        findings.push_back({.status = Status::warn,
                            .subject = "environment",
                            .found = "CUDA_CACHE_DISABLE=1",
                            .needed = "the driver's JIT cache",
                            .why = "PTX is compiled again at each start, about 0.2 s a kernel",
                            .fix = "unset it, or ship cubins"});
    return findings;
}

} // namespace slipway
