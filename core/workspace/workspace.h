// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/device.h"
#include "core/device/probe.h"
#include "core/kernel/compile.h"
#include "core/sysroot/sysroot.h"
#include "core/target/target.h"

namespace slipway {

/// Where things live. Read before a step, never inside one.
struct Workspace {
    fs::path config; ///< $XDG_CONFIG_HOME/slipway: devices.json, settings.json, targets/
    fs::path cache;  ///< $XDG_CACHE_HOME/slipway: builds, kernel caches, packages, sysroots
    fs::path state;  ///< $XDG_STATE_HOME/slipway: facts, virtual boards, window
    fs::path bin;    ///< where our programs are
    fs::path resources; ///< resources/ beside the source or in the install
    fs::path installedTargets; ///< targets/ beside the source or in the install; the user's are in `config`/targets
    fs::path probePrograms;    ///< directory with {aarch64,x86_64}/slipway-probe

    /// From the environment and the running program's own place.
    [[nodiscard]] static Result<Workspace> standard();
    /// The same from given values: HOME, XDG_*_HOME (absolute paths only, as the specification says), SLIPWAY_RESOURCES
    /// (another resources/ directory), and the program's path. Resources are those that slipway-paths.json in the build
    /// tree's bin/ names, or ../share/slipway of an install.
    [[nodiscard]] static Result<Workspace> from(const std::map<std::string, std::string> &environment, const fs::path &program);
    [[nodiscard]] Result<Catalog> catalog() const;
    [[nodiscard]] ProbePrograms probes() const;

    /// Build tree, kernel cache and package directory of a project for a target.
    [[nodiscard]] fs::path buildDirectory(const fs::path &project, std::string_view target) const;
    [[nodiscard]] fs::path kernelCacheDirectory(const fs::path &project, std::string_view target) const;
    [[nodiscard]] fs::path packageDirectory(const fs::path &project, std::string_view target) const;
    [[nodiscard]] fs::path sysrootDirectory(std::string_view device) const;
    /// CUDA's headers precompiled, for all projects.
    [[nodiscard]] fs::path cudaPreludeDirectory() const { return cache / "cuda-prelude"; }
};

/// A name for a device or a profile of the user's: letters, digits, '.', '_' and '-', not beginning with '.' or '-', at most
/// 64 of them. It becomes a file name.
[[nodiscard]] bool isName(std::string_view text);

/// devices.json as it was read: entries that could not be read are named in `problems`, the rest is kept, and so are they
/// in the file when it is written again.
struct DeviceList {
    std::vector<Device> devices;
    std::vector<std::string> problems;
    [[nodiscard]] const Device *find(std::string_view name) const;
};
/// A file that is no JSON at all is an error that says where, and is then never overwritten.
[[nodiscard]] Result<DeviceList> readDevices(const Workspace &workspace);
/// Adds or replaces one device; other entries, also broken ones, stay as they are. The file is private to the user
/// (0600) and holds no secret.
[[nodiscard]] Result<void> saveDevice(const Workspace &workspace, const Device &device);
[[nodiscard]] Result<void> removeDevice(const Workspace &workspace, std::string_view name);
/// A device by name; the error lists those that exist.
[[nodiscard]] Result<Device> findDevice(const Workspace &workspace, std::string_view name);

/// The last facts that were read of a device.
[[nodiscard]] Result<void> saveFacts(const Workspace &workspace, std::string_view device, const BoardFacts &facts);
[[nodiscard]] Result<BoardFacts> loadFacts(const Workspace &workspace, std::string_view device);

/// All finished sysroots, sorted by directory. Interrupted ones are not among them.
[[nodiscard]] std::vector<Sysroot> listSysroots(const Workspace &workspace);

} // namespace slipway
