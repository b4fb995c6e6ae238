// SPDX-License-Identifier: Apache-2.0
//
// Starts and stops virtual boards by the script that makes them, and turns what it prints into values and errors.

#include "core/device/virtualboard.h"

#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"

#include <algorithm>
#include <charconv>

namespace slipway {

namespace {

using Values = std::map<std::string, std::string, std::less<>>;

Command boardCommand(const VirtualBoardOptions &options, const char *verb) {
    Command command{.program = (options.resources / "board").string(),
                    .arguments = {verb, "--state", options.state.string()}};
    if (!options.cache.empty())
        command.arguments.insert(command.arguments.end(), {"--cache", options.cache.string()});
    return command;
}

Command startCommand(const VirtualBoardOptions &options) {
    Command command = boardCommand(options, "start");
    auto &words = command.arguments;
    words.insert(words.end(), {"--profile", options.profile, "--port", fmt::to_string(options.port)});
    if (!options.mirror.empty())
        words.insert(words.end(), {"--mirror", options.mirror});
    if (!options.authorizedKeys.empty())
        words.insert(words.end(), {"--authorized-keys", options.authorizedKeys.string()});
    if (options.diskMegabytes > 0)
        words.insert(words.end(), {"--disk-mb", fmt::to_string(options.diskMegabytes)});
    const std::pair<bool, const char *> switches[] = {{options.noRsync, "--no-rsync"},
                                                      {options.noSftp, "--no-sftp"},
                                                      {options.chattyShell, "--chatty-shell"},
                                                      {options.readOnlyHome, "--readonly-home"}};
    for (const auto &[wanted, word] : switches) {
        if (wanted)
            words.emplace_back(word);
    }
    return command;
}

/// The rest of the last line that begins with `prefix`.
std::string lastLineAfter(std::string_view text, std::string_view prefix) {
    std::string found;
    for (const std::string_view line : lines(text)) {
        if (line.starts_with(prefix))
            found = line.substr(prefix.size());
    }
    return found;
}

/// The script says what is wrong and how to fix it; anything else that it printed is evidence.
Error scriptFailed(const Command &command, const Finished &finished) {
    Error error = commandFailed(command, finished);
    if (std::string message = lastLineAfter(finished.errors, "error: "); !message.empty()) {
        error.message = std::move(message);
        error.hint = lastLineAfter(finished.errors, "hint: ");
    }
    if (finished.exitCode == 2)
        error.kind = ErrorKind::usage;
    return error;
}

Result<Values> runBoard(const Command &command, Progress &progress, const LineSink &onLine = {}) {
    if (std::error_code missing; !fs::is_regular_file(command.program, missing))
        return std::unexpected(
            Error{.message = fmt::format("cannot find the virtual board's script {}", command.program),
                  .hint = "build or install Slipway's share/slipway/virtualboard"});
    const Finished finished = TRY(run(command, progress, onLine));
    if (finished.exitCode != 0)
        return std::unexpected(scriptFailed(command, finished));
    Values values;
    for (const std::string_view line : lines(finished.output)) {
        if (const auto equals = line.find('='); equals != std::string_view::npos && !line.starts_with("phase: "))
            values.insert_or_assign(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
    }
    return values;
}

Result<VirtualBoard> toBoard(const Values &values) {
    const auto text = [&](std::string_view key) {
        const auto found = values.find(key);
        return found == values.end() ? std::string() : found->second;
    };
    const auto number = [&](std::string_view key) { return parseNumber(text(key)); };
    if (!number("port") || text("identity").empty())
        return fail("the virtual board's script did not say how to reach the board (needed port= and identity=)");
    return VirtualBoard{.running = text("running") == "1",
                        .profile = text("profile"),
                        .model = text("model"),
                        .host = text("host"),
                        .port = int(*number("port")),
                        .user = text("user"),
                        .identity = text("identity"),
                        .knownHost = text("known_host"),
                        .knownHosts = text("known_hosts"),
                        .root = text("root"),
                        .process = long(number("process").value_or(0))};
}

} // namespace

std::vector<std::string> virtualBoardProfiles(const fs::path &resources) {
    std::vector<std::string> names;
    std::error_code ignored; // a folder that is not there has no profiles
    for (const auto &entry : fs::directory_iterator(resources / "profiles", ignored)) {
        if (entry.path().extension() == ".conf")
            names.push_back(entry.path().stem().string());
    }
    std::ranges::sort(names);
    return names;
}

Result<VirtualBoard> startVirtualBoard(const VirtualBoardOptions &options, Progress &progress) {
    constexpr std::string_view phase = "phase: ";
    auto step = progress.step(fmt::format("virtual board {}", options.profile));
    const auto values = TRY(runBoard(startCommand(options), progress, [&](std::string_view line) {
        if (line.starts_with(phase))
            progress.note(std::string(line.substr(phase.size())));
    }));
    VirtualBoard board = TRY(toBoard(values));
    step.done(fmt::format("{}@{}:{}", board.user, board.host, board.port));
    return board;
}

Result<VirtualBoard> virtualBoardStatus(const VirtualBoardOptions &options, Progress &progress) {
    return toBoard(TRY(runBoard(boardCommand(options, "status"), progress)));
}

Result<void> stopVirtualBoard(const VirtualBoardOptions &options, Progress &progress) {
    TRY(runBoard(boardCommand(options, "stop"), progress));
    return {};
}

} // namespace slipway
