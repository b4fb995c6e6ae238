// SPDX-License-Identifier: Apache-2.0
//
// slipway device trust|authorize|discover|watch: from a board on the desk to one that logs in without questions.

#include "app/cli/context.h"
#include "core/base/text.h"
#include "core/device/discover.h"
#include "core/device/keysetup.h"
#include "core/device/live.h"

#include <cstdlib>

namespace slipway::cli {

namespace {

fs::path userHome() {
    const char *home = std::getenv("HOME");
    return home ? fs::path(home) : fs::path("/");
}

struct TrustOptions {
    std::string name, fingerprint;
    bool replace = false;
};

/// What the host key's question comes to: everything behind it (passwords, keys) is another command's matter.
Result<int> trust(Context &context, const TrustOptions &options, Progress &progress) {
    auto device = TRY(findDevice(context.workspace, options.name));
    Login login{.device = device, .acceptFingerprint = options.fingerprint, .replaceChangedKey = options.replace};
    auto session = connect(login, progress);
    const auto isQuestion = [&] {
        return !session && (session.error().kind == ErrorKind::hostKeyUnknown ||
                            (session.error().kind == ErrorKind::hostKeyChanged && options.replace));
    };
    if (isQuestion() && options.fingerprint.empty()) {
        login.acceptFingerprint = presentedFingerprint(session.error());
        if (!context.terminal.confirm(fmt::format("{}\nDoes the board show the same fingerprint, {}? Trust it from now on?",
                                                  session.error().message, login.acceptFingerprint)))
            return std::unexpected(withCommand(session.error(), options.name).in(options.name));
        session = connect(login, progress);
    }
    if (isQuestion())
        return fail("{} presents {}, not {}: nothing was changed", options.name, presentedFingerprint(session.error()),
                    login.acceptFingerprint);
    if (!session && (session.error().kind == ErrorKind::unreachable || session.error().kind == ErrorKind::hostKeyChanged ||
                     session.error().kind == ErrorKind::cancelled))
        return std::unexpected(withCommand(session.error(), options.name).in(options.name));
    if (options.replace) { // a new system has a new machine id; the serial number stays
        device.machineId.clear();
        TRY(saveDevice(context.workspace, device));
    }
    std::fputs(fmt::format("{} is trusted\n", options.name).c_str(), stderr);
    return 0;
}

Result<int> discover(Context &context, Progress &progress) {
    const auto found = TRY(discoverBoards(userHome(), progress));
    if (context.json) {
        Json all = Json::array();
        for (const auto &host : found)
            all.push_back({{"name", host.name}, {"address", host.address}, {"port", host.port}, {"source", host.source}});
        context.print({{"hosts", all}});
        return 0;
    }
    if (found.empty()) {
        std::fputs("no hosts in ~/.ssh/config, no board on USB, none that announces itself; add one: slipway device add NAME USER@HOST\n", stderr);
        return 0;
    }
    std::vector<std::vector<std::string>> rows{{"NAME", "ADDRESS", "FOUND IN"}};
    for (const auto &host : found)
        rows.push_back({host.name, host.port > 0 ? fmt::format("{}:{}", host.address, host.port) : host.address, host.source});
    Terminal::table(rows);
    return 0;
}

std::string asText(const Sample &sample) {
    std::string text;
    const auto add = [&](const std::string &part) { text += (text.empty() ? "" : "  ") + part; };
    if (sample.gpuPercent)
        add(fmt::format("GPU {:3.0f} %", *sample.gpuPercent));
    if (sample.cpuPercent)
        add(fmt::format("CPU {:3.0f} %", *sample.cpuPercent));
    if (sample.memoryUsed && sample.memoryTotal)
        add(fmt::format("memory {} of {}", formatBytes(*sample.memoryUsed), formatBytes(*sample.memoryTotal)));
    if (sample.celsius)
        add(fmt::format("{:.1f} °C", *sample.celsius));
    if (sample.milliwatts)
        add(fmt::format("{:.1f} W", *sample.milliwatts / 1000.0));
    if (sample.powerMode)
        add("mode " + *sample.powerMode);
    return text;
}

struct WatchOptions {
    std::string name;
    int count = 0;
};

Result<int> watch(Context &context, const WatchOptions &options, Progress &progress) {
    if (context.json && options.count == 0)
        return failAs(ErrorKind::usage, "--json prints one document: needed --count N");
    auto board = TRY(openBoard(context, options.name, progress));
    Json all = Json::array();
    const auto show = [&](const Sample &sample) {
        if (context.json) {
            all.push_back(sample.toJson());
            return;
        }
        std::fputs((asText(sample) + "\n").c_str(), stdout);
        std::fflush(stdout);
    };
    TRY_IN(watchBoard(*board.session, options.count, show, progress), options.name);
    if (context.json)
        context.print({{"device", options.name}, {"samples", all}});
    return 0;
}

} // namespace

Result<int> authorizeDevice(Context &context, const std::string &name, const std::string &key, Progress &progress) {
    auto device = TRY(findDevice(context.workspace, name));
    const auto own = device.identity.starts_with("~/") ? userHome() / device.identity.substr(2) : fs::path(device.identity);
    const fs::path file = !key.empty() ? absolutePath(key) : !own.empty() ? own : userHome() / ".ssh" / ("slipway_" + name);
    std::error_code error;
    if (!fs::exists(file, error) && !fs::exists(file.string() + ".pub", error)) {
        TRY(createKey(file, fmt::format("slipway {}", userAtHost()), progress));
        progress.note(fmt::format("made the key {}", file.string()));
    }
    const auto line = TRY(publicKeyLine(file, progress));
    auto board = TRY(openBoard(context, name, progress));
    const bool added = TRY_IN(installKey(*board.session, line, progress), name);
    TRY_IN(proveKey({.device = device}, file, progress), name);
    device.identity = file.string();
    TRY(saveDevice(context.workspace, device));
    std::fputs(fmt::format("{}: the key {} {} and opens it; next: slipway device test {}\n", name, file.string(),
                           added ? "is installed" : "was installed already", name).c_str(), stderr);
    return 0;
}

void addDeviceSetup(CLI::App &group, Context &context) {
    auto trusted = std::make_shared<TrustOptions>();
    auto *trustCommand = group.add_subcommand("trust", "accept a board's host key, also without a terminal");
    trustCommand->add_option("NAME", trusted->name, "the device's name")->required();
    trustCommand->add_option("--fingerprint", trusted->fingerprint, "SHA256:… that the board's console shows; asked when left out");
    trustCommand->add_flag("--replace", trusted->replace, "the board was reflashed: replace the key that is known of it");
    trustCommand->callback([&context, trusted] { context.action = [trusted](Context &c, Progress &p) { return trust(c, *trusted, p); }; });

    auto name = std::make_shared<std::string>();
    auto key = std::make_shared<std::string>();
    auto *authorize = group.add_subcommand("authorize", "install your public key on a board and prove the login");
    authorize->add_option("NAME", *name, "the device's name")->required();
    authorize->add_option("--key", *key, "private key file; made for this board when left out");
    authorize->callback([&context, name, key] { context.action = [name, key](Context &c, Progress &p) { return authorizeDevice(c, *name, *key, p); }; });

    auto *discovered = group.add_subcommand("discover", "list what may be a board: ~/.ssh/config, USB, mDNS; scans no network");
    addJson(*discovered, context);
    discovered->callback([&context] { context.action = [](Context &c, Progress &p) { return discover(c, p); }; });

    auto watched = std::make_shared<WatchOptions>();
    auto *watchCommand = group.add_subcommand("watch", "show load, memory, temperature and power once a second");
    watchCommand->add_option("NAME", watched->name, "the device's name")->required();
    watchCommand->add_option("--count", watched->count, "samples; 0 = until interrupted")->check(CLI::NonNegativeNumber);
    addJson(*watchCommand, context);
    watchCommand->callback([&context, watched] { context.action = [watched](Context &c, Progress &p) { return watch(c, *watched, p); }; });
}

} // namespace slipway::cli
