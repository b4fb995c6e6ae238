// SPDX-License-Identifier: Apache-2.0
//
// `"tool": "cross"`: cargo in a container, which sees the workspace and little else. What the project needs from outside is
// found with `cargo metadata`, mounted, and said.

#include "core/base/text.h"
#include "core/build/buildparts.h"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace slipway {

namespace {

constexpr std::size_t mostPackages = 500;

Result<Json> metadata(const Toolchain &toolchain, const fs::path &directory, Progress &progress) {
    const Command command{.program = toolchain.cargo.string(),
                          .arguments = {"metadata", "--no-deps", "--format-version", "1", "--offline"},
                          .directory = directory,
                          .timeout = std::chrono::seconds(60)};
    const auto finished = TRY_IN(runChecked(command, progress), fmt::format("cannot read {}", (directory / "Cargo.toml").string()));
    return parseJson(finished.output, "cargo metadata", 128);
}

bool isBelow(const fs::path &path, const fs::path &root) {
    return path == root || path.string().starts_with(root.string() + "/");
}

/// Workspace roots outside `own` that path dependencies live in: `edition.workspace = true` needs the whole of them.
Result<std::set<fs::path>> outsideRoots(const Toolchain &toolchain, const fs::path &project, fs::path &own, Progress &progress) {
    std::set<fs::path> roots;
    std::set<fs::path> seen;
    std::vector<fs::path> open{project};
    while (!open.empty() && seen.size() < mostPackages) {
        const auto directory = open.back();
        open.pop_back();
        if (!seen.insert(directory).second)
            continue;
        const auto json = TRY(metadata(toolchain, directory, progress));
        const fs::path root = TRY(required<std::string>(json, "workspace_root", "cargo metadata"));
        if (own.empty())
            own = root;
        else if (!isBelow(root, own))
            roots.insert(root);
        for (const auto &package : json.value("packages", Json::array())) {
            for (const auto &dependency : package.value("dependencies", Json::array())) {
                if (dependency.contains("path") && dependency["path"].is_string())
                    open.emplace_back(dependency["path"].get<std::string>());
            }
        }
    }
    return roots;
}

/// A label that SELinux wants can only be put on what the user owns.
Result<void> checkOwned(const fs::path &path) {
    std::error_code error;
    if (::access(path.c_str(), W_OK) == 0 && !isBelow(path, "/usr") && path != "/home")
        return {};
    return std::unexpected(Error{.message = fmt::format("{} cannot be mounted into the container: it is not yours to relabel", path.string()),
                                 .hint = "copy it below your home directory"});
}

} // namespace

Result<ContainerPlan> planContainer(const BuildRequest &request, Progress &progress) {
    ContainerPlan plan;
    fs::path own;
    for (const auto &root : TRY(outsideRoots(request.toolchain, request.project.root, own, progress))) {
        progress.note(fmt::format("{} is outside the workspace {} and is mounted into the container", root.string(), own.string()));
        plan.mounts.push_back(root);
    }
    if (request.toolchain.sysroot)
        plan.mounts.push_back(request.toolchain.sysroot->path);
    std::string options;
    for (const auto &mount : plan.mounts) {
        TRY(checkOwned(mount));
        if (mount.string().find_first_of(": \t'\"") != std::string::npos)
            return fail("{} cannot be mounted into the container: its name has a blank, a quote or a colon", mount.string());
        options += fmt::format("{}--volume={}:{}:z", options.empty() ? "" : " ", mount.string(), mount.string()); // shared label, never :Z
    }
    if (hostArch() != "x86_64") // cross's images are for x86_64 only
        options += std::string(options.empty() ? "" : " ") + "--platform=linux/amd64";
    if (!options.empty())
        plan.environment["CROSS_CONTAINER_OPTS"] = options;
    plan.environment["CROSS_CONTAINER_ENGINE"] = request.toolchain.container.string();
    std::error_code error;
    if (fs::exists("/.dockerenv", error))
        progress.warn("this is a container itself: cross mounts paths of the outer host unless CROSS_CONTAINER_IN_CONTAINER=true is set");
    return plan;
}

} // namespace slipway
