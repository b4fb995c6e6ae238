// SPDX-License-Identifier: Apache-2.0
//
// Can the kernel start what is meant to be started: the mode of programs and scripts, the interpreter line of scripts,
// the file that the run command names. Rules: execve(2); reports: FilePermissionsPlugin #7, OnDemandMinecraft #9.

#include "core/preflight/binarychecks.h"

#include "core/base/text.h"
#include "core/preflight/kernelgroups.h"

#include <algorithm>
#include <array>

namespace slipway {

namespace {

/// What Ubuntu's base system has, on which every JetPack is built: sh, bash, dash, env, awk, sed and perl-base are
/// "essential" packages, python3 comes with L4T's own tools.
bool everyBoardHas(std::string_view interpreter) {
    constexpr std::array<std::string_view, 10> names{"sh", "bash", "dash", "env", "awk", "mawk", "sed", "perl", "python3", "rbash"};
    return std::find(names.begin(), names.end(), interpreter) != names.end();
}

/// The program that a `#!` line means: "/usr/bin/env -S python3 -u" is python3.
std::string interpreterOf(std::string_view line) {
    std::vector<std::string_view> words;
    for (const auto word : split(line, ' ')) {
        if (!word.empty())
            words.push_back(word);
    }
    const bool env = !words.empty() && words[0].ends_with("/env");
    for (std::size_t i = env ? 1 : 0; i < words.size(); ++i) {
        if (!words[i].starts_with('-') && words[i].find('=') == std::string_view::npos)
            return std::string(words[i]);
    }
    return words.empty() ? std::string() : std::string(words[0]);
}

bool isSystemPath(const std::string &path) {
    constexpr std::array<std::string_view, 5> folders{"/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/"};
    return path.find('/') == std::string::npos ||
           std::any_of(folders.begin(), folders.end(), [&](auto folder) { return path.starts_with(folder); });
}

void checkInterpreter(const Evidence &evidence, const std::string &path, const std::string &interpreter, std::vector<Finding> &findings) {
    const auto name = interpreter.substr(interpreter.rfind('/') + 1);
    const bool listed = evidence.facts.tools && evidence.facts.tools->contains(name);
    std::error_code ignored;
    if (evidence.sysroot && interpreter.starts_with('/') && fs::exists(evidence.sysroot->path / interpreter.substr(1), ignored))
        return;
    if (name.empty() || !isSystemPath(interpreter))
        findings.push_back(makeFinding(Status::fail, path, "interpreter " + (name.empty() ? "missing" : printable(interpreter)), "one that the board has, such as /bin/sh",
                              "the path is of the machine where the script was written", "#!/usr/bin/env NAME, or #!/bin/sh"));
    else if (!everyBoardHas(name) && !listed)
        findings.push_back(notKnown(path, fmt::format("interpreter {}, which not every board has", printable(interpreter)),
                                    fmt::format("install {} on the board, or use sh", printable(name))));
}

void checkScript(const Evidence &evidence, const std::string &path, std::string_view text, std::vector<Finding> &findings) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = trimmed(text.substr(2, end - 2));
    const auto interpreter = interpreterOf(line);
    const auto name = std::string_view(interpreter).substr(interpreter.rfind('/') + 1);
    const bool shell = name == "sh" || name == "bash" || name == "dash";
    const bool started = path.starts_with("bin/"); // scripts among the data may be there for others to read
    if (text.substr(0, end).ends_with('\r') || (shell && text.find("\r\n") != std::string_view::npos)) {
        findings.push_back(makeFinding(started ? Status::fail : Status::warn, path, "lines that end in CR LF", "LF only",
                              "the kernel looks for an interpreter whose name ends in a carriage return, and a shell takes it as part of each "
                              "command",
                              fmt::format("sed -i 's/\\r$//' on its source (git: *.sh text eol=lf), then slipway package")));
        return;
    }
    if (started)
        checkInterpreter(evidence, path, interpreter, findings);
}

/// The file of the package that a command starts: "bin/app" of "LD_LIBRARY_PATH=lib ./bin/app --fast"; else empty.
std::string startedBy(std::string_view command) {
    for (auto word : split(command, ' ')) {
        if (word.empty() || (word.find('=') != std::string_view::npos && word.find('/') > word.find('=')))
            continue;
        if (word.starts_with("./"))
            word.remove_prefix(2);
        const bool plain = word.find_first_of("'\"\\$`;&|<>(){}*?") == std::string_view::npos;
        return plain && word.starts_with("bin/") ? std::string(word) : std::string();
    }
    return {};
}

void checkCommand(const Evidence &evidence, const char *what, const std::string &command, std::vector<Finding> &findings) {
    const auto path = startedBy(command);
    const auto &files = evidence.package.manifest.files;
    if (path.empty() || files.empty() || std::any_of(files.begin(), files.end(), [&](const auto &f) { return f.path == path; }))
        return;
    findings.push_back(makeFinding(Status::fail, path, fmt::format("{} names it, but the package has no such file", what), "a program of the package",
                          "the board would answer: not found", "correct \"run\" in slipway.json, or build that target"));
}

/// Only the beginning of a file is read: a script that is longer is none that people write.
void checkFile(const Evidence &evidence, const PackagedFile &file, std::vector<Finding> &findings) {
    constexpr std::size_t longestScript = 256 * 1024;
    const auto start = readHead(evidence.package.directory / file.path, 3);
    if (!start || start->size() < 3)
        return;
    const bool script = start->starts_with("#!");
    const bool bom = *start == "\xEF\xBB\xBF";
    const auto text = script || (bom && file.path.starts_with("bin/")) ? readHead(evidence.package.directory / file.path, longestScript) : fail("");
    if (bom && text && text->substr(3).starts_with("#!"))
        findings.push_back(makeFinding(Status::fail, file.path, "a byte order mark before #!", "#! as the first two bytes",
                              "the kernel does not see the interpreter line", "save it as UTF-8 without a byte order mark"));
    if (script && text)
        checkScript(evidence, file.path, *text, findings);
    if (!file.path.starts_with("bin/") || (file.mode & 0111))
        return;
    const auto elf = std::find_if(evidence.elves.begin(), evidence.elves.end(), [&](const auto &e) { return e.path == file.path; });
    if (script || (elf != evidence.elves.end() && elf->elf.type == "executable"))
        findings.push_back(makeFinding(Status::fail, file.path, fmt::format("mode {:04o}", file.mode), "mode 0755",
                              "without the executable bit the board answers: permission denied", "slipway package, which sets modes by content"));
}

} // namespace

std::vector<Finding> checkPackageFiles(const Evidence &evidence, Progress &) {
    std::vector<Finding> findings;
    for (const auto &file : evidence.unsound)
        findings.push_back(makeFinding(Status::fail, printable(file.path), file.found, file.needed,
                              "a deploy sends what the manifest lists, byte for byte, and follows no link", "slipway package"));
    return findings;
}

std::vector<Finding> checkExecutable(const Evidence &evidence, Progress &progress) {
    std::vector<Finding> findings;
    for (const auto &file : evidence.package.manifest.files) {
        if (progress.cancelled())
            return findings;
        if (isInsidePath(file.path) && !file.path.starts_with("cache/"))
            checkFile(evidence, file, findings);
    }
    checkCommand(evidence, "the run command", evidence.package.manifest.run, findings);
    checkCommand(evidence, "the health command", evidence.package.manifest.health, findings);
    return findings;
}

} // namespace slipway
