// SPDX-License-Identifier: Apache-2.0
//
// Child processes through QProcess, on whatever thread the operation runs. Each child leads a process group of its own, so
// that cancelling also ends what it started (make, ninja, qemu).

#include "core/base/process.h"

#include "core/base/text.h"

#include <QProcess>
#include <QStandardPaths>

#include <csignal>
#include <unistd.h>

namespace slipway {

using namespace std::chrono;

namespace {

/// Feeds whole lines of a growing stream to a sink. A lone CR ends a line too: that is how programs repaint their progress.
class Lines {
public:
    explicit Lines(const LineSink &sink) : m_sink(sink) {}
    void add(std::string_view bytes) {
        if (!m_sink)
            return;
        m_rest += bytes;
        std::size_t from = 0;
        for (auto end = m_rest.find_first_of("\r\n"); end != std::string::npos; end = m_rest.find_first_of("\r\n", from)) {
            const bool isReturn = m_rest[end] == '\r';
            if (isReturn && end + 1 == m_rest.size())
                break; // half of a CRLF, perhaps
            const bool isPair = isReturn && m_rest[end + 1] == '\n';
            if (!isReturn || isPair || end > from)
                emitLine(std::string_view(m_rest).substr(from, end - from));
            from = end + (isPair ? 2 : 1);
        }
        m_rest.erase(0, from);
    }
    void finish() {
        if (m_sink && !m_rest.empty())
            emitLine(m_rest);
    }

private:
    void emitLine(std::string_view line) {
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        m_sink(line);
    }
    const LineSink &m_sink;
    std::string m_rest;
};

void configure(QProcess &process, const Command &command) {
    process.setProgram(QString::fromStdString(command.program));
    QStringList arguments;
    for (const auto &argument : command.arguments)
        arguments << QString::fromStdString(argument);
    process.setArguments(arguments);
    if (!command.directory.empty())
        process.setWorkingDirectory(QString::fromStdString(command.directory.string()));
    auto environment = QProcessEnvironment::systemEnvironment();
    for (const auto &[name, value] : command.environment)
        environment.insert(QString::fromStdString(name), QString::fromStdString(value));
    for (const auto &name : command.unset)
        environment.remove(QString::fromStdString(name));
    process.setProcessEnvironment(environment);
    process.setChildProcessModifier([] { ::setpgid(0, 0); });
}

void endGroup(QProcess &process) {
    const auto group = pid_t(process.processId());
    if (group <= 0)
        return;
    ::kill(-group, SIGTERM);
    if (!process.waitForFinished(300)) {
        ::kill(-group, SIGKILL);
        process.waitForFinished(300);
    } else {
        ::kill(-group, SIGKILL); // what outlived its leader
    }
}

} // namespace

Result<Finished> run(const Command &command, Progress &progress, const LineSink &onOutput, const LineSink &onErrors) {
    TRY(progress.checkpoint());
    QProcess process;
    configure(process, command);
    process.start();
    if (!process.waitForStarted(10000))
        return std::unexpected(Error{.message = fmt::format("cannot start {}: {}", command.program,
                                                            process.errorString().toStdString()),
                                     .hint = "install it, or name another in the settings"});
    process.write(command.input.data(), qint64(command.input.size()));
    process.closeWriteChannel();
    Finished finished;
    Lines output(onOutput);
    Lines errors(onErrors);
    const auto collect = [&] {
        const auto out = process.readAllStandardOutput();
        const auto err = process.readAllStandardError();
        finished.output.append(out.data(), std::size_t(out.size()));
        finished.errors.append(err.data(), std::size_t(err.size()));
        output.add({out.data(), std::size_t(out.size())});
        errors.add({err.data(), std::size_t(err.size())});
    };
    const auto began = steady_clock::now();
    while (process.state() != QProcess::NotRunning && !process.waitForFinished(50)) {
        collect();
        if (progress.cancelled()) {
            endGroup(process);
            return failAs(ErrorKind::cancelled, "cancelled while {} ran", command.program);
        }
        if (command.timeout > 0ms && steady_clock::now() - began > command.timeout) {
            endGroup(process);
            return fail("{} did not end within {}", command.program, formatDuration(command.timeout));
        }
    }
    collect();
    output.finish();
    errors.finish();
    finished.exitCode = process.exitStatus() == QProcess::CrashExit ? 128 + process.exitCode() : process.exitCode();
    return finished;
}

Error commandFailed(const Command &command, const Finished &finished) {
    const auto why = trimmed(finished.errors.empty() ? finished.output : finished.errors);
    const auto shown = lines(why);
    std::vector<std::string> words{command.program};
    words.insert(words.end(), command.arguments.begin(), command.arguments.end());
    return Error{.message = fmt::format("{} failed with exit status {}{}{}", fs::path(command.program).filename().string(),
                                        finished.exitCode, shown.empty() ? "" : ": ",
                                        shown.empty() ? "" : printable(shown.back())),
                 .detail = fmt::format("command: {}\nexit status: {}\n{}", shellJoin(words), finished.exitCode,
                                       tailLines(why, 20))};
}

Result<Finished> runChecked(const Command &command, Progress &progress, const LineSink &onOutput,
                            const LineSink &onErrors) {
    auto finished = TRY(run(command, progress, onOutput, onErrors));
    if (finished.exitCode != 0)
        return std::unexpected(commandFailed(command, finished));
    return finished;
}

Result<fs::path> findProgram(const std::string &name, const std::vector<fs::path> &first) {
    QStringList paths;
    for (const auto &path : first)
        paths << QString::fromStdString(path.string());
    auto found = paths.isEmpty() ? QString() : QStandardPaths::findExecutable(QString::fromStdString(name), paths);
    if (found.isEmpty())
        found = QStandardPaths::findExecutable(QString::fromStdString(name));
    if (found.isEmpty())
        return std::unexpected(
            Error{.message = fmt::format("{} is not installed here (looked in PATH)", name), .hint = "install it"});
    return fs::path(found.toStdString());
}

std::string shellQuote(std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos)
        return std::string(word);
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

std::string shellJoin(const std::vector<std::string> &words) {
    std::string line;
    for (const auto &word : words)
        line += (line.empty() ? "" : " ") + shellQuote(word);
    return line;
}

} // namespace slipway
