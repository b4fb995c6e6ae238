// SPDX-License-Identifier: Apache-2.0
//
// What the window reads of this machine: devices, kernel caches, images.

#include "app/gui/engine.h"

#include <algorithm>

namespace slipway::gui {

namespace {

/// Projects' caches lie in cache/projects/NAME-HASH/TARGET/kernels (Workspace::kernelCacheDirectory).
std::vector<CachePlace> cachePlaces(const Workspace &workspace) {
    std::vector<CachePlace> places;
    std::error_code error;
    for (const auto &project : fs::directory_iterator(workspace.cache / "projects", error)) {
        for (const auto &target : fs::directory_iterator(project.path(), error)) {
            const auto kernels = target.path() / "kernels";
            if (!fs::is_directory(kernels, error))
                continue;
            const auto name = project.path().filename().string();
            places.push_back({.project = name.substr(0, name.rfind('-')), .target = target.path().filename().string(), .directory = kernels});
        }
    }
    std::ranges::sort(places, {}, &CachePlace::directory);
    return places;
}

/// What can be said of an image that is no text.
std::string describe(const KernelImage &image) {
    std::string text = fmt::format("// {} for {}\n", imageKindName(image.kind), image.target ? image.target->sm() : "an unknown capability");
    if (!image.tools.empty())
        text += fmt::format("// made by {}\n", image.tools);
    for (const auto &entry : image.entries)
        text += fmt::format("// kernel {}\n", entry.name);
    for (const auto &damage : image.damage)
        text += fmt::format("// damaged: {}\n", damage);
    for (const auto &member : image.members)
        text += "//\n" + describe(member);
    return text;
}

} // namespace

Result<Overview> Engine::overview(Progress &) {
    auto list = TRY(readDevices(m_workspace));
    Overview all{.boards = {}, .targets = m_catalog.targets, .caches = cachePlaces(m_workspace), .problems = std::move(list.problems)};
    for (const auto &device : list.devices) {
        Board board{.device = device, .facts = {}, .sysroot = {}};
        if (auto facts = loadFacts(m_workspace, device.name))
            board.facts = std::move(*facts);
        if (auto sysroot = openSysroot(m_workspace.sysrootDirectory(device.name)))
            board.sysroot = std::move(*sysroot);
        all.boards.push_back(std::move(board));
    }
    return all;
}

Result<void> Engine::saveBoard(const Device &device, Progress &) {
    return saveDevice(m_workspace, device);
}

Result<void> Engine::removeBoard(const std::string &name, Progress &) {
    return removeDevice(m_workspace, name);
}

Result<KernelCache> Engine::readCache(const fs::path &directory, Progress &progress) {
    return KernelCache::read(directory, progress);
}

Result<std::string> Engine::readImageText(const fs::path &image, Progress &) {
    auto bytes = TRY(readFile(image));
    const auto read = TRY_IN(readKernelImage(bytes), image.filename().string());
    return read.kind == ImageKind::ptx ? bytes : describe(read);
}

} // namespace slipway::gui
