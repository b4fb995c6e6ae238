// SPDX-License-Identifier: Apache-2.0
//
// Does the board's loader find every library, and do the CUDA libraries that a package brings fit the board's driver.
// Rules: ld.so(8); NVIDIA's CUDA compatibility guide and its "CUDA for Tegra" note (facts/domain.md section 4).

#include "core/preflight/binarychecks.h"

#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/libraryclosure.h"
#include "core/target/cudaversion.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr const char *askBoard = "slipway device facts NAME --json, or name a profile with --target";

std::string fileName(const std::string &path) {
    return path.substr(path.rfind('/') + 1);
}

/// Libraries that belong to the kernel driver, of which the toolkit ships stubs to link against (tensorpipe #294).
bool isDriverLibrary(const std::string &path) {
    const auto name = fileName(path);
    return name.starts_with("libcuda.so") || name.starts_with("libnvidia-ml.so") || path.find("/stubs/") != std::string::npos;
}

void missingOf(const LibraryClosure &closure, const ShippedElf &shipped, std::vector<Finding> &findings) {
    using Where = NeededLibrary::Where;
    std::vector<std::string> missing, elsewhere;
    std::string unknown;
    for (const auto &library : closure.unresolved(shipped)) {
        if (library.where == Where::nowhere)
            missing.push_back(printable(library.name));
        else if (library.where == Where::elsewhere)
            elsewhere.push_back(fmt::format("{} ({})", printable(library.name), library.at));
        else
            unknown = fmt::format("needs {} from {}, whose files are not known", printable(library.name), printable(library.at));
    }
    if (!missing.empty())
        findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("needs {}", fmt::join(missing, ", ")),
                                  "each in the package or on the board",
                                  "the loader stops at the first library that it cannot find",
                                  "install what brings them on the board, or ship them beside the program with an $ORIGIN path"));
    if (!elsewhere.empty()) {
        // A plug-in finds what the program that opens it has loaded: only of programs and their libraries it is certain.
        const bool certain = closure.loaded().contains(&shipped);
        auto finding = makeFinding(Status::fail, shipped.path, fmt::format("ships {}, where the loader does not look", fmt::join(elsewhere, ", ")),
                              "an RPATH that leads there", "ld.so(8): only RPATH, LD_LIBRARY_PATH and the board's own folders are searched",
                              fmt::format("link with -Wl,-rpath,'$ORIGIN/…', or patchelf --set-rpath, on {}", shipped.path));
        finding.status = certain ? Status::fail : Status::warn;
        findings.push_back(std::move(finding));
    }
    if (!unknown.empty())
        findings.push_back(notKnown(shipped.path, unknown, "sync a sysroot, which has that folder: slipway sysroot sync DEVICE"));
}

/// Symbol versions of libraries that the package itself brings: the loader compares those too (glibc, dl-version.c).
void versionsOfShipped(const Evidence &evidence, const ShippedElf &shipped, std::vector<Finding> &findings) {
    for (const auto &need : shipped.elf.versions) {
        for (const auto &library : evidence.elves) {
            if (library.elf.soname != need.library || library.elf.machine != shipped.elf.machine || library.elf.defines.empty())
                continue;
            if (!need.weak && !library.elf.defines.contains(need.version))
                findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("needs {} of {}", need.version, need.library),
                                          fmt::format("a {} that has it (this one ends at {})", library.path, *library.elf.defines.rbegin()),
                                          "the loader refuses a program whose symbol versions its library does not have",
                                          "ship the library that the program was linked with"));
        }
    }
}

/// "12.8" of libcudart.so.12.8.90, "12" of libcudart.so.12; empty for another file.
std::string runtimeVersion(const ShippedElf &shipped) {
    constexpr std::string_view start = "libcudart.so.";
    for (const auto &name : {fileName(shipped.path), shipped.elf.soname}) {
        if (!name.starts_with(start))
            continue;
        const auto pieces = split(std::string_view(name).substr(start.size()), '.');
        if (!parseNumber(pieces[0]))
            continue;
        return pieces.size() > 1 && parseNumber(pieces[1]) ? fmt::format("{}.{}", pieces[0], pieces[1]) : std::string(pieces[0]);
    }
    return {};
}

bool onTegra(const Evidence &evidence) {
    const auto device = evidence.capability();
    return device && evidence.catalog.isa.isTegra(*device);
}

/// cudaGetDeviceCount answers 35 (insufficient driver) when the runtime is newer than the driver: by its major version
/// anywhere, by its minor version on Tegra, where minor-version compatibility needs the cuda-compat package
/// (jetpack-nixos #328; domain.md section 4).
void checkRuntime(const Evidence &evidence, const ShippedElf &shipped, int driver, std::vector<Finding> &findings) {
    const auto version = runtimeVersion(shipped);
    if (version.empty())
        return;
    const auto has = cudaVersionText(driver);
    const auto major = std::to_string(driver / 1000);
    const bool newerMajor = compareVersions(version.substr(0, version.find('.')), major) > 0;
    const bool newer = version.find('.') != std::string::npos && compareVersions(version, has) > 0;
    const bool compat = evidence.variable("LD_LIBRARY_PATH").value_or("").find("/compat") != std::string::npos;
    if (!newerMajor && !(newer && onTegra(evidence)))
        return;
    auto finding = makeFinding(Status::fail, shipped.path, "CUDA runtime " + version, fmt::format("at most {} (driver {})", has, cudaName(driver)),
                          "a runtime newer than the driver answers every call with cudaErrorInsufficientDriver (35)",
                          onTegra(evidence) ? fmt::format("build with the CUDA {} of the board, or install its cuda-compat package and put its "
                                                          "folder into LD_LIBRARY_PATH in conf/env", has)
                                            : fmt::format("build with CUDA {}.x or older, or update the board's driver", major));
    if (compat) {
        finding.status = Status::warn;
        finding.why = "it works with the cuda-compat package that LD_LIBRARY_PATH names, if that is installed and supports this runtime";
    }
    findings.push_back(std::move(finding));
}

/// Which of the two Arm builds of CUDA a library is: "aarch64-linux" (Jetson up to JetPack 6) or "sbsa-linux" (servers,
/// JetPack 7). Told by the toolkit's folder names, or by its GPU code: only Jetson's has cubins for Tegra chips.
std::string flavourOf(const Evidence &evidence, const ShippedElf &shipped) {
    auto texts = shipped.elf.rpath;
    texts.insert(texts.end(), shipped.elf.runpath.begin(), shipped.elf.runpath.end());
    texts.push_back(shipped.path);
    for (const auto *kind : {"sbsa-linux", "aarch64-linux"}) {
        for (const auto &text : texts) {
            if (text.find(fmt::format("targets/{}", kind)) != std::string::npos)
                return kind;
        }
    }
    bool any = false;
    for (const auto &fatbin : shipped.fatbins) {
        for (const auto &image : fatbin.members) {
            if (image.kind != ImageKind::cubin || !image.target)
                continue;
            if (evidence.catalog.isa.isTegra(*image.target))
                return "aarch64-linux";
            any = true;
        }
    }
    return any ? "sbsa-linux" : "";
}

/// Libraries of the toolkit: libcudart, libcublas, libcudnn, libcufft, libnvrtc, libnpp…
bool isCudaLibrary(const std::string &path) {
    const auto name = fileName(path);
    for (const std::string_view start : {"libcudart", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse",
                                         "libnvrtc", "libnpp", "libnvjpeg", "libnvJitLink"}) {
        if (name.starts_with(start))
            return name.find(".so") != std::string::npos;
    }
    return false;
}

/// Server builds of CUDA's libraries answer with error 222 or 209 at the first kernel on a Jetson (ollama #6921).
void checkFlavour(const Evidence &evidence, const ShippedElf &shipped, std::vector<Finding> &findings) {
    if (!evidence.target || evidence.target->isGeneric() || evidence.target->arch != "aarch64" || evidence.target->cudaTargetDir.empty() || shipped.elf.machine != "aarch64")
        return;
    const auto flavour = flavourOf(evidence, shipped);
    // From JetPack 7 on Jetson too uses the server packages.
    const auto driver = evidence.driver();
    const bool wantsSbsa = evidence.target->cudaTargetDir == "sbsa-linux" || (driver && *driver >= 13000);
    const std::string wanted = wantsSbsa ? "sbsa-linux" : "aarch64-linux";
    if (flavour.empty() || flavour == wanted)
        return;
    findings.push_back(makeFinding(Status::fail, shipped.path, fmt::format("CUDA's library for {}", flavour), fmt::format("the one for {}", wanted),
                              "there are two Arm builds of CUDA: servers' (sbsa-linux) and Jetson's up to JetPack 6 (aarch64-linux); their GPU "
                              "code and driver interface differ",
                              "leave it out and use the board's own, or take it from the sysroot: slipway sysroot sync DEVICE"));
}

} // namespace

std::vector<Finding> checkNeededLibs(const Evidence &evidence, Progress &progress) {
    if (evidence.elves.empty())
        return skippedBecause("the package holds no ELF files");
    std::vector<Finding> findings;
    for (const auto &shipped : evidence.elves) {
        if (isDriverLibrary(shipped.path))
            findings.push_back(makeFinding(Status::fail, shipped.path, "a library of the driver (or its stub)", "the board's own",
                                      "a stub answers every call with CUDA_ERROR_STUB_LIBRARY (34), and a driver must "
                                      "match its kernel module",
                                      "remove it from the package"));
    }
    if (!evidence.facts.libraries) {
        if (evidence.profileOnly && findings.empty())
            return skippedBecause("a profile does not list the board's libraries: --facts or --device does");
        findings.push_back(notKnown("package", "no list of the board's libraries", askBoard));
        return findings;
    }
    const LibraryClosure closure(evidence);
    for (const auto &shipped : evidence.elves) {
        if (progress.cancelled())
            break;
        missingOf(closure, shipped, findings);
        versionsOfShipped(evidence, shipped, findings);
    }
    return findings;
}

std::vector<Finding> checkCudaLibs(const Evidence &evidence, Progress &) {
    std::vector<Finding> findings;
    bool any = false;
    bool runtime = false;
    for (const auto &shipped : evidence.elves) {
        if (!isCudaLibrary(shipped.path))
            continue;
        any = true;
        runtime = runtime || !runtimeVersion(shipped).empty();
        if (const auto driver = evidence.driver())
            checkRuntime(evidence, shipped, *driver, findings);
        checkFlavour(evidence, shipped, findings);
    }
    if (!any)
        return skippedBecause("the package brings no CUDA libraries");
    if (runtime && !evidence.driver())
        findings.push_back(notKnown("package", "no driver version of the board", askBoard));
    return findings;
}

} // namespace slipway
