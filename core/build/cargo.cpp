// SPDX-License-Identifier: Apache-2.0
//
// Cargo projects: cargo with a cross linker and the sysroot, or cross in a container. What was made is what Cargo's messages
// say was made.

#include "core/base/text.h"
#include "core/build/buildparts.h"

#include <algorithm>

namespace slipway {

namespace {

/// "aarch64_unknown_linux_gnu", the form of a target in variable names.
std::string variableForm(const std::string &rustTarget, bool upper) {
    std::string text = rustTarget;
    for (auto &c : text)
        c = c == '-' || c == '.' ? '_' : upper ? char(std::toupper(static_cast<unsigned char>(c))) : c;
    return text;
}

/// Linker, C compilers for build scripts, bindgen's clang: all for the target and its sysroot.
std::map<std::string, std::string> targetEnvironment(const Toolchain &toolchain) {
    auto environment = pkgConfigEnvironment(toolchain);
    if (!toolchain.rustc.empty())
        environment["RUSTC"] = toolchain.rustc.string(); // cargo would take the first of PATH
    if (toolchain.isForThisMachine())
        return environment;
    const auto lower = variableForm(toolchain.rustTarget, false);
    environment["CARGO_TARGET_" + variableForm(toolchain.rustTarget, true) + "_LINKER"] = toolchain.cc.string();
    environment["CC_" + lower] = toolchain.cc.string();
    if (!toolchain.cxx.empty())
        environment["CXX_" + lower] = toolchain.cxx.string();
    if (!toolchain.ar.empty())
        environment["AR_" + lower] = toolchain.ar.string();
    std::string clang = toolchain.isNative() ? "" : "--target=" + toolchain.triple;
    if (toolchain.sysroot) {
        const auto option = "--sysroot=" + toolchain.sysroot->path.string();
        clang += (clang.empty() ? "" : " ") + shellQuote(option);
        environment["CFLAGS_" + lower] = fmt::format("{} {}", option, fmt::join(toolchain.flags.c, " "));
        environment["CXXFLAGS_" + lower] = fmt::format("{} {}", option, fmt::join(toolchain.flags.cxx, " "));
    }
    environment["BINDGEN_EXTRA_CLANG_ARGS_" + lower] = clang;
    return environment;
}

/// `target.T.rustflags` as a TOML value on the command line: it adds to the project's own and keeps spaces whole.
Result<std::vector<std::string>> sysrootArguments(const BuildRequest &request) {
    const auto &toolchain = request.toolchain;
    if (!toolchain.sysroot)
        return std::vector<std::string>{};
    Json flags = Json::array({"-Clink-arg=--sysroot=" + toolchain.sysroot->path.string()});
    for (const auto &option : TRY(linkOptions(request)))
        flags.push_back("-Clink-arg=" + option);
    return std::vector<std::string>{"--config", fmt::format("target.{}.rustflags={}", toolchain.rustTarget, flags.dump())};
}

const char *verbName(BuildVerb verb) {
    switch (verb) {
    case BuildVerb::build: return "build";
    case BuildVerb::check: return "check";
    case BuildVerb::clippy: return "clippy";
    }
    return "";
}

Result<std::vector<std::string>> cargoArguments(const BuildRequest &request) {
    const auto &build = request.project.build;
    std::vector<std::string> arguments{verbName(request.verb), "--message-format=json-render-diagnostics", "--manifest-path",
                                       (request.project.root / "Cargo.toml").string(), "--target-dir",
                                       (request.directory / "cargo").string(), "--profile",
                                       build.profile.empty() ? "release" : build.profile};
    const auto add = [&](const char *option, const std::string &value) {
        arguments.push_back(option);
        arguments.push_back(value);
    };
    if (!request.toolchain.isForThisMachine())
        add("--target", request.toolchain.rustTarget);
    if (!build.package.empty())
        add("--package", build.package);
    if (!build.features.empty())
        add("--features", fmt::format("{}", fmt::join(build.features, ",")));
    for (const auto &bin : build.bins)
        add("--bin", bin);
    for (const auto &example : build.examples)
        add("--example", example);
    if (build.bins.empty() && build.examples.empty())
        arguments.push_back("--bins");
    const auto sysroot = TRY(sysrootArguments(request));
    arguments.insert(arguments.end(), sysroot.begin(), sysroot.end());
    arguments.insert(arguments.end(), request.extra.begin(), request.extra.end());
    return arguments;
}

fs::path clippyOf(const Toolchain &toolchain) { return toolchain.cargo.parent_path() / "cargo-clippy"; }

/// Debian's cargo would otherwise run another Rust's clippy, which looks for another standard library.
Result<void> checkClippy(const BuildRequest &request) {
    std::error_code error;
    if (request.verb != BuildVerb::clippy || fs::exists(clippyOf(request.toolchain), error))
        return {};
    return std::unexpected(Error{.message = fmt::format("clippy is not installed for {}", request.toolchain.cargo.string()),
                                 .hint = "install it: rustup component add clippy, or apt install rust-clippy"});
}

Result<Command> cargoCommand(const BuildRequest &request, Progress &progress) {
    Command command{.arguments = TRY(cargoArguments(request)), .directory = request.project.root};
    command.unset = {"PKG_CONFIG_PATH", "CARGO_TARGET_DIR", "CARGO_BUILD_TARGET"};
    if (request.project.build.tool == "cross" && !request.toolchain.isForThisMachine()) {
        const auto plan = TRY(planContainer(request, progress));
        command.program = request.toolchain.cross.string();
        command.environment = plan.environment;
        return command;
    }
    TRY(checkClippy(request));
    command.program = request.toolchain.cargo.string();
    command.environment = targetEnvironment(request.toolchain);
    if (request.verb == BuildVerb::clippy) { // `cargo clippy` would take the cargo-clippy of PATH
        command.program = clippyOf(request.toolchain).string();
        command.environment["CARGO"] = request.toolchain.cargo.string();
    }
    return command;
}

/// The executable of a `compiler-artifact` message, if it is one.
Result<std::optional<BuiltFile>> artifactOf(std::string_view line) {
    const auto json = TRY(parseJson(line, "cargo's messages", 128));
    if (!json.is_object() || json.value("reason", "") != "compiler-artifact" || !json.contains("executable") || !json["executable"].is_string())
        return std::nullopt;
    const Json target = json.value("target", Json::object());
    const auto kinds = TRY(required<std::vector<std::string>>(target, "kind", "cargo's messages"));
    if (std::ranges::find(kinds, "bin") == kinds.end() && std::ranges::find(kinds, "example") == kinds.end())
        return std::nullopt;
    return BuiltFile{.name = TRY(required<std::string>(target, "name", "cargo's messages")), .file = json["executable"].get<std::string>()};
}

} // namespace

Result<std::vector<BuiltFile>> buildCargo(const BuildRequest &request, Progress &progress) {
    const auto command = TRY(cargoCommand(request, progress));
    auto step = progress.step(fmt::format("{} {}", fs::path(command.program).filename().string(), verbName(request.verb)));
    int warnings = 0;
    const auto onErrors = [&](std::string_view line) {
        if (line.starts_with("warning: ") && ++warnings <= 100)
            progress.warn(printable(line, 400));
    };
    const auto finished = TRY(run(command, progress, {}, onErrors));
    if (finished.exitCode != 0)
        return std::unexpected(buildFailed("the build failed", command, finished));
    std::vector<BuiltFile> files;
    for (const auto line : lines(finished.output)) {
        if (!line.starts_with('{'))
            continue; // a build script's or cross's own print
        if (auto file = TRY(artifactOf(line)))
            files.push_back(*std::move(file));
    }
    if (files.empty() && request.verb == BuildVerb::build)
        return fail("cargo made no binary of {} (needed a bin or an example)", request.project.name);
    std::ranges::sort(files, {}, &BuiltFile::name);
    step.done(warnings > 0 ? fmt::format("{} warnings", warnings) : "");
    return request.verb == BuildVerb::build ? files : std::vector<BuiltFile>{};
}

} // namespace slipway
