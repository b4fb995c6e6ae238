// SPDX-License-Identifier: Apache-2.0
//
// CMake's file API, codemodel version 2: what a project builds and where, from CMake itself
// (cmake-file-api(7)).

#include "core/base/json.h"
#include "core/build/buildparts.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::string_view what = "CMake's file API";

fs::path replyFolder(const fs::path &tree) { return tree / ".cmake/api/v1/reply"; }

/// The newest index: names sort by time.
Result<fs::path> newestIndex(const fs::path &tree) {
    fs::path newest;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(replyFolder(tree), error)) {
        const auto name = entry.path().filename().string();
        if (name.starts_with("index-") && name.ends_with(".json") && name > newest.filename().string())
            newest = entry.path();
    }
    if (newest.empty())
        return fail("CMake wrote no model of the project to {} (needed CMake 3.14 or newer)", replyFolder(tree).string());
    return newest;
}

Result<fs::path> replyFile(const fs::path &tree, const Json &object) {
    const auto name = TRY(required<std::string>(object, "jsonFile", what));
    if (!isInsidePath(name))
        return fail("{}: \"{}\" is no file of the reply", what, name);
    return replyFolder(tree) / name;
}

Result<CMakeTarget> readTarget(const fs::path &tree, const Json &reference) {
    const auto json = TRY(readJsonFile(TRY(replyFile(tree, reference))));
    CMakeTarget target{.id = TRY(required<std::string>(json, "id", what)),
                       .name = TRY(required<std::string>(json, "name", what)),
                       .type = TRY(required<std::string>(json, "type", what))};
    for (const auto &artifact : json.value("artifacts", Json::array()))
        target.artifacts.push_back((tree / TRY(required<std::string>(artifact, "path", what))).lexically_normal());
    for (const auto &dependency : json.value("dependencies", Json::array()))
        target.dependencies.push_back(TRY(required<std::string>(dependency, "id", what)));
    return target;
}

} // namespace

Result<void> askFileApi(const fs::path &tree) {
    return writeFileAtomically(tree / ".cmake/api/v1/query/client-slipway/codemodel-v2", "");
}

Result<std::vector<CMakeTarget>> readFileApi(const fs::path &tree) {
    const auto index = TRY(readJsonFile(TRY(newestIndex(tree))));
    const auto reply = index.value("/reply/client-slipway/codemodel-v2"_json_pointer, Json());
    if (!reply.is_object())
        return fail("{}: the reply has no codemodel-v2", what);
    const auto model = TRY(readJsonFile(TRY(replyFile(tree, reply))));
    const auto configurations = model.value("configurations", Json::array());
    if (!configurations.is_array() || configurations.empty())
        return fail("{}: the project has no configuration", what);
    std::vector<CMakeTarget> targets;
    for (const auto &reference : configurations.front().value("targets", Json::array()))
        targets.push_back(TRY(readTarget(tree, reference)));
    return targets;
}

} // namespace slipway
