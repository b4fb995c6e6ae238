// SPDX-License-Identifier: Apache-2.0
//
// slipway-kernelc: LLVM's code generator in a process of its own. Reads one job a line (core/kernel/workerjob.h) and
// answers each with one line as soon as it is done. When LLVM gives up, the job is answered as failed and the process
// ends: whoever feeds it starts another.

#include "generator.h"

#include "core/base/text.h"

#include <cstdio>
#include <iostream>
#include <sys/resource.h>
#include <unistd.h>

using namespace slipway;

namespace {

constexpr int gaveUp = 70; // EX_SOFTWARE of sysexits.h

std::string line(const Json &json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void answer(const WorkerResult &result) {
    std::cout << line(toJson(result)) << std::flush;
}

/// The first line of LLVM's message without the addresses of its nodes, which differ from run to run.
std::string firstLine(std::string_view text) {
    std::string shown;
    for (const auto word : split(text.substr(0, text.find('\n')), ' ')) {
        if (!word.starts_with("0x"))
            shown += (shown.empty() ? "" : " ") + std::string(word);
    }
    return printable(shown, 400);
}

/// LLVM's message begins with a line for people; what follows is its own view of the code.
[[noreturn]] void giveUp(const WorkerJob &job, std::string_view why) {
    const auto shown = trimmed(why);
    answer({.input = job.input,
            .output = job.output,
            .error = "LLVM gave up: " + firstLine(shown),
            .detail = std::string(shown),
            .hint = "the kernel uses what LLVM cannot generate for this capability; the others are not affected",
            .last = true});
    ::_exit(gaveUp);
}

int work() {
    Generator generator;
    WorkerJob job;
    Generator::onFatalError([&job](const char *why) { giveUp(job, why); });
    for (std::string text; std::getline(std::cin, text);) {
        if (trimmed(text).empty())
            continue;
        auto json = parseJson(text, "job");
        auto parsed = json ? workerJobFromJson(*json) : Result<WorkerJob>(std::unexpected(json.error()));
        if (!parsed) {
            answer({.error = parsed.error().message});
            continue;
        }
        job = std::move(*parsed);
        answer(generator.generate(job));
    }
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    const rlimit noCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &noCore); // a crash is an answer here, and a core of LLVM is a gigabyte
    std::ios::sync_with_stdio(false);
    const std::string_view option = argc == 2 ? argv[1] : "";
    if (argc == 1)
        return work();
    if (option == "--describe") {
        std::cout << line(toJson(Generator().description()));
        return 0;
    }
    std::cerr << "usage: slipway-kernelc [--describe]\n"
                 "Reads kernels to compile as JSON lines on standard input; slipway runs it.\n";
    return option == "--help" ? 0 : 2;
}
