// SPDX-License-Identifier: Apache-2.0
//
// slipway aot: the project's kernels, compiled ahead of time for one or more capabilities.

#include "app/cli/context.h"
#include "app/cli/projectoptions.h"
#include "core/base/text.h"
#include "core/deploy/ship.h"
#include "core/deploy/assemble.h"

namespace slipway::cli {

namespace {

struct Options {
    ProjectOptions project;
    std::string capabilities, ptx, cacheDirectory, options;
    bool force = false;
    bool noCubin = false;
};

Result<AotRequest> request(const Context &context, const ChosenProject &chosen, const Options &options) {
    AotRequest aot{.options = options.options, .force = options.force, .cubin = !options.noCubin};
    for (const auto name : options.capabilities.empty() ? std::vector<std::string_view>{} : split(options.capabilities, ','))
        aot.capabilities.push_back(TRY(Capability::parse(trimmed(name))));
    if (aot.capabilities.empty()) {
        const auto *gpu = chosen.facts ? chosen.facts->gpu() : nullptr;
        if (!gpu && !chosen.target.capability)
            return failAs(ErrorKind::usage, "{} has no capability of its own: give --capability sm_N, or --device D after 'slipway device facts D'",
                          chosen.target.id);
        aot.capabilities = {gpu ? gpu->capability : *chosen.target.capability};
    }
    if (!options.ptx.empty())
        aot.ptx = TRY(PtxVersion::parse(options.ptx));
    if (chosen.facts)
        aot.driver = driverFor(chosen.project, *chosen.facts);
    aot.cacheDirectory = options.cacheDirectory.empty() ? context.workspace.kernelCacheDirectory(chosen.project.root, chosen.target.id)
                                                        : absolutePath(options.cacheDirectory);
    return aot;
}

Json toJson(const AotOutcome &outcome) {
    Json json = slipway::toJson(outcome.record);
    json["built"] = outcome.built;
    json["error"] = outcome.error ? Json(outcome.error->message) : Json(nullptr);
    return json;
}

void print(const AotReport &report, const fs::path &cache) {
    std::vector<std::vector<std::string>> rows{{"KERNEL", "TARGET", "PTX", "STATE", "WHY"}};
    for (const auto &[record, built, error] : report.outcomes)
        rows.push_back({record.name, record.target ? record.target->sm() : "-", record.ptx ? record.ptx->text() : "-",
                        error ? "failed" : built ? "built" : "kept", error ? error->message : record.why});
    Terminal::table(rows);
    std::fputs(fmt::format("cache: {}\n", cache.string()).c_str(), stdout);
}

Result<int> aot(Context &context, const Options &options, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto chosen = TRY(chooseProject(context, catalog, options.project));
    if (!chosen.facts)
        chosen.facts = catalog.profileFacts(chosen.target);
    auto aotRequest = TRY(request(context, chosen, options));
    const auto programs = TRY(buildHostPrograms(context.workspace, catalog, chosen.project, progress));
    aotRequest.sources = TRY(kernelSources(chosen.project, programs));
    const auto tools = findKernelTools(context.workspace.bin, context.workspace.resources, context.workspace.cudaPreludeDirectory());
    const auto report = TRY(compileKernels(aotRequest, tools, catalog, progress));
    for (const auto &note : report.notes)
        progress.note(note);
    if (context.json) {
        Json all = Json::array();
        for (const auto &outcome : report.outcomes)
            all.push_back(toJson(outcome));
        context.print({{"cache", aotRequest.cacheDirectory.string()}, {"good", report.allGood()}, {"kernels", all}, {"notes", report.notes}});
    } else {
        print(report, aotRequest.cacheDirectory);
    }
    return report.allGood() ? 0 : 1;
}

} // namespace

void addAot(CLI::App &app, Context &context) {
    auto options = std::make_shared<Options>();
    auto *command = app.add_subcommand("aot", "compile the project's GPU kernels ahead of time");
    addProjectOptions(*command, options->project);
    addJson(*command, context);
    command->add_option("--capability", options->capabilities, "sm_N[,sm_M…] instead of the target's");
    command->add_option("--ptx-version", options->ptx, "85 or 8.5; chosen for target and driver when left out");
    command->add_option("--options", options->options, "cargo-teeny options: sm-count=8,opt-level=3,…");
    command->add_option("--cache-dir", options->cacheDirectory, "where the images go");
    command->add_flag("--force", options->force, "compile also what is unchanged");
    command->add_flag("--no-cubin,!--cubin", options->noCubin, "PTX only (default: a cubin beside it where ptxas knows the GPU)");
    command->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return aot(c, *options, p); }; });
}

} // namespace slipway::cli
