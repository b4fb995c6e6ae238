// SPDX-License-Identifier: Apache-2.0
//
// CMake projects: configure with our toolchain file, ask the file API what there is, build what is listed.

#include "core/base/text.h"
#include "core/build/buildparts.h"
#include "core/image/elfimage.h"

#include <algorithm>
#include <set>
#include <thread>

namespace slipway {

namespace {

/// The tree of a verb: clang-tidy must not make the real one build everything again.
fs::path treeOf(const BuildRequest &request) { return request.directory / (request.verb == BuildVerb::clippy ? "clang-tidy" : "cmake"); }

Command cmakeCommand(const BuildRequest &request) {
    Command command{.program = request.toolchain.cmake.string()};
    command.environment = pkgConfigEnvironment(request.toolchain);
    command.environment["LC_ALL"] = "C.UTF-8"; // messages that we can read
    command.unset = {"PKG_CONFIG_PATH", "MAKEFLAGS", "DESTDIR"};
    if (!request.toolchain.isNative())
        command.unset.insert(command.unset.end(), {"CFLAGS", "CXXFLAGS", "LDFLAGS", "CPPFLAGS", "CUDAFLAGS"}); // meant for this machine
    return command;
}

std::string generatorOf(const BuildRequest &request) { return request.toolchain.ninja.empty() ? "Unix Makefiles" : "Ninja"; }

/// A tree keeps its compilers and generator for life: another toolchain begins with a new tree.
Result<void> prepareTree(const BuildRequest &request, const fs::path &tree) {
    const auto text = TRY(toolchainFileText(request));
    const auto stamp = fmt::format("{}{}\n{}\n", text, generatorOf(request), request.project.root.string());
    std::error_code error;
    const auto last = readFile(tree / "slipway-stamp.txt");
    if (fs::exists(tree, error) && (!last || *last != stamp))
        fs::remove_all(tree, error);
    TRY(writeFileAtomically(tree / "slipway-toolchain.cmake", text));
    TRY(writeFileAtomically(tree / "slipway-stamp.txt", stamp));
    return askFileApi(tree);
}

/// CMake hands clang-tidy no name of a compiler to tell the target from; its C++ headers are this machine's GCC's, and so is
/// the standard where the project names none.
std::string clangTidy(const Toolchain &toolchain) {
    return toolchain.clangTidy.string() + ";--quiet;--extra-arg-before=-std=gnu++17" + (toolchain.isNative() ? "" : ";--extra-arg=--target=" + toolchain.triple)
           + (toolchain.sysroot ? ";--extra-arg=--gcc-toolchain=/usr" : "");
}

/// A library of this machine that CMake took for the target links to nothing, or worse.
void warnOfForeignPaths(const BuildRequest &request, const fs::path &tree, Progress &progress) {
    if (request.toolchain.isNative())
        return;
    const auto cache = readFile(tree / "CMakeCache.txt", std::uint64_t(64) << 20);
    if (!cache)
        return;
    const auto own = "/usr/lib/" + hostArch() + "-linux-gnu/";
    for (const auto line : lines(*cache)) {
        const auto equals = line.find('=');
        const bool isPath = line.substr(0, equals).ends_with(":FILEPATH") || line.substr(0, equals).ends_with(":PATH");
        if (equals == std::string_view::npos || !isPath || line.starts_with("CMAKE_"))
            continue;
        const auto value = line.substr(equals + 1);
        if (value.starts_with(own) || value.starts_with("/opt/homebrew/") || value.find("/miniforge3/") != std::string_view::npos)
            progress.warn(fmt::format("CMake took {} of this machine for the target ({})", printable(value),
                                      line.substr(0, line.find(':'))));
    }
}

Result<void> configure(const BuildRequest &request, const fs::path &tree, Progress &progress) {
    auto step = progress.step("configure");
    auto command = cmakeCommand(request);
    const auto &build = request.project.build;
    command.arguments = {"-S", request.project.root.string(), "-B", tree.string(), "-G", generatorOf(request), "-Wno-dev",
                         "-DCMAKE_TOOLCHAIN_FILE=" + (tree / "slipway-toolchain.cmake").string(),
                         "-DCMAKE_BUILD_TYPE=" + (build.profile.empty() ? "Release" : build.profile)};
    if (!request.toolchain.ninja.empty())
        command.arguments.push_back("-DCMAKE_MAKE_PROGRAM=" + request.toolchain.ninja.string());
    if (!request.runtimeInclude.empty())
        command.arguments.push_back("-DSLIPWAY_RUNTIME_DIR=" + request.runtimeInclude.string());
    if (request.verb == BuildVerb::clippy)
        command.arguments.push_back("-DCMAKE_CXX_CLANG_TIDY=" + clangTidy(request.toolchain));
    for (const auto &[name, value] : build.defines)
        command.arguments.push_back(fmt::format("-D{}={}", name, value));
    const auto finished = TRY(run(command, progress));
    if (finished.exitCode != 0)
        return std::unexpected(buildFailed("cmake cannot configure " + request.project.name, command, finished));
    warnOfForeignPaths(request, tree, progress);
    step.done();
    return {};
}

/// Those that were asked for, else every executable.
Result<std::vector<CMakeTarget>> chosenTargets(const BuildRequest &request, const std::vector<CMakeTarget> &all) {
    std::vector<CMakeTarget> chosen;
    std::vector<std::string> executables;
    for (const auto &target : all) {
        if (target.type == "EXECUTABLE")
            executables.push_back(target.name);
    }
    const auto &wanted = request.project.build.targets.empty() ? executables : request.project.build.targets;
    for (const auto &name : wanted) {
        const auto found = std::ranges::find(all, name, &CMakeTarget::name);
        if (found == all.end()) {
            const auto near = nearestWord(name, executables);
            return std::unexpected(Error{.message = fmt::format("the CMake project has no target \"{}\" (its executables: {})", printable(name),
                                                                executables.empty() ? "none" : fmt::format("{}", fmt::join(executables, ", "))),
                                         .hint = near.empty() ? "correct build.targets in slipway.json" : fmt::format("did you mean {}?", near)});
        }
        chosen.push_back(*found);
    }
    if (chosen.empty())
        return fail("the CMake project {} makes no executable (needed add_executable in its CMakeLists.txt)", request.project.name);
    return chosen;
}

/// "[3/17] …" of ninja and "[ 17%] …" of make.
void followProgress(std::string_view line, Progress::Step &step) {
    if (!line.starts_with('['))
        return;
    const auto end = line.find(']');
    const auto slash = line.find('/');
    if (end == std::string_view::npos)
        return;
    if (slash != std::string_view::npos && slash < end) {
        const auto done = parseNumber(trimmed(line.substr(1, slash - 1)));
        const auto total = parseNumber(trimmed(line.substr(slash + 1, end - slash - 1)));
        if (done && total) {
            step.setTotal(*total);
            step.at(*done);
        }
    } else if (const auto percent = line.find('%'); percent < end) {
        if (const auto done = parseNumber(trimmed(line.substr(1, percent - 1)))) {
            step.setTotal(100);
            step.at(*done);
        }
    }
}

Result<void> compile(const BuildRequest &request, const fs::path &tree, const std::vector<CMakeTarget> &targets, Progress &progress) {
    auto step = progress.step(request.verb == BuildVerb::clippy ? "clang-tidy" : "compile");
    auto command = cmakeCommand(request);
    command.arguments = {"--build", tree.string(), "--parallel", std::to_string(std::max(1U, std::thread::hardware_concurrency()))};
    if (request.verb == BuildVerb::clippy)
        command.arguments.push_back("--clean-first"); // what was compiled before would not be looked at again
    command.arguments.push_back("--target");
    for (const auto &target : targets)
        command.arguments.push_back(target.name);
    if (!request.extra.empty()) {
        command.arguments.push_back("--");
        command.arguments.insert(command.arguments.end(), request.extra.begin(), request.extra.end());
    }
    int warnings = 0;
    const auto onLine = [&](std::string_view line) {
        followProgress(line, step);
        if (line.find(": warning: ") != std::string_view::npos && ++warnings <= 100)
            progress.warn(printable(line, 400));
    };
    const auto finished = TRY(run(command, progress, onLine, onLine));
    if (finished.exitCode != 0)
        return std::unexpected(buildFailed("the build failed", command, finished));
    step.done(warnings > 0 ? fmt::format("{} warnings", warnings) : "");
    return {};
}

/// The shared libraries of the project that `target` needs, under the names that the loader looks for.
Result<void> addLibraries(const std::vector<CMakeTarget> &all, const CMakeTarget &target, std::set<std::string> &seen, std::vector<BuiltFile> &files) {
    for (const auto &id : target.dependencies) {
        const auto found = std::ranges::find(all, id, &CMakeTarget::id);
        if (found == all.end() || !seen.insert(id).second)
            continue;
        if (found->type == "SHARED_LIBRARY" && !found->artifacts.empty()) {
            const auto elf = TRY(readElfFile(found->artifacts.front()));
            files.push_back({.name = elf.soname.empty() ? found->artifacts.front().filename().string() : elf.soname,
                             .file = found->artifacts.front()});
        }
        TRY(addLibraries(all, *found, seen, files));
    }
    return {};
}

Result<std::vector<BuiltFile>> builtFiles(const std::vector<CMakeTarget> &all, const std::vector<CMakeTarget> &chosen) {
    std::vector<BuiltFile> files;
    std::set<std::string> seen;
    for (const auto &target : chosen) {
        if ((target.type == "EXECUTABLE" || target.type == "SHARED_LIBRARY") && !target.artifacts.empty())
            files.push_back({.name = target.artifacts.front().filename().string(), .file = target.artifacts.front()});
        seen.insert(target.id);
    }
    for (const auto &target : chosen)
        TRY(addLibraries(all, target, seen, files));
    std::error_code error;
    for (const auto &file : files) {
        if (!fs::is_regular_file(file.file, error))
            return fail("the build said that it made {}, but it is not there", file.file.string());
    }
    return files;
}

} // namespace

Result<std::vector<BuiltFile>> buildCMake(const BuildRequest &request, Progress &progress) {
    if (request.verb == BuildVerb::clippy && request.toolchain.clangTidy.empty())
        return std::unexpected(Error{.message = "clang-tidy is not installed here (needed to look through a CMake project)",
                                     .hint = "install it: apt install clang-tidy"});
    const auto tree = treeOf(request);
    TRY(prepareTree(request, tree));
    TRY(configure(request, tree, progress));
    TRY(compile(request, tree, TRY(chosenTargets(request, TRY(readFileApi(tree)))), progress));
    if (request.verb != BuildVerb::build)
        return std::vector<BuiltFile>{};
    const auto all = TRY(readFileApi(tree)); // the build may have configured again
    return builtFiles(all, TRY(chosenTargets(request, all)));
}

} // namespace slipway
