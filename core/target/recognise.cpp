// SPDX-License-Identifier: Apache-2.0
//
// Which profile a board is. The order and the traps are those seen on real boards: `compatible` names the module and is
// seldom wrong; TNSPEC is written by the flashing tool; the model text changed between JetPack 5 and 6, and makers of
// carrier boards reuse NVIDIA's.

#include "core/base/text.h"
#include "core/target/target.h"

#include <algorithm>

namespace slipway {

namespace {

/// Device-tree texts end in a NUL, and sometimes more.
std::string_view withoutNul(std::string_view text) {
    return trimmed(text.substr(0, text.find('\0')));
}

/// Does the device tree's "nvidia,p3768-0000+p3767-0005-super" name the module of the key "nvidia,p3767-0005".
bool namesModule(std::string_view entry, std::string_view key) {
    if (entry == key)
        return true;
    const auto comma = key.find(',');
    const auto module = comma == std::string_view::npos ? key : key.substr(comma + 1);
    const auto plus = entry.find('+');
    std::string_view behind = plus == std::string_view::npos ? entry.substr(std::min(entry.size(), entry.find(',') + 1))
                                                             : entry.substr(plus + 1);
    return behind.starts_with(module) && (behind.size() == module.size() || behind[module.size()] == '-');
}

/// Some readers keep the NUL-separated list as one text.
std::vector<std::string> compatibleEntries(const BoardFacts &facts) {
    std::vector<std::string> entries;
    for (const auto &text : facts.compatible.value_or(std::vector<std::string>())) {
        for (const auto piece : split(text, '\0')) {
            if (!trimmed(piece).empty())
                entries.emplace_back(trimmed(piece));
        }
    }
    return entries;
}

const Target *byCompatible(const std::vector<Target> &targets, const BoardFacts &facts) {
    for (const auto &entry : compatibleEntries(facts)) {
        for (const auto &target : targets) {
            if (std::any_of(target.compatible.begin(), target.compatible.end(),
                            [&](const auto &key) { return namesModule(entry, key); }))
                return &target;
        }
    }
    return nullptr;
}

/// "3767-0005" of "TNSPEC 3767-300-0005-S.1-1-1-jetson-orin-nano-devkit-super-" and of
/// "3834--0008--1--jetson-agx-thor-devkit-".
std::string moduleOf(std::string_view tnspec) {
    tnspec = withoutNul(tnspec);
    const auto space = tnspec.find_last_of(" \t");
    const auto fields = split(space == std::string_view::npos ? tnspec : tnspec.substr(space + 1), '-');
    return fields.size() < 3 ? std::string() : fmt::format("{}-{}", fields[0], fields[2]);
}

const Target *byModule(const std::vector<Target> &targets, const BoardFacts &facts) {
    const auto module = moduleOf(facts.tnspec.value_or(""));
    if (module.empty())
        return nullptr;
    for (const auto &target : targets) {
        if (std::find(target.modules.begin(), target.modules.end(), module) != target.modules.end())
            return &target;
    }
    return nullptr;
}

/// The longest beginning wins: "NVIDIA Jetson Orin NX" before "NVIDIA Jetson Orin".
const Target *byModel(const std::vector<Target> &targets, const BoardFacts &facts) {
    const std::string whole = facts.model.value_or("");
    const auto model = withoutNul(whole);
    const Target *best = nullptr;
    std::size_t length = 0;
    for (const auto &target : targets) {
        for (const auto &beginning : target.models) {
            if (beginning.size() > length && model.starts_with(beginning)) {
                best = &target;
                length = beginning.size();
            }
        }
    }
    return best;
}

const Target *byGpu(const std::vector<Target> &targets, const BoardFacts &facts) {
    if (!facts.gpu())
        return nullptr;
    for (const auto &target : targets) {
        if (std::find(target.gpuNames.begin(), target.gpuNames.end(), facts.gpu()->name) != target.gpuNames.end())
            return &target;
    }
    return nullptr;
}

} // namespace

const Target *Catalog::recognise(const BoardFacts &facts) const {
    for (const auto by : {byCompatible, byModule, byModel, byGpu}) {
        if (const auto *found = by(targets, facts))
            return found;
    }
    for (const auto &target : targets) {
        if (target.isGeneric() && facts.arch == target.arch)
            return &target;
    }
    return nullptr;
}

} // namespace slipway
