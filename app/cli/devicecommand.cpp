// SPDX-License-Identifier: Apache-2.0
//
// slipway device add|list|facts|test|remove: the boards that the user saved. Setting them up is in devicesetup.cpp.

#include "app/cli/context.h"
#include "core/base/text.h"
#include "core/preflight/devicetest.h"
#include "core/target/cudaversion.h"

namespace slipway::cli {

namespace {

struct AddOptions {
    std::string name, address, identity, target;
    bool createKey = false;
};

Result<int> add(Context &context, const AddOptions &options, Progress &progress) {
    auto device = TRY(Device::fromAddress(options.name, options.address));
    if (options.createKey && !options.identity.empty())
        return failAs(ErrorKind::usage, "--create-key and --identity exclude each other");
    if (!options.identity.empty()) {
        device.identity = absolutePath(options.identity).string();
        if (!fs::exists(device.identity))
            return failAs(ErrorKind::usage, "the key {} does not exist", device.identity);
    }
    if (!options.target.empty())
        device.target = TRY(TRY(context.workspace.catalog()).target(options.target)).id;
    TRY(saveDevice(context.workspace, device));
    if (options.createKey)
        return authorizeDevice(context, device.name, {}, progress);
    std::fputs(fmt::format("added {}; next: slipway device test {}\n", device.name, device.name).c_str(), stderr);
    return 0;
}

std::string addressOf(const Device &device) {
    return fmt::format("{}{}{}", device.user.empty() ? "" : device.user + "@", device.host,
                       device.port == 0 ? "" : ":" + std::to_string(device.port));
}

Result<int> list(Context &context) {
    const auto list = TRY(readDevices(context.workspace));
    for (const auto &problem : list.problems)
        context.terminal.show(Event{.kind = Event::Kind::warning, .text = problem});
    if (context.json) {
        Json all = Json::array();
        for (const auto &device : list.devices)
            all.push_back(device.toJson());
        context.print({{"devices", all}, {"problems", list.problems}});
        return 0;
    }
    if (list.devices.empty()) {
        std::fputs("no devices yet; add one with: slipway device add NAME USER@HOST\n", stderr);
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"NAME", "ADDRESS", "TARGET", "LAST SEEN", ""}};
    for (const auto &device : list.devices)
        rows.push_back({device.name, addressOf(device), device.target.empty() ? "not known yet" : device.target,
                        device.lastSeen.empty() ? "never" : device.lastSeen, device.isVirtual ? "simulated" : ""});
    Terminal::table(rows);
    return 0;
}

void printFacts(const BoardFacts &facts) {
    const auto text = [](const std::optional<std::string> &value) { return value.value_or("unknown"); };
    std::vector<std::vector<std::string>> rows{
        {"model", text(facts.model)}, {"JetPack", text(facts.jetpack)}, {"L4T", text(facts.l4t)}, {"system", text(facts.os)},
        {"architecture", text(facts.arch)}, {"glibc", text(facts.glibc)}, {"libstdc++", text(facts.glibcxx)},
        {"CUDA driver", facts.cudaDriver ? cudaVersionText(*facts.cudaDriver) : text(facts.cudaDriverStatus)},
        {"power mode", text(facts.powerMode)},
    };
    for (const auto &compat : facts.cudaCompat)
        rows.push_back({"CUDA driver, compat", fmt::format("{} with LD_LIBRARY_PATH={}", compat.driver && compat.status == "ok" ? cudaVersionText(*compat.driver)
                                                                                                                              : compat.status, compat.path)});
    for (const auto &gpu : facts.gpus.value_or(std::vector<GpuFacts>{}))
        rows.push_back({"GPU", fmt::format("{}, {}{}", gpu.name, gpu.capability.sm(),
                                           gpu.smCount ? fmt::format(", {} SMs", *gpu.smCount) : "")});
    for (const auto &disk : facts.disks.value_or(std::vector<DiskFacts>{}))
        rows.push_back({"disk " + disk.mount, formatBytes(disk.freeBytes) + " free" + (disk.readOnly ? ", read-only" : "")});
    if (facts.simulated)
        rows.push_back({"SIMULATED", *facts.simulated});
    Terminal::table(rows);
}

Result<int> showFacts(Context &context, const std::string &name, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto board = TRY(openBoard(context, name, progress));
    const auto facts = TRY(freshFacts(context.workspace, catalog, *board.session, board.device, progress));
    for (const auto &warning : facts.warnings)
        progress.warn(warning);
    if (context.json)
        context.print(facts.toJson());
    else
        printFacts(facts);
    return 0;
}

/// Every item runs, whatever the one before it said, and is shown as it comes.
Result<int> test(Context &context, const std::string &name, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    const auto device = TRY(findDevice(context.workspace, name));
    int failed = 0;
    int warned = 0;
    Json all = Json::array();
    const auto show = [&](const Finding &finding) {
        failed += finding.status == Status::fail || finding.status == Status::unknown;
        warned += finding.status == Status::warn;
        all.push_back({{"id", finding.id}, {"status", statusName(finding.status)}, {"found", finding.found}, {"fix", finding.fix}});
        if (context.json)
            return;
        std::fputs(fmt::format("{:<8} {}: {}{}\n", statusName(finding.status), finding.id, finding.found,
                               finding.fix.empty() ? "" : " (" + finding.fix + ")").c_str(), stdout);
        std::fflush(stdout);
    };
    auto board = openBoard(context, name, progress);
    if (board)
        (void)testDevice(*board->session, board->device, catalog, context.workspace.probes(), show, progress);
    else
        for (const auto &finding : connectionFindings(device, board.error()))
            show(finding);
    const bool good = failed == 0;
    if (context.json)
        context.print({{"device", name}, {"good", good}, {"items", all}});
    else
        std::fputs(fmt::format("{} {}{}\n", name, good ? "is ready" : "needs attention",
                               good && warned > 0 ? fmt::format(", with {} warnings", warned) : "").c_str(), stdout);
    return good ? 0 : 1;
}

Result<int> removeOne(Context &context, const std::string &name) {
    TRY(removeDevice(context.workspace, name));
    std::fputs(fmt::format("removed {}\n", name).c_str(), stderr);
    return 0;
}

CLI::App *named(CLI::App &group, Context &context, const char *verb, const char *help, const std::shared_ptr<std::string> &name,
                Result<int> (*what)(Context &, const std::string &, Progress &)) {
    auto *command = group.add_subcommand(verb, help);
    command->add_option("NAME", *name, "the device's name")->required();
    command->callback([&context, name, what] { context.action = [name, what](Context &c, Progress &p) { return what(c, *name, p); }; });
    return command;
}

} // namespace

void addDevice(CLI::App &app, Context &context) {
    auto *group = app.add_subcommand("device", "add, list, test and remove boards");
    group->require_subcommand(1);

    auto options = std::make_shared<AddOptions>();
    auto *addCommand = group->add_subcommand("add", "save a board");
    addCommand->add_option("NAME", options->name, "what you call it")->required();
    addCommand->add_option("ADDRESS", options->address, "USER@HOST[:PORT], or a Host of ~/.ssh/config")->required();
    addCommand->add_option("--identity", options->identity, "private key file");
    addCommand->add_flag("--create-key", options->createKey, "make a key for it, install it on the board and prove the login");
    addCommand->add_option("--target", options->target, "kind of board; asked of the board when left out");
    addCommand->callback([&context, options] { context.action = [options](Context &c, Progress &p) { return add(c, *options, p); }; });

    auto *listCommand = group->add_subcommand("list", "list the saved boards");
    addJson(*listCommand, context);
    listCommand->callback([&context] { context.action = [](Context &c, Progress &) { return list(c); }; });

    auto name = std::make_shared<std::string>();
    addJson(*named(*group, context, "facts", "read what is on a board", name, showFacts), context);
    addJson(*named(*group, context, "test", "check that a board can be reached and used", name, test), context);
    named(*group, context, "remove", "forget a board", name, [](Context &c, const std::string &n, Progress &) { return removeOne(c, n); });
    addDeviceSetup(*group, context);
}

} // namespace slipway::cli
