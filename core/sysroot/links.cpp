// SPDX-License-Identifier: Apache-2.0
//
// A board's links and linker scripts name absolute paths. In a copy they would lead to this computer's files, or
// nowhere, and a linker then silently takes a static archive instead.

#include "core/sysroot/links.h"

#include "core/base/files.h"
#include "core/base/text.h"

#include <algorithm>
#include <deque>

namespace slipway {

namespace {

constexpr int deepest = 40; ///< links on one way, as the kernel's limit
constexpr std::uintmax_t largestScript = 64 * 1024;
constexpr std::string_view separators = " \t\r\n(),";

fs::recursive_directory_iterator walk(const fs::path &root, std::error_code &error) {
    return {root, fs::directory_options::skip_permission_denied, error};
}

Result<void> replaceLink(const fs::path &link, const fs::path &target) {
    std::error_code error;
    const auto beside = link.parent_path() / ("." + link.filename().string() + ".slipway");
    fs::remove(beside, error);
    fs::create_symlink(target, beside, error);
    if (!error)
        fs::rename(beside, link, error);
    if (error)
        return fail("cannot rewrite the link {}: {}", printable(link.string()), error.message());
    return {};
}

/// What an absolute link, or one with more ".." than its folder `up` is deep (the board's root is its own parent),
/// leads to, relative to the root. Nothing for links that stay inside.
std::optional<fs::path> targetIfLeaving(const fs::path &target, const fs::path &up) {
    if (target.is_absolute())
        return target.relative_path();
    fs::path at = up == "." ? fs::path() : up;
    bool leaves = false;
    for (const auto &part : target) {
        leaves = leaves || (part == ".." && at.empty());
        if (part == "..")
            at = at.parent_path();
        else if (part != ".")
            at /= part;
    }
    return leaves ? std::optional(at) : std::nullopt;
}

std::string withoutComments(std::string_view text) {
    std::string plain;
    while (true) {
        const auto open = text.find("/*");
        plain += text.substr(0, open);
        if (open == std::string_view::npos)
            return plain;
        const auto close = text.find("*/", open + 2);
        if (close == std::string_view::npos)
            return plain;
        plain += ' ';
        text.remove_prefix(close + 2);
    }
}

/// Where a file of this name is: beside the script first.
std::optional<fs::path> findByName(const fs::path &root, const fs::path &script, const std::string &name) {
    std::vector<fs::path> folders{script.parent_path()};
    const auto multiarch = script.parent_path().filename();
    for (const char *folder : {"/usr/lib", "/lib"}) {
        folders.push_back(fs::path(folder) / multiarch);
        folders.emplace_back(folder);
    }
    for (const auto &folder : folders)
        if (resolveInside(root, folder / name))
            return folder / name;
    return {};
}

} // namespace

std::optional<fs::path> resolveInside(const fs::path &root, const fs::path &path) {
    std::deque<fs::path> left;
    for (const auto &part : path.relative_path())
        left.push_back(part);
    fs::path at;
    int links = 0;
    std::error_code error;
    while (!left.empty()) {
        const auto part = left.front();
        left.pop_front();
        if (part.empty() || part == ".")
            continue;
        if (part == "..") {
            if (at.empty())
                return {};
            at = at.parent_path();
            continue;
        }
        const auto next = root / at / part;
        if (!fs::is_symlink(next, error)) {
            at /= part;
            continue;
        }
        const auto target = fs::read_symlink(next, error);
        if (error || ++links > deepest)
            return {};
        if (target.is_absolute())
            at.clear();
        const auto below = target.relative_path();
        left.insert(left.begin(), below.begin(), below.end());
    }
    const auto found = root / at;
    return fs::exists(fs::symlink_status(found, error)) ? std::optional(found) : std::nullopt;
}

Result<std::uint64_t> makeLinksRelative(const fs::path &root, Progress &progress) {
    std::error_code error;
    std::vector<std::pair<fs::path, fs::path>> leaving; // link, what it leads to on the board
    for (auto entry = walk(root, error); entry != fs::end(entry); entry.increment(error)) {
        TRY(progress.checkpoint());
        if (error)
            return fail("cannot read {}: {}", root.string(), error.message());
        std::error_code ignored;
        if (!entry->is_symlink(ignored))
            continue;
        const auto up = entry->path().parent_path().lexically_relative(root);
        if (auto target = targetIfLeaving(fs::read_symlink(entry->path(), ignored), up))
            leaving.emplace_back(entry->path(), std::move(*target));
    }
    for (const auto &[link, target] : leaving) {
        // The walk does not follow links, so the link's own folder is a real one and ".." counts its real depth.
        fs::path relative;
        for (const auto &part : link.parent_path().lexically_relative(root))
            if (part != ".")
                relative /= "..";
        relative /= target.empty() ? fs::path(".") : target;
        TRY(replaceLink(link, relative));
    }
    return leaving.size();
}

bool isLinkerScript(std::string_view text) {
    if (text.empty() ||
        text.starts_with("\x7f"
                         "ELF") ||
        text.starts_with("!<") || text.find('\0') != std::string_view::npos)
        return false;
    const auto plain = withoutComments(text);
    return plain.find("GROUP") != std::string::npos || plain.find("INPUT") != std::string::npos;
}

std::vector<std::string> filesOfScript(std::string_view text) {
    const auto plain = withoutComments(text);
    std::vector<std::string> files;
    for (std::size_t at = 0; at < plain.size();) {
        const auto end = std::min(plain.find_first_of(separators, at), plain.size());
        const auto word = plain.substr(at, end - at);
        if (word.find('/') != std::string::npos || word.find(".so") != std::string::npos || word.ends_with(".a"))
            files.push_back(word);
        at = end + 1;
    }
    return files;
}

Result<std::vector<fs::path>> findLinkerScripts(const fs::path &root, Progress &progress) {
    std::vector<fs::path> scripts;
    std::error_code error;
    for (const char *folder : {"usr/lib", "lib", "usr/local/lib", "usr/lib64", "lib64"}) {
        if (fs::is_symlink(root / folder, error) || !fs::is_directory(root / folder, error))
            continue;
        for (auto entry = walk(root / folder, error); entry != fs::end(entry); entry.increment(error)) {
            TRY(progress.checkpoint());
            if (error)
                return fail("cannot read {}: {}", (root / folder).string(), error.message());
            const auto name = entry->path().filename().string();
            std::error_code ignored;
            if (!name.ends_with(".so") || !fs::is_regular_file(entry->symlink_status(ignored)) ||
                entry->file_size(ignored) > largestScript)
                continue;
            const auto text = readHead(entry->path(), largestScript);
            if (text && isLinkerScript(*text))
                scripts.push_back("/" + entry->path().lexically_relative(root).string());
        }
    }
    std::sort(scripts.begin(), scripts.end());
    return scripts;
}

Result<std::uint64_t> repairLinkerScripts(const fs::path &root, Progress &progress) {
    std::uint64_t changed = 0;
    for (const auto &script : TRY(findLinkerScripts(root, progress))) {
        const auto file = root / script.relative_path();
        auto text = TRY(readFile(file, largestScript));
        const auto before = text;
        for (const auto &name : filesOfScript(text)) {
            if (!name.starts_with('/') || resolveInside(root, name))
                continue;
            const auto there = findByName(root, script, fs::path(name).filename().string());
            const auto at = text.find(name);
            if (there && at != std::string::npos)
                text.replace(at, name.size(), there->string());
        }
        if (text == before)
            continue;
        TRY(writeFileAtomically(file, text));
        ++changed;
    }
    return changed;
}

} // namespace slipway
