// SPDX-License-Identifier: Apache-2.0
//
// What CMake and Cargo builds share: the sysroot's folders, and compiler errors made readable.

#include "core/build/buildparts.h"

#include "core/base/text.h"

#include <algorithm>
#include <sys/utsname.h>

namespace slipway {

namespace {

bool isErrorLine(std::string_view line) {
    for (const std::string_view sign : {": error: ", ": fatal error: ", ": undefined reference to ", "ld: cannot find ", "ld.lld: error: "}) {
        if (line.find(sign) != std::string_view::npos)
            return true;
    }
    return line.starts_with("error: ") || line.starts_with("error[") || line.starts_with("CMake Error");
}

} // namespace

std::string hostArch() {
    utsname name{};
    return ::uname(&name) == 0 ? name.machine : "";
}

std::string multiarchOf(const Toolchain &toolchain) {
    return toolchain.isNative() ? hostArch() + "-linux-gnu" : toolchain.triple;
}

Result<std::vector<std::string>> linkOptions(const BuildRequest &request) {
    const auto &toolchain = request.toolchain;
    std::vector<std::string> options;
    if (!toolchain.sysroot)
        return options;
    options = TRY(linkSysrootCxx(toolchain.sysroot->path, multiarchOf(toolchain), request.directory / "lib"));
    options.insert(options.end(), toolchain.flags.link.begin(), toolchain.flags.link.end());
    for (const auto &folder : rpathLinkFolders(toolchain))
        options.push_back("-Wl,-rpath-link," + folder.string());
    return options;
}

std::string builtArch(const BuildRequest &request) {
    return request.toolchain.isForThisMachine() ? hostArch() : request.target.arch;
}

std::map<std::string, std::string> pkgConfigEnvironment(const Toolchain &toolchain) {
    if (toolchain.isNative() && !toolchain.sysroot)
        return {};
    const auto triple = multiarchOf(toolchain);
    // LIBDIR replaces the search path, PATH only adds to it (pkg-config's manual)
    if (!toolchain.sysroot)
        return {{"PKG_CONFIG_LIBDIR", fmt::format("/usr/lib/{0}/pkgconfig:/usr/{0}/lib/pkgconfig", triple)}, {"PKG_CONFIG_ALLOW_CROSS", "1"}};
    const auto root = toolchain.sysroot->path.string();
    return {{"PKG_CONFIG_LIBDIR", fmt::format("{0}/usr/lib/{1}/pkgconfig:{0}/usr/lib/pkgconfig:{0}/usr/share/pkgconfig", root, triple)},
            {"PKG_CONFIG_SYSROOT_DIR", root},
            {"PKG_CONFIG_ALLOW_CROSS", "1"}};
}

std::vector<fs::path> rpathLinkFolders(const Toolchain &toolchain) {
    std::vector<fs::path> folders;
    if (!toolchain.sysroot)
        return folders;
    const auto triple = multiarchOf(toolchain);
    std::error_code error;
    for (const auto &folder : {"usr/lib/" + triple, "lib/" + triple, "usr/lib/" + triple + "/tegra", "usr/lib/" + triple + "/nvidia",
                               std::string("usr/local/cuda/lib64"), std::string("usr/local/lib")}) {
        if (fs::is_directory(toolchain.sysroot->path / folder, error))
            folders.push_back(toolchain.sysroot->path / folder);
    }
    return folders;
}

Result<void> checkSysroot(const Toolchain &toolchain) {
    if (!toolchain.sysroot)
        return {};
    const auto &root = toolchain.sysroot->path;
    const auto triple = multiarchOf(toolchain);
    std::error_code error;
    const bool starts = fs::exists(root / "usr/lib" / triple / "crt1.o", error) || fs::exists(root / "usr/lib/crt1.o", error)
                        || fs::exists(root / "usr/lib64/crt1.o", error);
    if (starts && fs::exists(root / "usr/include/stdio.h", error))
        return {};
    return std::unexpected(
        Error{.message = fmt::format("the sysroot {} lacks the C library's development files (needed {} and usr/include/stdio.h)",
                                     root.string(), "usr/lib/" + triple + "/crt1.o"),
              .hint = "install libc6-dev (and libstdc++-dev) on the board and sync the sysroot again"});
}

std::vector<std::string> compilerErrors(std::string_view output, std::size_t most) {
    std::vector<std::string> errors;
    const auto all = lines(output);
    for (std::size_t i = 0; i < all.size() && errors.size() < most; ++i) {
        if (!isErrorLine(all[i]))
            continue;
        std::string text(trimmed(all[i]));
        // rustc puts the place below the message, CMake the message below the place
        const auto next = i + 1 < all.size() ? trimmed(all[i + 1]) : std::string_view();
        if (next.starts_with("--> "))
            text = fmt::format("{}: {}", next.substr(4), text);
        for (auto j = i + 1; text.starts_with("CMake Error") && j < all.size() && !trimmed(all[j]).empty(); ++j)
            text += fmt::format(" {}", trimmed(all[j]));
        errors.push_back(printable(text, 300));
    }
    return errors;
}

Error buildFailed(const std::string &what, const Command &command, const Finished &finished) {
    auto error = commandFailed(command, finished);
    const auto output = finished.output + "\n" + finished.errors;
    const auto found = compilerErrors(output);
    if (found.empty())
        return std::move(error).in(what);
    // "could not compile" and "linking failed" only sum up: a line that names a place or a library says more
    const auto telling = std::ranges::find_if(found, [](const std::string &line) {
        return line.find("error: linking with") == std::string::npos && !line.starts_with("error: could not compile");
    });
    error.message = fmt::format("{}: {}", what, telling == found.end() ? found.front() : *telling);
    error.detail = fmt::format("{}\n\n{}", fmt::join(found, "\n"), error.detail);
    return error;
}

} // namespace slipway
