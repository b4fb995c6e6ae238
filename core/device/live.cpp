// SPDX-License-Identifier: Apache-2.0
//
// The live strip: tegrastats where the board has it, else /proc, /sys and nvidia-smi, once a second over one channel.

#include "core/device/live.h"

#include "core/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>

namespace slipway {

namespace {

constexpr std::size_t longestLine = 4000; ///< std::regex recurses
constexpr std::chrono::milliseconds quietTime{15000};

/// Plain shell. tegrastats goes on until its reader is gone; where it fails at once the loop reads files instead.
constexpr std::string_view script = R"sh(LC_ALL=C; export LC_ALL
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
has() { command -v "$1" >/dev/null 2>&1; }
has nvpmodel && nvpmodel -q 2>/dev/null
has tegrastats && tegrastats --interval 1000 2>/dev/null
while :; do
  { read -r line && echo "$line"; } </proc/stat
  grep -E '^Mem(Total|Available):' /proc/meminfo
  for f in /sys/devices/gpu.0/load /sys/devices/platform/gpu.0/load; do
    [ -r "$f" ] && read -r v <"$f" && { echo "gpuload $v"; break; }
  done
  for z in /sys/class/thermal/thermal_zone*; do
    [ -r "$z/temp" ] && read -r k <"$z/type" && read -r v <"$z/temp" 2>/dev/null && echo "zone $k $v"
  done
  has nvidia-smi && echo "smi $(nvidia-smi --query-gpu=utilization.gpu,memory.used,memory.total,temperature.gpu,power.draw --format=csv,noheader,nounits 2>/dev/null | head -n 1)"
  echo tick
  sleep 1 || exit 0
done
)sh";

std::optional<double> numberOf(std::string_view text) {
    const std::string copy(trimmed(text).substr(0, 40));
    char *end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0' || !std::isfinite(value) || std::fabs(value) > 1e15)
        return {};
    return value;
}

std::optional<std::smatch> matched(const std::string &text, const char *pattern) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex(pattern)))
        return {};
    return match;
}

void keepHotter(Sample &sample, double celsius) {
    if (celsius > -100 && celsius < 200) // -256: that part of the chip is off
        sample.celsius = std::max(sample.celsius.value_or(celsius), celsius);
}

/// "CPU [2%@1190,off,0%@729]": only cores that are on count.
void readCores(const std::string &line, Sample &sample) {
    const auto cores = matched(line, R"(CPU \[([^\]]*)\])");
    if (!cores)
        return;
    double sum = 0;
    int on = 0;
    const std::string list = (*cores)[1].str();
    for (const auto core : split(list, ',')) {
        const auto percent = core.find('%');
        const auto value = percent == std::string_view::npos ? std::nullopt : numberOf(core.substr(0, percent));
        if (!value)
            continue;
        sum += *value;
        ++on;
    }
    if (on > 0) {
        sample.cpuPercent = std::round(sum / on * 10) / 10;
        sample.coresOn = on;
    }
}

/// "gpu@45.4C", "GPU@30C", "tj@46.5C"; without those the CPU's.
void readTemperatures(const std::string &line, Sample &sample) {
    static const std::regex one(R"((\w+)@(-?\d+(?:\.\d+)?)C)");
    double cpu = -1000;
    for (std::sregex_iterator at(line.begin(), line.end(), one), end; at != end; ++at) {
        std::string name = (*at)[1].str();
        std::ranges::transform(name, name.begin(), [](unsigned char c) { return char(std::tolower(c)); });
        const double celsius = numberOf((*at)[2].str()).value_or(-1000);
        if (name == "gpu" || name == "tj")
            keepHotter(sample, celsius);
        else if (name == "cpu")
            cpu = celsius;
    }
    if (!sample.celsius)
        keepHotter(sample, cpu);
}

/// "VDD_IN 4836mW/4836mW" (JetPack 5 and 6), "POM_5V_IN 2450/2450" (4). AGX Orin has no rail for all: the sum of three.
void readPower(const std::string &line, Sample &sample) {
    const auto rail = [&](const char *pattern) -> std::optional<int> {
        const auto match = matched(line, pattern);
        const auto value = match ? parseNumber((*match)[1].str()) : std::nullopt;
        return value && *value < 10'000'000 ? std::optional(int(*value)) : std::nullopt;
    };
    sample.milliwatts = rail(R"(\bVDD_IN (\d+)(?:mW)?/)");
    if (!sample.milliwatts)
        sample.milliwatts = rail(R"(\bPOM_5V_IN (\d+)(?:mW)?/)");
    const auto gpu = rail(R"(\bVDD_GPU_SOC (\d+)(?:mW)?/)");
    const auto cpu = rail(R"(\bVDD_CPU_CV (\d+)(?:mW)?/)");
    const auto system = rail(R"(\bVIN_SYS_5V0 (\d+)(?:mW)?/)");
    if (!sample.milliwatts && gpu && cpu && system)
        sample.milliwatts = *gpu + *cpu + *system;
}

} // namespace

Json Sample::toJson() const {
    Json json{{"source", source}};
    const auto add = [&json](const char *key, const auto &value) {
        if (value)
            json[key] = *value;
    };
    add("gpu_percent", gpuPercent);
    add("cpu_percent", cpuPercent);
    add("cores_on", coresOn);
    add("memory_used_bytes", memoryUsed);
    add("memory_total_bytes", memoryTotal);
    add("celsius", celsius);
    add("milliwatts", milliwatts);
    add("power_mode", powerMode);
    return json;
}

std::optional<Sample> parseTegrastats(std::string_view text) {
    const std::string line(trimmed(text).substr(0, longestLine));
    const auto memory = matched(line, R"(\bRAM (\d{1,9})/(\d{1,9})MB)");
    if (!memory)
        return {};
    Sample sample{.source = "tegrastats"};
    sample.memoryUsed = parseNumber((*memory)[1].str()).value_or(0) << 20;
    sample.memoryTotal = parseNumber((*memory)[2].str()).value_or(0) << 20;
    if (const auto gpu = matched(line, R"(\bGR3D_FREQ (\d{1,3})%)"))
        sample.gpuPercent = numberOf((*gpu)[1].str());
    readCores(line, sample);
    readTemperatures(line, sample);
    readPower(line, sample);
    return sample;
}

void LiveReader::takeStat(std::string_view line) {
    std::uint64_t all = 0;
    std::uint64_t idle = 0;
    int field = 0;
    for (const auto word : split(line, ' ')) {
        const auto value = parseNumber(word);
        if (!value)
            continue; // "cpu" and the blanks after it
        if (++field > 8)
            break; // guest time is in user time already
        all += *value;
        if (field == 4 || field == 5)
            idle += *value;
    }
    const auto busy = all - std::min(idle, all);
    if (m_allBefore > 0 && all > m_allBefore && busy >= m_busyBefore)
        m_next.cpuPercent = std::round(1000.0 * double(busy - m_busyBefore) / double(all - m_allBefore)) / 10;
    m_busyBefore = busy;
    m_allBefore = all;
}

void LiveReader::takeSmi(std::string_view values) {
    const auto fields = split(values, ',');
    if (fields.size() < 5)
        return;
    m_next.source = "nvidia-smi";
    m_next.gpuPercent = numberOf(fields[0]);
    // "[N/A]" where the GPU has no memory of its own: then the board's counts.
    if (const auto used = numberOf(fields[1]), total = numberOf(fields[2]); used && total) {
        m_next.memoryUsed = std::uint64_t(*used) << 20;
        m_next.memoryTotal = std::uint64_t(*total) << 20;
        m_available = 0;
    }
    if (const auto celsius = numberOf(fields[3]))
        m_next.celsius = *celsius;
    if (const auto watts = numberOf(fields[4]); watts && *watts >= 0 && *watts < 10000)
        m_next.milliwatts = int(*watts * 1000);
}

std::optional<Sample> LiveReader::take(std::string_view line) {
    line = trimmed(line.substr(0, longestLine));
    const auto kilobytes = [&] {
        const std::string text(line.substr(0, 100));
        const auto match = matched(text, R"((\d{1,12}) kB)");
        return match ? parseNumber((*match)[1].str()).value_or(0) << 10 : 0;
    };
    if (auto sample = parseTegrastats(line)) {
        sample->powerMode = m_powerMode;
        return sample;
    }
    if (line.starts_with("NV Power Mode:"))
        m_powerMode = printable(trimmed(line.substr(14)), 60);
    else if (line.starts_with("cpu "))
        takeStat(line);
    else if (line.starts_with("MemTotal:"))
        m_next.memoryTotal = kilobytes();
    else if (line.starts_with("MemAvailable:"))
        m_available = kilobytes();
    else if (line.starts_with("gpuload "))
        m_next.gpuPercent = numberOf(line.substr(8)).value_or(0) / 10; // per mille
    else if (line.starts_with("zone ")) {
        const auto blank = line.rfind(' ');
        const auto name = line.substr(5, blank > 5 ? blank - 5 : 0);
        if (name.starts_with("gpu") || name.starts_with("GPU") || name.starts_with("tj"))
            keepHotter(m_next, numberOf(line.substr(blank)).value_or(-1e6) / 1000);
    } else if (line.starts_with("smi "))
        takeSmi(line.substr(4));
    if (line != "tick")
        return {};
    if (m_available > 0 && m_next.memoryTotal && *m_next.memoryTotal >= m_available)
        m_next.memoryUsed = *m_next.memoryTotal - m_available;
    if (m_next.source.empty())
        m_next.source = "sysfs";
    m_next.powerMode = m_powerMode;
    m_available = 0;
    return std::exchange(m_next, {});
}

Result<void> watchBoard(Session &session, int count, const std::function<void(const Sample &)> &onSample,
                        Progress &progress) {
    std::stop_source enough;
    const std::stop_callback pass(progress.stopToken(), [&] { enough.request_stop(); });
    Progress inner({}, enough.get_token());
    LiveReader reader;
    std::string rest;
    int seen = 0;
    const auto sink = [&](std::string_view text) {
        rest += text;
        std::size_t from = 0;
        for (auto end = rest.find('\n'); end != std::string::npos && !enough.stop_requested(); end = rest.find('\n', from)) {
            if (const auto sample = reader.take(std::string_view(rest).substr(from, end - from))) {
                onSample(*sample);
                if (++seen == count)
                    enough.request_stop();
            }
            from = end + 1;
        }
        rest.erase(0, from);
        if (rest.size() > (1u << 16))
            rest.clear(); // no line of ours is that long
    };
    const auto finished = session.execute({.line = "sh -c " + shellQuote(script), .output = sink, .timeout = quietTime}, inner);
    TRY(progress.checkpoint());
    if (count > 0 && seen >= count)
        return {};
    if (!finished)
        return std::unexpected(finished.error());
    return fail("the board stopped sending after {} samples{}", seen,
                finished->errors.empty() ? "" : ": " + printable(trimmed(tailLines(finished->errors, 1)), 200));
}

} // namespace slipway
