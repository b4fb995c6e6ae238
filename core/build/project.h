// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/kernel/source.h"

#include <map>
#include <optional>

namespace slipway {

enum class BuildKind { cmake, cargo, prebuilt };

/// `build` of slipway.json.
struct BuildSettings {
    BuildKind kind = BuildKind::cmake;
    std::vector<std::string> targets; ///< cmake targets; prebuilt: files
    std::vector<std::string> bins, examples, features;
    std::string package;
    std::string profile; ///< cargo: "release"; cmake: "Release"
    std::string tool;    ///< cargo: "cargo" or "cross"
    std::map<std::string, std::string> defines; ///< cmake -D
};

/// `kernels` of slipway.json, one entry.
struct KernelSettings {
    SourceKind kind = SourceKind::llvmIr;
    std::vector<std::string> files; ///< patterns relative to the root
    std::string bin;                ///< program: a build target or an executable file
    std::vector<std::string> arguments;
    std::string compiler;
    std::vector<std::string> flags;
};

struct ModelSettings {
    std::string file;
    std::string dtype; ///< "F16"; empty = not declared
};

/// A user's project: slipway.json with its defaults filled in.
struct Project {
    fs::path root;
    std::string name;
    BuildSettings build;
    std::vector<KernelSettings> kernels;
    std::vector<ModelSettings> models;
    std::vector<std::string> data; ///< files and folders to ship, relative to the root
    std::string runCommand;        ///< "bin/vector_add"
    std::string healthCommand;     ///< empty = no health check
    std::map<std::string, std::string> env;
    std::string dest; ///< "/opt/vector_add"
    int keep = 3;
    bool proposed = false; ///< there is no slipway.json: this is what Slipway proposes

    /// Reads `root`/slipway.json; without one, proposes from CMakeLists.txt or Cargo.toml. Neither: an error.
    [[nodiscard]] static Result<Project> open(const fs::path &root);
    [[nodiscard]] static Result<Project> fromJson(const Json &json, const fs::path &root);
    [[nodiscard]] Json toJson() const;
};

/// The kernel sources of a project with patterns expanded, sorted. `hostPrograms` maps a `bin` to its built host executable.
[[nodiscard]] Result<std::vector<KernelSource>> kernelSources(const Project &project, const std::map<std::string, fs::path> &hostPrograms);

} // namespace slipway
