// SPDX-License-Identifier: Apache-2.0
//
// What will run, but not as well as it could: options that the package records (SM count, power mode, block sizes) against the
// board, and kernels that only this one GPU runs. Sources: facts/domain.md (options of cargo teeny; SM counts by power mode,
// which nvpmodel sets by masking TPCs); CUDA programming guide, technical specifications for each compute capability (shared
// memory) and family-specific targets.

#include "core/base/text.h"
#include "core/preflight/kernelchecks.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/passtexts.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

constexpr const char *askBoard = "slipway device facts NAME --json";
constexpr const char *slower = "grid sizes were chosen for another SM count: it runs, but not as fast as it could";

/// What the options of the package and of its kernels say of the board that they were chosen for.
struct Recorded {
    std::set<std::uint64_t> smCounts;
    std::set<std::string> powerModes;
    std::set<std::string> blocks; ///< "block-size=256"
};

void readOptions(std::string_view options, Recorded &recorded) {
    for (const auto part : split(options, ',')) {
        const auto option = trimmed(part);
        const auto equals = option.find('=');
        if (equals == std::string_view::npos || equals + 1 == option.size())
            continue;
        std::string key(option.substr(0, equals));
        std::replace(key.begin(), key.end(), '_', '-');
        const auto value = option.substr(equals + 1);
        if (key == "sm-count") {
            if (const auto count = parseNumber(value))
                recorded.smCounts.insert(*count);
        } else if (key == "power-mode") {
            recorded.powerModes.emplace(printable(value, 40));
        } else if (key.starts_with("block") || key == "num-warps" || key == "threads") {
            recorded.blocks.emplace(printable(option, 60));
        }
    }
}

Recorded recordedIn(const Package &package) {
    Recorded recorded;
    readOptions(package.manifest.options, recorded);
    std::set<std::string_view> seen; // thousands of kernels have few different options
    for (const auto &kernel : package.manifest.kernels) {
        if (seen.insert(kernel.options).second)
            readOptions(kernel.options, recorded);
    }
    return recorded;
}

/// "4 SMs (7W) or 8 SMs (15W, 25W)" of a kind of board.
std::string spokenModes(const Target &target) {
    std::map<int, std::vector<std::string>> byCount;
    for (const auto &[mode, count] : target.smCountByPowerMode)
        byCount[count].push_back(mode);
    std::vector<std::string> texts;
    for (const auto &[count, modes] : byCount)
        texts.push_back(fmt::format("{} SMs ({})", count, fmt::join(modes, ", ")));
    return fmt::format("{}", fmt::join(texts, " or "));
}

/// A profile has no power mode: any of the kind's is right.
void checkSmCountOfProfile(const Evidence &evidence, std::uint64_t built, std::vector<Finding> &findings) {
    const auto &modes = evidence.target->smCountByPowerMode;
    const bool known = std::any_of(modes.begin(), modes.end(), [&](const auto &mode) { return std::uint64_t(mode.second) == built; });
    if (!known)
        findings.push_back(makeFinding(Status::warn, "package", fmt::format("tuned for {} SMs", built), spokenModes(*evidence.target), slower,
                                       fmt::format("rebuild with sm-count={}", modes.rbegin()->second)));
}

void checkSmCount(const Evidence &evidence, std::uint64_t built, std::vector<Finding> &findings) {
    if (evidence.profileOnly && evidence.target && !evidence.target->smCountByPowerMode.empty())
        return checkSmCountOfProfile(evidence, built, findings);
    const auto *gpu = evidence.facts.gpu();
    if (!gpu || !gpu->smCount)
        return findings.push_back(notKnown("package", "no SM count of the board", askBoard));
    if (std::uint64_t(*gpu->smCount) == built)
        return;
    const auto &mode = evidence.facts.powerMode;
    findings.push_back(makeFinding(Status::warn, "package", fmt::format("tuned for {} SMs", built),
                                   fmt::format("{} SMs{}", *gpu->smCount, mode ? " (power mode " + printable(*mode, 40) + ")" : ""), slower,
                                   fmt::format("rebuild with sm-count={}, or change the board's power mode (nvpmodel)", *gpu->smCount)));
}

void checkPowerMode(const Evidence &evidence, const std::string &built, std::vector<Finding> &findings) {
    const auto &modes = evidence.target ? evidence.target->smCountByPowerMode : std::map<std::string, int>();
    if (evidence.profileOnly) {
        if (!modes.empty() && !modes.contains(built))
            findings.push_back(makeFinding(Status::warn, "package", "tuned for power mode " + built, spokenModes(*evidence.target),
                                           "this kind of board has no such power mode", "rebuild with one of its power modes"));
        return;
    }
    if (!evidence.facts.powerMode)
        return findings.push_back(notKnown("package", "no power mode of the board", askBoard));
    if (*evidence.facts.powerMode == built)
        return;
    findings.push_back(makeFinding(Status::warn, "package", "tuned for power mode " + built, "power mode " + printable(*evidence.facts.powerMode, 40),
                                   "the power mode decides how many SMs are on and how fast they are",
                                   fmt::format("on the board: sudo nvpmodel -m (the number of {}); or rebuild with power-mode={}", built,
                                               printable(*evidence.facts.powerMode, 40))));
}

/// Block sizes are chosen for a GPU: its registers, shared memory and warps.
void checkBlocks(const Evidence &evidence, const std::set<std::string> &blocks, Capability device, std::vector<Finding> &findings) {
    const auto &built = evidence.package.manifest.capability;
    if (blocks.empty() || !built || built->number == device.number)
        return;
    findings.push_back(makeFinding(Status::warn, "package", fmt::format("{} chosen for {}", fmt::join(blocks, ", "), built->sm()),
                                   fmt::format("block sizes for {}", device.sm()),
                                   "block sizes follow a GPU's registers, shared memory and warps: those of another card run, but not as fast as "
                                   "they could",
                                   aotCommand(evidence, device, std::nullopt)));
}

/// Bytes of shared memory that one block of a kernel takes: static, or what its metadata says that a launch asks for.
std::uint64_t sharedOf(const KernelImage &image) {
    const auto meta = image.meta.find("shared");
    const auto asked = meta == image.meta.end() ? std::nullopt : parseNumber(meta->second);
    return std::max(image.sharedBytes.value_or(0), asked.value_or(0));
}

/// Blocks that were chosen for a GPU with more shared memory cannot be launched at all.
void checkShared(const Evidence &evidence, const KernelGroup &group, Capability device, std::vector<Finding> &findings) {
    const auto limit = evidence.catalog.isa.sharedPerBlock(device);
    if (!limit)
        return;
    std::uint64_t least = UINT64_MAX;
    for (const auto &candidate : group.candidates) {
        if (imageRuns(evidence.catalog.isa, *candidate.image, device).yes)
            least = std::min(least, sharedOf(*candidate.image));
    }
    if (least == UINT64_MAX || least <= *limit)
        return;
    findings.push_back(makeFinding(Status::fail, group.subject, fmt::format("{} bytes of shared memory for a block", least),
                                   fmt::format("at most {} ({})", *limit, device.sm()),
                                   "its block sizes were chosen for a GPU with more shared memory: each launch would fail with "
                                   "CUDA_ERROR_INVALID_VALUE (1)",
                                   "smaller blocks, or fewer stages; " + aotCommand(evidence, device, std::nullopt)));
}

/// Whether nothing but PTX for this GPU or family is there, which no other board runs.
bool isTied(const Evidence &evidence, const KernelGroup &group, Capability device, std::string &to) {
    bool tied = false;
    for (const auto &candidate : group.candidates) {
        const auto &image = *candidate.image;
        if (image.kind != ImageKind::ptx)
            continue;
        if (image.target->flavour == Capability::Flavour::baseline)
            return false;
        if (evidence.catalog.isa.ptxRuns(*image.target, device).yes) {
            tied = true;
            to = image.target->sm();
        }
    }
    return tied;
}

void checkTied(const Evidence &evidence, const std::vector<KernelGroup> &groups, Capability device, std::vector<Finding> &findings) {
    std::size_t count = 0;
    std::string subject, first;
    for (const auto &group : groups) {
        std::string to;
        if (isTied(evidence, group, device, to) && ++count == 1)
            subject = group.subject, first = to;
    }
    if (count == 0)
        return;
    const bool family = first.ends_with('f');
    findings.push_back(makeFinding(Status::warn, subject, fmt::format("{} kernel{} in PTX for {} only", count, count == 1 ? "" : "s", first),
                                   "PTX without a or f, if another kind of board should run it too",
                                   family ? "PTX for an f target runs in its family only" : "PTX for an a target runs on exactly that GPU, also not on newer ones",
                                   "nothing for this board; for others compile for their own capability"));
}

} // namespace

std::vector<std::string> tunedFor(const Evidence &evidence) {
    const auto recorded = recordedIn(evidence.package);
    std::vector<std::string> texts;
    for (const auto count : recorded.smCounts)
        texts.push_back(fmt::format("{} SMs", count));
    for (const auto &mode : recorded.powerModes)
        texts.push_back("power mode " + mode);
    texts.insert(texts.end(), recorded.blocks.begin(), recorded.blocks.end());
    return texts;
}

std::vector<Finding> checkTuning(const Evidence &evidence, Progress &progress) {
    const auto recorded = recordedIn(evidence.package);
    std::vector<Finding> findings;
    for (const auto count : recorded.smCounts)
        checkSmCount(evidence, count, findings);
    for (const auto &mode : recorded.powerModes)
        checkPowerMode(evidence, mode, findings);
    if (const auto device = evidence.capability()) {
        checkBlocks(evidence, recorded.blocks, *device, findings);
        const auto groups = kernelGroups(evidence);
        for (const auto &group : *groups) {
            if (progress.cancelled())
                return findings;
            checkShared(evidence, group, *device, findings);
        }
        checkTied(evidence, *groups, *device, findings);
    }
    return findings.empty() && tunedFor(evidence).empty() ? skippedBecause("the package does not say what it was tuned for") : findings;
}

} // namespace slipway
