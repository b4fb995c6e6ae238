// SPDX-License-Identifier: Apache-2.0
//
// slipway sysroot sync|verify|list: copies of the boards' libraries and headers.

#include "app/cli/context.h"

namespace slipway::cli {

namespace {

Json toJson(const Sysroot &sysroot) {
    return {{"path", sysroot.path.string()}, {"device", sysroot.device}, {"target", sysroot.target}, {"l4t", sysroot.l4t},
            {"glibc", sysroot.glibc}, {"cuda_toolkit", sysroot.cudaToolkit}, {"synced_at", sysroot.syncedAt},
            {"bytes", sysroot.bytes}, {"files", sysroot.files}};
}

Result<int> report(Context &context, const Sysroot &sysroot, const Target &target, Progress &progress) {
    const auto findings = TRY(verifySysroot(sysroot, target, progress));
    bool good = true;
    Json all = Json::array();
    for (const auto &finding : findings) {
        good = good && finding.good;
        all.push_back({{"good", finding.good}, {"subject", finding.subject}, {"text", finding.text}});
        if (!context.json)
            std::fputs(fmt::format("{}  {}: {}\n", finding.good ? "ok  " : "FAIL", finding.subject, finding.text).c_str(), stdout);
    }
    if (context.json)
        context.print({{"sysroot", toJson(sysroot)}, {"good", good}, {"findings", all}});
    return good ? 0 : 1;
}

Result<int> sync(Context &context, const std::string &device, const std::string &path, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    auto board = TRY(openBoard(context, device, progress));
    const auto facts = TRY(freshFacts(context.workspace, catalog, *board.session, board.device, progress));
    const auto target = TRY(targetFor(context, catalog, {}, device));
    const auto sysroot = TRY(syncSysroot(*board.session,
                                         {.path = path.empty() ? context.workspace.sysrootDirectory(device) : absolutePath(path),
                                          .device = device,
                                          .target = target,
                                          .facts = facts,
                                          .rsync = TRY(findProgram("rsync")),
                                          .rsh = context.workspace.bin / "slipway-rsh"},
                                         progress));
    std::fputs(fmt::format("{}: {} files, {}\n", sysroot.path.string(), sysroot.files, formatBytes(sysroot.bytes)).c_str(), stderr);
    return report(context, sysroot, target, progress);
}

Result<int> verify(Context &context, const std::string &path, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    const auto sysroot = TRY(openSysroot(absolutePath(path)));
    return report(context, sysroot, TRY(catalog.target(sysroot.target)), progress);
}

Result<int> list(Context &context) {
    const auto sysroots = listSysroots(context.workspace);
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows{{"DEVICE", "TARGET", "L4T", "GLIBC", "SIZE", "PATH"}};
    for (const auto &sysroot : sysroots) {
        all.push_back(toJson(sysroot));
        rows.push_back({sysroot.device, sysroot.target, sysroot.l4t.empty() ? "-" : sysroot.l4t, sysroot.glibc,
                        formatBytes(sysroot.bytes), sysroot.path.string()});
    }
    if (context.json)
        context.print({{"sysroots", all}});
    else if (sysroots.empty())
        std::fputs("no sysroots yet; make one with: slipway sysroot sync DEVICE\n", stderr);
    else
        Terminal::table(rows);
    return 0;
}

} // namespace

void addSysroot(CLI::App &app, Context &context) {
    auto *group = app.add_subcommand("sysroot", "mirror a board's libraries and headers for cross builds");
    group->require_subcommand(1);
    auto device = std::make_shared<std::string>();
    auto path = std::make_shared<std::string>();
    auto *syncCommand = group->add_subcommand("sync", "copy from a board, repair links, prove that it links");
    syncCommand->add_option("DEVICE", *device)->required();
    syncCommand->add_option("--path", *path, "where the copy goes");
    addJson(*syncCommand, context);
    syncCommand->callback([&context, device, path] {
        context.action = [device, path](Context &c, Progress &p) { return sync(c, *device, *path, p); };
    });
    auto *verifyCommand = group->add_subcommand("verify", "check a sysroot again");
    verifyCommand->add_option("PATH", *path)->required();
    addJson(*verifyCommand, context);
    verifyCommand->callback([&context, path] { context.action = [path](Context &c, Progress &p) { return verify(c, *path, p); }; });
    auto *listCommand = group->add_subcommand("list", "list the sysroots");
    addJson(*listCommand, context);
    listCommand->callback([&context] { context.action = [](Context &c, Progress &) { return list(c); }; });
}

} // namespace slipway::cli
