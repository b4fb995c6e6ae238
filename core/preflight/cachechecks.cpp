// SPDX-License-Identifier: Apache-2.0
//
// Is the cache there, complete, and is every image in it whole.

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/kernel/parallel.h"
#include "core/preflight/kernelchecks.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/passtexts.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

constexpr const char *rebuild = "slipway aot --force, then slipway package";

void add(std::vector<Finding> &findings, const std::string &subject, std::string found, std::string needed,
         std::string why, std::string fix = rebuild) {
    findings.push_back({.status = Status::fail,
                        .subject = subject,
                        .found = std::move(found),
                        .needed = std::move(needed),
                        .why = std::move(why),
                        .fix = std::move(fix)});
}

/// Is the name that `// meta:name` gives one of the entries.
bool entryFits(const KernelImage &image, const std::string &meta) {
    return std::any_of(image.entries.begin(), image.entries.end(), [&](const auto &e) { return e.name == meta; });
}

void inspect(const ShippedImage &shipped, std::vector<Finding> &findings) {
    const auto &path = shipped.path;
    if (!shipped.image)
        return add(findings, path, shipped.unreadable, "a kernel image (PTX, cubin or fatbin)",
                   "a file that the driver cannot load counts as a hit and fails at its first use");
    const auto &image = *shipped.image;
    if (!image.damage.empty())
        return add(findings, path, fmt::format("{}", fmt::join(image.damage, "; ")), "a whole image",
                   "the driver refuses it (CUDA_ERROR_INVALID_PTX or INVALID_IMAGE)");
    if (path.ends_with(".o") && image.kind != ImageKind::ptx)
        add(findings, path, fmt::format("a {} under the name of PTX text", imageKindName(image.kind)),
            "PTX text in a .o of the cache",
            "programs read metadata and the entry's name from the text (teenygrad: device/program.rs)",
            "name it .cubin, and put the PTX into the .o");
    if (!image.unresolved.empty()) // what the driver itself provides (vprintf, malloc …) is not among them
        add(findings, path, fmt::format("unresolved {}", fmt::join(image.unresolved, ", ")),
            "a body for every called function",
            "the driver answers CUDA_ERROR_INVALID_PTX (218), Unresolved extern function",
            "link libdevice: slipway aot with libdevice.10.bc, then slipway package");
    const auto meta = image.meta.find("name");
    if (meta != image.meta.end() && !image.entries.empty() && !entryFits(image, meta->second))
        add(findings, path, fmt::format("entry {}", image.entries.front().name),
            fmt::format("{} (// meta:name)", meta->second),
            "programs look up the name that the metadata says, and get CUDA_ERROR_NOT_FOUND (500)");
    if (image.kind != ImageKind::fatbin && image.entries.empty())
        add(findings, path, "no kernel in it", "at least one .entry", "there is nothing to launch");
}

/// What ptxas says of one PTX file.
struct Assembled {
    bool judged = false; ///< it took or refused the text; false = it does not know enough to judge
    std::string refused; ///< why; empty = it took it
};

Assembled assemble(const Evidence &evidence, const std::string &path, Capability device, Progress &progress) {
    const Command command{.program = evidence.ptxas.string(),
                          .arguments = {"-arch=" + device.sm(), "--output-file", "/dev/null",
                                        (evidence.package.directory / path).string()},
                          .timeout = std::chrono::seconds(60)};
    const auto finished = run(command, progress);
    if (!finished || finished->exitCode == 0)
        return {.judged = finished.has_value(), .refused = {}};
    // A ptxas that is older than the text, or that no longer (or not yet) knows the GPU, proves nothing.
    for (const auto *cannotJudge : {"is not defined for option 'gpu-name'", "Unsupported .version"}) {
        if (finished->errors.find(cannotJudge) != std::string::npos)
            return {};
    }
    const auto said = lines(finished->errors);
    return {.judged = true, .refused = said.empty() ? "exit status " + std::to_string(finished->exitCode) : printable(said.front())};
}

/// Only what the other checks leave standing: PTX that is whole and meant for this GPU.
bool isAssemblable(const Evidence &evidence, const ShippedImage &shipped, Capability device) {
    return shipped.image && shipped.image->kind == ImageKind::ptx && shipped.image->damage.empty() && shipped.image->target &&
           evidence.catalog.isa.ptxRuns(*shipped.image->target, device).yes && shipped.image->unresolved.empty();
}

/// PTX that nobody assembled for the device yet, in the order of the cache.
std::vector<const ShippedImage *> unassembled(const Evidence &evidence, Capability device) {
    std::vector<const ShippedImage *> images;
    for (const auto &kernel : evidence.kernels) {
        // A cubin for this GPU beside the text was made from it by ptxas already.
        const bool assembled = std::any_of(kernel.images.begin(), kernel.images.end(), [&](const auto &s) {
            return s.image && s.image->kind == ImageKind::cubin && s.image->target && s.image->target->number == device.number;
        });
        for (const auto &shipped : kernel.images) {
            if (!assembled && isAssemblable(evidence, shipped, device))
                images.push_back(&shipped);
        }
    }
    return images;
}

/// ptxas takes tens of milliseconds a kernel: of more than the first number, the second one is asked, spread over all.
constexpr std::size_t allUpTo = 200;
constexpr std::size_t sampleOfMany = 16;

std::vector<const ShippedImage *> sampleOf(const std::vector<const ShippedImage *> &images) {
    if (images.size() <= allUpTo)
        return images;
    std::vector<const ShippedImage *> sample;
    for (std::size_t i = 0; i < sampleOfMany; ++i)
        sample.push_back(images[i * images.size() / sampleOfMany]);
    return sample;
}

/// Asks ptxas; when it had nothing to say against any image, the one finding says what it was asked.
void assembleAll(const Evidence &evidence, Progress &progress, std::vector<Finding> &findings) {
    const auto device = evidence.capability();
    if (evidence.ptxas.empty() || !device)
        return;
    const auto images = unassembled(evidence, *device);
    const auto asked = sampleOf(images);
    std::vector<Assembled> answers(asked.size());
    inParallel(asked.size(), 0, progress, [&](std::size_t i) {
        answers[i] = assemble(evidence, asked[i]->path, *device, progress);
        return true;
    });
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!answers[i].refused.empty())
            add(findings, asked[i]->path, answers[i].refused, fmt::format("PTX that ptxas assembles for {}", device->sm()),
                fmt::format("{} uses the same compiler as the board's driver", evidence.ptxas.filename().string()));
    }
    const auto took = std::count_if(answers.begin(), answers.end(), [](const auto &a) { return a.judged; });
    if (findings.empty() && !asked.empty())
        findings.push_back({.status = Status::pass,
                            .subject = "package",
                            .found = fmt::format("{}; ptxas assembled {} of {} for {}", passedKernelIntegrity(evidence), took, images.size(), device->sm())});
}

} // namespace

std::vector<Finding> checkCachePresent(const Evidence &evidence, Progress &) {
    const auto &manifest = evidence.package.manifest;
    std::vector<Finding> findings;
    std::error_code ignored;
    const bool any =
        std::any_of(evidence.kernels.begin(), evidence.kernels.end(), [](const auto &k) { return !k.images.empty(); });
    if (!any) {
        if (!manifest.usesKernels)
            return skippedBecause("the project has no kernels");
        const bool missing = !fs::is_directory(evidence.package.directory / "cache", ignored);
        add(findings, "cache/", missing ? "no cache/ in the package" : "an empty cache/",
            "the program's kernels, compiled ahead of time", "the board compiles nothing: every look-up would miss",
            aotCommand(evidence, evidence.capability(), std::nullopt));
    }
    std::set<std::pair<std::string_view, std::string_view>> shipped;
    for (const auto &kernel : evidence.kernels) {
        if (!kernel.images.empty())
            shipped.emplace(kernel.entry.name, kernel.entry.hash);
    }
    for (const auto &record : manifest.kernels) {
        if (!shipped.contains({record.name, record.hash}))
            add(findings, fmt::format("cache/{}{}{}.o", record.name, record.hash.empty() ? "" : "_", record.hash),
                "not in the package", fmt::format("the kernel {} that the ahead-of-time run listed", record.name),
                "the manifest lists it; the program will look for it");
    }
    return findings;
}

std::vector<Finding> checkKernelIntegrity(const Evidence &evidence, Progress &progress) {
    if (evidence.kernels.empty())
        return skippedBecause("the package holds no kernels");
    std::vector<Finding> findings;
    for (const auto &kernel : evidence.kernels) {
        for (const auto &shipped : kernel.images)
            inspect(shipped, findings);
    }
    assembleAll(evidence, progress, findings);
    return findings;
}

} // namespace slipway
