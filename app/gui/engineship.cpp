// SPDX-License-Identifier: Apache-2.0
//
// Shipping and pre-flight: the same operations as `slipway ship` and `slipway preflight`.

#include "app/gui/engine.h"
#include "core/deploy/remedy.h"
#include "core/preflight/gather.h"
#include "core/workspace/boards.h"

#include <ctime>

namespace slipway::gui {

namespace {

std::string join(const std::vector<std::string> &words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string buildDetail(const Project &project, const Target &target, const std::optional<Sysroot> &sysroot) {
    const auto &build = project.build;
    std::string what;
    switch (build.kind) {
    case BuildKind::cmake: what = "CMake" + (build.targets.empty() ? std::string() : " target " + join(build.targets)); break;
    case BuildKind::cargo: what = "Cargo" + (build.bins.empty() ? std::string() : " " + join(build.bins)); break;
    case BuildKind::prebuilt: return "files as they are: " + join(build.targets);
    }
    return fmt::format("{} for {}, {}", what, target.triple,
                       sysroot ? "against the sysroot of " + sysroot->device : "against the cross compiler's own libraries (no sysroot synced)");
}

std::string kernelDetail(const Project &project, const Target &target, const std::optional<BoardFacts> &facts) {
    if (project.kernels.empty())
        return "none in this project";
    std::vector<std::string> kinds;
    for (const auto &kernels : project.kernels)
        kinds.push_back(fmt::format("{} {}", sourceKindName(kernels.kind), kernels.kind == SourceKind::program ? kernels.bin : join(kernels.files)));
    const auto *gpu = facts ? facts->gpu() : nullptr;
    const auto capability = gpu ? std::optional(gpu->capability) : target.capability;
    return fmt::format("{}; for {}", join(kinds), capability ? capability->sm() : "the capability that the board reports");
}

} // namespace

Result<ShipPreview> Engine::planShip(const fs::path &folder, const Device &device, Progress &) {
    const auto project = TRY(Project::open(folder));
    std::optional<BoardFacts> facts;
    if (auto saved = loadFacts(m_workspace, device.name))
        facts = std::move(*saved);
    const auto target = TRY(targetOf(device, facts));
    std::optional<Sysroot> sysroot;
    if (auto synced = openSysroot(m_workspace.sysrootDirectory(device.name)))
        sysroot = std::move(*synced);
    ShipPreview preview{.project = project.name, .dest = project.dest, .proposed = project.proposed, .steps = {}};
    preview.steps = {{"Build", buildDetail(project, target, sysroot)},
                     {"Kernels", kernelDetail(project, target, facts)},
                     {"Package", m_workspace.packageDirectory(project.root, target.id).string()},
                     {"Pre-flight", fmt::format("against {}, live", device.name)},
                     {"Send", fmt::format("to {}: only what differs; the last {} releases stay", project.dest, project.keep)},
                     {"Health", project.healthCommand.empty() ? "no health command in this project" : project.healthCommand}};
    return preview;
}

Result<ShipOutcome> Engine::ship(const Login &login, const ShipAsk &ask, std::optional<Verdict> &verdict, Progress &progress) {
    auto project = TRY(Project::open(ask.project));
    const auto session = TRY(connect(login, progress));
    auto device = login.device;
    std::optional<BoardFacts> facts;
    if (device.target.empty())
        facts = TRY(freshFacts(m_workspace, m_catalog, *session, device, progress));
    const ShipRequest request{.project = std::move(project), .device = device, .target = TRY(targetOf(device, facts)), .catalog = m_catalog,
                              .workspace = m_workspace,
                              .tools = findKernelTools(m_workspace.bin, m_workspace.resources, m_workspace.cudaPreludeDirectory()), .ptx = {},
                              .allow = ask.allow, .force = false, .by = userAtHost(), .facts = facts};
    return slipway::ship(*session, request, verdict, progress);
}

Result<bool> Engine::isPackage(const fs::path &folder, Progress &progress) {
    const auto package = Package::open(folder, progress);
    return package || package.error().kind != ErrorKind::usage; // a package that is broken is one: pre-flight says what is wrong
}

Result<Evidence> Engine::evidenceOf(const Package &package, const Against &against, std::unique_ptr<Session> &session, Progress &progress) {
    EvidenceRequest request{.package = package, .catalog = m_catalog, .facts = {}, .profileOnly = false, .factsSource = {}, .target = {}, .dest = {},
                            .device = {}, .session = nullptr, .workspace = m_workspace};
    if (const auto *board = std::get_if<AgainstBoard>(&against)) {
        session = TRY(connect(board->login, progress));
        request.device = board->login.device;
        auto device = request.device;
        request.facts = TRY(freshFacts(m_workspace, m_catalog, *session, device, progress));
        request.factsSource = fmt::format("{}, now", device.name);
        request.session = session.get();
    } else if (const auto *file = std::get_if<AgainstFacts>(&against)) {
        request.facts = TRY(BoardFacts::fromJson(TRY(readJsonFile(file->file)), file->file.string()));
        request.factsSource = savedFactsSource(file->file.string(), request.facts, long(std::time(nullptr)));
    } else {
        request.target = std::get<AgainstTarget>(against).id;
        request.facts = m_catalog.profileFacts(TRY(m_catalog.target(request.target)));
        request.profileOnly = true;
        request.factsSource = "profile " + request.target;
    }
    return gatherEvidence(request);
}

Result<Verdict> Engine::preflight(const fs::path &directory, const Against &against, Progress &progress) {
    std::unique_ptr<Session> session;
    const auto package = TRY(Package::open(directory, progress));
    return slipway::preflight(TRY(evidenceOf(package, against, session, progress)), progress);
}

Result<FixOutcome> Engine::fixPackage(const fs::path &directory, const Against &against, Progress &progress) {
    std::unique_ptr<Session> session;
    auto package = TRY(Package::open(directory, progress));
    auto evidence = TRY(evidenceOf(package, against, session, progress));
    FixOutcome outcome{.done = {}, .verdict = TRY(slipway::preflight(evidence, progress))};
    outcome.done = TRY(performRemedies(remediesFor(outcome.verdict, package, evidence, {}), progress));
    if (outcome.done.empty())
        return outcome;
    evidence.package = TRY(Package::open(directory, progress));
    outcome.verdict = TRY(slipway::preflight(std::move(evidence), progress));
    return outcome;
}

} // namespace slipway::gui
