// SPDX-License-Identifier: Apache-2.0
//
// slipway build|check|clippy: the CPU program for a target.

#include "app/cli/context.h"
#include "app/cli/projectoptions.h"

namespace slipway::cli {

namespace {

struct Options {
    ProjectOptions project;
    std::string example, bin;
    std::vector<std::string> extra;
};

Result<int> build(Context &context, const Options &options, BuildVerb verb, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto chosen = TRY(chooseProject(context, catalog, options.project));
    if (!options.example.empty())
        chosen.project.build.examples = {options.example};
    if (!options.bin.empty())
        chosen.project.build.bins = chosen.project.build.targets = {options.bin};
    const auto sysroot = sysrootFor(context.workspace, options.project.device);
    const auto artifacts = TRY(buildProject({.project = chosen.project,
                                             .target = chosen.target,
                                             .toolchain = TRY(findToolchain(chosen.project.build, chosen.target, sysroot)),
                                             .directory = context.workspace.buildDirectory(chosen.project.root, chosen.target.id),
                                             .capability = chosen.target.capability,
                                             .verb = verb,
                                             .extra = options.extra,
                                             .runtimeInclude = context.workspace.resources / "runtime"},
                                            progress));
    Json all = Json::array();
    for (const auto &artifact : artifacts)
        all.push_back({{"name", artifact.name}, {"file", artifact.file.string()}, {"why", artifact.why}});
    if (context.json)
        context.print({{"target", chosen.target.id}, {"artifacts", all}});
    else
        for (const auto &artifact : artifacts)
            std::fputs(fmt::format("{}\n", artifact.file.string()).c_str(), stdout);
    return 0;
}

} // namespace

void addBuild(CLI::App &app, Context &context) {
    const std::pair<const char *, std::pair<BuildVerb, const char *>> verbs[] = {
        {"build", {BuildVerb::build, "build the program for a board"}},
        {"check", {BuildVerb::check, "compile the program for a board without linking it"}},
        {"clippy", {BuildVerb::clippy, "run the project's linter for a board"}},
    };
    for (const auto &[name, what] : verbs) {
        auto options = std::make_shared<Options>();
        auto *command = app.add_subcommand(name, what.second);
        addProjectOptions(*command, options->project);
        addJson(*command, context);
        command->add_option("--example", options->example, "only this Cargo example");
        command->add_option("--bin", options->bin, "only this program");
        command->add_option("EXTRA", options->extra, "after --: passed to the build tool");
        command->callback([&context, options, verb = what.first] {
            context.action = [options, verb](Context &c, Progress &p) { return build(c, *options, verb, p); };
        });
    }
}

} // namespace slipway::cli
