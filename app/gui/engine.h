// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/workspace/workspace.h"
#include "ui/actions.h"

namespace slipway::gui {

/// The engine behind the window: each action composes the operations that the command line uses. Holds values only, so jobs
/// may call it at the same time.
class Engine : public Actions {
public:
    Engine(Workspace workspace, Catalog catalog) : m_workspace(std::move(workspace)), m_catalog(std::move(catalog)) {}

    Result<Overview> overview(Progress &progress) override;
    Result<void> saveBoard(const Device &device, Progress &progress) override;
    Result<void> removeBoard(const std::string &name, Progress &progress) override;
    Result<Device> startVirtualBoard(const VirtualBoardAsk &ask, Progress &progress) override;
    Result<BoardFacts> readFacts(const Login &login, Progress &progress) override;
    Result<void> watch(const Login &login, const std::function<void(const Sample &)> &onSample, Progress &progress) override;
    Result<std::vector<Release>> releases(const Login &login, const std::string &dest, Progress &progress) override;
    Result<Release> rollback(const Login &login, const std::string &dest, const std::string &id, Progress &progress) override;

    Result<ShipPreview> planShip(const fs::path &project, const Device &device, Progress &progress) override;
    Result<ShipOutcome> ship(const Login &login, const ShipAsk &ask, std::optional<Verdict> &verdict, Progress &progress) override;
    Result<bool> isPackage(const fs::path &folder, Progress &progress) override;
    Result<Verdict> preflight(const fs::path &package, const Against &against, Progress &progress) override;
    Result<FixOutcome> fixPackage(const fs::path &package, const Against &against, Progress &progress) override;

    Result<SysrootPlan> planSysroot(const Login &login, Progress &progress) override;
    Result<Sysroot> syncSysroot(const Login &login, const fs::path &destination, Progress &progress) override;
    Result<std::vector<SysrootFinding>> verifySysroot(const Sysroot &sysroot, Progress &progress) override;

    Result<KernelCache> readCache(const fs::path &directory, Progress &progress) override;
    Result<std::string> readImageText(const fs::path &image, Progress &progress) override;

private:
    /// The target of a device: as saved, else what `facts` point to.
    [[nodiscard]] Result<Target> targetOf(const Device &device, const std::optional<BoardFacts> &facts) const;
    /// What is known of the board; `session` is opened when it is a live one, and must outlive the evidence.
    [[nodiscard]] Result<Evidence> evidenceOf(const Package &package, const Against &against, std::unique_ptr<Session> &session, Progress &progress);

    Workspace m_workspace;
    Catalog m_catalog;
};

} // namespace slipway::gui
