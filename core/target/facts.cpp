// SPDX-License-Identifier: Apache-2.0
//
// The facts file (DESIGN section 7), read and written. People edit it and boards write it: every type is checked, and
// an error names the key.

#include "core/target/facts.h"

#include "core/base/text.h"

#include <algorithm>
#include <cstdint>
#include <span>

namespace slipway {

namespace {

template <typename T>
void put(Json &json, const char *key, const std::optional<T> &value) {
    if (value)
        json[key] = *value;
}

/// Reads a member that may be absent. null counts as absent: other programs write it for "unknown".
template <typename T>
Result<void> take(const Json &json, const char *key, std::optional<T> &value, std::string_view what) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null())
        return {};
    value = TRY(required<T>(json, key, what));
    return {};
}

Result<void> takeLong(const Json &json, const char *key, std::optional<long> &value, std::string_view what) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null())
        return {};
    if (!found->is_number_integer() ||
        (found->is_number_unsigned() && found->get<std::uint64_t>() > std::uint64_t(INT64_MAX)))
        return fail("{}: \"{}\" is {}, needed a whole number", what, key, found->type_name());
    value = found->get<long>();
    return {};
}

Json gpuJson(const GpuFacts &gpu) {
    Json json{{"name", gpu.name}, {"capability", gpu.capability.dotted()}};
    put(json, "sm_count", gpu.smCount);
    put(json, "integrated", gpu.integrated);
    put(json, "memory_bytes", gpu.memoryBytes);
    return json;
}

Result<GpuFacts> gpuOf(const Json &json, std::string_view what) {
    GpuFacts gpu;
    gpu.capability = TRY_IN(Capability::parse(TRY(required<std::string>(json, "capability", what))),
                            fmt::format("{}: \"capability\"", what));
    gpu.capability = gpu.capability.baseline();
    gpu.name = TRY(member<std::string>(json, "name", "", what));
    TRY(take(json, "sm_count", gpu.smCount, what));
    TRY(take(json, "integrated", gpu.integrated, what));
    TRY(take(json, "memory_bytes", gpu.memoryBytes, what));
    return gpu;
}

Json diskJson(const DiskFacts &disk) {
    Json json{
        {"mount", disk.mount}, {"free_bytes", disk.freeBytes}, {"read_only", disk.readOnly}, {"noexec", disk.noexec}};
    if (!disk.type.empty())
        json["type"] = disk.type;
    return json;
}

Result<DiskFacts> diskOf(const Json &json, std::string_view what) {
    DiskFacts disk;
    disk.mount = TRY(required<std::string>(json, "mount", what));
    disk.freeBytes = TRY(required<std::uint64_t>(json, "free_bytes", what));
    disk.readOnly = TRY(member<bool>(json, "read_only", false, what));
    disk.noexec = TRY(member<bool>(json, "noexec", false, what));
    disk.type = TRY(member<std::string>(json, "type", "", what));
    return disk;
}

Json compatJson(const CudaCompat &compat) {
    Json json{{"path", compat.path}, {"status", compat.status}};
    put(json, "driver", compat.driver);
    if (!compat.links.empty())
        json["links"] = compat.links;
    return json;
}

Result<CudaCompat> compatOf(const Json &json, std::string_view what) {
    CudaCompat compat{.path = TRY(required<std::string>(json, "path", what)),
                      .status = TRY(required<std::string>(json, "status", what)),
                      .driver = {}};
    TRY(take(json, "driver", compat.driver, what));
    compat.links = TRY(member<std::vector<std::string>>(json, "links", {}, what));
    return compat;
}

/// Reads a list of objects, each through `one`, whose errors say which element it was.
template <typename T>
Result<void> takeList(const Json &json, const char *key, std::optional<std::vector<T>> &value, std::string_view what,
                      Result<T> (*one)(const Json &, std::string_view)) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null())
        return {};
    if (!found->is_array())
        return fail("{}: \"{}\" is {}, needed a list", what, key, found->type_name());
    value.emplace();
    for (const auto &element : *found)
        value->push_back(TRY(one(element, fmt::format("{}: \"{}\" number {}", what, key, value->size() + 1))));
    return {};
}

/// A tool is its version, or `true` when it is there and does not tell one. `false` and null mean that it is not there.
Result<void> takeTools(const Json &json, std::optional<std::map<std::string, std::string>> &tools,
                       std::string_view what) {
    const auto found = json.find("tools");
    if (found == json.end() || found->is_null())
        return {};
    if (!found->is_object())
        return fail("{}: \"tools\" is {}, needed an object", what, found->type_name());
    tools.emplace();
    for (const auto &[name, version] : found->items()) {
        if (version.is_string())
            (*tools)[name] = version.get<std::string>();
        else if (version.is_boolean() && version.get<bool>())
            (*tools)[name] = "";
        else if (!version.is_boolean() && !version.is_null())
            return fail("{}: \"tools\", \"{}\" is {}, needed a version or true", what, name, version.type_name());
    }
    return {};
}

Json toolsJson(const std::map<std::string, std::string> &tools) {
    Json json = Json::object();
    for (const auto &[name, version] : tools)
        json[name] = version.empty() ? Json(true) : Json(version);
    return json;
}

template <typename T>
Json listJson(const std::vector<T> &values, Json (*one)(const T &)) {
    Json json = Json::array();
    for (const auto &value : values)
        json.push_back(one(value));
    return json;
}

/// The text facts with their keys, in the order in which they are written.
struct TextFact {
    const char *key;
    std::optional<std::string> BoardFacts::*value;
};

constexpr TextFact identity[] = {
    {"tnspec", &BoardFacts::tnspec},   {"serial", &BoardFacts::serial}, {"l4t", &BoardFacts::l4t},
    {"jetpack", &BoardFacts::jetpack}, {"os", &BoardFacts::os},         {"arch", &BoardFacts::arch},
    {"kernel", &BoardFacts::kernel},   {"glibc", &BoardFacts::glibc},   {"glibcxx", &BoardFacts::glibcxx},
    {"cxxabi", &BoardFacts::cxxabi},
};

constexpr TextFact driver[] = {
    {"cuda_driver_status", &BoardFacts::cudaDriverStatus},
    {"cuda_driver_library", &BoardFacts::cudaDriverLibrary},
    {"cuda_toolkit", &BoardFacts::cudaToolkit},
};

constexpr TextFact rest[] = {
    {"model", &BoardFacts::model},
    {"machine_id", &BoardFacts::machineId},
    {"power_mode", &BoardFacts::powerMode},
    {"simulated", &BoardFacts::simulated},
};

} // namespace

Json BoardFacts::toJson() const {
    Json json = Json::object();
    put(json, "model", model);
    put(json, "compatible", compatible);
    for (const auto &[key, value] : identity)
        put(json, key, this->*value);
    put(json, "cuda_driver", cudaDriver);
    for (const auto &[key, value] : driver)
        put(json, key, this->*value);
    if (!cudaCompat.empty())
        json["cuda_compat"] = listJson(cudaCompat, compatJson);
    if (gpus)
        json["gpus"] = listJson(*gpus, gpuJson);
    put(json, "memory_bytes", memoryBytes);
    put(json, "cpu_aes", cpuAes);
    put(json, "machine_id", machineId);
    put(json, "power_mode", powerMode);
    if (disks)
        json["disks"] = listJson(*disks, diskJson);
    if (tools)
        json["tools"] = toolsJson(*tools);
    put(json, "libraries", libraries);
    put(json, "clock_skew_s", clockSkewSeconds);
    put(json, "shell_quiet", shellQuiet);
    put(json, "env", env);
    put(json, "simulated", simulated);
    put(json, "read_at", readAt);
    if (!warnings.empty())
        json["warnings"] = warnings;
    return json;
}

std::optional<int> BoardFacts::driverWith(std::string_view libraryPath) const {
    for (auto folder : split(libraryPath, ':')) {
        while (folder.size() > 1 && folder.ends_with('/'))
            folder.remove_suffix(1);
        const auto found = std::ranges::find_if(cudaCompat, [folder](const CudaCompat &compat) {
            return compat.path == folder || std::ranges::find(compat.links, folder) != compat.links.end();
        });
        if (found != cudaCompat.end() && found->driver && found->status == "ok")
            return found->driver;
    }
    return cudaDriver;
}

Result<BoardFacts> BoardFacts::fromJson(const Json &json, std::string_view what) {
    if (!json.is_object())
        return fail("{}: found {}, needed an object of facts", what, json.type_name());
    BoardFacts facts;
    for (const auto &group :
         {std::span<const TextFact>(identity), std::span<const TextFact>(driver), std::span<const TextFact>(rest)}) {
        for (const auto &[key, value] : group)
            TRY(take(json, key, facts.*value, what));
    }
    TRY(take(json, "compatible", facts.compatible, what));
    TRY(take(json, "cuda_driver", facts.cudaDriver, what));
    std::optional<std::vector<CudaCompat>> compat;
    TRY(takeList(json, "cuda_compat", compat, what, compatOf));
    facts.cudaCompat = std::move(compat).value_or(std::vector<CudaCompat>());
    TRY(takeList(json, "gpus", facts.gpus, what, gpuOf));
    TRY(take(json, "memory_bytes", facts.memoryBytes, what));
    TRY(take(json, "cpu_aes", facts.cpuAes, what));
    TRY(takeList(json, "disks", facts.disks, what, diskOf));
    TRY(takeTools(json, facts.tools, what));
    TRY(take(json, "libraries", facts.libraries, what));
    TRY(takeLong(json, "clock_skew_s", facts.clockSkewSeconds, what));
    TRY(take(json, "shell_quiet", facts.shellQuiet, what));
    TRY(take(json, "env", facts.env, what));
    TRY(takeLong(json, "read_at", facts.readAt, what));
    facts.warnings = TRY(member<std::vector<std::string>>(json, "warnings", {}, what));
    return facts;
}

} // namespace slipway
