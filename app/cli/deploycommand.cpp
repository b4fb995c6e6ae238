// SPDX-License-Identifier: Apache-2.0
//
// slipway deploy: ship a finished package, after its pre-flight.

#include "app/cli/preflightcommand.h"

namespace slipway::cli {

namespace {

struct Options {
    std::string package, device, dest;
    bool dryRun = false;
    std::vector<std::string> allow;
    int confirm = 0;
};

Json toJson(const DeployPlan &plan) {
    Json files = Json::array();
    const char *names[] = {"link", "send", "same"};
    for (const auto &file : plan.files)
        files.push_back({{"path", file.path}, {"action", names[int(file.action)]}, {"bytes", file.bytes}, {"why", file.why}});
    return {{"release", plan.release}, {"previous", plan.previous}, {"dest", plan.dest}, {"already_live", plan.alreadyLive},
            {"bytes_to_send", plan.bytesToSend}, {"files", files}, {"prune", plan.toPrune}};
}

void print(const DeployPlan &plan) {
    std::vector<std::vector<std::string>> rows{{"ACTION", "BYTES", "FILE", "WHY"}};
    const char *names[] = {"link", "send", "same"};
    for (const auto &file : plan.files)
        rows.push_back({names[int(file.action)], formatBytes(file.bytes), file.path, file.why});
    Terminal::table(rows);
    std::fputs(fmt::format("{} -> {}: {} to send{}{}\n", plan.release, plan.dest, formatBytes(plan.bytesToSend),
                           plan.previous.empty() ? "" : ", replaces " + plan.previous, plan.alreadyLive ? ", is live already" : "").c_str(), stdout);
}

/// The checklist against the live board. True = nothing stands against shipping.
Result<void> mustPass(Context &context, const Options &options, const Package &package, OpenBoard &board, const Catalog &catalog, Progress &progress) {
    const auto facts = TRY(freshFacts(context.workspace, catalog, *board.session, board.device, progress));
    const auto verdict = TRY(preflight(TRY(gatherEvidence({.package = package, .catalog = catalog, .facts = facts,
                                                           .factsSource = options.device + ", now", .target = {}, .dest = options.dest,
                                                           .device = board.device, .session = board.session.get(), .workspace = context.workspace})),
                                       progress));
    const auto blocking = TRY(blockingChecks(verdict, options.allow));
    if (blocking.empty())
        return {};
    if (context.json)
        context.print(verdict.toJson());
    else
        printVerdict(verdict);
    return std::unexpected(stoppedBy(verdict, blocking));
}

Result<int> run(Context &context, const Options &options, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    const auto package = TRY(Package::open(absolutePath(options.package), progress));
    TRY(verifyPackage(package, progress));
    auto board = TRY(openBoard(context, options.device, progress));
    const auto plan = TRY(planDeploy(*board.session, package, options.dest.empty() ? package.manifest.dest : options.dest, progress));
    if (options.dryRun) {
        if (context.json)
            context.print(toJson(plan));
        else
            print(plan);
        return 0;
    }
    TRY(mustPass(context, options, package, board, catalog, progress));
    const auto outcome = TRY(deploy(*board.session, plan, {.dest = plan.dest, .allow = options.allow, .confirm = std::chrono::seconds(options.confirm),
                                                           .probes = context.workspace.probes(), .by = userAtHost()}, progress));
    if (context.json)
        context.print(outcomeJson(outcome));
    else
        printOutcome(outcome, options.device, plan.dest);
    return 0;
}

} // namespace

Json outcomeJson(const DeployOutcome &outcome) {
    return {{"release", outcome.release.id}, {"changed", outcome.changed}, {"bytes_sent", outcome.bytesSent},
            {"outcome", outcome.release.outcome}, {"health_output", outcome.healthOutput}, {"repaired", outcome.repaired}};
}

void printOutcome(const DeployOutcome &outcome, const std::string &device, const std::string &dest) {
    std::fputs(outcome.healthOutput.c_str(), stdout);
    std::fputs(fmt::format("{} is {} on {} in {} ({} sent)\n", outcome.release.id, outcome.changed ? "live" : "live already", device, dest,
                           formatBytes(outcome.bytesSent)).c_str(), stdout);
    for (const auto &file : outcome.repaired)
        std::fputs(fmt::format("  replaced: {} had changed on the board\n", file).c_str(), stdout);
}

void addDeploy(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    auto *command = app.add_subcommand("deploy", "ship a package to a board as an atomic release");
    command->add_option("PACKAGE", options->package)->required();
    command->add_option("--device", options->device)->required();
    command->add_option("--dest", options->dest, "folder on the board; the package says so otherwise");
    command->add_flag("--dry-run", options->dryRun, "show what would be linked and sent");
    command->add_option("--allow", options->allow, "checks that may fail (noted on the board)");
    command->add_option("--confirm", options->confirm, "seconds after which the board goes back by itself unless the health command passed");
    addJson(*command, context);
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return run(c, *options, p); }; });
}

} // namespace slipway::cli
