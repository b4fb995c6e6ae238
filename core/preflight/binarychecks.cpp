// SPDX-License-Identifier: Apache-2.0
//
// Will the board's loader start the shipped programs and libraries: machine and interpreter, symbol versions, needed
// libraries, library paths. Rules: ELF gABI, glibc's dl-version.c, ld.so(8).

#include "core/preflight/binarychecks.h"

#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>
#include <array>
#include <set>

namespace slipway {

namespace {

constexpr const char *askBoard = "slipway device facts NAME --json, or name a profile with --target";
constexpr const char *useSysroot =
    "build against the board's own libraries: slipway sysroot sync DEVICE, then slipway build";

std::optional<std::string> boardArch(const Evidence &evidence) {
    if (evidence.facts.arch)
        return evidence.facts.arch;
    return evidence.target ? std::optional(evidence.target->arch) : std::nullopt;
}

std::optional<Finding> archOf(const ShippedElf &shipped, const std::string &arch) {
    const auto &elf = shipped.elf;
    if (!elf.damage.empty())
        return makeFinding(Status::fail, shipped.path, fmt::format("{}", fmt::join(elf.damage, "; ")), "a whole ELF file",
                      "the loader refuses it", "slipway build, then slipway package");
    if (elf.machine != arch || elf.bits != 64 || !elf.littleEndian)
        return makeFinding(Status::fail, shipped.path,
                      fmt::format("{}{}{}", elf.machine, elf.bits == 64 ? "" : ", 32 bits",
                                  elf.littleEndian ? "" : ", big endian"),
                      arch, "the board's processor and kernel run 64-bit " + arch + " programs",
                      "slipway build --target for this board, then slipway package");
    if (const auto usual = usualInterpreter(arch);
        !elf.interpreter.empty() && !usual.empty() && elf.interpreter != usual)
        return makeFinding(Status::fail, shipped.path, "interpreter " + printable(elf.interpreter), usual,
                      "the kernel starts programs through that loader, and the board has another",
                      "build with the cross compiler of the target (not for musl, and not from a Nix or Conda shell)");
    return std::nullopt;
}

/// "2.38" of "GLIBC_2.38", and "2.36" of GLIBC_ABI_DT_RELR, which glibc has since 2.36 (its NEWS), for `prefix` "GLIBC_"; nothing for GLIBC_PRIVATE, CXXABI_TM_1 and the like.
std::optional<std::string_view> versionAfter(std::string_view version, std::string_view prefix) {
    if (!version.starts_with(prefix))
        return std::nullopt;
    version.remove_prefix(prefix.size());
    if (version == "ABI_DT_RELR")
        return "2.36";
    if (version.empty() || version.find_first_not_of("0123456789.") != std::string_view::npos)
        return std::nullopt;
    return version;
}

/// Every version above what the board has, in one finding for each file: all at once, not the first (criu #2699).
void versionsAbove(const ShippedElf &shipped, std::string_view prefix, const std::string &has,
                   std::vector<Finding> &findings) {
    std::vector<std::string> newer;
    for (const auto &need : shipped.elf.versions) {
        const auto version = versionAfter(need.version, prefix);
        if (!version || need.weak || compareVersions(*version, has) <= 0)
            continue;
        newer.push_back(fmt::format(
            "{}{}", need.version,
            need.symbols.empty()
                ? ""
                : fmt::format(" ({})",
                              fmt::join(need.symbols.begin(),
                                        need.symbols.begin() + long(std::min<std::size_t>(3, need.symbols.size())),
                                        ", "))));
    }
    if (newer.empty())
        return;
    findings.push_back(
        makeFinding(Status::fail, shipped.path, fmt::format("needs {}", fmt::join(newer, ", ")), fmt::format("at most {}{}", prefix, has),
               "the board's loader refuses a program whose symbol versions it does not have", useSysroot));
}

/// The newest PREFIX version that a shipped library itself defines; a shipped libstdc++ replaces the board's.
std::string shippedDefinition(const Evidence &evidence, std::string_view soname, std::string_view prefix) {
    std::string newest;
    for (const auto &shipped : evidence.elves) {
        if (shipped.elf.soname != soname)
            continue;
        for (const auto &definition : shipped.elf.defines) {
            const auto version = versionAfter(definition, prefix);
            if (version && (newest.empty() || compareVersions(newest, *version) < 0))
                newest = *version;
        }
    }
    return newest;
}

bool hasStubs(std::string_view path) {
    const auto pieces = split(path, '/');
    return std::find(pieces.begin(), pieces.end(), "stubs") != pieces.end();
}

/// Paths that a board's own system has; anything else in an RPATH was true only where the program was built.
bool isBoardPath(std::string_view path) {
    constexpr std::array<std::string_view, 8> roots{"$ORIGIN",        "${ORIGIN}",       "/lib",        "/usr/lib",
                                                    "/usr/local/lib", "/usr/local/cuda", "/opt/nvidia", "/opt/ros"};
    return std::any_of(roots.begin(), roots.end(), [&](auto root) {
        return path.starts_with(root) &&
               (path.size() == root.size() || path[root.size()] == '/' || path[root.size()] == '-');
    });
}

} // namespace

std::string usualInterpreter(std::string_view arch) {
    return arch == "aarch64" ? "/lib/ld-linux-aarch64.so.1" : arch == "x86_64" ? "/lib64/ld-linux-x86-64.so.2" : "";
}

bool isPathForBoards(std::string_view piece) {
    return !piece.empty() && !hasStubs(piece) && isBoardPath(piece);
}

std::vector<Finding> checkElfArch(const Evidence &evidence, Progress &) {
    if (evidence.elves.empty())
        return skippedBecause("the package holds no ELF files");
    const auto arch = boardArch(evidence);
    if (!arch)
        return {notKnown("package", "no architecture of the board", askBoard)};
    std::vector<Finding> findings;
    for (const auto &shipped : evidence.elves) {
        if (auto finding = archOf(shipped, *arch))
            findings.push_back(std::move(*finding));
    }
    return findings;
}

std::vector<Finding> checkGlibc(const Evidence &evidence, Progress &) {
    const bool any = std::any_of(evidence.elves.begin(), evidence.elves.end(),
                                 [](const auto &e) { return !e.elf.versions.empty(); });
    if (!any)
        return skippedBecause("no binary needs versions of the C library");
    if (!evidence.facts.glibc)
        return {notKnown("package", "no glibc version of the board", askBoard)};
    std::vector<Finding> findings;
    for (const auto &shipped : evidence.elves)
        versionsAbove(shipped, "GLIBC_", *evidence.facts.glibc, findings);
    return findings;
}

std::vector<Finding> checkLibstdcxx(const Evidence &evidence, Progress &) {
    std::vector<Finding> findings;
    bool needed = false;
    const std::array<std::pair<std::string_view, const std::optional<std::string> *>, 2> kinds{
        {{"GLIBCXX_", &evidence.facts.glibcxx}, {"CXXABI_", &evidence.facts.cxxabi}}};
    for (const auto &[prefix, fact] : kinds) {
        const bool any = std::any_of(evidence.elves.begin(), evidence.elves.end(), [&, p = prefix](const auto &e) {
            return std::any_of(e.elf.versions.begin(), e.elf.versions.end(),
                               [&](const auto &v) { return versionAfter(v.version, p).has_value(); });
        });
        if (!any)
            continue;
        needed = true;
        const auto own = shippedDefinition(evidence, "libstdc++.so.6", prefix);
        if (own.empty() && !*fact) {
            findings.push_back(notKnown("package", fmt::format("no {} version of the board", prefix), askBoard));
            continue;
        }
        for (const auto &shipped : evidence.elves)
            versionsAbove(shipped, prefix, own.empty() ? **fact : own, findings);
    }
    return needed ? findings : skippedBecause("no binary needs the C++ library");
}

std::vector<Finding> checkRpath(const Evidence &evidence, Progress &) {
    if (evidence.elves.empty())
        return skippedBecause("the package holds no ELF files");
    std::vector<Finding> findings;
    for (const auto &shipped : evidence.elves) {
        auto paths = shipped.elf.rpath;
        paths.insert(paths.end(), shipped.elf.runpath.begin(), shipped.elf.runpath.end());
        std::vector<std::string> wrong;
        for (const auto &path : paths) {
            if (!isPathForBoards(path))
                wrong.push_back(path.empty() ? "an empty path (the current directory)" : printable(path));
        }
        if (!wrong.empty())
            findings.push_back(makeFinding(Status::fail,
                shipped.path, fmt::format("RPATH {}", fmt::join(wrong, ", ")),
                "$ORIGIN or system paths of the board only",
                "host, sysroot and stubs paths do not exist on the board, or hold the wrong libraries there",
                fmt::format(
                    "link without it (CMake: CMAKE_BUILD_WITH_INSTALL_RPATH=ON), or patchelf --set-rpath '$ORIGIN' {}",
                    shipped.path)));
    }
    return findings;
}

} // namespace slipway
