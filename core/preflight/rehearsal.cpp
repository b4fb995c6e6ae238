// SPDX-License-Identifier: Apache-2.0
//
// The program's start, rehearsed without the board: the sysroot's own loader, run under emulation, resolves every library and
// symbol version, as ldd does (ld.so(8), LD_TRACE_LOADED_OBJECTS).

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/preflight/binarychecks.h"
#include "core/preflight/kernelgroups.h"
#include "core/preflight/libraryclosure.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

/// What is needed to rehearse.
struct Stage {
    fs::path emulator;
    std::string loader;
    std::string searched; ///< folders that the board's loader searches, as they are called here
};

/// What the loader said of one program.
struct Heard {
    std::vector<std::string> missing;  ///< libraries
    std::vector<std::string> versions; ///< "GLIBC_2.38 of libc.so.6 (needed by app)"
    std::string other;
};

std::string baseName(std::string_view path) {
    return std::string(path.substr(path.rfind('/') + 1));
}

/// The emulator falls back on this machine's own files, which may have libraries for the board's processor too.
bool isForeign(const Evidence &evidence, std::string_view path) {
    const auto &sysroot = evidence.sysroot->path.string();
    std::error_code ignored;
    return path.starts_with('/') && !path.starts_with(sysroot + "/") && !path.starts_with(evidence.package.directory.string() + "/") &&
           !fs::exists(sysroot + std::string(path), ignored);
}

/// One line of glibc's loader (elf/rtld.c): "libx.so.1 => not found", "libx.so.1 => PATH (ADDRESS)".
void hearLibrary(const Evidence &evidence, std::string_view line, Heard &heard) {
    const auto arrow = line.find(" => ");
    if (arrow == std::string_view::npos)
        return;
    const auto target = line.substr(arrow + 4);
    if (target.starts_with("not found") || isForeign(evidence, target.substr(0, target.rfind(" ("))))
        heard.missing.push_back(printable(line.substr(0, arrow)));
}

/// One line of elf/dl-version.c: "PROGRAM: LIBRARY: version `V' not found (required by PROGRAM)".
bool hearVersion(std::string_view line, Heard &heard) {
    constexpr std::string_view mark = ": version `", required = "(required by ";
    const auto at = line.find(mark);
    if (at == std::string_view::npos)
        return false;
    const auto version = line.substr(at + mark.size());
    const auto by = version.find(required);
    const auto who = by == std::string_view::npos ? std::string_view() : version.substr(by + required.size());
    heard.versions.push_back(fmt::format("{} of {} (needed by {})", printable(version.substr(0, version.find('\''))),
                                         printable(baseName(line.substr(0, at))), printable(baseName(who.substr(0, who.find(')'))))));
    return true;
}

Heard hear(const Evidence &evidence, const Finished &finished) {
    Heard heard;
    const auto said = finished.output + "\n" + finished.errors;
    for (const auto line : lines(said)) {
        if (!hearVersion(trimmed(line), heard))
            hearLibrary(evidence, trimmed(line), heard);
    }
    if (finished.exitCode != 0 && heard.missing.empty() && heard.versions.empty()) {
        const auto words = lines(trimmed(finished.errors.empty() ? finished.output : finished.errors));
        heard.other = words.empty() ? fmt::format("exit status {}", finished.exitCode) : printable(words.front());
    }
    return heard;
}

Result<Finished> listLibraries(const Stage &stage, const Evidence &evidence, const ShippedElf &program, Progress &progress) {
    return run({.program = stage.emulator.string(),
                .arguments = {"-L", evidence.sysroot->path.string(), stage.loader, "--inhibit-cache", "--library-path", stage.searched,
                              (evidence.package.directory / program.path).string()},
                .environment = {{"LC_ALL", "C"}, {"LD_TRACE_LOADED_OBJECTS", "1"}},
                .unset = {"LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT", "LD_WARN", "QEMU_LD_PREFIX", "QEMU_STRACE"},
                .timeout = std::chrono::seconds(30)},
               progress);
}

/// LD_LIBRARY_PATH of the package, the folders of ld.so.conf, and the loader's own ones.
std::string searchedFolders(const Evidence &evidence, const std::string &arch) {
    const auto root = evidence.sysroot->path.string();
    std::vector<std::string> folders;
    const auto libraryPath = evidence.variable("LD_LIBRARY_PATH").value_or("");
    for (const auto piece : split(libraryPath, ':')) {
        if (piece.starts_with("$RELEASE"))
            folders.push_back(evidence.package.directory.string() + std::string(piece.substr(8)));
        else if (piece.starts_with('/'))
            folders.push_back(root + std::string(piece));
    }
    std::error_code error;
    for (fs::directory_iterator at(root + "/etc/ld.so.conf.d", error), end; !error && at != end; at.increment(error)) {
        const auto text = at->path().extension() == ".conf" ? readFile(at->path(), 64 * 1024) : fail("another file");
        for (const auto line : text ? lines(*text) : std::vector<std::string_view>()) {
            if (trimmed(line).starts_with('/'))
                folders.push_back(root + std::string(trimmed(line)));
        }
    }
    const auto multiarch = arch + "-linux-gnu";
    for (const auto &folder : {"/lib/" + multiarch, "/usr/lib/" + multiarch, std::string("/lib"), std::string("/usr/lib"), std::string("/lib64")})
        folders.push_back(root + folder);
    return fmt::format("{}", fmt::join(folders, ":"));
}

/// A missing library that the board is known to have, or that a script of the package leads to, is the sysroot's fault.
bool isExcused(const LibraryClosure &closure, const ShippedElf &program, const std::vector<std::string> &missing) {
    const auto unresolved = closure.unresolved(program);
    const auto own = [&](const std::string &name) {
        return std::find(program.elf.needed.begin(), program.elf.needed.end(), name) != program.elf.needed.end() &&
               std::none_of(unresolved.begin(), unresolved.end(), [&](const auto &library) { return library.name == name; });
    };
    return std::all_of(missing.begin(), missing.end(), own);
}

void report(const Evidence &evidence, const LibraryClosure &closure, const ShippedElf &program, const Heard &heard, std::vector<Finding> &findings) {
    constexpr const char *rule = "the board's own loader, run under emulation, stops there";
    const auto &sysroot = *evidence.sysroot;
    const bool stale = evidence.facts.l4t && !sysroot.l4t.empty() && *evidence.facts.l4t != sysroot.l4t;
    const auto add = [&](bool excused, std::string found, std::string needed, std::string fix) {
        findings.push_back(makeFinding(excused || stale ? Status::warn : Status::fail, program.path, std::move(found), std::move(needed), rule,
                                       excused || stale ? "the sysroot may be older than the board: slipway sysroot sync DEVICE" : std::move(fix)));
    };
    if (!heard.missing.empty())
        add(isExcused(closure, program, heard.missing), fmt::format("does not find {}", fmt::join(heard.missing, ", ")), "each in the package or in the sysroot",
            "ship it beside the program with an $ORIGIN path, or install it on the board and sync: slipway sysroot sync DEVICE");
    if (!heard.versions.empty())
        add(false, fmt::format("does not find {}", fmt::join(heard.versions, ", ")), "symbol versions that the sysroot's libraries have",
            "build against the sysroot: slipway build, then slipway package");
    if (!heard.other.empty())
        add(false, heard.other, "a program that the loader takes", "slipway build, then slipway package");
}

/// Why there can be no rehearsal; empty = there can.
std::string prepare(const Evidence &evidence, const std::string &arch, Stage &stage) {
    const auto emulator = findProgram("qemu-" + arch + "-static");
    if (!emulator)
        return fmt::format("no qemu-{}-static on this machine", arch);
    const auto path = usualInterpreter(arch);
    stage.emulator = *emulator;
    stage.loader = evidence.sysroot->path.string() + path;
    std::error_code ignored;
    if (path.empty() || !fs::exists(stage.loader, ignored))
        return fmt::format("no {} in the sysroot", path);
    stage.searched = searchedFolders(evidence, arch);
    return {};
}

} // namespace

std::vector<Finding> checkRehearsal(const Evidence &evidence, Progress &progress) {
    const auto arch = evidence.facts.arch ? *evidence.facts.arch : evidence.target ? evidence.target->arch : std::string("aarch64");
    std::vector<const ShippedElf *> programs;
    for (const auto &shipped : evidence.elves) {
        if (!shipped.elf.interpreter.empty() && shipped.elf.machine == arch)
            programs.push_back(&shipped);
    }
    if (programs.empty())
        return skippedBecause("no dynamically linked program for the board in the package");
    if (!evidence.sysroot)
        return skippedBecause("there is no sysroot of the board: slipway sysroot sync DEVICE");
    Stage stage;
    if (const auto lacking = prepare(evidence, arch, stage); !lacking.empty())
        return {notKnown("package", lacking, "apt install qemu-user-static, and slipway sysroot sync DEVICE")};
    const LibraryClosure closure(evidence);
    std::vector<Finding> findings;
    for (const auto *program : programs) {
        if (progress.cancelled())
            return findings;
        const auto finished = listLibraries(stage, evidence, *program, progress);
        if (finished)
            report(evidence, closure, *program, hear(evidence, *finished), findings);
        else
            findings.push_back(notKnown(program->path, finished.error().message, "try it on the board"));
    }
    return findings;
}

} // namespace slipway
