// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/build.h"
#include "core/package/manifest.h"

namespace slipway {

/// A package directory: bin/ cache/ conf/ data/.
struct Package {
    fs::path directory;
    Manifest manifest;
    /// conf/env, `$RELEASE` not replaced yet. A package of cargo teeny has no such file: this is then what its OPTIONS call
    /// for, and whoever ships it writes the file.
    std::map<std::string, std::string> env;
    bool fromTeeny = false; ///< made by `cargo teeny package`: what it does not record is unknown, files were hashed on opening

    /// Opens and reads; does not hash files (verifyPackage does). A directory with only the cargo-teeny marker is accepted.
    [[nodiscard]] static Result<Package> open(const fs::path &directory, Progress &progress);
};

/// Where a project's sources stand.
struct SourceState {
    std::string commit; ///< empty = not a git tree
    bool dirty = false; ///< differs from that commit
    long time = 0;      ///< SOURCE_DATE_EPOCH, else the commit's time, else 0: never the clock
};
/// Asks git (and the environment); a tree without git is no error.
[[nodiscard]] Result<SourceState> readSourceState(const fs::path &root, Progress &progress);

struct PackageRequest {
    Project project;
    Target target;
    Capability capability;
    std::optional<PtxVersion> ptx;
    std::string options;
    std::vector<Artifact> artifacts;
    fs::path cacheDirectory;
    std::vector<KernelRecord> kernels; ///< what the ahead-of-time run listed for this capability
    std::map<std::string, std::string> tools;
    SourceState source;
    fs::path destination; ///< absent, empty, or a package that is replaced
};

/// Lays the package out beside `destination` and renames it into place; the same inputs give the same bytes. What goes in:
/// artifacts to bin/, of the cache the images of `kernels` (never what another target or an interrupted run left), data and
/// models to data/ (a leading "data/" is not doubled), links followed as long as they stay inside the project. Modes are
/// 0755 for ELF programs and `#!` scripts, by content, else 0644. A listed kernel whose image is not in the cache is a warning
/// here and stays in the manifest, so that pre-flight (`cache-present`) reports it with everything else.
[[nodiscard]] Result<Package> makePackage(const PackageRequest &request, Progress &progress);

/// A build's leftovers, which are never shipped: .rs, .mlir, .lock, .tmp…, and files that are hidden.
[[nodiscard]] bool isLeftover(std::string_view cacheFileName);

/// Hashes every file against the manifest; an error names the first that differs, is missing or is not listed.
[[nodiscard]] Result<void> verifyPackage(const Package &package, Progress &progress);

/// conf/env: NAME=VALUE lines, quoted for a POSIX shell, which may read the file with `.` once RELEASE is set to the
/// release's directory. A value is plain text but for one thing: when it begins with `$RELEASE` (alone or before a '/'), that
/// is the release's directory: `TEENYC_CACHE_DIR="$RELEASE"/cache`. makePackage writes
///   TEENYC_CACHE_DIR    $RELEASE/cache
///   TEENYC_PTX_VERSION  82, when the cache was built with an explicit or derived version: it is part of the cache key
///   TEENYC_PATH         a text that is no program: teenygrad's runtime wants the variable before it looks into the cache
///                       (facts/domain.md section 8), and there is no compiler on a board
///   CUDA_CACHE_PATH     $RELEASE/../../.slipway/cuda: the driver's JIT cache outlives releases, which never change
/// and the project's `run.env`, which wins.
[[nodiscard]] Result<std::map<std::string, std::string>> parseEnvFile(std::string_view text);
[[nodiscard]] std::string envFileText(const std::map<std::string, std::string> &env);
/// The variables as a program started from `release` gets them: `$RELEASE` replaced.
[[nodiscard]] std::map<std::string, std::string> resolvedEnv(const std::map<std::string, std::string> &env, const std::string &release);

} // namespace slipway
