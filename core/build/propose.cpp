// SPDX-License-Identifier: Apache-2.0
//
// What Slipway assumes about a tree without slipway.json. Cargo is asked; CMakeLists.txt is read lightly: literal names only,
// since before a build exists there is nobody to ask.

#include "core/base/text.h"
#include "core/build/projectjson.h"

#include <algorithm>

namespace slipway {

namespace {

/// One command of a CMakeLists.txt: lower-case name and its arguments.
struct CMakeCommand {
    std::string name;
    std::vector<std::string> arguments;
};

/// Skips a comment or a bracket text at `at`; returns where it ends, or `at` when there is neither.
std::size_t skipComment(std::string_view text, std::size_t at) {
    if (text[at] != '#')
        return at;
    if (text.substr(at, 3) == "#[[") {
        const auto end = text.find("]]", at);
        return end == std::string_view::npos ? text.size() : end + 2;
    }
    return std::min(text.find('\n', at), text.size());
}

std::vector<std::string> readArguments(std::string_view text, std::size_t &at) {
    std::vector<std::string> arguments;
    std::string word;
    const auto flush = [&] {
        if (!word.empty())
            arguments.push_back(std::exchange(word, {}));
    };
    for (int depth = 1; at < text.size(); ++at) {
        if (const auto after = skipComment(text, at); after != at) {
            at = after - 1;
        } else if (text[at] == '"') {
            const auto end = std::min(text.find('"', at + 1), text.size());
            word += text.substr(at + 1, end - at - 1);
            at = end;
        } else if (text[at] == '(' || text[at] == ')') {
            depth += text[at] == '(' ? 1 : -1;
            flush();
            if (depth == 0)
                break;
        } else if (std::string_view(" \t\r\n;").find(text[at]) != std::string_view::npos) {
            flush();
        } else {
            word += text[at];
        }
    }
    flush();
    return arguments;
}

std::vector<CMakeCommand> readCommands(std::string_view text) {
    std::vector<CMakeCommand> commands;
    std::string word;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (const auto after = skipComment(text, at); after != at) {
            at = after - 1;
        } else if (c == '(') {
            at += 1;
            commands.push_back({.name = std::exchange(word, {}), .arguments = readArguments(text, at)});
        } else if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
            word += char(std::tolower(static_cast<unsigned char>(c)));
        } else if (c == '\n') {
            word.clear();
        }
    }
    return commands;
}

/// `${PROJECT_NAME}` is the one variable that people put into a target's name; a name with another is left out.
std::string resolved(std::string text, const std::string &projectName) {
    for (const std::string variable : {"${PROJECT_NAME}", "${CMAKE_PROJECT_NAME}"}) {
        if (const auto at = text.find(variable); at != std::string::npos)
            text.replace(at, variable.size(), projectName);
    }
    return text.find("${") == std::string::npos ? text : "";
}

/// Adds the executables that `folder`/CMakeLists.txt and the folders it adds make.
void readCMakeLists(const fs::path &root, const std::string &folder, int depth, Project &project) {
    const auto text = readFile(root / folder / "CMakeLists.txt", std::uint64_t(4) << 20);
    if (!text || depth > 8)
        return;
    for (const auto &[name, arguments] : readCommands(*text)) {
        if (arguments.empty())
            continue;
        if (name == "project" && depth == 0 && !resolved(arguments[0], "").empty())
            project.name = projectNameFrom(arguments[0]);
        const auto first = resolved(arguments[0], project.name);
        const bool real = arguments.size() < 2 || (arguments[1] != "IMPORTED" && arguments[1] != "ALIAS");
        if (name == "add_executable" && real && !first.empty() && first.front() != '-')
            project.build.targets.push_back(first);
        else if (name == "add_subdirectory" && isInsidePath(first))
            readCMakeLists(root, folder.empty() ? first : folder + "/" + first, depth + 1, project);
    }
}

/// Adds the binaries that `cargo metadata` lists.
Result<void> readCargo(const fs::path &root, Project &project) {
    const auto cargo = TRY_IN(findProgram("cargo"), "this is a Cargo project");
    Progress progress;
    const Command command{.program = cargo.string(),
                          .arguments = {"metadata", "--no-deps", "--format-version", "1", "--offline"},
                          .directory = root,
                          .timeout = std::chrono::seconds(30)};
    const auto finished = TRY_IN(runChecked(command, progress), "cannot read Cargo.toml");
    const auto json = TRY(parseJson(finished.output, "cargo metadata", 128));
    const auto packages = json.find("packages");
    if (packages == json.end() || !packages->is_array())
        return fail("cargo metadata lists no packages");
    if (packages->size() == 1)
        project.name = projectNameFrom(TRY(required<std::string>(packages->front(), "name", "cargo metadata")));
    for (const auto &package : *packages) {
        for (const auto &target : package.value("targets", Json::array())) {
            const auto kinds = TRY(required<std::vector<std::string>>(target, "kind", "cargo metadata"));
            if (std::ranges::find(kinds, "bin") != kinds.end())
                project.build.bins.push_back(TRY(required<std::string>(target, "name", "cargo metadata")));
        }
    }
    return {};
}

} // namespace

void proposeFiles(Project &project) {
    const std::vector<std::pair<SourceKind, std::string>> usual{
        {SourceKind::llvmIr, "kernels/*.ll"}, {SourceKind::llvmIr, "kernels/*.bc"}, {SourceKind::cuda, "kernels/*.cu"}};
    for (const auto &[kind, pattern] : usual) {
        if (expandPattern(project.root, pattern))
            project.kernels.push_back({.kind = kind, .files = {pattern}, .compiler = kind == SourceKind::cuda ? "clang" : ""});
    }
    std::error_code error;
    if (fs::is_directory(project.root / "data", error))
        project.data = {"data"};
}

Result<Project> proposeProject(const fs::path &root) {
    Project project;
    project.root = root;
    project.name = projectNameFrom(root.filename().string());
    std::error_code error;
    if (fs::is_regular_file(root / "CMakeLists.txt", error)) {
        project.build = {.kind = BuildKind::cmake, .profile = "Release"};
        readCMakeLists(root, "", 0, project);
    } else if (fs::is_regular_file(root / "Cargo.toml", error)) {
        project.build = {.kind = BuildKind::cargo, .profile = "release", .tool = "cargo"};
        TRY(readCargo(root, project));
    } else {
        return std::unexpected(
            Error{.kind = ErrorKind::usage,
                  .message = fmt::format("{} is no project (needed slipway.json, CMakeLists.txt or Cargo.toml)", root.string()),
                  .hint = "go to the project's directory, or write a slipway.json"});
    }
    proposeFiles(project);
    const auto &programs = project.build.kind == BuildKind::cargo ? project.build.bins : project.build.targets;
    project.runCommand = programs.empty() ? "" : "bin/" + programs.front();
    project.dest = "/opt/" + project.name;
    return project;
}

} // namespace slipway
