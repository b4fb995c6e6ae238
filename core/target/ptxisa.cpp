// SPDX-License-Identifier: Apache-2.0
//
// The PTX ISA table: which version knows which target, what a driver accepts, and the rules that decide whether an
// image runs on a device. The rules are NVIDIA's (PTX ISA manual, `.target`; CUDA programming guide, binary
// compatibility); the numbers come from targets/ptxisa.json.

#include "core/target/ptxisa.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::string_view fileName = "ptxisa.json";

Result<const Json *> list(const Json &json, const char *key) {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_array() || found->empty())
        return fail("{}: \"{}\" is missing or not a list", fileName, key);
    return &*found;
}

Result<Capability> capabilityOf(const Json &value, std::string_view where) {
    if (!value.is_string())
        return fail("{}: {} has {}, needed a text such as \"sm_87\"", fileName, where, value.type_name());
    return TRY_IN(Capability::parse(value.get<std::string>()), fmt::format("{}: {}", fileName, where));
}

Result<PtxTarget> targetOf(const Json &entry) {
    PtxTarget target;
    target.capability = TRY_IN(Capability::parse(TRY(required<std::string>(entry, "target", fileName))), fileName);
    target.minPtx = TRY_IN(PtxVersion::parse(TRY(required<std::string>(entry, "min_ptx", fileName))), fileName);
    target.architecture = TRY(member<std::string>(entry, "architecture", "", fileName));
    target.products = TRY(member<std::vector<std::string>>(entry, "products", {}, fileName));
    return target;
}

Result<std::map<int, std::set<int>>> familiesOf(const Json &json) {
    std::map<int, std::set<int>> families;
    const auto found = json.find("families");
    if (found == json.end() || !found->is_object())
        return fail("{}: \"families\" is missing or not an object", fileName);
    for (const auto &[name, members] : found->items()) {
        const auto first = TRY(capabilityOf(name, "families"));
        if (!members.is_array())
            return fail("{}: families, {}: needed a list", fileName, name);
        for (const auto &one : members)
            families[first.number].insert(TRY(capabilityOf(one, "families")).number);
    }
    return families;
}

Result<std::map<int, std::uint64_t>> sharedOf(const Json &json) {
    std::map<int, std::uint64_t> shared;
    const auto found = json.find("shared_per_block"); // a user's own older copy does not have it
    if (found == json.end())
        return shared;
    if (!found->is_object())
        return fail("{}: \"shared_per_block\" is {}, needed an object", fileName, found->type_name());
    for (const auto &[name, bytes] : found->items())
        shared[TRY(capabilityOf(name, "shared_per_block")).number] = TRY(required<std::uint64_t>(*found, name.c_str(), fileName));
    return shared;
}

std::string flavoured(std::string_view what, Capability image) {
    return fmt::format("{} for {}", what, image.sm());
}

} // namespace

Result<PtxIsa> PtxIsa::fromJson(const Json &json) {
    if (!json.is_object())
        return fail("{}: found {}, needed an object", fileName, json.type_name());
    PtxIsa isa;
    for (const auto &entry : *TRY(list(json, "versions"))) {
        const auto version = TRY_IN(PtxVersion::parse(TRY(required<std::string>(entry, "ptx", fileName))), fileName);
        const auto cuda = TRY(required<std::vector<std::string>>(entry, "cuda", fileName));
        isa.m_versions.emplace_back(version, cuda.empty() ? std::string() : cuda.front());
    }
    std::sort(isa.m_versions.begin(), isa.m_versions.end());
    for (const auto &entry : *TRY(list(json, "targets")))
        isa.m_targets.push_back(TRY(targetOf(entry)));
    for (const auto &entry : *TRY(list(json, "drivers"))) {
        const int driver = TRY(required<int>(entry, "driver", fileName));
        isa.m_drivers[driver] = TRY_IN(PtxVersion::parse(TRY(required<std::string>(entry, "ptx", fileName))), fileName);
    }
    isa.m_families = TRY(familiesOf(json));
    const auto renames = TRY((member<std::map<std::string, std::string>>(json, "renamed", {}, fileName)));
    for (const auto &[old, now] : renames)
        isa.m_renamed[TRY(capabilityOf(old, "renamed")).number] = TRY(capabilityOf(now, "renamed")).number;
    for (const auto &entry : *TRY(list(json, "tegra")))
        isa.m_tegra.insert(TRY(capabilityOf(entry, "tegra")).number);
    isa.m_shared = TRY(sharedOf(json));
    return isa;
}

const PtxTarget *PtxIsa::find(Capability target) const {
    const auto found =
        std::find_if(m_targets.begin(), m_targets.end(), [&](const auto &t) { return t.capability == target; });
    return found == m_targets.end() ? nullptr : &*found;
}

bool PtxIsa::exists(PtxVersion version) const {
    return atMost(version) == version;
}

PtxVersion PtxIsa::newest() const {
    return m_versions.back().first;
}

std::optional<PtxVersion> PtxIsa::atMost(PtxVersion version) const {
    std::optional<PtxVersion> best;
    for (const auto &[candidate, cuda] : m_versions) {
        if (candidate <= version)
            best = candidate;
    }
    return best;
}

std::optional<DriverPtx> PtxIsa::newestForDriver(int driver) const {
    // The last digit is a patch level that has never mattered: 12061 is CUDA 12.6.
    const int release = driver / 10 * 10;
    if (const auto exact = m_drivers.find(release); exact != m_drivers.end())
        return DriverPtx{exact->second, false};
    auto after = m_drivers.upper_bound(release);
    if (after == m_drivers.begin())
        return std::nullopt;
    const auto &[known, ptx] = *std::prev(after);
    if (after != m_drivers.end())
        return DriverPtx{ptx, true};
    // Newer than the table. Since CUDA 13.0 each minor release has brought one minor PTX version, and major ones moved
    // together.
    const int majors = release / 1000 - known / 1000;
    if (majors > 0)
        return DriverPtx{{ptx.major + majors, std::min(release % 1000 / 10, 9)}, true};
    return DriverPtx{{ptx.major, std::min(ptx.minor + (release - known) / 10, 9)}, true};
}

std::string PtxIsa::cudaOf(PtxVersion version) const {
    const auto found =
        std::find_if(m_versions.begin(), m_versions.end(), [&](const auto &v) { return v.first == version; });
    return found == m_versions.end() ? std::string() : found->second;
}

int PtxIsa::today(int number) const {
    const auto found = m_renamed.find(number);
    return found == m_renamed.end() ? number : found->second;
}

bool PtxIsa::isTegra(Capability capability) const {
    return m_tegra.contains(capability.number);
}

std::optional<Loadable> PtxIsa::bySameChip(Capability image, Capability device, std::string_view what) const {
    if (today(image.number) != today(device.number))
        return std::nullopt;
    if (image.number == device.number)
        return Loadable{true,
                        fmt::format("{} runs on exactly this capability, {}", flavoured(what, image), device.dotted())};
    const int older = std::min(image.number, device.number);
    return Loadable{true, fmt::format("{} runs on {}: sm_{} is the old name of sm_{}, renamed in CUDA 13.0",
                                      flavoured(what, image), device.dotted(), older, today(older))};
}

std::optional<std::uint64_t> PtxIsa::sharedPerBlock(Capability device) const {
    const auto found = m_shared.find(today(device.number));
    return found == m_shared.end() ? std::nullopt : std::optional(found->second);
}

Loadable PtxIsa::ptxRuns(Capability target, Capability device) const {
    if (target.flavour == Capability::Flavour::family && !m_families.contains(target.number) && find(target.baseline()))
        return {false, fmt::format("there is no target {}: {} belongs to no family", target.sm(), target.baseline().sm())};
    if (auto same = bySameChip(target, device, "PTX"))
        return *same;
    const auto name = flavoured("PTX", target);
    switch (target.flavour) {
    case Capability::Flavour::architecture:
        return {false, fmt::format("{} runs on capability {} only, not on {}", name, target.dotted(), device.dotted())};
    case Capability::Flavour::family: {
        const auto family = m_families.find(target.number);
        if (family == m_families.end())
            return {false, fmt::format("{} runs in its family only, and the table does not know that of {}", name,
                                       device.dotted())};
        if (family->second.contains(device.number))
            return {true, fmt::format("{} runs in its family, which {} is in", name, device.dotted())};
        return {false, fmt::format("{} runs in its family from capability {} on only; {} is not in it", name,
                                   target.dotted(), device.dotted())};
    }
    case Capability::Flavour::baseline:
        break;
    }
    if (device.number > target.number)
        return {true,
                fmt::format("{} runs on capability {} and later, which {} is", name, target.dotted(), device.dotted())};
    return {false, fmt::format("{} needs capability {} or later, not {}", name, target.dotted(), device.dotted())};
}

Loadable PtxIsa::cubinRuns(Capability cubin, Capability device) const {
    if (auto same = bySameChip(cubin, device, "a cubin"))
        return *same;
    const auto name = flavoured("a cubin", cubin);
    if (cubin.flavour == Capability::Flavour::architecture)
        return {false, fmt::format("{} runs on capability {} only, not on {}", name, cubin.dotted(), device.dotted())};
    if (isTegra(cubin) || isTegra(device))
        return {false, fmt::format("{} runs on exactly its capability where a Tegra is involved, not on {}", name,
                                   device.dotted())};
    if (cubin.flavour == Capability::Flavour::family) {
        const auto family = m_families.find(cubin.number);
        if (family != m_families.end() && family->second.contains(device.number))
            return {true, fmt::format("{} runs in its family, which {} is in", name, device.dotted())};
        return {false, fmt::format("{} runs in its family only; {} is not in it", name, device.dotted())};
    }
    if (cubin.major() == device.major() && cubin.minor() <= device.minor())
        return {true, fmt::format("{} runs on capability {}.x from {} on, which {} is", name, cubin.major(),
                                  cubin.dotted(), device.dotted())};
    return {false, fmt::format("{} runs on capability {}.x from {} on only, not on {}", name, cubin.major(),
                               cubin.dotted(), device.dotted())};
}

} // namespace slipway
