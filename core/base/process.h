// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// A local program to run: never through a shell.
struct Command {
    std::string program; ///< a path, or a name that is looked up in PATH
    std::vector<std::string> arguments;
    fs::path directory;                             ///< empty = the current one
    std::map<std::string, std::string> environment; ///< added to ours
    std::vector<std::string> unset;                 ///< removed from ours
    std::string input;                              ///< written to stdin, which is then closed
    std::chrono::milliseconds timeout{0};           ///< 0 = none
};

/// How a program ended, and what it printed.
struct Finished {
    int exitCode = 0; ///< 128 + signal when it was killed
    std::string output;
    std::string errors;
};

/// Called for each complete line of a stream as it comes, without the line end (LF, CRLF, or the CR of a repainted line).
using LineSink = std::function<void(std::string_view line)>;

/// Runs a program to its end. A non-zero exit is a value here, not an error; errors are: not found, not startable, timed
/// out, cancelled. On cancel the program's whole process group ends (terminate, after 300 ms kill).
[[nodiscard]] Result<Finished> run(const Command &command, Progress &progress, const LineSink &onOutput = {},
                                   const LineSink &onErrors = {});

/// `run`, with a non-zero exit as an Error that carries command, status and the tail of stderr.
[[nodiscard]] Result<Finished> runChecked(const Command &command, Progress &progress, const LineSink &onOutput = {},
                                          const LineSink &onErrors = {});

/// The Error for a finished program that exited non-zero.
[[nodiscard]] Error commandFailed(const Command &command, const Finished &finished);

/// Where a program is, by PATH (or the given directories first).
[[nodiscard]] Result<fs::path> findProgram(const std::string &name, const std::vector<fs::path> &first = {});

/// One word for a POSIX shell. The only function that quotes anything for a remote command.
[[nodiscard]] std::string shellQuote(std::string_view word);
/// A command line for a POSIX shell: every word quoted.
[[nodiscard]] std::string shellJoin(const std::vector<std::string> &words);

} // namespace slipway
