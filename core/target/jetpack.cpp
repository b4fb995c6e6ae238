// SPDX-License-Identifier: Apache-2.0
//
// The JetPack table: what a stock board of each release has.

#include "core/target/jetpack.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

Result<JetPack> releaseOf(const Json &entry) {
    JetPack release;
    release.version = TRY(required<std::string>(entry, "jetpack", "jetpack.json"));
    const auto what = fmt::format("jetpack.json, {}", release.version);
    release.l4t = TRY(required<std::vector<std::string>>(entry, "l4t", what));
    release.ubuntu = TRY(member<std::string>(entry, "ubuntu", "", what));
    release.glibc = TRY(member<std::string>(entry, "glibc", "", what));
    release.glibcxx = TRY(member<std::string>(entry, "glibcxx", "", what));
    release.cxxabi = TRY(member<std::string>(entry, "cxxabi", "", what));
    release.cuda = TRY(member<std::string>(entry, "cuda", "", what));
    release.driver = TRY(required<int>(entry, "driver", what));
    release.tensorrt = TRY(member<std::string>(entry, "tensorrt", "", what));
    return release;
}

/// "36.4" of "36.4.3".
std::string_view line(std::string_view l4t) {
    const auto first = l4t.find('.');
    const auto second = first == std::string_view::npos ? first : l4t.find('.', first + 1);
    return l4t.substr(0, second);
}

} // namespace

Result<JetPacks> JetPacks::fromJson(const Json &json) {
    const auto releases = json.is_object() ? json.find("releases") : json.end();
    if (releases == json.end() || !releases->is_array() || releases->empty())
        return fail("jetpack.json: \"releases\" is missing or not a list");
    JetPacks table;
    for (const auto &entry : *releases)
        table.m_all.push_back(TRY(releaseOf(entry)));
    std::stable_sort(table.m_all.begin(), table.m_all.end(),
                     [](const auto &a, const auto &b) { return compareVersions(a.version, b.version) < 0; });
    return table;
}

const JetPack *JetPacks::ofL4t(std::string_view l4t) const {
    const JetPack *best = nullptr;
    std::string_view bestL4t;
    for (const auto &release : m_all) {
        for (const auto &candidate : release.l4t) {
            if (line(candidate) != line(l4t) || compareVersions(candidate, l4t) > 0)
                continue;
            if (!best || compareVersions(candidate, bestL4t) >= 0) {
                best = &release;
                bestL4t = candidate;
            }
        }
    }
    return best;
}

const JetPack *JetPacks::find(std::string_view version) const {
    const auto found = std::find_if(m_all.begin(), m_all.end(), [&](const auto &r) { return r.version == version; });
    return found == m_all.end() ? nullptr : &*found;
}

bool JetPacks::isNewerThanTable(std::string_view l4t) const {
    return std::all_of(m_all.begin(), m_all.end(), [&](const auto &release) {
        return std::all_of(release.l4t.begin(), release.l4t.end(),
                           [&](const auto &known) { return compareVersions(l4t, known) > 0; });
    });
}

} // namespace slipway
