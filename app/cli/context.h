// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/terminal.h"
#include "core/workspace/boards.h"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace slipway::cli {

/// What the commands share: where things live, the terminal, and the operation that the command line chose.
struct Context {
    Workspace workspace;
    Terminal terminal;
    bool json = false;
    /// Set by the callback of the chosen command; returns the exit code.
    std::function<Result<int>(Context &, Progress &)> action;

    /// Prints one JSON document on stdout.
    void print(const Json &document) const;
};

/// Adds `--json` to a command.
void addJson(CLI::App &command, Context &context);

/// What a command needs to know of a board.
struct OpenBoard {
    Device device;
    std::unique_ptr<Session> session;
};
/// Opens a session to a saved device. Asks on the terminal for an unknown host key, a password or a passphrase; without a
/// terminal those are errors that say what to do.
[[nodiscard]] Result<OpenBoard> openBoard(Context &context, const std::string &name, Progress &progress);

/// The same question or refusal with the command that answers it.
[[nodiscard]] Error withCommand(Error error, const std::string &name);

/// Installs a key on the board and proves that it opens: `key`, else the device's, else one that is made for it.
[[nodiscard]] Result<int> authorizeDevice(Context &context, const std::string &name, const std::string &key, Progress &progress);

/// The target of a command: by `id`, else the device's.
[[nodiscard]] Result<Target> targetFor(const Context &context, const Catalog &catalog, const std::string &id, const std::string &device);

/// An absolute path of what the user typed; "" is the current directory.
[[nodiscard]] fs::path absolutePath(const std::string &typed);

// One function for each group of commands: adds them to `app`.
void addTargets(CLI::App &app, Context &context);
void addInspect(CLI::App &app, Context &context);
void addDevice(CLI::App &app, Context &context);
void addDeviceSetup(CLI::App &group, Context &context); ///< of `device`: trust, authorize, discover, watch
void addVirtualBoard(CLI::App &app, Context &context);
void addBuild(CLI::App &app, Context &context);
void addAot(CLI::App &app, Context &context);
void addSysroot(CLI::App &app, Context &context);
void addPackage(CLI::App &app, Context &context);
void addPreflight(CLI::App &app, Context &context);
void addDeploy(CLI::App &app, Context &context);
void addShip(CLI::App &app, Context &context);
void addReleases(CLI::App &app, Context &context);
void addCache(CLI::App &app, Context &context);

} // namespace slipway::cli
