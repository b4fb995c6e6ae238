// SPDX-License-Identifier: Apache-2.0
//
// Which images belong to one kernel, and the texts that the kernel checks share.

#include "core/preflight/kernelgroups.h"
#include "core/target/cudaversion.h"

#include <unordered_map>

namespace slipway {

namespace {

constexpr int last32Bit = 89; // ptxas: "32-Bit addressing is not supported on sm_90 or higher architectures"

void addCandidates(std::vector<Candidate> &candidates, const std::string &path, const KernelImage &image) {
    if (image.kind == ImageKind::fatbin) {
        for (const auto &inner : image.members)
            addCandidates(candidates, path, inner);
    } else if (image.target) {
        candidates.push_back({path, &image});
    }
}

/// What makes two cache entries the same kernel.
std::string identity(const ShippedKernel &kernel) {
    const auto &entry = kernel.entry;
    if (entry.record && !entry.record->id.empty())
        return fmt::format("{}\n{}", entry.name, entry.record->id);
    std::string key = entry.name;
    for (const auto &shipped : kernel.images) {
        if (!shipped.image)
            continue;
        for (const auto &one : shipped.image->entries)
            key += "\n" + one.name;
        break;
    }
    return key;
}

} // namespace

std::shared_ptr<const std::vector<KernelGroup>> kernelGroups(const Evidence &evidence) {
    if (evidence.groups)
        return evidence.groups;
    std::vector<KernelGroup> groups;
    std::unordered_map<std::string, std::size_t> known;
    for (const auto &kernel : evidence.kernels) {
        if (kernel.images.empty())
            continue;
        const auto [at, isNew] = known.emplace(identity(kernel), groups.size());
        if (isNew)
            groups.push_back({kernel.entry.name, kernel.images.front().path, {}});
        for (const auto &shipped : kernel.images) {
            if (shipped.image)
                addCandidates(groups[at->second].candidates, shipped.path, *shipped.image);
        }
    }
    for (const auto &elf : evidence.elves) {
        for (const auto &fatbin : elf.fatbins) {
            KernelGroup group{"fatbin", elf.path, {}};
            addCandidates(group.candidates, elf.path, fatbin);
            if (!group.candidates.empty())
                groups.push_back(std::move(group));
        }
    }
    return std::make_shared<const std::vector<KernelGroup>>(std::move(groups));
}

Loadable imageRuns(const PtxIsa &isa, const KernelImage &image, Capability device) {
    if (image.kind == ImageKind::ptx && image.addressSize == 32 && device.number > last32Bit)
        return {false, "PTX with .address_size 32 is not supported on sm_90 or higher"};
    return image.kind == ImageKind::cubin ? isa.cubinRuns(*image.target, device) : isa.ptxRuns(*image.target, device);
}

std::string describe(const KernelImage &image) {
    return fmt::format("{} for {}", image.kind == ImageKind::cubin ? "a cubin" : "PTX",
                       image.target ? image.target->sm() : "an unknown target");
}

std::string aotCommand(const Evidence &evidence, std::optional<Capability> capability, std::optional<PtxVersion> ptx) {
    std::string command = "slipway aot";
    if (evidence.target)
        command += " --target " + evidence.target->id;
    if (capability)
        command += " --capability " + capability->sm();
    if (ptx)
        command += fmt::format(" --ptx-version {}", ptx->code());
    return command + ", then slipway package";
}

std::string cudaName(int driver) {
    return "CUDA " + cudaVersionText(driver);
}

Finding makeFinding(Status status, std::string subject, std::string found, std::string needed, std::string why, std::string fix) {
    return {.status = status,
            .subject = std::move(subject),
            .found = std::move(found),
            .needed = std::move(needed),
            .why = std::move(why),
            .fix = std::move(fix)};
}

std::vector<Finding> skippedBecause(std::string why) {
    return {{.status = Status::skipped, .subject = "package", .why = std::move(why)}};
}

Finding notKnown(std::string subject, std::string missing, std::string fix) {
    return {.status = Status::unknown,
            .subject = std::move(subject),
            .found = std::move(missing),
            .needed = "that fact, to check this",
            .fix = std::move(fix)};
}

} // namespace slipway
