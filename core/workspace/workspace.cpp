// SPDX-License-Identifier: Apache-2.0
//
// Where things live: XDG directories of the user, and our own data beside the running program.

#include "core/workspace/workspace.h"

#include "core/base/digest.h"

#include <algorithm>
#include <cstdlib>

namespace slipway {

namespace {

using Environment = std::map<std::string, std::string>;

std::string valueOf(const Environment &environment, const char *name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
}

/// A base directory of the XDG specification, which has relative values ignored.
Result<fs::path> baseDirectory(const Environment &environment, const char *variable, const char *inHome) {
    const fs::path given = valueOf(environment, variable);
    if (given.is_absolute())
        return given / "slipway";
    const fs::path home = valueOf(environment, "HOME");
    if (!home.is_absolute())
        return std::unexpected(Error{.message = fmt::format("found no home directory (needed HOME or {})", variable),
                                     .hint = "set HOME to an absolute path"});
    return home / inHome / "slipway";
}

/// slipway-paths.json of a build tree, beside the program or, for test programs, in bin/ beside their directory.
std::optional<fs::path> pathsFile(const fs::path &programDirectory) {
    std::error_code error;
    for (const auto &directory : {programDirectory, programDirectory.parent_path() / "bin"}) {
        if (fs::is_regular_file(directory / "slipway-paths.json", error))
            return directory / "slipway-paths.json";
    }
    return std::nullopt;
}

Result<void> findOwnData(Workspace &workspace, const Environment &environment, const fs::path &programDirectory) {
    workspace.bin = programDirectory;
    const auto share = programDirectory.parent_path() / "share" / "slipway";
    if (const auto paths = pathsFile(programDirectory)) {
        const auto json = TRY(readJsonFile(*paths));
        const auto what = paths->string();
        workspace.bin = paths->parent_path();
        workspace.resources = TRY(required<std::string>(json, "resources", what));
        workspace.installedTargets = TRY(required<std::string>(json, "targets", what));
        workspace.probePrograms = TRY(required<std::string>(json, "probes", what));
    } else {
        workspace.resources = share / "resources";
        workspace.installedTargets = share / "targets";
        workspace.probePrograms = share / "probe";
    }
    const fs::path given = valueOf(environment, "SLIPWAY_RESOURCES");
    std::error_code error;
    if (!given.empty()) {
        workspace.resources = fs::absolute(given, error).lexically_normal();
        if (!workspace.resources.has_filename()) // it was given with a final '/'
            workspace.resources = workspace.resources.parent_path();
        if (const auto beside = workspace.resources.parent_path() / "targets"; fs::is_directory(beside, error))
            workspace.installedTargets = beside;
    }
    if (!fs::is_directory(workspace.resources, error))
        return std::unexpected(Error{.message = fmt::format("found no resources in {} (needed Slipway's own data)",
                                                            workspace.resources.string()),
                                     .hint = "install Slipway again, or set SLIPWAY_RESOURCES to its resources directory"});
    return {};
}

/// A directory name for a project that two projects of the same name do not share.
std::string projectKey(const fs::path &project) {
    std::error_code error;
    auto path = fs::weakly_canonical(project, error);
    if (error)
        path = fs::absolute(project).lexically_normal();
    if (!path.has_filename())
        path = path.parent_path();
    std::string name = path.filename().string();
    std::replace_if(name.begin(), name.end(), [](char c) { return !isName(std::string{'a', c}); }, '_');
    return fmt::format("{}-{}", name.substr(0, 48), sha256(path.string()).substr(0, 8));
}

} // namespace

bool isName(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !text.empty() && text.size() <= 64 && text.front() != '.' && text.front() != '-'
           && text.find_first_not_of(letters) == std::string_view::npos;
}

Result<Workspace> Workspace::from(const Environment &environment, const fs::path &program) {
    Workspace workspace;
    workspace.config = TRY(baseDirectory(environment, "XDG_CONFIG_HOME", ".config"));
    workspace.cache = TRY(baseDirectory(environment, "XDG_CACHE_HOME", ".cache"));
    workspace.state = TRY(baseDirectory(environment, "XDG_STATE_HOME", ".local/state"));
    TRY(findOwnData(workspace, environment, program.parent_path()));
    return workspace;
}

Result<Workspace> Workspace::standard() {
    Environment environment;
    for (const char *name : {"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "SLIPWAY_RESOURCES"}) {
        if (const char *value = std::getenv(name))
            environment[name] = value;
    }
    std::error_code error;
    const auto program = fs::read_symlink("/proc/self/exe", error);
    if (error)
        return fail("cannot find out where this program is: /proc/self/exe: {}", error.message());
    return from(environment, program);
}

Result<Catalog> Workspace::catalog() const { return Catalog::load({installedTargets, config / "targets"}); }

ProbePrograms Workspace::probes() const { return {.directory = probePrograms}; }

fs::path Workspace::buildDirectory(const fs::path &project, std::string_view target) const {
    return cache / "projects" / projectKey(project) / target / "build";
}

fs::path Workspace::kernelCacheDirectory(const fs::path &project, std::string_view target) const {
    return cache / "projects" / projectKey(project) / target / "kernels";
}

fs::path Workspace::packageDirectory(const fs::path &project, std::string_view target) const {
    return cache / "projects" / projectKey(project) / target / "package";
}

fs::path Workspace::sysrootDirectory(std::string_view device) const { return cache / "sysroots" / device; }

std::vector<Sysroot> listSysroots(const Workspace &workspace) {
    std::vector<Sysroot> sysroots;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator(workspace.cache / "sysroots", error)) {
        if (auto sysroot = openSysroot(entry.path()))
            sysroots.push_back(*std::move(sysroot));
    }
    std::ranges::sort(sysroots, {}, &Sysroot::path);
    return sysroots;
}

} // namespace slipway
