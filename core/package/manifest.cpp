// SPDX-License-Identifier: Apache-2.0
//
// conf/manifest.json. It may come from anywhere: every path, mode and digest is checked before it is believed.

#include "core/package/manifest.h"

#include "core/base/digest.h"
#include "core/base/text.h"

#include <algorithm>
#include <set>

namespace slipway {

namespace {

constexpr int newestFormat = 1;

Json fileToJson(const PackagedFile &file) {
    return {{"path", file.path}, {"size", file.size}, {"mode", fmt::format("{:04o}", file.mode)}, {"sha256", file.sha256}};
}

Result<std::string> packagePath(std::string path, std::string_view what) {
    constexpr std::string_view folders[] = {"bin/", "cache/", "conf/", "data/"};
    const bool known = std::ranges::any_of(folders, [&](auto folder) { return path.starts_with(folder); });
    if (!known || !isInsidePath(path) || path == "conf/manifest.json")
        return fail("{}: \"{}\" is no path of a package (needed one below bin/, cache/, conf/ or data/)", what, printable(path));
    return path;
}

Result<PackagedFile> fileFromJson(const Json &json, std::string_view what) {
    PackagedFile file;
    file.path = TRY(packagePath(TRY(required<std::string>(json, "path", what)), what));
    file.size = TRY(required<std::uint64_t>(json, "size", what));
    const auto mode = TRY(required<std::string>(json, "mode", what));
    if (mode != "0644" && mode != "0755")
        return fail("{}: the mode of {} is \"{}\", needed 0644 or 0755", what, printable(file.path), printable(mode));
    file.mode = mode == "0755" ? 0755 : 0644;
    file.sha256 = TRY(required<std::string>(json, "sha256", what));
    if (file.sha256.size() != 64 || file.sha256.find_first_not_of("0123456789abcdef") != std::string::npos)
        return fail("{}: the sha256 of {} is not 64 lower-case hex digits", what, printable(file.path));
    return file;
}

Result<const Json *> list(const Json &json, const char *key, std::string_view what) {
    static const Json none = Json::array();
    const auto found = json.find(key);
    if (found == json.end())
        return &none;
    if (!found->is_array())
        return fail("{}: \"{}\" is {}, needed a list", what, key, found->type_name());
    return &*found;
}

Result<void> readFiles(const Json &json, Manifest &manifest, std::string_view what) {
    std::set<std::string> seen;
    for (const auto &entry : *TRY(list(json, "files", what))) {
        manifest.files.push_back(TRY(fileFromJson(entry, what)));
        if (!seen.insert(manifest.files.back().path).second)
            return fail("{}: {} is listed twice", what, printable(manifest.files.back().path));
    }
    std::ranges::sort(manifest.files, {}, &PackagedFile::path);
    return {};
}

Result<void> readGpu(const Json &json, Manifest &manifest, std::string_view what) {
    if (json.contains("capability"))
        manifest.capability = TRY_IN(Capability::parse(TRY(required<std::string>(json, "capability", what))), what);
    if (json.contains("ptx_version"))
        manifest.ptx = TRY_IN(PtxVersion::parse(TRY(required<std::string>(json, "ptx_version", what))), what);
    manifest.usesKernels = TRY(member(json, "uses_kernels", true, what));
    for (const auto &entry : *TRY(list(json, "kernels", what)))
        manifest.kernels.push_back(TRY(kernelRecordFromJson(entry, fmt::format("{}: kernels", what))));
    for (const auto &entry : *TRY(list(json, "models", what)))
        manifest.models.push_back({.path = TRY(packagePath(TRY(required<std::string>(entry, "path", what)), what)),
                                   .dtype = TRY(member(entry, "dtype", std::string(), what))});
    return {};
}

} // namespace

Json Manifest::toJson() const {
    Json json{{"format", format}, {"name", name}, {"target", target}};
    if (capability)
        json["capability"] = capability->sm();
    if (ptx)
        json["ptx_version"] = ptx->text();
    json["options"] = options;
    json["source"] = {{"commit", commit}, {"dirty", dirty}};
    json["tools"] = tools;
    json["built_at"] = std::uint64_t(builtAt);
    json["run"] = run;
    json["health"] = health;
    json["dest"] = dest;
    json["keep"] = keep;
    json["models"] = Json::array();
    for (const auto &model : models)
        json["models"].push_back({{"path", model.path}, {"dtype", model.dtype}});
    json["uses_kernels"] = usesKernels;
    json["kernels"] = Json::array();
    for (const auto &kernel : kernels)
        json["kernels"].push_back(slipway::toJson(kernel));
    json["files"] = Json::array();
    for (const auto &file : files)
        json["files"].push_back(fileToJson(file));
    return json;
}

Result<Manifest> Manifest::fromJson(const Json &json, std::string_view what) {
    Manifest manifest;
    manifest.format = TRY(required<int>(json, "format", what));
    if (manifest.format != newestFormat)
        return std::unexpected(Error{.message = fmt::format("{}: format {} is not known here (needed {})", what,
                                                            manifest.format, newestFormat),
                                     .hint = "pack it again with this version, or use the newer Slipway that made it"});
    manifest.name = TRY(required<std::string>(json, "name", what));
    if (!isProjectName(manifest.name))
        return fail("{}: \"{}\" is no name (needed letters, digits, '.', '_' or '-')", what, printable(manifest.name));
    manifest.target = TRY(member(json, "target", std::string("unknown"), what));
    manifest.options = TRY(member(json, "options", std::string(), what));
    const Json source = json.value("source", Json::object());
    manifest.commit = TRY(member(source, "commit", std::string(), what));
    manifest.dirty = TRY(member(source, "dirty", false, what));
    manifest.tools = TRY(member(json, "tools", manifest.tools, what));
    manifest.builtAt = long(TRY(member(json, "built_at", std::uint64_t(0), what)));
    manifest.run = TRY(member(json, "run", std::string(), what));
    manifest.health = TRY(member(json, "health", std::string(), what));
    manifest.dest = TRY(member(json, "dest", std::string(), what));
    manifest.keep = TRY(member(json, "keep", 3, what));
    if (manifest.keep < 1)
        return fail("{}: \"keep\" is {}, needed at least 1", what, manifest.keep);
    TRY(readGpu(json, manifest, what));
    TRY(readFiles(json, manifest, what));
    return manifest;
}

std::string Manifest::releaseId() const { return fmt::format("{}-{}", name, sha256(jsonText(toJson())).substr(0, 12)); }

} // namespace slipway
