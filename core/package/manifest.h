// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/build/project.h"
#include "core/kernel/cache.h"

#include <map>
#include <optional>

namespace slipway {

struct PackagedFile {
    std::string path; ///< relative to the package: "bin/vector_add"
    std::uint64_t size = 0;
    unsigned mode = 0644;
    std::string sha256;
};

struct DeclaredModel {
    std::string path; ///< relative to the package
    std::string dtype;
};

/// conf/manifest.json.
struct Manifest {
    int format = 1;
    std::string name;
    std::string target; ///< target id; "unknown" for packages of cargo teeny
    std::optional<Capability> capability;
    std::optional<PtxVersion> ptx;
    std::string options;
    std::string commit; ///< source commit; empty = unknown
    bool dirty = false;
    std::map<std::string, std::string> tools;
    long builtAt = 0; ///< Unix time of the sources (SourceState), so that the same inputs give the same bytes
    std::string run, health, dest;
    int keep = 3;
    std::vector<PackagedFile> files; ///< all but the manifest itself, sorted by path
    std::vector<KernelRecord> kernels;
    bool usesKernels = true; ///< false = the project lists no kernels: an empty cache is right ("uses_kernels" in the file)
    std::vector<DeclaredModel> models;

    [[nodiscard]] Json toJson() const;
    [[nodiscard]] static Result<Manifest> fromJson(const Json &json, std::string_view what);
    /// NAME-<first 12 hex of the SHA-256 of the text that conf/manifest.json has>: the release's directory on the board.
    [[nodiscard]] std::string releaseId() const;
};

} // namespace slipway
