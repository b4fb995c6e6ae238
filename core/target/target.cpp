// SPDX-License-Identifier: Apache-2.0
//
// A board's profile: one JSON file in targets/.

#include "core/target/target.h"

namespace slipway {

namespace {

/// Sub-objects may be missing, but not be something else.
Result<Json> part(const Json &json, const char *key, std::string_view what) {
    const auto found = json.find(key);
    if (found == json.end())
        return Json::object();
    if (!found->is_object())
        return fail("{}: \"{}\" is {}, needed an object", what, key, found->type_name());
    return *found;
}

Result<void> readSmCount(const Json &json, Target &target, std::string_view what) {
    const auto counts = TRY(part(json, "sm_count", what));
    if (counts.contains("max"))
        target.smCountMax = TRY(required<int>(counts, "max", what));
    const auto modes = TRY(part(counts, "by_power_mode", what));
    for (const auto &[mode, count] : modes.items())
        target.smCountByPowerMode[mode] = TRY(required<int>(modes, mode.c_str(), what));
    return {};
}

Result<void> readJetPack(const Json &json, Target &target, std::string_view what) {
    if (!json.contains("jetpack"))
        return {};
    const auto range = TRY(part(json, "jetpack", what));
    target.jetpackFirst = TRY(required<std::string>(range, "first", what));
    target.jetpackLast = TRY(required<std::string>(range, "last", what));
    target.jetpackAssumed = TRY(member<std::string>(range, "assumed", target.jetpackFirst, what));
    return {};
}

Result<void> readRecognition(const Json &json, Target &target, std::string_view what) {
    const auto marks = TRY(part(json, "recognise", what));
    target.compatible = TRY(member<std::vector<std::string>>(marks, "compatible", {}, what));
    target.modules = TRY(member<std::vector<std::string>>(marks, "modules", {}, what));
    target.models = TRY(member<std::vector<std::string>>(marks, "models", {}, what));
    target.gpuNames = TRY(member<std::vector<std::string>>(marks, "gpus", {}, what));
    return {};
}

template <typename T>
void putUnlessEmpty(Json &json, const char *key, const T &value) {
    if (!value.empty())
        json[key] = value;
}

} // namespace

Result<Target> Target::fromJson(const Json &json, std::string_view what) {
    Target target;
    target.id = TRY(required<std::string>(json, "id", what));
    target.name = TRY(member<std::string>(json, "name", target.id, what));
    target.triple = TRY(required<std::string>(json, "triple", what));
    target.arch = TRY(member<std::string>(json, "arch", target.triple.substr(0, target.triple.find('-')), what));
    if (json.contains("capability"))
        target.capability = TRY_IN(Capability::parse(TRY(required<std::string>(json, "capability", what))), what);
    TRY(readSmCount(json, target, what));
    TRY(readJetPack(json, target, what));
    target.cudaTargetDir = TRY(member<std::string>(json, "cuda_target_dir", "", what));
    target.sysrootFolders = TRY(member<std::vector<std::string>>(json, "sysroot", {}, what));
    TRY(readRecognition(json, target, what));
    return target;
}

Json Target::toJson() const {
    Json json{{"id", id}, {"name", name}, {"triple", triple}, {"arch", arch}};
    if (capability)
        json["capability"] = capability->sm();
    if (smCountMax)
        json["sm_count"]["max"] = *smCountMax;
    if (!smCountByPowerMode.empty())
        json["sm_count"]["by_power_mode"] = smCountByPowerMode;
    if (!jetpackFirst.empty())
        json["jetpack"] = {{"first", jetpackFirst}, {"last", jetpackLast}, {"assumed", jetpackAssumed}};
    putUnlessEmpty(json, "cuda_target_dir", cudaTargetDir);
    putUnlessEmpty(json, "sysroot", sysrootFolders);
    Json marks = Json::object();
    putUnlessEmpty(marks, "compatible", compatible);
    putUnlessEmpty(marks, "modules", modules);
    putUnlessEmpty(marks, "models", models);
    putUnlessEmpty(marks, "gpus", gpuNames);
    putUnlessEmpty(json, "recognise", marks);
    return json;
}

} // namespace slipway
