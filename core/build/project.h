// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/kernel/source.h"

#include <map>
#include <optional>

namespace slipway {

enum class BuildKind { cmake, cargo, prebuilt };
[[nodiscard]] const char *buildKindName(BuildKind kind); ///< "cmake", "cargo", "prebuilt"

/// `build` of slipway.json.
struct BuildSettings {
    BuildKind kind = BuildKind::cmake;
    std::vector<std::string> targets; ///< cmake targets, empty = every executable; prebuilt: files or patterns ("files")
    std::vector<std::string> bins, examples, features; ///< cargo; no bins and no examples = every binary
    std::string package;
    std::string profile; ///< default: cargo "release", cmake "Release"
    std::string tool;    ///< cargo: "cargo" (default) or "cross", which builds in a container
    std::map<std::string, std::string> defines; ///< cmake -D
};

/// `kernels` of slipway.json, one entry.
struct KernelSettings {
    SourceKind kind = SourceKind::llvmIr;
    std::vector<std::string> files; ///< patterns relative to the root
    std::string bin;                ///< program: a build target or an executable file of the project (a script, say)
    std::vector<std::string> arguments;
    std::string compiler;
    std::vector<std::string> flags;
};

struct ModelSettings {
    std::string file;
    std::string dtype; ///< "F16"; empty = not declared
};

/// A user's project: slipway.json with its defaults filled in. Every path is relative to the root and stays inside it.
/// Keys that the file does not have take what `proposeProject` would say; an unknown key is an error, never ignored.
struct Project {
    fs::path root;
    std::string name;
    BuildSettings build;
    std::vector<KernelSettings> kernels;
    std::vector<ModelSettings> models;
    std::vector<std::string> data; ///< files and folders to ship, relative to the root
    std::string runCommand;        ///< a shell command, run in the release's directory: "bin/vector_add"; empty = nothing to run
    std::string healthCommand;     ///< the same; empty = no health check
    std::map<std::string, std::string> env;
    std::string dest; ///< "/opt/vector_add"
    int keep = 3;
    bool proposed = false; ///< there is no slipway.json: this is what Slipway proposes

    /// Reads `root`/slipway.json; without one, proposes from CMakeLists.txt or Cargo.toml. Neither: an error.
    [[nodiscard]] static Result<Project> open(const fs::path &root);
    [[nodiscard]] static Result<Project> fromJson(const Json &json, const fs::path &root);
    [[nodiscard]] Json toJson() const;
};

/// A project's name: letters, digits, '.', '_', '-', at most 64; it becomes part of directory names here and on the board.
[[nodiscard]] bool isProjectName(std::string_view text);
/// `text` made into one.
[[nodiscard]] std::string projectNameFrom(std::string_view text);

/// What Slipway assumes about a tree without slipway.json: CMakeLists.txt (project name and executables), else Cargo.toml
/// (asks `cargo metadata`), kernels/*.ll, *.bc and *.cu, and data/. Neither build system: an error.
[[nodiscard]] Result<Project> proposeProject(const fs::path &root);

/// The files of the project that a pattern names (`*`, `?`, `[…]` within a folder, `**` for any depth), relative to
/// the root, sorted. Hidden files only match a pattern that begins with a dot. No match is an error, and so is a match that
/// leaves the root by a symbolic link.
[[nodiscard]] Result<std::vector<std::string>> expandPattern(const fs::path &root, const std::string &pattern);

/// The kernel sources of a project with patterns expanded, sorted. `hostPrograms` maps a `bin` to its built host executable.
[[nodiscard]] Result<std::vector<KernelSource>> kernelSources(const Project &project, const std::map<std::string, fs::path> &hostPrograms);

} // namespace slipway
