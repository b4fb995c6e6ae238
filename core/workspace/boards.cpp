// SPDX-License-Identifier: Apache-2.0
//
// Virtual boards among the saved devices, and what is remembered of a board each time it is asked.

#include "core/workspace/boards.h"

#include "core/device/identity.h"

#include <ctime>
#include <pwd.h>
#include <unistd.h>

namespace slipway {

namespace {

std::string utcNow() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

} // namespace

VirtualBoardOptions virtualBoardOptions(const Workspace &workspace, const std::string &name) {
    return {.resources = workspace.bin.parent_path() / "share" / "slipway" / "virtualboard",
            .state = workspace.state / "boards" / name,
            .cache = workspace.cache / "debs"};
}

Device virtualDevice(const std::string &name, const VirtualBoard &board) {
    return {.name = name,
            .host = board.host,
            .port = board.port,
            .user = board.user,
            .identity = board.identity.string(),
            .target = {},
            .machineId = {},
            .knownHosts = board.knownHosts.string(),
            .isVirtual = true,
            .lastSeen = {}};
}

std::string userAtHost() {
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const passwd *user = ::getpwuid(::getuid());
    return fmt::format("{}@{}", user ? user->pw_name : std::to_string(::getuid()), host);
}

Result<BoardFacts> freshFacts(const Workspace &workspace, const Catalog &catalog, Session &session, Device &device,
                              Progress &progress) {
    auto facts = TRY(readFacts(session, catalog, workspace.probes(), progress));
    TRY(saveFacts(workspace, device.name, facts));
    const auto seen = seenAs(device, facts);
    if (const auto text = seenText(seen, device, facts); !text.empty())
        progress.warn(fmt::format("{}; {}", text, seenFix(seen, device)));
    if (device.machineId.empty() && facts.machineId)
        device.machineId = *facts.machineId;
    if (device.serial.empty() && facts.serial)
        device.serial = *facts.serial;
    if (const auto *known = catalog.recognise(facts); known && device.target.empty())
        device.target = known->id;
    device.lastSeen = utcNow();
    TRY(saveDevice(workspace, device));
    return facts;
}

} // namespace slipway
