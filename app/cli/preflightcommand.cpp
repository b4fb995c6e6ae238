// SPDX-License-Identifier: Apache-2.0
//
// slipway preflight: will this package run on that board.

#include "app/cli/preflightcommand.h"

#include "core/deploy/remedy.h"

#include <algorithm>
#include <ctime>
#include <span>

namespace slipway::cli {

namespace {

struct Options {
    std::string package, target, facts, device, dest, project;
    bool fix = false;
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

/// What a pre-flight is against: a profile, saved facts or a live board.
struct Against {
    OpenBoard board;
    BoardFacts facts;
    std::string source;
};

Result<Against> against(Context &context, const Options &options, const Catalog &catalog, Progress &progress) {
    Against chosen;
    if (!options.device.empty()) {
        chosen.board = TRY(openBoard(context, options.device, progress));
        chosen.facts = TRY(freshFacts(context.workspace, catalog, *chosen.board.session, chosen.board.device, progress));
        chosen.source = options.device + ", now";
    } else if (!options.facts.empty()) {
        chosen.facts = TRY(BoardFacts::fromJson(TRY(readJsonFile(absolutePath(options.facts))), options.facts));
        chosen.source = savedFactsSource(options.facts, chosen.facts, long(std::time(nullptr)));
    } else {
        chosen.facts = catalog.profileFacts(TRY(catalog.target(options.target)));
        chosen.source = "profile " + options.target;
    }
    return chosen;
}

Result<Evidence> evidenceOf(Context &context, const Options &options, const Package &package, const Catalog &catalog, const Against &chosen) {
    return gatherEvidence({.package = package, .catalog = catalog, .facts = chosen.facts, .profileOnly = !options.target.empty(),
                           .factsSource = chosen.source, .target = options.target, .dest = options.dest, .device = chosen.board.device,
                           .session = chosen.board.session.get(), .workspace = context.workspace});
}

/// Performs what is safe, and says each; returns whether anything was done.
Result<bool> fix(Context &context, const Options &options, Package &package, const Evidence &evidence, const Verdict &verdict, Progress &progress) {
    std::optional<AssembleRequest> rebuild;
    if (!options.project.empty())
        rebuild = TRY(rebuildFrom(absolutePath(options.project), evidence, context.workspace));
    const auto done = TRY(performRemedies(remediesFor(verdict, package, evidence, rebuild), progress));
    for (const auto &text : done)
        std::fputs(fmt::format("fixed: {}\n", text).c_str(), stderr);
    if (done.empty())
        std::fputs(verdict.status == Status::pass ? "nothing is wrong\n" : "nothing here can be fixed by itself\n", stderr);
    return !done.empty();
}

Result<int> run(Context &context, const Options &options, Progress &progress) {
    if (int(!options.target.empty()) + int(!options.facts.empty()) + int(!options.device.empty()) != 1)
        return failAs(ErrorKind::usage, "give one of --target T, --facts FILE and --device D: what to check the package against");
    if (!options.project.empty() && !options.fix)
        return failAs(ErrorKind::usage, "--project is what --fix rebuilds from: give both, or neither");
    const auto catalog = TRY(context.workspace.catalog());
    auto package = TRY(Package::open(absolutePath(options.package), progress));
    const auto chosen = TRY(against(context, options, catalog, progress));
    auto verdict = TRY(preflight(TRY(evidenceOf(context, options, package, catalog, chosen)), progress));
    if (options.fix && TRY(fix(context, options, package, TRY(evidenceOf(context, options, package, catalog, chosen)), verdict, progress))) {
        package = TRY(Package::open(absolutePath(options.package), progress));
        verdict = TRY(preflight(TRY(evidenceOf(context, options, package, catalog, chosen)), progress));
    }
    if (context.json)
        context.print(verdict.toJson());
    else
        printVerdict(verdict);
    // Fail closed: what could not be checked is not a pass (but only a failed check is "stopped by pre-flight").
    return verdict.status == Status::fail ? 3 : verdict.status == Status::unknown ? 1 : 0;
}

/// Of ten thousand kernels for the wrong GPU a person wants to read once why, and what to do.
bool isSameTrouble(const Finding &one, const Finding &other) {
    return one.id == other.id && one.status == other.status && one.why == other.why && one.fix == other.fix;
}

/// Findings of one check with one reason and one remedy.
void printTrouble(std::span<const Finding> findings) {
    constexpr std::size_t most = 10;
    const auto &first = findings.front();
    const bool isOneNeed = std::ranges::all_of(findings, [&](const Finding &finding) { return finding.needed == first.needed; });
    const bool isQuiet = first.status == Status::pass || first.status == Status::skipped;
    for (std::size_t i = 0; i < std::min(most, findings.size()); ++i) {
        const auto &finding = findings[i];
        const auto &text = finding.status == Status::skipped && finding.found.empty() ? finding.why : finding.found;
        const auto head = i == 0 || isQuiet ? fmt::format("{} {:<16} ", mark(finding.status), finding.id) : fmt::format("            {:<7} ", "also");
        std::fputs(fmt::format("{}{}{}{}{}\n", head, finding.subject, finding.subject.empty() ? "" : ": ", text,
                               isOneNeed ? "" : "; needed " + finding.needed).c_str(), stdout);
    }
    if (findings.size() > most)
        std::fputs(fmt::format("            {:<7} {} more (--json lists all)\n", "also", findings.size() - most).c_str(), stdout);
    if (isQuiet)
        return;
    for (const auto &[label, text] : {std::pair("needed", isOneNeed ? first.needed : std::string()), std::pair("why", first.why), std::pair("fix", first.fix)}) {
        if (!text.empty())
            std::fputs(fmt::format("            {:<7} {}\n", label, text).c_str(), stdout);
    }
}

} // namespace

void printVerdict(const Verdict &verdict) {
    for (auto first = verdict.findings.begin(); first != verdict.findings.end();) {
        const auto last = std::find_if(first, verdict.findings.end(), [&](const Finding &other) { return !isSameTrouble(*first, other); });
        printTrouble(std::span(first, last));
        first = last;
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
    command->add_flag("--fix", options->fix, "do what is safe: conf/env, library paths of this machine, modes; with --project also compile again");
    command->add_option("--project", options->project, "the project that the package was made of");
    addJson(*command, context);
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return run(c, *options, p); }; });
}

} // namespace slipway::cli
