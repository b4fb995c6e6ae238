// SPDX-License-Identifier: Apache-2.0
//
// The line beside a tick: which values were compared.

#include "core/preflight/passtexts.h"

#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string kernels(const Evidence &evidence) { return counted(evidence.kernels.size(), "kernel", "kernels"); }
std::string binaries(const Evidence &evidence) { return counted(evidence.elves.size(), "binary", "binaries"); }
std::string models(const Evidence &evidence) { return counted(evidence.package.manifest.models.size(), "declared model", "declared models"); }

/// The versions of a family ("GLIBC_") that the binaries need at most.
std::string highestNeed(const Evidence &evidence, std::string_view family) {
    std::string highest;
    for (const auto &shipped : evidence.elves) {
        for (const auto &need : shipped.elf.versions) {
            if (!need.version.starts_with(family))
                continue;
            const auto number = need.version.substr(family.size());
            if (number.find_first_not_of("0123456789.") == std::string::npos && (highest.empty() || compareVersions(highest, number) < 0))
                highest = number;
        }
    }
    return highest;
}

std::string needed(const Evidence &evidence, std::string_view family, const std::optional<std::string> &has) {
    const auto highest = highestNeed(evidence, family);
    if (highest.empty())
        return fmt::format("{}, none needs a {} version", binaries(evidence), family.substr(0, family.size() - 1));
    return fmt::format("needs {} at most, the board has {}", highest, has.value_or("unknown"));
}

} // namespace

std::string passedCapability(const Evidence &evidence) {
    const auto device = evidence.capability();
    return fmt::format("{} run on {}", kernels(evidence), device ? device->sm() : "the board");
}

std::string passedPtxVersion(const Evidence &evidence) {
    std::set<std::string> versions;
    for (const auto &kernel : evidence.kernels) {
        for (const auto &shipped : kernel.images) {
            if (shipped.image && shipped.image->ptxVersion)
                versions.insert(shipped.image->ptxVersion->text());
        }
    }
    const auto driver = evidence.driver();
    const auto newest = driver ? evidence.catalog.isa.newestForDriver(*driver) : std::nullopt;
    return fmt::format("PTX {}{}", versions.empty() ? "none" : fmt::format("{}", fmt::join(versions, ", ")),
                       newest ? fmt::format(", the driver ({}) accepts {}", cudaName(*driver), newest->newest.text()) : "");
}

std::string passedCachePresent(const Evidence &evidence) { return kernels(evidence) + ", all that were compiled"; }
std::string passedKernelIntegrity(const Evidence &evidence) { return kernels(evidence) + (evidence.kernels.size() == 1 ? " is whole" : " are whole"); }
std::string passedCacheKeys(const Evidence &evidence) {
    const auto version = evidence.variable("TEENYC_PTX_VERSION");
    return fmt::format("every name is the one that is looked up{}", version ? " with TEENYC_PTX_VERSION=" + *version : "");
}
std::string passedRuntimeEnv(const Evidence &evidence) { return fmt::format("conf/env sets {}", counted(evidence.package.env.size(), "variable", "variables")); }
std::string passedTuning(const Evidence &evidence) { return fmt::format("tuned for {}, as the board has", fmt::join(tunedFor(evidence), ", ")); }
std::string passedDtype(const Evidence &evidence) { return models(evidence) + (evidence.package.manifest.models.size() == 1 ? " holds what it declares" : " hold what they declare"); }
std::string passedModelFile(const Evidence &evidence) { return models(evidence) + ", nothing is cut off or out of range"; }

std::string passedElfArch(const Evidence &evidence) { return fmt::format("{} for {}", binaries(evidence), evidence.facts.arch.value_or("the board")); }
std::string passedGlibc(const Evidence &evidence) { return needed(evidence, "GLIBC_", evidence.facts.glibc); }
std::string passedLibstdcxx(const Evidence &evidence) { return needed(evidence, "GLIBCXX_", evidence.facts.glibcxx); }

std::string passedNeededLibs(const Evidence &evidence) {
    std::set<std::string> libraries;
    for (const auto &shipped : evidence.elves)
        libraries.insert(shipped.elf.needed.begin(), shipped.elf.needed.end());
    return counted(libraries.size(), "library", "libraries") + " found, on the board or in the package";
}

std::string passedPackageFiles(const Evidence &evidence) { return counted(evidence.package.manifest.files.size(), "file", "files") + " there, with the right size"; }
std::string passedExecutable(const Evidence &) { return "modes, interpreters and the run command are right"; }
std::string passedCudaLibs(const Evidence &evidence) {
    const auto driver = evidence.driver();
    return driver ? "CUDA libraries not newer than the driver (" + cudaName(*driver) + ")" : "CUDA libraries are of the board's kind";
}
std::string passedRpath(const Evidence &evidence) { return binaries(evidence) + " without paths of this machine"; }
std::string passedBoardIdentity(const Evidence &evidence) { return evidence.facts.model.value_or("the board"); }
std::string passedDiskSpace(const Evidence &evidence) {
    std::uint64_t bytes = 0;
    for (const auto &file : evidence.package.manifest.files)
        bytes += file.size;
    return formatBytes(bytes) + " at most, and there is room";
}
std::string passedDestWritable(const Evidence &evidence) { return evidence.destination() + " can be written"; }
std::string passedNoexec(const Evidence &evidence) { return "programs may run in " + evidence.destination(); }
std::string passedClock(const Evidence &) { return "agrees with this machine's"; }
std::string passedRemoteShell(const Evidence &) { return "a login prints nothing of its own"; }
std::string passedRemoteTools(const Evidence &) { return "sh, tar, ln and sha256sum are there"; }
std::string passedLoad(const Evidence &evidence) { return kernels(evidence) + " loaded in the board's driver"; }
std::string passedRehearsal(const Evidence &evidence) { return binaries(evidence) + " started under emulation"; }

} // namespace slipway
