// SPDX-License-Identifier: Apache-2.0
//
// Commit, dirty flag and time of a project's sources. The clock is never asked: the same sources give the same package.

#include "core/package/package.h"

#include "core/base/text.h"

#include <cstdlib>

namespace slipway {

Result<SourceState> readSourceState(const fs::path &root, Progress &progress) {
    SourceState state;
    const auto git = findProgram("git");
    if (git) {
        const auto ask = [&](std::vector<std::string> arguments) {
            arguments.insert(arguments.begin(), {"-C", root.string()});
            return run({.program = git->string(), .arguments = arguments, .timeout = std::chrono::seconds(30)}, progress);
        };
        const auto head = TRY(ask({"log", "-1", "--format=%H %ct"}));
        const auto words = split(trimmed(head.output), ' ');
        if (head.exitCode == 0 && words.size() == 2) {
            state.commit = words[0];
            state.time = long(parseNumber(words[1]).value_or(0));
            const auto changes = TRY(ask({"status", "--porcelain", "--", "."}));
            state.dirty = changes.exitCode != 0 || !trimmed(changes.output).empty();
        } else if (head.errors.find("dubious ownership") != std::string::npos) {
            progress.note(fmt::format("git does not read {}, which another user owns: the package names no commit", root.string()));
        }
    }
    if (const char *epoch = std::getenv("SOURCE_DATE_EPOCH")) {
        const auto time = parseNumber(epoch);
        if (!time || *time > std::uint64_t(1) << 40)
            return fail("SOURCE_DATE_EPOCH is \"{}\", needed a Unix time", printable(epoch));
        state.time = long(*time);
    }
    return state;
}

} // namespace slipway
