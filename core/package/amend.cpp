// SPDX-License-Identifier: Apache-2.0
//
// Changing files of a finished package, which is its manifest too.

#include "core/package/amend.h"

#include "core/base/digest.h"
#include "core/package/contents.h"

#include <algorithm>
#include <sys/stat.h>

namespace slipway {

Result<void> amendPackage(Package &package, const std::map<std::string, std::string> &files, Progress &progress) {
    auto &listed = package.manifest.files;
    for (const auto &[path, bytes] : files) {
        TRY(progress.checkpoint());
        if (!isInsidePath(path))
            return fail("\"{}\" is no path of a package", path);
        const auto mode = modeByContent(bytes);
        TRY(writeFileAtomically(package.directory / path, bytes, mode));
        TRY(setTime(package.directory / path, package.manifest.builtAt));
        auto entry = std::ranges::find(listed, path, &PackagedFile::path);
        if (entry == listed.end())
            entry = listed.insert(listed.end(), {.path = path});
        *entry = {.path = path, .size = bytes.size(), .mode = mode, .sha256 = sha256(bytes)};
    }
    std::ranges::sort(listed, {}, &PackagedFile::path);
    if (const auto env = files.find("conf/env"); env != files.end())
        package.env = TRY(parseEnvFile(env->second));
    if (package.fromTeeny) // has no manifest of ours; its files are hashed when it is opened
        return {};
    TRY(writeJsonFile(package.directory / "conf/manifest.json", package.manifest.toJson()));
    return setTime(package.directory / "conf/manifest.json", package.manifest.builtAt);
}

} // namespace slipway
