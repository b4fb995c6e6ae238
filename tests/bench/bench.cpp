// SPDX-License-Identifier: Apache-2.0
//
// What all benchmarks share: turns, medians, table and JSON.

#include "tests/bench/bench.h"

#include "core/base/json.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace slipway::bench {

namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const auto middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// "Intel(R) Xeon(R) …, 2 cores, 24 GB"
std::string machine() {
    std::string processor = "unknown processor";
    std::string memory;
    std::ifstream cpu("/proc/cpuinfo");
    for (std::string line; std::getline(cpu, line);) {
        if (line.starts_with("model name")) {
            processor = line.substr(line.find(':') + 2);
            break;
        }
    }
    std::ifstream info("/proc/meminfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("MemTotal:"))
            memory = fmt::format(", {} GB", std::strtoull(line.c_str() + 9, nullptr, 10) / 1000000);
    }
    return fmt::format("{}, {} cores{}", processor, std::thread::hardware_concurrency(), memory);
}

double seconds(const std::function<Result<void>()> &work, Result<void> &result) {
    const auto began = std::chrono::steady_clock::now();
    result = work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

} // namespace

Bench::Bench(std::string name, int argc, char **argv)
    : m_name(std::move(name)) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        if (word == "--quick") {
            m_quick = true;
        } else if (word == "--json" && i + 1 < argc) {
            m_json = argv[++i];
        } else {
            fmt::print(stderr, "usage: {} [--quick] [--json FILE]\n", argv[0]);
            std::exit(2);
        }
    }
}

void Bench::require(const Result<void> &result, const std::string &what) {
    if (result)
        return;
    fmt::print(stderr, "{} failed: {}\n{}\n", what, result.error().message, result.error().detail);
    m_failed = true;
}

void Bench::compare(const std::string &title, double goal, int runs, const Contender &ours, const std::string &peerName,
                    const std::optional<Contender> &peer) {
    std::vector<double> oursSeconds, peerSeconds;
    for (int run = 0; run < runs && !m_failed; ++run) {
        fmt::print(stderr, "{}: {} of {}\n", title, run + 1, runs);
        Result<void> result;
        if (ours.prepare)
            ours.prepare();
        oursSeconds.push_back(seconds(ours.work, result));
        require(result, title);
        if (!peer)
            continue;
        if (peer->prepare)
            peer->prepare();
        peerSeconds.push_back(seconds(peer->work, result));
        require(result, peerName);
    }
    if (m_failed)
        return;
    Row row{.title = title, .ours = median(oursSeconds), .peer = peerName, .goal = goal, .runs = runs};
    if (peer)
        row.peerSeconds = median(peerSeconds);
    m_rows.push_back(std::move(row));
}

int Bench::finish() const {
    Json rows = Json::array();
    fmt::print("{}\n{:<44} {:>9} {:>9} {:>7} {:>6}  {:<4} {}\n", machine(), "CASE", "OURS", "PEER", "RATIO", "GOAL",
               "MET", "PEER");
    for (const auto &row : m_rows) {
        const bool met = row.peerSeconds && row.ours / *row.peerSeconds <= row.goal;
        Json json{{"case", row.title}, {"ours_s", row.ours}, {"peer", row.peer}, {"peer_s", nullptr},
                  {"ratio", nullptr},  {"goal", row.goal},   {"met", nullptr},   {"runs", row.runs}};
        if (row.peerSeconds) {
            json["peer_s"] = *row.peerSeconds;
            json["ratio"] = row.ours / *row.peerSeconds;
            json["met"] = met;
            fmt::print("{:<44} {:>7.3f} s {:>7.3f} s {:>7.3f} {:>6.3f}  {:<4} {}\n", row.title, row.ours,
                       *row.peerSeconds, row.ours / *row.peerSeconds, row.goal, met ? "yes" : "no", row.peer);
        } else {
            fmt::print("{:<44} {:>7.3f} s {:>9} {:>7} {:>6.3f}  {:<4} {} is not installed here\n", row.title, row.ours,
                       "-", "-", row.goal, "-", row.peer);
        }
        rows.push_back(std::move(json));
    }
    if (!m_json.empty()) {
        const auto written = writeJsonFile(m_json, {{"bench", m_name}, {"machine", machine()}, {"rows", rows}});
        if (!written) {
            fmt::print(stderr, "{}\n", written.error().message);
            return 1;
        }
    }
    return m_failed ? 1 : 0;
}

std::function<Result<void>()> command(Command command) {
    return [command = std::move(command)]() -> Result<void> {
        Progress progress;
        auto finished = runChecked(command, progress);
        return finished ? Result<void>() : std::unexpected(std::move(finished).error());
    };
}

} // namespace slipway::bench
