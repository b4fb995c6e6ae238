// SPDX-License-Identifier: Apache-2.0
//
// slipway virtual-board start|status|stop: a Jetson-like board on this machine, added to the devices under its name.

#include "app/cli/context.h"
#include "core/workspace/boards.h"

namespace slipway::cli {

namespace {

struct Options {
    std::string name = "virtual-orin";
    std::string profile = "orin-nano-jp62";
    int port = 0;
    int diskMegabytes = 0;
};

VirtualBoardOptions boardOptions(const Context &context, const Options &options) {
    auto board = virtualBoardOptions(context.workspace, options.name);
    board.profile = options.profile;
    board.port = options.port;
    board.diskMegabytes = options.diskMegabytes;
    return board;
}

Json toJson(const VirtualBoard &board, const std::string &name) {
    return {{"name", name}, {"simulated", true}, {"running", board.running}, {"profile", board.profile}, {"model", board.model},
            {"host", board.host}, {"port", board.port}, {"user", board.user}, {"identity", board.identity.string()},
            {"root", board.root.string()}};
}

Result<int> start(Context &context, const Options &options, Progress &progress) {
    const auto board = TRY(startVirtualBoard(boardOptions(context, options), progress));
    const auto known = TRY(readDevices(context.workspace)).find(options.name) != nullptr;
    TRY(saveDevice(context.workspace, virtualDevice(options.name, board)));
    if (context.json)
        context.print(toJson(board, options.name));
    else
        std::fputs(fmt::format("{} runs on {}:{} as {} (SIMULATED: {}); {} the devices\n", options.name, board.host, board.port, board.user,
                               board.model, known ? "updated in" : "added to").c_str(), stdout);
    return 0;
}

Result<int> status(Context &context, const Options &options, Progress &progress) {
    const auto board = TRY(virtualBoardStatus(boardOptions(context, options), progress));
    if (context.json)
        context.print(toJson(board, options.name));
    else if (board.running)
        std::fputs(fmt::format("{} runs on {}:{} (SIMULATED: {})\n", options.name, board.host, board.port, board.model).c_str(), stdout);
    else
        std::fputs(fmt::format("{} is stopped\n", options.name).c_str(), stdout);
    return 0;
}

Result<int> stop(Context &context, const Options &options, Progress &progress) {
    TRY(stopVirtualBoard(boardOptions(context, options), progress));
    std::fputs(fmt::format("{} is stopped; its files stay\n", options.name).c_str(), stderr);
    return 0;
}

} // namespace

void addVirtualBoard(CLI::App &app, Context &context) {
    auto *group = app.add_subcommand("virtual-board", "a simulated Jetson on this machine: real sshd and arm64 userland, simulated CUDA driver");
    group->require_subcommand(1);
    auto options = std::make_shared<Options>();
    const auto command = [&](const char *verb, const char *help, Result<int> (*what)(Context &, const Options &, Progress &)) {
        auto *sub = group->add_subcommand(verb, help);
        sub->add_option("--name", options->name, "name in the list of devices")->capture_default_str();
        addJson(*sub, context);
        sub->callback([&context, options, what] { context.action = [options, what](Context &c, Progress &p) { return what(c, *options, p); }; });
        return sub;
    };
    auto *startCommand = command("start", "make it where needed, start it, add it to the devices", start);
    startCommand->add_option("--profile", options->profile, "orin-nano-jp62, orin-jp51 or thor-jp70")->capture_default_str();
    startCommand->add_option("--port", options->port, "0 = a free one")->capture_default_str();
    startCommand->add_option("--disk-mb", options->diskMegabytes, "give /opt a disk of this size, which stop empties");
    command("status", "say whether it runs", status);
    command("stop", "end it and everything on it", stop);
}

} // namespace slipway::cli
