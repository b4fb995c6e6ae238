// SPDX-License-Identifier: Apache-2.0
//
// slipway ship: from sources to a healthy program on the board.

#include "app/cli/preflightcommand.h"
#include "app/cli/projectoptions.h"

namespace slipway::cli {

namespace {

struct Options {
    ProjectOptions project;
    std::string ptx;
    std::vector<std::string> allow;
    bool force = false;
};

/// The device's target; of a board that was never seen, the one that its facts point to. Facts that are read for it are kept
/// in `facts`.
Result<Target> shipTarget(Context &context, const Options &options, OpenBoard &board, const Catalog &catalog, std::optional<BoardFacts> &facts,
                          Progress &progress) {
    if (options.project.target.empty() && board.device.target.empty())
        facts = TRY(freshFacts(context.workspace, catalog, *board.session, board.device, progress));
    if (options.project.target.empty() && board.device.target.empty())
        return failAs(ErrorKind::usage, "{} is no board that Slipway knows: give --target (see 'slipway targets')", board.device.name);
    return catalog.target(options.project.target.empty() ? board.device.target : options.project.target);
}

Result<int> run(Context &context, const Options &options, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto project = TRY(Project::open(absolutePath(options.project.path)));
    auto board = TRY(openBoard(context, options.project.device, progress));
    std::optional<BoardFacts> facts;
    auto target = TRY(shipTarget(context, options, board, catalog, facts, progress));
    ShipRequest request{.project = std::move(project),
                        .device = board.device,
                        .target = std::move(target),
                        .catalog = catalog,
                        .workspace = context.workspace,
                        .tools = findKernelTools(context.workspace.bin, context.workspace.resources, context.workspace.cudaPreludeDirectory()),
                        .ptx = {},
                        .allow = options.allow,
                        .force = options.force,
                        .by = userAtHost(),
                        .facts = std::move(facts)};
    if (!options.ptx.empty())
        request.ptx = TRY(PtxVersion::parse(options.ptx));
    std::optional<Verdict> verdict;
    const auto outcome = ship(*board.session, request, verdict, progress);
    if (!outcome) {
        if (outcome.error().kind == ErrorKind::stopped && verdict && context.json)
            context.print(verdict->toJson());
        else if (outcome.error().kind == ErrorKind::stopped && verdict)
            printVerdict(*verdict);
        return std::unexpected(outcome.error());
    }
    if (context.json) {
        auto document = outcomeJson(outcome->deployed);
        document["package"] = outcome->package.directory.string();
        document["verdict"] = statusName(outcome->verdict.status);
        context.print(document);
    } else {
        printOutcome(outcome->deployed, board.device.name, outcome->package.manifest.dest);
    }
    return 0;
}

} // namespace

void addShip(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    auto *command = app.add_subcommand("ship", "build, compile kernels, pack, check, deploy and try it, skipping what is unchanged");
    addProjectOptions(*command, options->project);
    command->get_option("--device")->required();
    command->add_option("--ptx-version", options->ptx, "85 or 8.5; chosen for the board when left out");
    command->add_option("--allow", options->allow, "checks that may fail (noted on the board)");
    command->add_flag("--force", options->force, "compile also kernels that are unchanged");
    addJson(*command, context);
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return run(c, *options, p); }; });
}

} // namespace slipway::cli
