// SPDX-License-Identifier: Apache-2.0
//
// slipway preflight: will this package run on that board.

#include "app/cli/preflightcommand.h"

namespace slipway::cli {

namespace {

struct Options {
    std::string package, target, facts, device, dest;
};

const char *mark(Status status) {
    switch (status) {
    case Status::pass: return "✓ pass   ";
    case Status::skipped: return "– skipped";
    case Status::warn: return "! warning";
    case Status::unknown: return "? unknown";
    case Status::fail: return "✗ FAIL   ";
    }
    return "";
}

Result<int> run(Context &context, const Options &options, Progress &progress) {
    if (int(!options.target.empty()) + int(!options.facts.empty()) + int(!options.device.empty()) != 1)
        return failAs(ErrorKind::usage, "give one of --target T, --facts FILE and --device D: what to check the package against");
    const auto catalog = TRY(context.workspace.catalog());
    const auto package = TRY(Package::open(absolutePath(options.package), progress));
    OpenBoard board;
    BoardFacts facts;
    std::string source;
    if (!options.device.empty()) {
        board = TRY(openBoard(context, options.device, progress));
        facts = TRY(freshFacts(context, board, catalog, progress));
        source = options.device + ", now";
    } else if (!options.facts.empty()) {
        facts = TRY(BoardFacts::fromJson(TRY(readJsonFile(absolutePath(options.facts))), options.facts));
        source = options.facts;
    } else {
        facts = catalog.profileFacts(TRY(catalog.target(options.target)));
        source = "profile " + options.target;
    }
    const auto evidence = TRY(gatherEvidence({.package = package, .catalog = catalog, .facts = facts, .profileOnly = !options.target.empty(), .factsSource = source,
                                              .target = options.target, .dest = options.dest, .device = board.device,
                                              .session = board.session.get(), .workspace = context.workspace}));
    const auto verdict = TRY(preflight(evidence, progress));
    if (context.json)
        context.print(verdict.toJson());
    else
        printVerdict(verdict);
    // Fail closed: what could not be checked is not a pass (but only a failed check is "stopped by pre-flight").
    return verdict.status == Status::fail ? 3 : verdict.status == Status::unknown ? 1 : 0;
}

} // namespace

void printVerdict(const Verdict &verdict) {
    for (const auto &finding : verdict.findings) {
        std::fputs(fmt::format("{} {:<16} {}{}\n", mark(finding.status), finding.id,
                               finding.subject.empty() ? "" : finding.subject + ": ",
                               finding.status == Status::skipped && finding.found.empty() ? finding.why : finding.found).c_str(), stdout);
        if (finding.status == Status::pass || finding.status == Status::skipped)
            continue;
        for (const auto &[label, text] : {std::pair("needed", finding.needed), std::pair("why", finding.why), std::pair("fix", finding.fix)}) {
            if (!text.empty())
                std::fputs(fmt::format("            {:<7} {}\n", label, text).c_str(), stdout);
        }
    }
    std::fputs(fmt::format("verdict: {} (against {})\n", statusName(verdict.status), verdict.factsSource).c_str(), stdout);
}

void addPreflight(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    auto *command = app.add_subcommand("preflight", "check that a package will run on a board");
    command->add_option("PACKAGE", options->package, "a package's folder, ours or cargo-teeny's")->required();
    command->add_option("--target", options->target, "against a kind of board");
    command->add_option("--facts", options->facts, "against saved facts");
    command->add_option("--device", options->device, "against the live board");
    command->add_option("--dest", options->dest, "where it would go; the package says so otherwise");
    addJson(*command, context);
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return run(c, *options, p); }; });
}

} // namespace slipway::cli
