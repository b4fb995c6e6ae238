// SPDX-License-Identifier: Apache-2.0
//
// slipway releases|rollback|run|logs|stop: what is on a board, and what runs there.

#include "app/cli/context.h"
#include "core/deploy/deploy.h"
#include "core/deploy/destination.h"

#include <ctime>

namespace slipway::cli {

namespace {

struct Options {
    std::string device, dest, id;
    std::vector<std::string> arguments;
    int lines = 100;
};

Json toJson(const Release &release) {
    return {{"id", release.id}, {"current", release.current}, {"good", release.good}, {"outcome", release.outcome}, {"commit", release.commit},
            {"dirty", release.dirty}, {"deployed_at", release.deployedAt}, {"by", release.by}, {"bytes", release.bytes}};
}

std::string when(long time) {
    if (time == 0)
        return "-";
    const std::time_t seconds = time;
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
    return text;
}

Result<int> releases(Context &context, const Options &options, Progress &progress) {
    auto board = TRY(openBoard(context, options.device, progress));
    const auto all = TRY(listReleases(*board.session, TRY(chooseDestination(*board.session, options.dest, progress)), progress));
    Json json = Json::array();
    std::vector<std::vector<std::string>> rows{{"", "RELEASE", "OUTCOME", "COMMIT", "DEPLOYED", "BY", "SIZE"}};
    for (const auto &release : all) {
        json.push_back(toJson(release));
        rows.push_back({release.current ? "*" : " ", release.id, release.outcome,
                        release.commit.empty() ? "-" : release.commit.substr(0, 12) + (release.dirty ? " (dirty)" : ""),
                        when(release.deployedAt), release.by, formatBytes(release.bytes)});
    }
    if (context.json)
        context.print({{"releases", json}});
    else
        Terminal::table(rows);
    return 0;
}

Result<int> rollbackTo(Context &context, const Options &options, Progress &progress) {
    auto board = TRY(openBoard(context, options.device, progress));
    const auto release = TRY(rollback(*board.session, TRY(chooseDestination(*board.session, options.dest, progress)), options.id, progress));
    if (context.json)
        context.print(toJson(release));
    else
        std::fputs(fmt::format("{} is live again\n", release.id).c_str(), stdout);
    return 0;
}

Result<int> runProgram(Context &context, const Options &options, Progress &progress) {
    auto board = TRY(openBoard(context, options.device, progress));
    const auto to = [](std::FILE *stream) {
        return [stream](std::string_view line) { std::fputs(fmt::format("{}\n", line).c_str(), stream); std::fflush(stream); };
    };
    return runRelease(*board.session, {.dest = TRY(chooseDestination(*board.session, options.dest, progress)), .arguments = options.arguments}, to(stdout),
                      to(stderr), progress);
}

Result<int> logs(Context &context, const Options &options, Progress &progress) {
    auto board = TRY(openBoard(context, options.device, progress));
    std::fputs(TRY(releaseLogs(*board.session, TRY(chooseDestination(*board.session, options.dest, progress)), options.lines, progress)).c_str(), stdout);
    return 0;
}

Result<int> stop(Context &context, const Options &options, Progress &progress) {
    auto board = TRY(openBoard(context, options.device, progress));
    const bool ran = TRY(stopRelease(*board.session, TRY(chooseDestination(*board.session, options.dest, progress)), progress));
    std::fputs(ran ? "stopped\n" : "nothing was running\n", stderr);
    return 0;
}

} // namespace

void addReleases(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    const auto command = [&](const char *verb, const char *help, Result<int> (*what)(Context &, const Options &, Progress &)) {
        auto *sub = app.add_subcommand(verb, help);
        sub->add_option("--device", options->device)->required();
        sub->add_option("--dest", options->dest, "the program's folder on the board; found by itself when there is only one in /opt");
        addJson(*sub, context);
        sub->callback([&context, options, what] { context.action = [options, what](Context &c, Progress &p) { return what(c, *options, p); }; });
        return sub;
    };
    command("releases", "list what was deployed to a board", releases);
    command("rollback", "make the release before the current one live again", rollbackTo)
        ->add_option("ID", options->id, "this release instead of the one before");
    command("run", "run the live release's program and show what it prints", runProgram)
        ->add_option("ARGUMENTS", options->arguments, "after --: added to the program's");
    command("logs", "show the end of what the program printed", logs)
        ->add_option("--lines", options->lines, "how many")->capture_default_str();
    command("stop", "end the program that runs", stop);
}

} // namespace slipway::cli
