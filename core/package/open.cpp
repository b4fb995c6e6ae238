// SPDX-License-Identifier: Apache-2.0
//
// Opening a package, ours or cargo teeny's, and proving that it is what its manifest says.

#include "core/package/package.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/package/contents.h"
#include "core/package/teeny.h"

#include <set>
#include <sys/stat.h>

namespace slipway {

namespace {

Result<void> verifyFile(const fs::path &directory, const PackagedFile &listed, Progress &progress) {
    const auto file = directory / listed.path;
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0)
        return fail("{} is missing (the manifest lists it)", listed.path);
    if (!S_ISREG(status.st_mode))
        return fail("{} is no plain file", listed.path);
    if (std::uint64_t(status.st_size) != listed.size)
        return fail("{} has {} bytes, the manifest says {}", listed.path, std::uint64_t(status.st_size), listed.size);
    const auto found = TRY(sha256OfFile(file, progress));
    if (found != listed.sha256)
        return fail("{} was changed after packing: its SHA-256 is {}…, the manifest says {}…", listed.path,
                    found.substr(0, 12), listed.sha256.substr(0, 12));
    return {};
}

} // namespace

Result<Package> Package::open(const fs::path &directory, Progress &progress) {
    std::error_code error;
    const auto manifestFile = directory / "conf/manifest.json";
    if (!fs::is_regular_file(manifestFile, error)) {
        if (fs::is_regular_file(directory / "conf/.cargo-teeny-package", error))
            return openTeenyPackage(directory, progress);
        return std::unexpected(Error{.kind = ErrorKind::usage,
                                     .message = fmt::format("{} is no package (needed conf/manifest.json or conf/.cargo-teeny-package in it)",
                                                            printable(directory.string())),
                                     .hint = "make one with: slipway package --target T --dest DIR"});
    }
    Package package;
    package.directory = directory;
    package.manifest = TRY(Manifest::fromJson(TRY(readJsonFile(manifestFile)), manifestFile.string()));
    if (fs::exists(directory / "conf/env", error)) // pre-flight's runtime-env says what is wrong without it
        package.env = TRY_IN(parseEnvFile(TRY(readFile(directory / "conf/env", 1 << 20))), directory.string());
    return package;
}

Result<void> verifyPackage(const Package &package, Progress &progress) {
    auto step = progress.step("verify the package", package.manifest.files.size(), Event::Unit::files);
    std::set<std::string> listed;
    for (const auto &file : package.manifest.files) {
        TRY_IN(verifyFile(package.directory, file, progress), package.directory.string());
        listed.insert(file.path);
        step.advance();
    }
    for (const auto &path : TRY(packagedPaths(package.directory))) {
        if (!listed.contains(path))
            return fail("{}: {} is not in the manifest", package.directory.string(), printable(path));
    }
    step.done();
    return {};
}

} // namespace slipway
