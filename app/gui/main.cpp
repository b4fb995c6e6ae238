// SPDX-License-Identifier: Apache-2.0
//
// slipway-gui: the window with the engine behind it. Options, wiring, nothing else.

#include "app/gui/engine.h"
#include "app/gui/palette.h"
#include "app/gui/windowfile.h"
#include "ui/mainwindow.h"

#include <QApplication>
#include <QCommandLineParser>
#include <QDialog>
#include <QPainter>
#include <QPushButton>
#include <QTimer>
#include <QWizard>

#include <algorithm>
#include <cstdio>
#include <span>

using namespace slipway;

namespace {

struct Options {
    QString page, package, cache, device, project, open, screenshot, palette;
    QSize size;
    int after = 0;
    bool facts = false, releases = false, start = false;
};

const QStringList pages{"devices", "preflight", "sysroot", "cache"};
const QStringList dialogs{"ship", "sysroot", "add"};

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
                       {"open", "dialog to open: " + dialogs.join(", ") + ".", "dialog"},
                       {"start", "begin at once what that dialog does."},
                       {"facts", "read the device's facts at once."},
                       {"releases", "list the device's releases at once."},
                       {"palette", "light or dark instead of the system's.", "palette"},
                       {"size", "size of the window.", "WIDTHxHEIGHT"},
                       {"screenshot", "save a picture of the window, with its dialog, and quit.", "file"},
                       {"after", "wait this long before the screenshot.", "milliseconds", "1500"}});
    parser.process(app);
    Options options{.page = parser.value("page"), .package = parser.value("package"), .cache = parser.value("cache"), .device = parser.value("device"),
                    .project = parser.value("project"), .open = parser.value("open"), .screenshot = parser.value("screenshot"), .palette = parser.value("palette"),
                    .size = QSize(parser.value("size").section('x', 0, 0).toInt(), parser.value("size").section('x', 1).toInt()),
                    .after = parser.value("after").toInt(), .facts = parser.isSet("facts"), .releases = parser.isSet("releases"),
                    .start = parser.isSet("start")};
    if (!options.page.isEmpty() && !pages.contains(options.page))
        return failAs(ErrorKind::usage, "--page is {}, needed one of {}", options.page.toStdString(), pages.join(", ").toStdString());
    if (!options.open.isEmpty() && !dialogs.contains(options.open))
        return failAs(ErrorKind::usage, "--open is {}, needed one of {}", options.open.toStdString(), dialogs.join(", ").toStdString());
    if (parser.isSet("size") && options.size.isEmpty())
        return failAs(ErrorKind::usage, "--size is {}, needed for example 1280x800", parser.value("size").toStdString());
    if (!options.palette.isEmpty() && options.palette != "light" && options.palette != "dark")
        return failAs(ErrorKind::usage, "--palette is {}, needed light or dark", options.palette.toStdString());
    return options;
}

/// Without a display Qt aborts with the advice to reinstall. What only asks for text needs none.
Result<void> requireDisplay(std::span<char *> words) {
    const auto named = [&](std::initializer_list<std::string_view> names) {
        return std::ranges::any_of(words, [&](std::string_view word) { return std::ranges::find(names, word) != names.end(); });
    };
    if (qEnvironmentVariableIsSet("QT_QPA_PLATFORM") || named({"-platform", "--platform"}) || !qEnvironmentVariableIsEmpty("DISPLAY") ||
        !qEnvironmentVariableIsEmpty("WAYLAND_DISPLAY"))
        return {};
    if (!named({"-h", "--help", "--help-all", "-v", "--version"}))
        return fail("there is no display here (DISPLAY and WAYLAND_DISPLAY are not set): start it in a desktop session or through ssh -X, "
                    "or use the command line, slipway");
    qputenv("QT_QPA_PLATFORM", "minimal");
    return {};
}

/// Presses the button of the open dialog that goes on, each time it can be pressed.
void pressOn(QDialog *dialog) {
    auto *again = new QTimer(dialog);
    QObject::connect(again, &QTimer::timeout, dialog, [dialog] {
        if (auto *wizard = qobject_cast<QWizard *>(dialog)) {
            if (wizard->nextId() >= 0 && wizard->currentPage()->isComplete())
                wizard->next();
        } else if (auto *ship = dialog->findChild<QPushButton *>("startShip"); ship && ship->isEnabled()) {
            ship->click();
            dialog->findChild<QTimer *>("pressOn")->stop();
        }
    });
    again->setObjectName("pressOn");
    again->start(200);
}

void openDialog(const Options &options, MainWindow &window) {
    const auto device = options.device.isEmpty() ? window.boards().selected() : options.device.toStdString();
    if (options.open == "ship" || !options.project.isEmpty())
        window.ship(device, options.project);
    else if (options.open == "sysroot")
        window.syncSysroot();
    else if (options.open == "add")
        window.addDevice();
    const auto opened = window.findChildren<QDialog *>();
    if (options.start && !opened.isEmpty())
        pressOn(opened.last());
}

void follow(const Options &options, MainWindow &window) {
    if (!options.device.isEmpty())
        window.selectDevice(options.device.toStdString());
    if (!options.cache.isEmpty())
        window.openCache(options.cache.toStdString());
    if (!options.package.isEmpty())
        window.openPackage(options.package, true);
    if (options.facts)
        window.boards().readFacts(options.device.toStdString());
    if (options.releases)
        window.listReleases();
    if (!options.page.isEmpty()) // last: the others show the page that they are about
        window.showPage(Page(pages.indexOf(options.page)));
    openDialog(options, window);
}

/// The picture that a user sees: the window, and on it the dialog that is open.
QPixmap pictureOf(MainWindow &window) {
    auto picture = window.grab();
    for (auto *dialog : window.findChildren<QDialog *>()) {
        if (!dialog->isVisible() || !dialog->isWindow())
            continue;
        QPainter painter(&picture);
        painter.fillRect(window.rect(), QColor(0, 0, 0, 70));
        const QRect place(QPoint((window.width() - dialog->width()) / 2, (window.height() - dialog->height()) / 2), dialog->size());
        painter.drawPixmap(place.topLeft(), dialog->grab());
        painter.setPen(QColor(0, 0, 0, 120));
        painter.drawRect(place.adjusted(-1, -1, 0, 0));
    }
    return picture;
}

void saveScreenshot(const QString &file, MainWindow &window) {
    const bool saved = pictureOf(window).save(file);
    if (!saved)
        std::fputs(fmt::format("slipway-gui: cannot write {}\n", file.toStdString()).c_str(), stderr);
    QApplication::exit(saved ? 0 : 1);
}

} // namespace

int main(int count, char **words) {
    if (const auto display = requireDisplay(std::span(words, std::size_t(count))); !display)
        return complain(display.error());
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
    if (!options->size.isEmpty())
        window.resize(options->size);
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
