// SPDX-License-Identifier: Apache-2.0
//
// From what the probe, nvidia-smi and the power management printed to facts about driver and GPU. Pure, like its sibling
// factsparse.cpp.

#include "core/device/factsparts.h"

#include <algorithm>
#include <bit>

namespace slipway {

namespace {

constexpr std::size_t longestDocument = 1 << 20; ///< of the probe, of version.json
constexpr std::size_t mostCompatFolders = 16;

/// version.json ("cuda": {"version": "12.6.11"}) or version.txt ("CUDA Version 10.2.300").
void readToolkit(std::string_view text, BoardFacts &facts) {
    if (text.starts_with('{')) {
        const auto json = parseJson(text.substr(0, longestDocument), "version.json");
        if (json && json->contains("cuda") && (*json)["cuda"].is_object() && (*json)["cuda"].contains("version") &&
            (*json)["cuda"]["version"].is_string())
            text = (*json)["cuda"]["version"].get_ref<const std::string &>();
        const std::string version(text.substr(0, 40));
        if (const auto match = matched(version, R"(^(\d+\.\d+))"))
            facts.cudaToolkit = (*match)[1].str();
        return;
    }
    const std::string line(text.substr(0, 100));
    if (const auto match = matched(line, R"(CUDA Version (\d+\.\d+))"))
        facts.cudaToolkit = (*match)[1].str();
}

std::optional<GpuFacts> gpuOfProbe(const Json &json) {
    const auto capability = member<std::string>(json, "capability", "", "probe");
    const auto parsed = capability ? Capability::parse(*capability) : Result<Capability>(fail("none"));
    if (!parsed)
        return {};
    GpuFacts gpu{.name = printable(member<std::string>(json, "name", "", "probe").value_or("")), .capability = *parsed};
    if (const auto count = required<int>(json, "sm_count", "probe"))
        gpu.smCount = *count;
    if (const auto integrated = required<bool>(json, "integrated", "probe"))
        gpu.integrated = *integrated;
    if (const auto bytes = required<std::uint64_t>(json, "memory_bytes", "probe"))
        gpu.memoryBytes = *bytes;
    return gpu;
}

bool readProbe(std::string_view text, BoardFacts &facts) {
    const auto json = parseJson(text.substr(0, longestDocument), "probe");
    if (!json || !json->is_object() || !json->contains("driver") || !(*json)["driver"].is_object())
        return false;
    const auto &driver = (*json)["driver"];
    const auto status = member<std::string>(driver, "status", "", "probe").value_or("");
    if (status.empty())
        return false;
    facts.cudaDriverStatus = printable(status, 40);
    if (const auto version = required<int>(driver, "version", "probe"))
        facts.cudaDriver = *version;
    if (const auto library = required<std::string>(driver, "library", "probe"))
        facts.cudaDriverLibrary = printable(*library);
    if (const auto error = required<std::string>(driver, "error", "probe"); error && status != "ok")
        facts.warnings.push_back(fmt::format("the CUDA driver is {}: {}", printable(status, 40), printable(*error)));
    if (status != "ok")
        return true;
    facts.gpus.emplace();
    if (const auto gpus = json->find("gpus"); gpus != json->end() && gpus->is_array())
        for (const auto &gpu : *gpus)
            if (auto read = gpuOfProbe(gpu))
                facts.gpus->push_back(*read);
    return true;
}

/// What nvidia-smi tells where the probe could not run. Its banner says "CUDA Version: 12.6", from driver 610 on
/// "CUDA UMD Version: 13.3".
void readSmi(const FactsSections &sections, BoardFacts &facts) {
    const std::string banner(factsSection(sections, "smi").substr(0, longestFactsLine));
    if (const auto match = matched(banner, R"(CUDA(?: UMD)? Version:\s*(\d{1,3})\.(\d{1,2}))"))
        facts.cudaDriver = std::stoi((*match)[1].str()) * 1000 + std::stoi((*match)[2].str()) * 10;
    std::vector<GpuFacts> gpus;
    for (const auto line : lines(factsSection(sections, "smigpus"))) {
        const auto comma = line.rfind(',');
        if (comma == std::string_view::npos)
            continue;
        if (const auto capability = Capability::parse(trimmed(line.substr(comma + 1))))
            gpus.push_back({.name = printable(trimmed(line.substr(0, comma))), .capability = *capability});
    }
    if (!gpus.empty())
        facts.gpus = gpus;
}

/// Orin's GPU has eight units of two SMs (domain.md, section 3); a set bit in the mask is a unit that the power mode or the
/// factory turned off. The driver counts right by itself: this is for boards where only nvidia-smi answered.
constexpr int orinNumber = 87;
constexpr unsigned orinUnits = 8;

void readHiddenUnits(std::string_view text, BoardFacts &facts) {
    const auto line = firstLine(text).value_or("");
    const auto match = matched(line, R"(^(?:0[xX]([0-9a-fA-F]{1,2})|(\d{1,3}))$)");
    if (!match || !facts.gpus || facts.gpus->size() != 1)
        return;
    const bool isHex = (*match)[1].matched;
    const auto mask = unsigned(std::stoul(isHex ? (*match)[1].str() : (*match)[2].str(), nullptr, isHex ? 16 : 10));
    auto &gpu = facts.gpus->front();
    if (!gpu.smCount && gpu.capability.number == orinNumber && mask < (1u << orinUnits))
        gpu.smCount = 2 * int(orinUnits - unsigned(std::popcount(mask)));
}

/// Lines: a folder, what the probe said with it first in LD_LIBRARY_PATH, and "LINK -> FOLDER".
void readCompat(std::string_view text, BoardFacts &facts) {
    constexpr std::string_view arrow = " -> ";
    std::string folder;
    for (const auto line : lines(text)) {
        if (const auto at = line.find(arrow); line.starts_with('/') && at != std::string_view::npos) {
            const auto target = std::ranges::find(facts.cudaCompat, printable(line.substr(at + arrow.size())), &CudaCompat::path);
            if (target != facts.cudaCompat.end() && target->links.size() < mostCompatFolders)
                target->links.push_back(printable(line.substr(0, at)));
            continue;
        }
        if (line.starts_with('/')) {
            folder = printable(trimmed(line));
            continue;
        }
        BoardFacts with;
        if (folder.empty() || !readProbe(line, with) || facts.cudaCompat.size() >= mostCompatFolders)
            continue;
        // The loader falls back to the board's own library where this one cannot be loaded: that is no compat driver.
        const bool isIts = with.cudaDriverLibrary && with.cudaDriverLibrary->starts_with(folder + "/");
        facts.cudaCompat.push_back({.path = std::exchange(folder, {}),
                                    .status = isIts ? with.cudaDriverStatus.value_or("error") : "error",
                                    .driver = isIts ? with.cudaDriver : std::nullopt});
    }
}

} // namespace

void readDriver(const FactsSections &sections, BoardFacts &facts) {
    readToolkit(factsSection(sections, "toolkit"), facts);
    if (!readProbe(factsSection(sections, "probe"), facts))
        readSmi(sections, facts);
    readHiddenUnits(factsSection(sections, "tpcmask"), facts);
    readCompat(factsSection(sections, "compat"), facts);
}

} // namespace slipway
