// SPDX-License-Identifier: Apache-2.0
//
// Proves that a sysroot links. That a link succeeds is not enough: a dangling libfoo.so beside a libfoo.a links
// statically without a word, so links, scripts and machines are looked at first.

#include "core/sysroot/sysroot.h"

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/sysroot/crossflags.h"
#include "core/sysroot/links.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::size_t mostFindings = 200; ///< of one kind; more tell nothing new

constexpr const char *cProgram = R"c(#include <math.h>
#include <pthread.h>
#include <stdio.h>
static void *work(void *p) { return p; }
int main(int argc, char **argv) {
    pthread_t t;
    pthread_create(&t, 0, work, argv);
    pthread_join(t, 0);
    printf("%f\n", sin(argc));
    return 0;
}
)c";

constexpr const char *cxxProgram = R"c(#include <iostream>
#include <stdexcept>
#include <thread>
#include <vector>
int main(int argc, char **) {
    std::vector<int> v(std::size_t(argc), 1);
    std::thread t([&] { v.push_back(2); });
    t.join();
    try {
        if (v.empty()) throw std::runtime_error("empty");
    } catch (const std::exception &e) {
        std::cerr << e.what();
    }
    std::cout << v.size() << std::endl;
}
)c";

/// The folders in which a linker looks, those that exist.
std::vector<fs::path> libraryFolders(const fs::path &root, const Target &target) {
    std::vector<fs::path> folders;
    std::error_code error;
    for (const auto &folder :
         {fs::path("usr/lib") / target.triple, fs::path("lib") / target.triple, fs::path("usr/lib"), fs::path("lib")}) {
        const auto real = resolveInside(root, folder);
        if (real && fs::is_directory(*real, error) && std::find(folders.begin(), folders.end(), *real) == folders.end())
            folders.push_back(*real);
    }
    return folders;
}

/// ELF machine number of a file; nothing when it is no ELF.
std::optional<int> machineOf(const fs::path &file) {
    const auto head = readHead(file, 20);
    if (!head || head->size() < 20 ||
        !head->starts_with("\x7f"
                           "ELF"))
        return {};
    return static_cast<unsigned char>((*head)[18]) | static_cast<unsigned char>((*head)[19]) << 8;
}

/// Collects the bad ones of a kind and sums up the good ones.
struct Tally {
    std::vector<SysrootFinding> &findings;
    std::size_t bad = 0;

    void complain(const std::string &subject, std::string text) {
        if (++bad <= mostFindings)
            findings.push_back({.good = false, .subject = printable(subject), .text = std::move(text)});
    }
    void close(const char *subject, std::string text) const {
        if (bad == 0)
            findings.push_back({.good = true, .subject = subject, .text = std::move(text)});
    }
};

Result<void> checkLibraries(const fs::path &root, const Target &target, std::vector<SysrootFinding> &findings,
                            Progress &progress) {
    const int needed = target.arch == "aarch64" ? 183 : 62; // EM_AARCH64, EM_X86_64
    Tally links{findings};
    Tally machines{findings};
    std::size_t linkCount = 0;
    std::size_t fileCount = 0;
    std::error_code error;
    for (const auto &folder : libraryFolders(root, target)) {
        for (fs::directory_iterator entry(folder, error); !error && entry != fs::end(entry); entry.increment(error)) {
            TRY(progress.checkpoint());
            const auto name = entry->path().filename().string();
            if (name.find(".so") == std::string::npos)
                continue;
            const auto onBoard = "/" + entry->path().lexically_relative(root).string();
            std::error_code ignored;
            if (entry->is_symlink(ignored)) {
                ++linkCount;
                if (!resolveInside(root, onBoard))
                    links.complain(
                        onBoard,
                        fmt::format("this link leads to {}, which is not in the copy (needed a file inside it)",
                                    printable(fs::read_symlink(entry->path(), ignored).string())));
                continue;
            }
            const auto machine = machineOf(entry->path());
            fileCount += machine ? 1 : 0;
            if (machine && *machine != needed)
                machines.complain(onBoard, fmt::format("this library is for ELF machine {}, needed {} ({})", *machine,
                                                       needed, target.arch));
        }
    }
    links.close("links", fmt::format("{} links between libraries lead to files in the copy", linkCount));
    machines.close("machine", fmt::format("{} libraries are for {}", fileCount, target.arch));
    return {};
}

Result<void> checkScripts(const fs::path &root, std::vector<SysrootFinding> &findings, Progress &progress) {
    Tally tally{findings};
    const auto scripts = TRY(findLinkerScripts(root, progress));
    for (const auto &script : scripts) {
        const auto text = TRY(readFile(root / script.relative_path(), 64 * 1024));
        for (const auto &file : filesOfScript(text))
            if (file.starts_with('/') && !resolveInside(root, file))
                tally.complain(script.string(),
                               fmt::format("this linker script names {}, which is not in the copy", printable(file)));
    }
    tally.close("linker scripts", fmt::format("{} linker scripts name files in the copy", scripts.size()));
    return {};
}

Result<fs::path> compilerOf(const Target &target, const std::string &name) {
    auto prefixed = findProgram(fmt::format("{}-{}", target.triple, name));
    if (prefixed)
        return prefixed;
    return std::unexpected(
        Error{.message = prefixed.error().message, .hint = fmt::format("apt install {}-{}", name, target.triple)});
}

/// The options that builds use too: what links here links there.
Result<Command> linkCommand(const fs::path &root, const Target &target, const fs::path &compiler, bool isCxx,
                            const fs::path &scratch) {
    const auto flags =
        TRY(crossFlags(root, target.triple, TRY(compilerOf(target, "gcc")), isCxx ? compiler : fs::path()));
    Command command{.program = compiler.string(), .arguments = {"--sysroot=" + root.string()}};
    const auto add = [&](const std::vector<std::string> &more) {
        command.arguments.insert(command.arguments.end(), more.begin(), more.end());
    };
    const auto source = scratch / (isCxx ? "probe.cpp" : "probe.c");
    TRY(writeFileAtomically(source, isCxx ? cxxProgram : cProgram));
    add(isCxx ? flags.cxx : flags.c);
    add({source.string(), "-o", (scratch / "probe").string()});
    if (isCxx)
        add(TRY(linkSysrootCxx(root, target.triple, scratch / "lib")));
    add(flags.link);
    for (const auto &folder : libraryFolders(root, target))
        add({"-Wl,-rpath-link," + folder.string()});
    add({"-lm", "-lpthread", "-ldl"});
    command.environment = {{"LC_ALL", "C"}};
    command.timeout = std::chrono::seconds(120);
    return command;
}

Result<void> tryLink(const Sysroot &sysroot, const Target &target, bool isCxx, std::vector<SysrootFinding> &findings,
                     Progress &progress) {
    const std::string subject = isCxx ? "C++ program" : "C program";
    const auto compiler = compilerOf(target, isCxx ? "g++" : "gcc");
    if (!compiler) {
        findings.push_back(
            {.good = false, .subject = subject, .text = compiler.error().message + "; " + compiler.error().hint});
        return {};
    }
    std::error_code ignored;
    const auto scratch = TRY(ScratchDir::in(fs::temp_directory_path(ignored)));
    const auto command = TRY(linkCommand(sysroot.path, target, *compiler, isCxx, scratch.path()));
    const auto finished = TRY(run(command, progress));
    if (finished.exitCode == 0)
        findings.push_back({.good = true,
                            .subject = subject,
                            .text = fmt::format("compiles and links with {}", compiler->filename().string())});
    else
        findings.push_back({.good = false, .subject = subject, .text = printable(trimmed(finished.errors), 600)});
    return {};
}

} // namespace

Result<std::vector<SysrootFinding>> verifySysroot(const Sysroot &sysroot, const Target &target, Progress &progress) {
    auto step = progress.step(fmt::format("verify the sysroot {}", sysroot.path.string()));
    std::vector<SysrootFinding> findings;
    const auto &root = sysroot.path;
    TRY(checkLibraries(root, target, findings, progress));
    TRY(checkScripts(root, findings, progress));
    if (!resolveInside(root, fs::path("/usr/lib") / target.triple / "crt1.o"))
        findings.push_back({.good = false,
                            .subject = "start files",
                            .text = "the board has no crt1.o: install its C development files (sudo apt install "
                                    "libc6-dev) and sync again"});
    TRY(tryLink(sysroot, target, false, findings, progress));
    TRY(tryLink(sysroot, target, true, findings, progress));
    const auto bad = std::count_if(findings.begin(), findings.end(), [](const auto &finding) { return !finding.good; });
    step.done(bad == 0 ? "it links" : fmt::format("{} problems", bad));
    return findings;
}

} // namespace slipway
