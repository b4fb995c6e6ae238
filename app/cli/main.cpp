// SPDX-License-Identifier: Apache-2.0
//
// The command line: options, wiring and exit codes. Every command drives the engine that the window drives.

#include "app/cli/context.h"

#include <QCoreApplication>

#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <langinfo.h>
#include <thread>
#include <unistd.h>

namespace {

/// Turns SIGINT and SIGTERM into a stop request. The handler itself only writes a byte: nothing else is safe there.
class Interrupts {
public:
    Interrupts() {
        if (::pipe2(s_pipe, O_CLOEXEC) != 0)
            return;
        std::signal(SIGINT, onSignal);
        std::signal(SIGTERM, onSignal);
        m_watcher = std::jthread([this] {
            char byte = 0;
            while (::read(s_pipe[0], &byte, 1) == 1 && byte == 's') {
                if (m_stop.stop_requested())
                    std::_Exit(130); // asked twice
                m_stop.request_stop();
            }
        });
    }
    ~Interrupts() {
        const char end = 'e';
        std::ignore = ::write(s_pipe[1], &end, 1);
    }
    [[nodiscard]] std::stop_token token() const { return m_stop.get_token(); }

private:
    static void onSignal(int) {
        const char stop = 's';
        std::ignore = ::write(s_pipe[1], &stop, 1);
    }
    static inline int s_pipe[2] = {-1, -1};
    std::stop_source m_stop;
    std::jthread m_watcher;
};

/// A shell without a locale (a container, a bare ssh login, CI) has "C", of which Qt 6.5 and newer warns on stderr at every start
/// and then does what is done here.
void chooseUtf8Locale() {
    std::setlocale(LC_CTYPE, "");
    if (std::strcmp(::nl_langinfo(CODESET), "UTF-8") != 0)
        ::setenv("LC_ALL", "C.UTF-8", 1);
}

void addCommands(CLI::App &app, slipway::cli::Context &context) {
    using namespace slipway::cli;
    addTargets(app, context);
    addInspect(app, context);
    addDevice(app, context);
    addVirtualBoard(app, context);
    addBuild(app, context);
    addAot(app, context);
    addSysroot(app, context);
    addPackage(app, context);
    addPreflight(app, context);
    addDeploy(app, context);
    addShip(app, context);
    addReleases(app, context);
    addCache(app, context);
}

int runAction(slipway::cli::Context &context, std::stop_token stop) {
    slipway::Progress progress([&](const slipway::Event &event) { context.terminal.show(event); }, std::move(stop));
    const auto code = context.action(context, progress);
    if (code)
        return *code;
    context.terminal.show(code.error());
    return slipway::exitCode(code.error().kind);
}

} // namespace

int main(int argc, char **argv) {
    chooseUtf8Locale();
    QCoreApplication application(argc, argv);
    std::signal(SIGPIPE, SIG_IGN);
    const Interrupts interrupts;

    CLI::App app("Slipway builds, checks and ships GPU programs to NVIDIA boards.", "slipway");
    app.set_version_flag("--version", "slipway " SLIPWAY_VERSION);
    app.require_subcommand(1);
    app.footer("Exit codes: 0 done, 1 failed, 2 usage, 3 stopped by pre-flight, 4 deployed then rolled back, 130 cancelled.");
    slipway::cli::Context context;
    bool verbose = false;
    bool quiet = false;
    app.add_flag("-v,--verbose", verbose, "with an error, also show the command, its exit status and the end of its output");
    app.add_flag("-q,--quiet", quiet, "no progress");
    app.fallthrough();
    addCommands(app, context);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : slipway::exitCode(slipway::ErrorKind::usage);
    }
    context.terminal.setVerbose(verbose);
    context.terminal.setQuiet(quiet);
    auto workspace = slipway::Workspace::standard();
    if (!workspace) {
        context.terminal.show(workspace.error());
        return slipway::exitCode(workspace.error().kind);
    }
    context.workspace = std::move(*workspace);
    return runAction(context, interrupts.token());
}
