// SPDX-License-Identifier: Apache-2.0
//
// Precompiled CUDA headers. clang's driver says (-###) how it would call its compiler; that line, with -emit-pch, makes
// the prelude once, and with -include-pch in the place of -include compiles from it.

#include "core/kernel/cudaprelude.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/kernel/compile.h"
#include "core/kernel/makerule.h"
#include "core/kernel/records.h"
#include "core/kernel/workfolder.h"

#include <QLockFile>

#include <algorithm>

namespace slipway {

namespace {

constexpr const char *sourceMark = "slipway-source.cu";
constexpr const char *ptxMark = "slipway-output.ptx";
constexpr const char *dependenciesMark = "slipway-dependencies.d";
constexpr const char *idMark = "51a9ba7551a9ba75";
constexpr const char *instantiate = "-fpch-instantiate-templates";
constexpr const char *headersFile = "headers"; // written last: with it a prelude is whole
constexpr const char *pchFile = "prelude.pch";
constexpr std::chrono::hours keptUnused{24 * 30};

/// The words of a line of `clang -###`: each in double quotes, with a backslash before quotes, backslashes and dollars.
std::vector<std::string> quotedWords(std::string_view line) {
    std::vector<std::string> words;
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"') {
            inside = !inside;
            if (inside)
                words.emplace_back();
        } else if (inside) {
            if (line[i] == '\\' && i + 1 < line.size())
                ++i;
            words.back() += line[i];
        }
    }
    return words;
}

/// The compiler's own line for a driver's command; an error when there is not exactly one that a prelude fits into.
Result<Command> compilerLine(const Command &driver, const fs::path &scratch, Progress &progress) {
    const CudaFiles marks{
        .source = scratch / sourceMark, .ptx = ptxMark, .dependencies = dependenciesMark, .id = idMark};
    auto command = marks.addedTo(driver, true);
    command.arguments.insert(command.arguments.begin(), "-###");
    const auto finished = TRY(runChecked(command, progress));
    std::vector<std::vector<std::string>> found;
    for (const auto line : lines(finished.errors)) {
        if (line.starts_with(" \""))
            found.push_back(quotedWords(line));
    }
    if (found.size() != 1 || found.front().size() < 2 || found.front()[1] != "-cc1")
        return fail("{} -### does not show one compiler line", driver.program);
    Command line{.program = found.front().front(),
                 .arguments = {found.front().begin() + 1, found.front().end()},
                 .directory = driver.directory};
    auto &arguments = line.arguments;
    if (std::count(arguments.begin(), arguments.end(), "-include") != 1 || arguments.back() != marks.source.string() ||
        std::find(arguments.begin(), arguments.end(), "-S") == arguments.end())
        return fail("flags that include files rule out a precompiled prelude");
    arguments.back() = sourceMark;
    return line;
}

void replace(std::vector<std::string> &arguments, std::string_view word, const std::string &by) {
    std::replace(arguments.begin(), arguments.end(), std::string(word), by);
}

/// Size and time of each header, a line each; empty when one is gone.
std::string headerStamps(const std::vector<fs::path> &headers) {
    std::string text;
    for (const auto &header : headers) {
        std::error_code error;
        const auto size = fs::file_size(header, error);
        const auto modified = error ? fs::file_time_type() : fs::last_write_time(header, error);
        if (error)
            return {};
        text += fmt::format("{} {} {}\n", size, modified.time_since_epoch().count(), header.string());
    }
    return text;
}

/// Whether a prelude is there and all its headers are as they were.
bool isWhole(const fs::path &directory) {
    const auto recorded = readFile(directory / headersFile, std::uint64_t(16) << 20);
    std::error_code error;
    if (!recorded || recorded->empty() || !fs::exists(directory / pchFile, error))
        return false;
    std::vector<fs::path> headers;
    for (const auto line : lines(*recorded)) {
        const auto first = line.find(' ');
        const auto second = first == std::string_view::npos ? first : line.find(' ', first + 1);
        if (second == std::string_view::npos)
            return false;
        headers.emplace_back(line.substr(second + 1));
    }
    return headerStamps(headers) == *recorded;
}

/// The caller holds the lock.
Result<void> emitPrelude(Command line, const fs::path &directory, Progress &progress) {
    std::error_code error;
    fs::remove(directory / headersFile, error);
    const auto pch = directory / "new.pch";
    const auto source = directory / "empty.cu"; // it must stay: clang looks for it when it reads the prelude
    const auto dependencies = directory / "dependencies.d";
    TRY(writeFileAtomically(source, "", 0644, Durable::no));
    auto &arguments = line.arguments;
    replace(arguments, "-S", "-emit-pch");
    // the templates that the headers themselves use are then made once, and not again in each source
    arguments.insert(arguments.begin() + 1, instantiate);
    replace(arguments, sourceMark, source.string());
    replace(arguments, ptxMark, pch.string());
    replace(arguments, dependenciesMark, dependencies.string());
    TRY(runChecked(line, progress));
    auto headers = dependenciesOf(TRY(readFile(dependencies)));
    std::erase(headers, source);
    for (auto &header : headers)
        header = (line.directory / header).lexically_normal();
    const auto stamps = headerStamps(headers);
    if (stamps.empty())
        return fail("a header went while it was compiled");
    fs::rename(pch, directory / pchFile, error);
    if (error)
        return fail("cannot write {}: {}", (directory / pchFile).string(), error.message());
    return writeFileAtomically(directory / headersFile, stamps, 0644, Durable::no);
}

/// Preludes of compilers and flags that are not used any more: each is some 10 MB.
void removeOld(const fs::path &preludes) {
    std::error_code error;
    const auto limit = fs::file_time_type::clock::now() - keptUnused;
    for (fs::directory_iterator at(preludes, error), end; !error && at != end; at.increment(error)) {
        std::error_code ignored;
        auto used = fs::last_write_time(at->path() / headersFile, ignored);
        if (ignored) // one that was never finished, or a lock
            used = fs::last_write_time(at->path(), ignored);
        if (!ignored && used < limit)
            fs::remove_all(at->path(), ignored);
    }
}

} // namespace

Command CudaFiles::addedTo(Command command, bool isClang) const {
    auto &arguments = command.arguments;
    arguments.insert(arguments.end(), {"-MD", "-MF", dependencies.string(), "-o", ptx.string()});
    if (isClang)
        arguments.push_back("-cuid=" + id);
    arguments.push_back(source.string());
    return command;
}

Result<std::string> CudaPreludes::keyOf(const Command &line, bool withFlags, Progress &progress) const {
    std::string text = line.program + "\n" + instantiate;
    for (const auto &argument : line.arguments) {
        if (withFlags || !argument.starts_with("-fdebug-compilation-dir=")) // flags may be relative to the project
            text += "\n" + argument;
    }
    const auto version = TRY(runChecked({.program = m_tools.clang.string(), .arguments = {"--version"}}, progress));
    text += "\n" + version.output;
    std::error_code error;
    const auto compiler = fs::canonical(line.program, error);
    std::vector<fs::path> files = {compiler};
    text += headerStamps(files);
    const std::vector<fs::path> contents =
        m_tools.cudaRoot.empty()
            ? std::vector{m_tools.resources / "cuda" / "slipway_cuda_prelude.h"}
            : std::vector{m_tools.cudaRoot / "include" / "cuda.h", m_tools.cudaRoot / "include" / "cuda_runtime.h"};
    for (const auto &file : contents)
        text += TRY(sha256OfFile(file, progress)) + "\n";
    return sha256(text);
}

Result<CudaPreludes::Prelude> CudaPreludes::make(const Command &command, Progress &progress) const {
    std::error_code error;
    fs::create_directories(m_tools.preludes, error);
    std::ignore = takeOverAbandoned(m_tools.preludes, progress);
    const auto scratch = TRY(WorkFolder::in(m_tools.preludes));
    TRY(writeFileAtomically(scratch.path() / sourceMark, "", 0644, Durable::no));
    auto line = TRY(compilerLine(command, scratch.path(), progress));
    const bool relative = std::any_of(line.arguments.begin(), line.arguments.end(), [](const std::string &argument) {
        return argument == "-I" || argument == "-D" || argument == "-isystem" || argument == "-iquote";
    });
    const auto directory = m_tools.preludes / TRY(keyOf(line, relative, progress)).substr(0, 32);
    if (!isWhole(directory)) {
        QLockFile lock(QString::fromStdString(directory.string() + ".lock"));
        if (!lock.tryLock(0))
            return Prelude{}; // another process is at it
        if (!isWhole(directory)) {
            TRY(emitPrelude(line, directory, progress));
            removeOld(m_tools.preludes);
        }
    }
    fs::last_write_time(directory / headersFile, fs::file_time_type::clock::now(), error);
    const auto at = std::find(line.arguments.begin(), line.arguments.end(), "-include");
    *at = "-include-pch";
    *std::next(at) = (directory / pchFile).string();
    return Prelude{.state = State::ready, .line = std::move(line)};
}

std::optional<Command> CudaPreludes::faster(const Command &command, const CudaFiles &files, Progress &progress) {
    if (m_tools.preludes.empty())
        return std::nullopt;
    std::string asked = command.directory.string();
    for (const auto &argument : command.arguments)
        asked += "\n" + argument;
    std::unique_lock lock(m_mutex);
    auto &prelude = m_preludes[asked];
    if (prelude.state == State::missing) {
        prelude.state = State::making;
        lock.unlock();
        auto made = make(command, progress);
        lock.lock();
        prelude = made ? *std::move(made) : Prelude{.state = State::impossible, .line = {}};
    }
    if (prelude.state != State::ready)
        return std::nullopt;
    auto line = prelude.line;
    lock.unlock();
    auto &arguments = line.arguments;
    const auto name = std::find(arguments.begin(), arguments.end(), "-main-file-name");
    if (name != arguments.end() && std::next(name) != arguments.end())
        *std::next(name) = files.source.filename().string();
    replace(arguments, sourceMark, files.source.string());
    replace(arguments, ptxMark, files.ptx.string());
    replace(arguments, dependenciesMark, files.dependencies.string());
    replace(arguments, std::string("-cuid=") + idMark, "-cuid=" + files.id);
    return line;
}

void CudaPreludes::distrust(const Command &faster) {
    const auto &arguments = faster.arguments;
    const auto at = std::find(arguments.begin(), arguments.end(), "-include-pch");
    std::error_code ignored;
    if (at != arguments.end() && std::next(at) != arguments.end())
        fs::remove(fs::path(*std::next(at)).parent_path() / headersFile, ignored);
}

} // namespace slipway
