// SPDX-License-Identifier: Apache-2.0
//
// From the text that a board printed to facts. Nothing here is trusted: what does not look as expected is left out, and
// its checks say `unknown`.

#include "core/device/factsparts.h"
#include "core/device/factsscript.h"
#include "core/device/probe.h"

#include <set>

namespace slipway {

namespace {

constexpr std::size_t longestOutput = 16u << 20;

/// "36.4.3" of "# R36 (release), REVISION: 4.3, GCID: …". The rest of the line, a date in two styles among it, is not
/// read.
std::optional<std::string> l4tOfRelease(std::string_view text) {
    const auto line = firstLine(text, longestFactsLine).value_or("");
    const auto match = matched(line, R"(^# R(\d+) \(release\), REVISION: (\d+)\.(\d+))");
    if (!match)
        return {};
    return fmt::format("{}.{}.{}", (*match)[1].str(), (*match)[2].str(), (*match)[3].str());
}

/// "36.4.3" of the package version "36.4.3-20250107174145".
std::optional<std::string> l4tOfPackage(std::string_view text) {
    const auto line = firstLine(text).value_or("");
    const auto match = matched(line, R"(^(\d+\.\d+(\.\d+)?)-)");
    return match ? std::optional((*match)[1].str()) : std::nullopt;
}

void readIdentity(const FactsSections &sections, BoardFacts &facts) {
    facts.model = firstLine(factsSection(sections, "model"));
    facts.serial = firstLine(factsSection(sections, "serial"));
    facts.machineId = firstLine(factsSection(sections, "machineid"));
    facts.kernel = firstLine(factsSection(sections, "kernel"));
    facts.arch = firstLine(factsSection(sections, "arch"));
    if (facts.arch == "arm64")
        facts.arch = "aarch64";
    // "Features : fp asimd aes …" on Arm, "flags : fpu … aes …" on x86
    if (const auto cpu = factsSection(sections, "cpu"); cpu.find(':') != std::string_view::npos)
        facts.cpuAes = (std::string(cpu) + " ").find(" aes ") != std::string::npos;
    std::vector<std::string> compatible;
    for (const auto line : lines(factsSection(sections, "compatible")))
        if (!trimmed(line).empty() && compatible.size() < 64)
            compatible.push_back(printable(trimmed(line)));
    if (!compatible.empty())
        facts.compatible = compatible;
    for (const auto line : lines(factsSection(sections, "bootcontrol")))
        if (line.starts_with("TNSPEC ") || line.starts_with("COMPATIBLE_SPEC ")) {
            facts.tnspec = printable(trimmed(line.substr(line.find(' '))));
            break;
        }
    const auto simulated = factsSection(sections, "simulated");
    if (sections.contains("simulated") && !simulated.empty()) {
        const auto text = firstLine(simulated).value_or("");
        facts.simulated = text.starts_with("# ") ? text.substr(2) : text;
    }
}

std::string unquoted(std::string_view text) {
    text = trimmed(text);
    if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front())
        text = text.substr(1, text.size() - 2);
    return printable(text);
}

void readSystem(const FactsSections &sections, const Catalog &catalog, BoardFacts &facts) {
    std::map<std::string, std::string> os;
    for (const auto line : lines(factsSection(sections, "os")))
        if (const auto equals = line.find('='); equals != std::string_view::npos)
            os.emplace(line.substr(0, equals), unquoted(line.substr(equals + 1)));
    if (!os["NAME"].empty() && !os["VERSION_ID"].empty())
        facts.os = (os["NAME"].starts_with("Debian") ? "Debian" : os["NAME"]) + " " + os["VERSION_ID"];
    else if (!os["PRETTY_NAME"].empty())
        facts.os = os["PRETTY_NAME"];
    const auto libc = firstLine(factsSection(sections, "glibc")).value_or("");
    // "glibc 2.35" of getconf; "ldd (Ubuntu GLIBC 2.35-0ubuntu3.8) 2.35" of ldd, where the last one counts.
    if (const auto match = matched(libc, R"((?:glibc|GLIBC|ldd).*?(\d+\.\d+)\s*$)"))
        facts.glibc = (*match)[1].str();
    facts.l4t = l4tOfRelease(factsSection(sections, "release"));
    if (!facts.l4t)
        facts.l4t = l4tOfPackage(factsSection(sections, "l4tcore"));
    if (!facts.l4t)
        return;
    if (const auto *jetpack = catalog.jetpacks.ofL4t(*facts.l4t))
        facts.jetpack = jetpack->version;
    if (catalog.jetpacks.isNewerThanTable(*facts.l4t))
        facts.warnings.push_back(
            fmt::format("L4T {} is newer than every release in the JetPack table: what the driver itself "
                        "reports is used",
                        *facts.l4t));
    const auto package = firstLine(factsSection(sections, "jetpackpackage")).value_or("");
    if (const auto match = matched(package, R"(^(\d+\.\d+(\.\d+)?))"); match && !facts.jetpack)
        facts.jetpack = (*match)[1].str();
}

void readLibraries(const FactsSections &sections, BoardFacts &facts) {
    std::set<std::string> names;
    for (const auto line : lines(factsSection(sections, "ldcache"))) {
        const auto text = trimmed(line);
        // "libc.so.6 (libc6,AArch64, OS ABI: Linux 3.7.0) => /lib/aarch64-linux-gnu/libc.so.6"
        if (text.find(" => ") != std::string_view::npos)
            names.insert(printable(text.substr(0, text.find(' '))));
    }
    for (const auto line : lines(factsSection(sections, "ldfiles")))
        if (!trimmed(line).empty())
            names.insert(printable(trimmed(line)));
    if (!names.empty())
        facts.libraries = std::vector<std::string>(names.begin(), names.end());
    for (const auto line : lines(factsSection(sections, "cxx"))) {
        const auto text = trimmed(line);
        const auto keepNewest = [&](std::string_view prefix, std::optional<std::string> &newest) {
            if (!text.starts_with(prefix))
                return;
            const auto version = text.substr(prefix.size());
            const bool plain =
                version.find_first_not_of("0123456789.") == std::string_view::npos && version.size() < 20;
            if (plain && (!newest || compareVersions(*newest, version) < 0))
                newest = std::string(version);
        };
        keepNewest("GLIBCXX_", facts.glibcxx);
        keepNewest("CXXABI_", facts.cxxabi);
    }
}

/// "\040" of /proc/mounts.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto isOctal = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '7'; };
        if (text[i] == '\\' && isOctal(i + 1) && isOctal(i + 2) && isOctal(i + 3)) {
            plain += char((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

struct Mount {
    std::string type;
    std::set<std::string, std::less<>> options;
};

std::map<std::string, Mount> readMounts(std::string_view text) {
    std::map<std::string, Mount> mounts;
    for (const auto line : lines(text)) {
        const auto fields = split(line, ' ');
        if (fields.size() < 4)
            continue;
        Mount mount{.type = printable(fields[2], 40)};
        for (const auto option : split(fields[3], ','))
            mount.options.emplace(option);
        mounts[unescaped(fields[1])] = mount; // a later mount hides an earlier one
    }
    return mounts;
}

void readDisks(const FactsSections &sections, BoardFacts &facts) {
    static const std::set<std::string, std::less<>> notForFiles = {
        "devtmpfs", "proc", "sysfs", "cgroup", "cgroup2", "efivarfs", "squashfs", "securityfs", "debugfs", "devpts"};
    const auto mounts = readMounts(factsSection(sections, "mounts"));
    std::vector<DiskFacts> disks;
    for (const auto line : lines(factsSection(sections, "df"))) {
        // Filesystem 1024-blocks Used Available Capacity Mounted-on; the first and the last may have blanks.
        const std::string text(line.substr(0, longestFactsLine));
        const auto match = matched(text, R"(\s(\d+)\s+(\d+)\s+(\d+)\s+(?:\d+%|-)\s+(/.*)$)");
        const auto free = match ? parseNumber((*match)[3].str()) : std::nullopt;
        const bool isPseudo = match && (*match)[1].str().find_first_not_of('0') == std::string::npos;
        if (!free || isPseudo || *free > (std::uint64_t(1) << 53) || disks.size() >= 256)
            continue;
        DiskFacts disk{.mount = printable((*match)[4].str()), .freeBytes = *free * 1024};
        if (const auto mount = mounts.find((*match)[4].str()); mount != mounts.end()) {
            if (notForFiles.contains(mount->second.type))
                continue;
            disk.type = mount->second.type;
            disk.readOnly = mount->second.options.contains("ro");
            disk.noexec = mount->second.options.contains("noexec");
        }
        disks.push_back(disk);
    }
    if (!disks.empty())
        facts.disks = disks;
}

void readRest(const FactsSections &sections, BoardFacts &facts, long now) {
    std::map<std::string, std::string> tools;
    const auto listed = sections.find("tools"); // not trimmed: the tab of the last tool without a version counts
    for (const auto line : lines(listed == sections.end() ? std::string_view() : listed->second)) {
        const auto tab = line.find('\t');
        if (tab == std::string_view::npos)
            continue;
        const std::string text(line.substr(tab + 1, 200));
        const auto version = matched(text, R"((\d+\.\d+(\.\d+)?))");
        tools[printable(line.substr(0, tab), 40)] = version ? (*version)[1].str() : "";
    }
    if (listed != sections.end())
        facts.tools = tools;
    const auto clock = parseNumber(factsSection(sections, "clock"));
    if (clock && *clock < (std::uint64_t(1) << 40))
        facts.clockSkewSeconds = long(*clock) - now;
    for (const auto line : lines(factsSection(sections, "memory"))) {
        const std::string text(line.substr(0, 100));
        if (const auto match = matched(text, R"(^MemTotal:\s+(\d{1,12}) kB)"))
            facts.memoryBytes = parseNumber((*match)[1].str()).value_or(0) * 1024;
    }
    const std::string power(factsSection(sections, "power").substr(0, longestFactsLine));
    if (const auto match = matched(power, R"(NV Power Mode:\s*([^\n]+))"))
        facts.powerMode = printable(trimmed((*match)[1].str()), 60);
    if (sections.contains("env")) {
        facts.env.emplace();
        for (const auto line : lines(factsSection(sections, "env")))
            if (const auto equals = line.find('='); equals != std::string_view::npos && facts.env->size() < 200)
                facts.env->emplace(printable(line.substr(0, equals), 100), printable(line.substr(equals + 1), 4000));
    }
}

} // namespace

Result<BoardFacts> parseFacts(std::string_view scriptOutput, const Catalog &catalog, long now) {
    if (scriptOutput.size() > longestOutput)
        return fail("the board's answer has {}, more than the {} that facts can have", formatBytes(scriptOutput.size()),
                    formatBytes(longestOutput));
    std::string preamble;
    const auto sections = TRY(factsSections(scriptOutput, preamble));
    BoardFacts facts;
    facts.readAt = now;
    facts.shellQuiet = preamble.empty();
    if (!preamble.empty())
        facts.warnings.push_back(
            fmt::format("the login shell prints \"{}\" before commands, which breaks rsync and scp",
                        printable(trimmed(preamble), 80)));
    readIdentity(sections, facts);
    readSystem(sections, catalog, facts);
    readLibraries(sections, facts);
    readDisks(sections, facts);
    readRest(sections, facts, now);
    readDriver(sections, facts);
    if (!sections.contains("end"))
        facts.warnings.emplace_back("the board's answer ended early: some facts are missing");
    return facts;
}

} // namespace slipway
