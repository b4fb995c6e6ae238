// SPDX-License-Identifier: Apache-2.0
//
// Does the board's GPU run the shipped images, and does its driver read their PTX. Rules: PTX ISA manual (`.version`,
// `.target`, release-history table), CUDA programming guide (binary compatibility; not between or on Tegra parts).

#include "core/preflight/kernelchecks.h"

#include "core/preflight/kernelgroups.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr const char *askBoard = "slipway device facts NAME --json, or name a profile with --target";

/// What images there are: "PTX for sm_89, a cubin for sm_89".
std::string listImages(const KernelGroup &group) {
    std::vector<std::string> texts;
    for (const auto &candidate : group.candidates) {
        const auto text = describe(*candidate.image);
        if (std::find(texts.begin(), texts.end(), text) == texts.end())
            texts.push_back(text);
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

std::optional<Finding> capabilityOf(const Evidence &evidence, const KernelGroup &group, Capability device) {
    if (group.candidates.empty())
        return notKnown(group.subject, "an image whose target cannot be read", "see kernel-integrity");
    const auto &isa = evidence.catalog.isa;
    std::string refused;
    const Candidate *best = nullptr;
    for (const auto &candidate : group.candidates) {
        const auto loadable = imageRuns(isa, *candidate.image, device);
        if (!loadable.yes)
            refused = refused.empty() ? loadable.why : refused;
        else if (!best || candidate.image->target->number > best->image->target->number)
            best = &candidate;
    }
    if (!best)
        return Finding{.status = Status::fail,
                       .subject = group.subject,
                       .found = listImages(group),
                       .needed = fmt::format("an image that runs on {} (capability {})", device.sm(), device.dotted()),
                       .why = refused,
                       .fix = aotCommand(evidence, device, std::nullopt)};
    if (best->image->kind == ImageKind::ptx && best->image->target->flavour == Capability::Flavour::baseline &&
        best->image->target->number < device.number && !isa.ptxRuns(device, *best->image->target).yes)
        return Finding{.status = Status::warn,
                       .subject = group.subject,
                       .found = listImages(group),
                       .needed = fmt::format("{} for the best speed", device.sm()),
                       .why = "PTX for an older capability runs, but leaves newer units idle",
                       .fix = aotCommand(evidence, device, std::nullopt)};
    return std::nullopt;
}

/// The versions between which a `.version` must be: what the target needs, what the driver takes.
struct PtxRange {
    std::optional<PtxVersion> least;
    std::optional<PtxVersion> most;
    Capability target; ///< the range is for
};

PtxRange rangeFor(const Evidence &evidence, Capability target) {
    PtxRange range{.target = target};
    if (const auto *known = evidence.catalog.isa.find(target))
        range.least = known->minPtx;
    if (const auto driver = evidence.driver()) {
        if (const auto accepted = evidence.catalog.isa.newestForDriver(*driver))
            range.most = accepted->newest;
    }
    return range;
}

/// The other way out: a cuda-compat driver on the board that reads this version.
std::string compatFix(const Evidence &evidence, PtxVersion version) {
    for (const auto &compat : evidence.facts.cudaCompat) {
        const auto accepted = compat.status == "ok" && compat.driver ? evidence.catalog.isa.newestForDriver(*compat.driver) : std::nullopt;
        if (accepted && version <= accepted->newest)
            return fmt::format("; or set LD_LIBRARY_PATH={} in the project's run.env: the {} driver there reads PTX up to {}", compat.path,
                               cudaName(*compat.driver), accepted->newest.text());
    }
    return {};
}

/// The command with the value that satisfies both ends, or why there is none.
std::string ptxFix(const Evidence &evidence, const KernelImage &image) {
    const auto device = evidence.capability();
    const bool runs = !device || evidence.catalog.isa.ptxRuns(*image.target, *device).yes;
    const auto target = runs ? *image.target : *device;
    const auto range = rangeFor(evidence, target);
    const auto &isa = evidence.catalog.isa;
    if (range.least && range.most && *range.most < *range.least)
        return fmt::format(
            "no PTX version satisfies both ends: {} needs at least {}, the driver ({}) accepts at most {}; update the "
            "board to {} or newer, or compile for another capability",
            target.sm(), range.least->text(), cudaName(*evidence.driver()), range.most->text(),
            "CUDA " + isa.cudaOf(*range.least));
    const auto value = range.most ? isa.atMost(*range.most) : range.least;
    return aotCommand(evidence, target, value);
}

/// Whether one PTX image's version suits its target and the driver; nothing = it does.
std::optional<Finding> versionOf(const Evidence &evidence, const Candidate &candidate) {
    const auto &image = *candidate.image;
    const auto &isa = evidence.catalog.isa;
    if (!image.ptxVersion)
        return Finding{.status = Status::fail,
                       .subject = candidate.path,
                       .found = "PTX without a readable .version",
                       .needed = "a .version directive first",
                       .why = "PTX ISA manual, .version",
                       .fix = ptxFix(evidence, image)};
    const auto version = *image.ptxVersion;
    Finding finding{.status = Status::fail,
                    .subject = candidate.path,
                    .found = "PTX " + version.text(),
                    .fix = ptxFix(evidence, image)};
    const auto range = rangeFor(evidence, *image.target);
    if (range.least && version < *range.least) {
        finding.needed = fmt::format("at least {} (.target {})", range.least->text(), image.target->sm());
        finding.why =
            fmt::format("PTX ISA manual: .target {} was introduced in PTX {}", image.target->sm(), range.least->text());
        return finding;
    }
    if (range.most && version > *range.most) {
        finding.needed = fmt::format("at most {} (driver {})", range.most->text(), cudaName(*evidence.driver()));
        finding.why = fmt::format("the driver's compiler reads PTX up to {}; newer text is refused with "
                                  "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)",
                                  range.most->text());
        finding.fix += compatFix(evidence, version);
        return finding;
    }
    if (version <= isa.newest() && !isa.exists(version)) {
        const auto below = isa.atMost(version);
        finding.needed = fmt::format("a version that exists, such as {}", below ? below->text() : isa.newest().text());
        finding.why = "PTX ISA manual, release history: there never was such a version";
        return finding;
    }
    return std::nullopt;
}

/// Findings of the group, unless one of its images is fine: a cubin that runs, or PTX of the right version that does.
std::vector<Finding> versionsOf(const Evidence &evidence, const KernelGroup &group) {
    const auto device = evidence.capability();
    std::vector<Finding> wrong;
    std::vector<Finding> wrongOnly; // of images that the board would choose
    for (const auto &candidate : group.candidates) {
        const bool runs = !device || imageRuns(evidence.catalog.isa, *candidate.image, *device).yes;
        if (candidate.image->kind == ImageKind::cubin) {
            if (runs && device)
                return {};
            continue;
        }
        auto finding = versionOf(evidence, candidate);
        if (!finding && runs)
            return {};
        if (finding)
            (runs ? wrongOnly : wrong).push_back(std::move(*finding));
    }
    return wrongOnly.empty() ? wrong : wrongOnly;
}

} // namespace

std::vector<Finding> checkCapability(const Evidence &evidence, Progress &progress) {
    const auto shared = kernelGroups(evidence);
    const auto &groups = *shared;
    if (groups.empty())
        return skippedBecause("the package holds no kernels");
    const auto device = evidence.capability();
    if (!device)
        return {notKnown("package", "no GPU capability of the board", askBoard)};
    std::vector<Finding> findings;
    for (const auto &group : groups) {
        if (progress.cancelled())
            break;
        if (auto finding = capabilityOf(evidence, group, *device))
            findings.push_back(std::move(*finding));
    }
    return findings;
}

std::vector<Finding> checkPtxVersion(const Evidence &evidence, Progress &progress) {
    const auto shared = kernelGroups(evidence);
    const auto &groups = *shared;
    const auto isPtx = [](const Candidate &c) { return c.image->kind == ImageKind::ptx; };
    if (std::none_of(groups.begin(), groups.end(),
                     [&](const auto &g) { return std::any_of(g.candidates.begin(), g.candidates.end(), isPtx); }))
        return skippedBecause("the package holds no PTX");
    std::vector<Finding> findings;
    for (const auto &group : groups) {
        if (progress.cancelled())
            return findings;
        for (auto &finding : versionsOf(evidence, group))
            findings.push_back(std::move(finding));
    }
    const auto driver = evidence.driver();
    const auto accepted = driver ? evidence.catalog.isa.newestForDriver(*driver) : std::nullopt;
    if (!accepted)
        findings.push_back(notKnown("package",
                                    driver ? fmt::format("a driver ({}) older than the table", cudaName(*driver))
                                           : "no driver version of the board",
                                    askBoard));
    else if (accepted->extrapolated)
        findings.push_back({.status = Status::warn,
                            .subject = "package",
                            .found = fmt::format("driver {}", cudaName(*driver)),
                            .needed = "a driver that the table knows",
                            .why = fmt::format("the table of drivers is older than the board; PTX up to {} is assumed",
                                               accepted->newest.text()),
                            .fix = "add the driver to ptxisa.json in the settings folder's targets/"});
    return findings;
}

} // namespace slipway
