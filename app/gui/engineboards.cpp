// SPDX-License-Identifier: Apache-2.0
//
// Actions on a board: each opens its own session with the login that the window filled in.

#include "app/gui/engine.h"
#include "core/deploy/destination.h"
#include "core/workspace/boards.h"

namespace slipway::gui {

Result<Target> Engine::targetOf(const Device &device, const std::optional<BoardFacts> &facts) const {
    if (!device.target.empty())
        return m_catalog.target(device.target);
    if (facts)
        if (const auto *known = m_catalog.recognise(*facts))
            return *known;
    return fail("it is not known yet what kind of board {} is: read its facts, or choose its target", device.name);
}

Result<Device> Engine::startVirtualBoard(const VirtualBoardAsk &ask, Progress &progress) {
    auto options = virtualBoardOptions(m_workspace, ask.name);
    options.profile = ask.profile;
    const auto board = TRY(slipway::startVirtualBoard(options, progress));
    auto device = virtualDevice(ask.name, board);
    if (const auto list = readDevices(m_workspace); list && list->find(ask.name)) {
        const auto *known = list->find(ask.name);
        device.target = known->target;
        device.machineId = known->machineId;
        device.serial = known->serial;
        device.lastSeen = known->lastSeen;
    }
    TRY(saveDevice(m_workspace, device));
    return device;
}

Result<BoardFacts> Engine::readFacts(const Login &login, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    auto device = login.device;
    return freshFacts(m_workspace, m_catalog, *session, device, progress);
}

Result<void> Engine::watch(const Login &login, const std::function<void(const Sample &)> &onSample, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    return watchBoard(*session, 0, onSample, progress);
}

Result<std::vector<Release>> Engine::releases(const Login &login, const std::string &dest, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    return listReleases(*session, TRY(chooseDestination(*session, dest, progress)), progress);
}

Result<Release> Engine::rollback(const Login &login, const std::string &dest, const std::string &id, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    return slipway::rollback(*session, TRY(chooseDestination(*session, dest, progress)), id, progress);
}

Result<SysrootPlan> Engine::planSysroot(const Login &login, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    auto device = login.device;
    const auto facts = TRY(freshFacts(m_workspace, m_catalog, *session, device, progress));
    const auto target = TRY(targetOf(device, facts));
    SysrootPlan plan{.destination = m_workspace.sysrootDirectory(device.name),
                     .folders = TRY(measureFolders(*session, target.sysrootFolders, progress)), .freeBytes = 0, .existing = {}};
    std::error_code error;
    fs::create_directories(plan.destination.parent_path(), error);
    if (const auto space = fs::space(plan.destination.parent_path(), error); !error)
        plan.freeBytes = space.available;
    if (auto existing = openSysroot(plan.destination))
        plan.existing = std::move(*existing);
    return plan;
}

Result<Sysroot> Engine::syncSysroot(const Login &login, const fs::path &destination, Progress &progress) {
    const auto session = TRY(connect(login, progress));
    auto device = login.device;
    const auto facts = TRY(freshFacts(m_workspace, m_catalog, *session, device, progress));
    return slipway::syncSysroot(*session,
                                {.path = destination, .device = device.name, .target = TRY(targetOf(device, facts)), .facts = facts,
                                 .rsync = TRY(findProgram("rsync")), .rsh = m_workspace.bin / "slipway-rsh"},
                                progress);
}

Result<std::vector<SysrootFinding>> Engine::verifySysroot(const Sysroot &sysroot, Progress &progress) {
    return slipway::verifySysroot(sysroot, TRY(m_catalog.target(sysroot.target)), progress);
}

} // namespace slipway::gui
