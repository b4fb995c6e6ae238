// SPDX-License-Identifier: Apache-2.0
//
// Two cache directories side by side.

#include "core/kernel/comparecaches.h"

#include <algorithm>
#include <map>

namespace slipway {

namespace {

using Kind = CacheDifference::Kind;
using Entries = std::vector<const CacheEntry *>;

/// The entries of both caches for one kernel on one GPU.
struct Group {
    Entries left, right;
};

/// A kernel's name and the GPU of its image.
using Key = std::pair<std::string, std::string>;

Key keyOf(const CacheEntry &entry) {
    return {entry.name, entry.facts && entry.facts->target ? entry.facts->target->sm() : std::string()};
}

/// Whether two files hold the same; two that are not there do.
bool sameContent(const fs::path &a, const fs::path &b) {
    if (a.empty() || b.empty())
        return a.empty() && b.empty();
    std::error_code error;
    if (fs::file_size(a, error) != fs::file_size(b, error) || error)
        return false;
    const auto left = readFile(a);
    const auto right = readFile(b);
    return left && right && *left == *right;
}

Kind kindOf(const CacheEntry &left, const CacheEntry &right) {
    if (!sameContent(left.image, right.image))
        return Kind::otherContent;
    if (!sameContent(left.cubin, right.cubin))
        return Kind::otherCubin;
    return left.hash == right.hash ? Kind::same : Kind::otherName;
}

/// Pairs what has the same HASH, then the rest in order; takes them out of the group.
void takePairs(Group &group, const std::string &name, std::vector<CacheDifference> &differences) {
    for (auto &left : group.left) {
        const auto same = std::find_if(group.right.begin(), group.right.end(),
                                       [&](const auto *right) { return right->hash == left->hash; });
        if (same == group.right.end())
            continue;
        differences.push_back({name, left, *same});
        group.right.erase(same);
        left = nullptr;
    }
    std::erase(group.left, nullptr);
    for (std::size_t i = 0; i < std::max(group.left.size(), group.right.size()); ++i)
        differences.push_back(
            {name, i < group.left.size() ? group.left[i] : nullptr, i < group.right.size() ? group.right[i] : nullptr});
}

} // namespace

const char *differenceName(Kind kind) {
    switch (kind) {
    case Kind::same:
        return "same";
    case Kind::otherName:
        return "other name";
    case Kind::otherContent:
        return "other content";
    case Kind::otherCubin:
        return "other cubin";
    case Kind::onlyLeft:
        return "only left";
    case Kind::onlyRight:
        break;
    }
    return "only right";
}

Result<std::vector<CacheDifference>> compareCaches(const KernelCache &left, const KernelCache &right,
                                                   Progress &progress) {
    std::map<Key, Group> groups;
    for (const auto &entry : left.entries)
        groups[keyOf(entry)].left.push_back(&entry);
    for (const auto &entry : right.entries)
        groups[keyOf(entry)].right.push_back(&entry);
    std::vector<CacheDifference> differences;
    for (auto &[key, group] : groups)
        takePairs(group, key.first, differences);
    for (auto &difference : differences) {
        TRY(progress.checkpoint());
        difference.kind = !difference.right  ? Kind::onlyLeft
                          : !difference.left ? Kind::onlyRight
                                             : kindOf(*difference.left, *difference.right);
    }
    return differences;
}

} // namespace slipway
