// SPDX-License-Identifier: Apache-2.0
//
// Patterns of file names below a project's root.

#include "core/base/text.h"
#include "core/build/project.h"

#include <algorithm>
#include <fnmatch.h>
#include <set>

namespace slipway {

namespace {

constexpr int deepest = 32;            // folders that `**` goes down
constexpr std::size_t mostFiles = 100'000;

struct Walk {
    const fs::path &root;
    std::vector<std::string> parts;
    std::set<std::string> found;
    int depth = 0;
};

bool matches(const std::string &pattern, const std::string &name) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PERIOD) == 0;
}

/// Collects what `parts[index…]` names below `folder` (relative to the root).
void collect(Walk &walk, const std::string &folder, std::size_t index) {
    if (walk.depth > deepest || walk.found.size() > mostFiles)
        return;
    const auto &part = walk.parts[index];
    const bool isLast = index + 1 == walk.parts.size();
    if (part == "**" && !isLast)
        collect(walk, folder, index + 1); // no folder at all
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(walk.root / folder, error)) {
        const auto name = entry.path().filename().string();
        const auto path = folder.empty() ? name : folder + "/" + name;
        const bool isFolder = entry.is_directory(error);
        if (part == "**") {
            if (isFolder && !entry.is_symlink(error) && !name.starts_with('.')) {
                walk.depth += 1;
                collect(walk, path, index);
                walk.depth -= 1;
            } else if (isLast && !isFolder && !name.starts_with('.')) {
                walk.found.insert(path);
            }
        } else if (matches(part, name)) {
            if (isLast && (isFolder || entry.is_regular_file(error)))
                walk.found.insert(path);
            else if (!isLast && isFolder)
                collect(walk, path, index + 1);
        }
    }
}

} // namespace

Result<std::vector<std::string>> expandPattern(const fs::path &root, const std::string &pattern) {
    if (!isInsidePath(pattern))
        return fail("\"{}\" is not inside the project (needed a relative path without \"..\")", printable(pattern));
    Walk walk{.root = root, .parts = {}, .found = {}};
    for (const auto part : split(pattern, '/'))
        walk.parts.emplace_back(part);
    collect(walk, "", 0);
    if (walk.found.empty())
        return std::unexpected(Error{.message = fmt::format("no file matches \"{}\" in {}", printable(pattern), root.string()),
                                     .hint = "correct the pattern in slipway.json, or remove it"});
    std::error_code error;
    const auto inside = fs::canonical(root, error).string() + "/";
    for (const auto &path : walk.found) {
        if (!fs::canonical(root / path, error).string().starts_with(inside))
            return fail("{} is a link that leaves the project (needed a file inside {})", printable(path), root.string());
    }
    return std::vector<std::string>(walk.found.begin(), walk.found.end());
}

} // namespace slipway
