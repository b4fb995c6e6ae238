// SPDX-License-Identifier: Apache-2.0
//
// Options that keep a cross compiler inside a sysroot.

#include "core/sysroot/crossflags.h"

#include "core/base/text.h"

namespace slipway {

namespace {

/// The folders between "search starts here" and "End of search list" of a compiler's -v.
Result<std::vector<fs::path>> includeFolders(const fs::path &compiler, const char *language, const fs::path &sysroot) {
    Progress progress;
    const auto finished = TRY(runChecked({.program = compiler.string(),
                                          .arguments = {"-E", "-v", "-x", language, "/dev/null", "--sysroot=" + sysroot.string()},
                                          .environment = {{"LC_ALL", "C"}},
                                          .unset = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"},
                                          .timeout = std::chrono::seconds(20)},
                                         progress));
    std::vector<fs::path> folders;
    bool inside = false;
    for (const auto line : lines(finished.errors)) {
        if (line.starts_with("End of search list"))
            break;
        if (inside && line.starts_with(' '))
            folders.emplace_back(trimmed(line));
        inside = inside || line.starts_with("#include <...>");
    }
    return folders;
}

/// -nostdinc with the same folders in the same order, without the one of this machine's C library.
Result<std::vector<std::string>> includeFlags(const fs::path &compiler, const char *language, const fs::path &sysroot,
                                              const std::string &multiarch) {
    const auto own = fs::path("/usr") / multiarch / "include";
    std::vector<std::string> flags{"-nostdinc"};
    bool dropped = false;
    std::error_code error;
    for (const auto &folder : TRY(includeFolders(compiler, language, sysroot))) {
        const auto real = fs::weakly_canonical(folder, error);
        dropped = dropped || real == own;
        if (real != own)
            flags.insert(flags.end(), {"-isystem", real.string()});
    }
    return dropped ? flags : std::vector<std::string>{};
}

} // namespace

Result<CrossFlags> crossFlags(const fs::path &sysroot, const std::string &multiarch, const fs::path &cc, const fs::path &cxx) {
    CrossFlags flags;
    std::error_code error;
    // -B is looked into first, for start files and libraries alike
    for (const auto &folder : {sysroot / "usr/lib" / multiarch, sysroot / "lib" / multiarch}) {
        if (fs::is_directory(folder, error))
            flags.link.push_back("-B" + folder.string());
    }
    flags.c = TRY(includeFlags(cc, "c", sysroot, multiarch));
    if (!cxx.empty())
        flags.cxx = TRY(includeFlags(cxx, "c++", sysroot, multiarch));
    return flags;
}

Result<std::vector<std::string>> linkSysrootCxx(const fs::path &sysroot, const std::string &multiarch, const fs::path &folder) {
    std::error_code error;
    const auto library = sysroot / "usr/lib" / multiarch / "libstdc++.so.6";
    if (!fs::exists(library, error))
        return std::vector<std::string>{};
    fs::create_directories(folder, error);
    fs::remove(folder / "libstdc++.so", error);
    fs::create_symlink(library, folder / "libstdc++.so", error);
    if (error)
        return fail("cannot make {}: {}", (folder / "libstdc++.so").string(), error.message());
    return std::vector<std::string>{"-L" + folder.string()};
}

} // namespace slipway
