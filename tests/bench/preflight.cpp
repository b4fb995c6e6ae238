// SPDX-License-Identifier: Apache-2.0
//
// How long a pre-flight takes: the processor time of a package with 10 000 kernels (1 GB) and a 20 GB model, against reading
// the same kernels with cat; and how that grows from 10 to 100 000 kernels.
//
//   bench_preflight [--quick] [--json FILE]     (tests/bench/run preflight)

#include "core/base/digest.h"
#include "core/base/process.h"
#include "core/preflight/check.h"

#include <QTemporaryDir>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace slipway;

namespace {

constexpr double mostProcessorSeconds = 2.0; ///< issue 5, point 7

double processorSeconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval &time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

/// PTX of about `bytes` bytes, as a compiler writes it.
std::string ptxOf(const std::string &name, const std::string &id, std::size_t bytes) {
    std::string text = fmt::format("// meta:name={0}\n// meta:id={1}\n.version 8.5\n.target sm_87\n.address_size 64\n\n.visible .entry {0}(\n"
                                   "\t.param .u64 {0}_param_0,\n\t.param .u32 {0}_param_1\n)\n{{\n\t.reg .b32 %r<100>;\n\t.shared .align 4 .b8 tile[4096];\n",
                                   name, id);
    for (unsigned i = 0; text.size() < bytes; ++i)
        text += fmt::format("\tld.shared.f32 \t%f{0}, [%rd{1}+{2}];\n\tfma.rn.f32 \t%f{0}, %f{1}, %f{1}, %f{0};\n$L__BB0_{3}:\n", i % 97, i % 13, i * 4, i);
    return text + "\tret;\n}\n";
}

/// A package on disk with `count` kernels of `bytes` bytes each, and a model of which only the header is on the disk.
Package packageOf(const fs::path &directory, int count, std::size_t bytes, std::uint64_t modelBytes) {
    Package package;
    package.directory = directory;
    package.manifest.name = "bench";
    package.manifest.target = "jetson-orin-nano";
    package.manifest.ptx = PtxVersion{8, 5};
    package.env = {{"TEENYC_PTX_VERSION", "85"}, {"TEENYC_CACHE_DIR", "$RELEASE/cache"}};
    fs::create_directories(directory / "cache");
    fs::create_directories(directory / "data");
    for (int i = 0; i < count; ++i) {
        const auto name = fmt::format("k{}", i);
        const auto id = sha256(name);
        const auto hash = cacheKey(id, "sm_87", PtxVersion{8, 5});
        const auto path = fmt::format("cache/{}_{}.o", name, hash);
        const auto text = ptxOf(name, id, bytes);
        std::ofstream(directory / path) << text;
        package.manifest.files.push_back({.path = path, .size = text.size()});
        package.manifest.kernels.push_back({.name = name, .hash = hash, .id = id, .kind = "llvm-ir"});
    }
    const auto header = fmt::format(R"({{"w":{{"dtype":"F16","shape":[{}],"data_offsets":[0,{}]}}}})", modelBytes / 2, modelBytes);
    const auto model = directory / "data/model.safetensors";
    std::string length(8, '\0');
    length[0] = char(header.size());
    std::ofstream(model) << length << header;
    fs::resize_file(model, 8 + header.size() + modelBytes); // sparse
    package.manifest.files.push_back({.path = "data/model.safetensors", .size = 8 + header.size() + modelBytes});
    package.manifest.models = {{.path = "data/model.safetensors", .dtype = "F16"}};
    return package;
}

struct Measured {
    double processor = 0;
    double wall = 0;
};

Measured preflightOf(const Package &package, const Catalog &catalog) {
    const auto target = catalog.find("jetson-orin-nano");
    const Evidence evidence{.package = package, .catalog = catalog, .facts = catalog.profileFacts(*target), .target = *target, .profileOnly = true};
    Progress progress;
    const auto before = processorSeconds();
    const auto began = std::chrono::steady_clock::now();
    const auto verdict = preflight(evidence, progress);
    if (!verdict || verdict->status != Status::pass)
        std::fputs(fmt::format("unexpected verdict: {}\n", verdict ? jsonText(verdict->toJson()) : verdict.error().message).c_str(), stderr);
    return {processorSeconds() - before, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count()};
}

double catOf(const fs::path &directory) {
    Progress progress;
    const auto began = std::chrono::steady_clock::now();
    (void)run({.program = "sh", .arguments = {"-c", "find \"$1/cache\" -type f -print0 | xargs -0 cat >/dev/null", "cat", directory.string()}}, progress);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

Json row(const std::string &title, double ours, const std::string &peer, double theirs, double goal, int runs) {
    const auto ratio = ours / theirs;
    fmt::print("{:<52} {:>8.3f} s {:>8.3f} s {:>7.2f} {:>6.2f}  {:<4} {}\n", title, ours, theirs, ratio, goal, ratio <= goal ? "yes" : "no", peer);
    return {{"case", title}, {"ours_s", ours}, {"peer", peer}, {"peer_s", theirs}, {"ratio", ratio}, {"goal", goal}, {"met", ratio <= goal}, {"runs", runs}};
}

} // namespace

int main(int argc, char **argv) {
    bool quick = false;
    std::string json;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--quick")
            quick = true;
        else if (std::string_view(argv[i]) == "--json" && i + 1 < argc)
            json = argv[++i];
        else
            return std::fputs("usage: bench_preflight [--quick] [--json FILE]\n", stderr), 2;
    }
    const auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"}).value();
    const int runs = quick ? 1 : 5;
    Json rows = Json::array();
    fmt::print("{:<52} {:>10} {:>10} {:>7} {:>6}  {:<4} {}\n", "CASE", "OURS", "PEER", "RATIO", "GOAL", "MET", "PEER");
    {
        QTemporaryDir directory;
        const auto package = packageOf(directory.path().toStdString(), 10'000, 100'000, 20'000'000'000);
        std::vector<double> processor, wall, cat;
        for (int run = 0; run < runs; ++run) {
            const auto measured = preflightOf(package, catalog);
            processor.push_back(measured.processor);
            wall.push_back(measured.wall);
            cat.push_back(catOf(package.directory));
        }
        rows.push_back(row("10 000 kernels (1 GB), 20 GB model: processor time", median(processor), "the goal", mostProcessorSeconds, 1, runs));
        rows.push_back(row("the same, waiting time", median(wall), "cat", median(cat), 10, runs));
    }
    double before = 0;
    for (const int count : quick ? std::vector<int>{10, 100, 1000} : std::vector<int>{10, 100, 1000, 10'000, 100'000}) {
        QTemporaryDir directory;
        const auto package = packageOf(directory.path().toStdString(), count, 2000, 1000);
        std::vector<double> seconds;
        for (int run = 0; run < runs; ++run)
            seconds.push_back(preflightOf(package, catalog).processor);
        if (before > 0) // ten times the kernels: at most ten times the time, and a little for the caches of the processor
            rows.push_back(row(fmt::format("{} kernels of 2 kB: processor time", count), median(seconds), "ten times that of a tenth", before * 10, 1.3, runs));
        before = median(seconds);
    }
    if (!json.empty() && !writeJsonFile(json, {{"bench", "preflight"}, {"machine", fmt::format("{} cores", std::thread::hardware_concurrency())}, {"rows", rows}}))
        return 1;
    return 0;
}
