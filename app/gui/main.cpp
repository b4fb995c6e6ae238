// SPDX-License-Identifier: Apache-2.0
//
// slipway-gui: the window with the engine behind it. Options, wiring, nothing else.

#include "app/gui/engine.h"
#include "app/gui/palette.h"
#include "app/gui/windowfile.h"
#include "ui/mainwindow.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QTimer>

#include <cstdio>

using namespace slipway;

namespace {

struct Options {
    QString page, package, cache, device, project, screenshot, palette;
    int after = 0;
    bool facts = false, releases = false;
};

const QStringList pages{"devices", "preflight", "sysroot", "cache"};

/// One clear line on stderr, and the exit code of DESIGN section 8.
int complain(const Error &error) {
    std::fputs(fmt::format("slipway-gui: {}{}{}\n", error.message, error.hint.empty() ? "" : "; ", error.hint).c_str(), stderr);
    return exitCode(error.kind);
}

Result<Options> readOptions(const QApplication &app) {
    QCommandLineParser parser;
    parser.setApplicationDescription("Builds GPU programs here, proves that a board can run them, and ships them there.");
    parser.addHelpOption();
    parser.addVersionOption();
    parser.addOptions({{"page", "page to show: " + pages.join(", ") + ".", "page"},
                       {"package", "package to check on the pre-flight page.", "folder"},
                       {"cache", "kernel cache to show.", "folder"},
                       {"device", "device to select.", "name"},
                       {"project", "project to ship to the device.", "folder"},
                       {"facts", "read the device's facts at once."},
                       {"releases", "list the device's releases at once."},
                       {"palette", "light or dark instead of the system's.", "palette"},
                       {"screenshot", "save a picture of the window and quit.", "file"},
                       {"after", "wait this long before the screenshot.", "milliseconds", "1500"}});
    parser.process(app);
    Options options{.page = parser.value("page"), .package = parser.value("package"), .cache = parser.value("cache"), .device = parser.value("device"),
                    .project = parser.value("project"), .screenshot = parser.value("screenshot"), .palette = parser.value("palette"),
                    .after = parser.value("after").toInt(), .facts = parser.isSet("facts"), .releases = parser.isSet("releases")};
    if (!options.page.isEmpty() && !pages.contains(options.page))
        return failAs(ErrorKind::usage, "--page is {}, needed one of {}", options.page.toStdString(), pages.join(", ").toStdString());
    if (!options.palette.isEmpty() && options.palette != "light" && options.palette != "dark")
        return failAs(ErrorKind::usage, "--palette is {}, needed light or dark", options.palette.toStdString());
    return options;
}

void follow(const Options &options, MainWindow &window) {
    if (!options.device.isEmpty())
        window.selectDevice(options.device.toStdString());
    if (!options.page.isEmpty())
        window.showPage(Page(pages.indexOf(options.page)));
    if (!options.cache.isEmpty())
        window.openCache(options.cache.toStdString());
    if (!options.package.isEmpty())
        window.openPackage(options.package, true);
    if (options.facts)
        window.boards().readFacts(options.device.toStdString());
    if (options.releases)
        window.listReleases();
    if (!options.project.isEmpty())
        window.ship(options.device.toStdString(), options.project);
}

void saveScreenshot(const QString &file, MainWindow &window) {
    const bool saved = window.grab().save(file);
    if (!saved)
        std::fputs(fmt::format("slipway-gui: cannot write {}\n", file.toStdString()).c_str(), stderr);
    QApplication::exit(saved ? 0 : 1);
}

} // namespace

int main(int count, char **words) {
    QApplication app(count, words);
    QApplication::setApplicationName("slipway-gui");
    QApplication::setApplicationDisplayName("Slipway");
    QApplication::setApplicationVersion(SLIPWAY_VERSION);
    const auto options = readOptions(app);
    if (!options)
        return complain(options.error());
    if (!options->palette.isEmpty())
        QApplication::setPalette(options->palette == "dark" ? gui::darkPalette() : gui::lightPalette());
    auto workspace = Workspace::standard();
    if (!workspace)
        return complain(workspace.error());
    auto catalog = workspace->catalog();
    if (!catalog)
        return complain(catalog.error());
    MainWindow window(std::make_shared<gui::Engine>(*workspace, *catalog), std::make_shared<gui::WindowFile>(workspace->state));
    window.show();
    // the lists are read by a job: what the options name is followed once they are there
    const auto once = std::make_shared<bool>(false);
    QObject::connect(&window.boards(), &Boards::changed, &window, [&window, options = *options, once] {
        if (!std::exchange(*once, true))
            follow(options, window);
    });
    if (!options->screenshot.isEmpty())
        QTimer::singleShot(options->after, &window, [&window, file = options->screenshot] { saveScreenshot(file, window); });
    return QApplication::exec();
}
