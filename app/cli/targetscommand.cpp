// SPDX-License-Identifier: Apache-2.0
//
// slipway targets: the kinds of board that Slipway knows.

#include "app/cli/context.h"

namespace slipway::cli {

namespace {

Result<int> listTargets(Context &context) {
    const auto catalog = TRY(context.workspace.catalog());
    if (context.json) {
        Json all = Json::array();
        for (const auto &target : catalog.targets)
            all.push_back(target.toJson());
        context.print({{"targets", all}});
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"TARGET", "NAME", "ARCH", "GPU", "JETPACK", "OLDEST PTX"}};
    for (const auto &target : catalog.targets) {
        const auto *isa = target.capability ? catalog.isa.find(*target.capability) : nullptr;
        rows.push_back({target.id, target.name, target.arch, target.capability ? target.capability->sm() : "asked of the device",
                        target.jetpackFirst.empty() ? "-" : target.jetpackFirst + " - " + target.jetpackLast,
                        isa ? isa->minPtx.text() : "-"});
    }
    Terminal::table(rows);
    return 0;
}

} // namespace

void addTargets(CLI::App &app, Context &context) {
    auto *command = app.add_subcommand("targets", "list the kinds of board that Slipway knows");
    addJson(*command, context);
    command->callback([&context] { context.action = [](Context &c, Progress &) { return listTargets(c); }; });
}

} // namespace slipway::cli
