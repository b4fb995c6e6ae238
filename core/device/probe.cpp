// SPDX-License-Identifier: Apache-2.0
//
// Asks a board what it is, and its driver what it takes: a script and the probe in one stream over one channel.

#include "core/device/probe.h"

#include "core/base/text.h"
#include "core/device/factsscript.h"

#include <ctime>

namespace slipway {

namespace {

constexpr std::uint64_t largestProbe = 8u << 20;
constexpr std::chrono::milliseconds quietTime{
    60000}; ///< the slowest single step: an emulated board, a hung driver's timeout

/// The probes that are there; a program without them still reads what the script alone can.
Result<ProbeBytes> readProbes(const ProbePrograms &probes) {
    ProbeBytes bytes;
    std::error_code error;
    const auto read = [&](const char *arch, std::string &to) -> Result<void> {
        const auto file = probes.directory / arch / "slipway-probe";
        if (!probes.directory.empty() && fs::exists(file, error))
            to = TRY(readFile(file, largestProbe));
        return {};
    };
    TRY(read("aarch64", bytes.aarch64));
    TRY(read("x86_64", bytes.x86_64));
    return bytes;
}

bool isVariable(std::string_view name) {
    return !name.empty() &&
           name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
               std::string_view::npos &&
           (name.front() < '0' || name.front() > '9');
}

/// One line of `slipway-probe load`: an image's, or the summary with the driver's state.
struct LoadLines {
    std::vector<LoadResult> results;
    std::optional<Error> noDriver;
    bool complete = false;

    void take(std::string_view line) {
        const auto json = parseJson(line, "slipway-probe");
        if (!json || !json->is_object())
            return;
        if (json->contains("summary")) {
            complete = true;
            const auto driver = json->find("driver");
            const auto status =
                driver == json->end() ? "" : member<std::string>(*driver, "status", "", "probe").value_or("");
            if (status != "ok" && status != "")
                noDriver = Error{
                    .message = fmt::format("the board's CUDA driver is {}: {}", printable(status, 40),
                                           printable(member<std::string>(*driver, "error", "", "probe").value_or(""))),
                    .hint = "on a Jetson reinstall the nvidia-l4t-cuda package or check nvidia-smi"};
            return;
        }
        LoadResult result;
        result.file = member<std::string>(*json, "file", "", "probe").value_or("");
        if (result.file.starts_with("./"))
            result.file.erase(0, 2);
        result.status = member<std::string>(*json, "status", "", "probe").value_or("");
        result.code = member<int>(*json, "code", 0, "probe").value_or(0);
        result.error = member<std::string>(*json, "error", "", "probe").value_or("");
        result.log = member<std::string>(*json, "log", "", "probe").value_or("");
        result.milliseconds = member<double>(*json, "ms", 0, "probe").value_or(0);
        if (!result.file.empty() && !result.status.empty())
            results.push_back(std::move(result));
    }
};

} // namespace

Result<BoardFacts> readFacts(Session &session, const Catalog &catalog, const ProbePrograms &probes,
                             Progress &progress) {
    auto step = progress.step("read the board's facts");
    const auto script = factsScript(TRY(readProbes(probes)));
    const auto now = std::time(nullptr);
    const auto finished =
        TRY(session.execute({.line = script.line, .input = script.input, .timeout = quietTime}, progress));
    auto facts = parseFacts(finished.output, catalog, long(now));
    if (!facts) {
        auto error = std::move(facts).error();
        error.detail =
            fmt::format("exit status: {}\n{}", finished.exitCode, tailLines(printable(finished.errors, 2000), 10));
        error.hint = "Slipway needs a POSIX shell named sh on the board";
        return std::unexpected(std::move(error));
    }
    step.done(facts->model.value_or(facts->os.value_or("")));
    return *facts;
}

Result<std::vector<LoadResult>> probeLoad(Session &session, const ProbePrograms &probes, std::string_view arch,
                                          const std::string &directory,
                                          const std::map<std::string, std::string> &environment, Progress &progress) {
    auto bytes = TRY(readProbes(probes));
    (arch == "aarch64" ? bytes.x86_64 : bytes.aarch64).clear(); // only what this board runs
    if (bytes.aarch64.empty() && bytes.x86_64.empty())
        return fail("there is no slipway-probe for {} in {}", printable(arch), probes.directory.string());
    for (const auto &[name, value] : environment)
        if (!isVariable(name))
            return fail("\"{}\" cannot be the name of an environment variable", printable(name));
    auto step = progress.step("load every kernel in the board's driver", 0, Event::Unit::kernels);
    const auto script = loadScript(bytes, directory, environment);
    LoadLines parsed;
    std::string rest;
    const auto sink = [&](std::string_view text) {
        rest += text;
        std::size_t from = 0;
        for (auto end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', from)) {
            parsed.take(std::string_view(rest).substr(from, end - from));
            from = end + 1;
        }
        rest.erase(0, from);
        if (rest.size() > (1u << 20))
            rest.clear(); // no line of ours is that long
        step.at(parsed.results.size());
    };
    // One image may take two minutes in the driver's compiler before the probe calls it hung.
    const auto finished = TRY(session.execute(
        {.line = script.line, .input = script.input, .output = sink, .timeout = std::chrono::minutes(3)}, progress));
    if (finished.exitCode == 125)
        return fail("there is no folder {} on the board", printable(directory));
    if (parsed.noDriver)
        return std::unexpected(*parsed.noDriver);
    if (!parsed.complete)
        return std::unexpected(
            Error{.message = fmt::format("the probe did not finish on the board (exit status {})", finished.exitCode),
                  .hint = "no folder of the board lets programs run, or the probe is for another architecture",
                  .detail = tailLines(printable(finished.errors, 2000), 10)});
    step.done(fmt::format("{} kernels", parsed.results.size()));
    return std::move(parsed.results);
}

} // namespace slipway
