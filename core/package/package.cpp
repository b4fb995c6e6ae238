// SPDX-License-Identifier: Apache-2.0
//
// Laying out a package. Everything lands in a scratch directory beside the destination, which is renamed at the end.

#include "core/package/package.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/package/contents.h"
#include "core/package/teeny.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr int deepest = 64;

/// The package while it is being made.
struct Layout {
    const PackageRequest &request;
    fs::path directory;
    fs::path root; ///< canonical
    std::map<std::string, fs::path> sources; ///< path in the package -> file
};

/// Links are followed as long as they stay inside the project.
Result<fs::path> insideProject(const Layout &layout, const fs::path &file) {
    std::error_code error;
    const auto real = fs::canonical(file, error);
    if (error)
        return fail("cannot read {}: {}", printable(file.string()), error.message());
    if (real != layout.root && !real.string().starts_with(layout.root.string() + "/"))
        return std::unexpected(Error{.message = fmt::format("{} is a link that leaves the project to {}", printable(file.string()),
                                                            printable(real.string())),
                                     .hint = "put the file itself into the project"});
    return real;
}

Result<void> addFile(Layout &layout, const std::string &path, const fs::path &source) {
    if (printable(path, path.size() + 1) != path)
        return fail("the name of {} is not printable UTF-8, which a manifest needs", printable(path));
    const auto [there, isNew] = layout.sources.emplace(path, source);
    std::error_code error;
    if (!isNew && !fs::equivalent(there->second, source, error))
        return fail("two files would be {} in the package: {} and {}", path, printable(there->second.string()),
                    printable(source.string()));
    return {};
}

/// Where a path of the project goes: below data/, which is not doubled.
std::string dataPath(const std::string &relative) { return relative.starts_with("data/") ? relative : "data/" + relative; }

Result<void> addTree(Layout &layout, const std::string &relative, int depth) {
    const auto real = TRY(insideProject(layout, layout.request.project.root / relative));
    std::error_code error;
    if (fs::is_regular_file(real, error))
        return addFile(layout, dataPath(relative), real);
    if (!fs::is_directory(real, error))
        return fail("{} is neither a file nor a folder", printable(relative));
    if (depth > deepest)
        return fail("{}: folders are nested deeper than {} (a link that leads back up?)", printable(relative.substr(0, 60)), deepest);
    for (const auto &entry : fs::directory_iterator(real, error))
        TRY(addTree(layout, relative + "/" + entry.path().filename().string(), depth + 1));
    if (error)
        return fail("cannot list {}: {}", printable(relative), error.message());
    return {};
}

Result<void> addData(Layout &layout) {
    const auto &project = layout.request.project;
    std::error_code error;
    for (const auto &entry : project.data) {
        if (!fs::exists(project.root / entry, error))
            return std::unexpected(Error{.message = fmt::format("data: there is no {} in {}", printable(entry), project.root.string()),
                                         .hint = "correct \"data\" in slipway.json"});
        TRY_IN(addTree(layout, entry, 0), "data");
    }
    for (const auto &model : project.models) {
        if (!fs::is_regular_file(project.root / model.file, error))
            return std::unexpected(Error{.message = fmt::format("models: there is no file {} in {}", printable(model.file),
                                                                project.root.string()),
                                         .hint = "correct \"models\" in slipway.json, or fetch the file"});
        TRY_IN(addTree(layout, model.file, 0), "models");
    }
    return {};
}

/// The images of the kernels that were listed, and nothing else of the cache.
Result<void> addKernels(Layout &layout, Progress &progress) {
    for (const auto &kernel : layout.request.kernels) {
        const auto stem = kernel.hash.empty() ? kernel.name : kernel.name + "_" + kernel.hash;
        if (!isInsidePath(stem) || stem.find('/') != std::string::npos)
            return fail("\"{}\" is no name of a kernel", printable(stem));
        bool found = false;
        for (const char *ending : {".o", ".cubin", ".ptx", ".fatbin"}) {
            const auto file = layout.request.cacheDirectory / (stem + ending);
            std::error_code error;
            if (!fs::is_regular_file(file, error))
                continue;
            TRY(addFile(layout, "cache/" + stem + ending, file));
            found = true;
        }
        if (!found)
            progress.warn(fmt::format("the kernel {} has no image in {}", stem, layout.request.cacheDirectory.string()));
    }
    return {};
}

Result<void> addBinaries(Layout &layout) {
    for (const auto &artifact : layout.request.artifacts) {
        if (!isInsidePath(artifact.name) || artifact.name.find('/') != std::string::npos)
            return fail("\"{}\" is no name of a binary", printable(artifact.name));
        TRY(addFile(layout, "bin/" + artifact.name, artifact.file));
    }
    return {};
}

Result<void> writeConf(const Layout &layout, const std::string &path, std::string_view text, Manifest &manifest) {
    TRY(writeFileAtomically(layout.directory / path, text));
    TRY(setTime(layout.directory / path, manifest.builtAt));
    manifest.files.push_back({.path = path, .size = text.size(), .mode = 0644, .sha256 = sha256(text)});
    return {};
}

Manifest manifestOf(const PackageRequest &request) {
    Manifest manifest;
    const auto &project = request.project;
    manifest.name = project.name;
    manifest.target = request.target.id;
    manifest.capability = request.capability;
    manifest.ptx = request.ptx;
    manifest.options = request.options;
    manifest.commit = request.source.commit;
    manifest.dirty = request.source.dirty;
    manifest.tools = request.tools;
    manifest.builtAt = request.source.time;
    manifest.run = project.runCommand;
    manifest.health = project.healthCommand;
    manifest.dest = project.dest;
    manifest.keep = project.keep;
    manifest.usesKernels = !request.project.kernels.empty();
    manifest.kernels = request.kernels;
    for (auto &kernel : manifest.kernels) { // when and why it was compiled differs between runs that made the same bytes
        kernel.builtAt = 0;
        kernel.why.clear();
    }
    std::ranges::sort(manifest.kernels, {}, [](const KernelRecord &kernel) { return std::pair(kernel.name, kernel.hash); });
    for (const auto &model : project.models)
        manifest.models.push_back({.path = dataPath(model.file), .dtype = model.dtype});
    return manifest;
}

TeenyMarker markerOf(const PackageRequest &request) {
    TeenyMarker marker{.target = request.target.id, .isExample = false, .names = {}, .device = "cuda",
                       .options = request.options, .time = request.source.time, .commit = request.source.commit};
    for (const auto &artifact : request.artifacts)
        marker.names.push_back(artifact.name);
    std::ranges::sort(marker.names);
    const auto &build = request.project.build;
    marker.isExample = build.bins.empty() && !build.examples.empty();
    if (marker.names.empty())
        marker.names = {request.project.name};
    if (marker.options.empty())
        marker.options = "capability=" + request.capability.sm() + (request.ptx ? fmt::format(",ptx-version={}", request.ptx->code()) : "");
    return marker;
}

Result<void> writeManifest(const Layout &layout, Manifest &manifest) {
    std::ranges::sort(manifest.files, {}, &PackagedFile::path);
    const auto file = layout.directory / "conf/manifest.json";
    TRY(writeJsonFile(file, manifest.toJson()));
    TRY(setTime(file, manifest.builtAt));
    std::error_code error;
    std::vector<fs::path> folders{layout.directory};
    for (const auto &entry : fs::recursive_directory_iterator(layout.directory, error)) {
        if (entry.is_directory(error))
            folders.push_back(entry.path());
    }
    for (const auto &folder : folders)
        TRY(setTime(folder, manifest.builtAt));
    return {};
}

/// A destination may be absent, empty, or a package: nothing else is ever replaced.
Result<void> checkDestination(const fs::path &destination) {
    std::error_code error;
    const auto status = fs::symlink_status(destination, error);
    if (!fs::exists(status))
        return {};
    if (status.type() == fs::file_type::directory
        && (fs::is_empty(destination, error) || fs::is_regular_file(destination / "conf/manifest.json", error)
            || fs::is_regular_file(destination / "conf/.cargo-teeny-package", error)))
        return {};
    return std::unexpected(Error{.kind = ErrorKind::usage,
                                 .message = fmt::format("{} exists and is no package (needed a new or empty directory, or a package to replace)",
                                                        printable(destination.string())),
                                 .hint = "choose another directory"});
}

} // namespace

Result<Package> makePackage(const PackageRequest &request, Progress &progress) {
    auto step = progress.step("pack " + request.project.name, 0, Event::Unit::files);
    std::error_code error;
    auto destination = fs::absolute(request.destination).lexically_normal();
    if (!destination.has_filename()) // it was given with a final '/'
        destination = destination.parent_path();
    TRY(checkDestination(destination));
    auto scratch = TRY(ScratchDir::in(destination.parent_path()));
    Layout layout{.request = request, .directory = scratch.path(), .root = fs::canonical(request.project.root, error), .sources = {}};
    TRY(addBinaries(layout));
    TRY(addKernels(layout, progress));
    TRY(addData(layout));

    auto manifest = manifestOf(request);
    for (const char *folder : {"bin", "cache", "conf", "data"})
        fs::create_directories(layout.directory / folder, error);
    step.setTotal(layout.sources.size());
    for (const auto &[path, source] : layout.sources) {
        manifest.files.push_back(TRY(copyInto(layout.directory, path, source, request.source.time, progress)));
        step.advance();
    }
    auto env = cacheEnv(request.ptx);
    for (const auto &[name, value] : request.project.env)
        env[name] = value;
    TRY(writeConf(layout, "conf/env", envFileText(env), manifest));
    TRY(writeConf(layout, "conf/.cargo-teeny-package", teenyMarkerText(markerOf(request)), manifest));
    TRY(writeManifest(layout, manifest));
    TRY(scratch.commit(destination));
    step.done(fmt::format("{} files in {}", manifest.files.size() + 1, destination.string()));
    return Package{.directory = destination, .manifest = std::move(manifest), .env = std::move(env)};
}

} // namespace slipway
