// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/build/build.h"
#include "core/package/manifest.h"

namespace slipway {

/// A package directory: bin/ cache/ conf/ data/.
struct Package {
    fs::path directory;
    Manifest manifest;
    std::map<std::string, std::string> env; ///< conf/env
    bool fromTeeny = false; ///< made by `cargo teeny package`: what it does not record is unknown, files were hashed on opening

    /// Opens and reads; does not hash files (verifyPackage does). A directory with only the cargo-teeny marker is accepted.
    [[nodiscard]] static Result<Package> open(const fs::path &directory, Progress &progress);
};

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
    fs::path destination;
};

/// Lays the package out beside `destination` and renames it into place; the same inputs give the same bytes.
[[nodiscard]] Result<Package> makePackage(const PackageRequest &request, Progress &progress);

/// Hashes every file against the manifest; an error names the first that differs, is missing or is not listed.
[[nodiscard]] Result<void> verifyPackage(const Package &package, Progress &progress);

/// conf/env: NAME=VALUE lines, quoted for a POSIX shell.
[[nodiscard]] Result<std::map<std::string, std::string>> parseEnvFile(std::string_view text);
[[nodiscard]] std::string envFileText(const std::map<std::string, std::string> &env);

} // namespace slipway
