// SPDX-License-Identifier: Apache-2.0
//
// The window over invented data, to look at it: slipway-ui-demo PAGE FILE.png [dark] [WIDTHxHEIGHT]. Never installed.

#include "app/gui/palette.h"
#include "tests/ui/fakeactions.h"
#include "ui/mainwindow.h"
#include "ui/devicespage.h"
#include "ui/shipdialog.h"
#include "ui/sysrootpage.h"
#include "ui/sysrootwizard.h"
#include "ui/adddevicewizard.h"
#include "ui/text.h"

#include <QApplication>
#include <QPushButton>
#include <QScreen>
#include <QStyleFactory>
#include <QTimer>

using namespace slipway;

namespace {

CacheEntry kernel(const char *name, const char *source, int registers, int shared, std::uint64_t bytes, bool cubin, const char *remark = nullptr) {
    CacheEntry entry;
    entry.name = name;
    entry.hash = "9c1185a5c5e9fc54";
    entry.image = fs::path("/cache") / (std::string(name) + "_9c1185a5c5e9fc54612808977ee8f548.o");
    if (cubin)
        entry.cubin = "/cache/x.cubin";
    entry.bytes = bytes;
    entry.modified = unixNow() - 600;
    entry.facts = KernelImage{.target = Capability{87}, .ptxVersion = PtxVersion{8, 5}, .entries = {{.name = name}}, .sharedBytes = std::uint64_t(shared)};
    entry.record = KernelRecord{.source = source, .registers = registers, .sharedBytes = shared};
    if (remark)
        entry.remarks = {remark};
    return entry;
}

std::shared_ptr<fake::FakeActions> world() {
    auto actions = std::make_shared<fake::FakeActions>();
    auto lab = fake::device("orin-lab");
    auto simulated = fake::device("virtual-orin", true);
    simulated.host = "127.0.0.1";
    simulated.port = 40122;
    auto facts = fake::orinFacts();
    facts.readAt = unixNow() - 240;
    auto simulatedFacts = facts;
    simulatedFacts.simulated = "GPU and driver; the userland runs under emulation";
    auto thor = fake::device("thor-dev");
    thor.target = "jetson-agx-thor";
    thor.lastSeen.clear();
    actions->world.boards = {{lab, facts, Sysroot{.path = "/home/dev/.cache/slipway/sysroots/orin-lab", .device = "orin-lab", .l4t = "36.3.0", .glibc = "2.35",
                                                  .cudaToolkit = "12.2", .syncedAt = unixNow() - 900000, .bytes = 4350000000, .files = 18234}},
                             {simulated, simulatedFacts, Sysroot{.path = "/x", .device = "virtual-orin", .l4t = "36.4.3", .glibc = "2.35", .syncedAt = unixNow() - 4000,
                                                                 .bytes = 212000000, .files = 2114}},
                             {thor, {}, {}}};
    auto thorTarget = fake::orinTarget();
    thorTarget.id = "jetson-agx-thor";
    thorTarget.name = "Jetson AGX Thor";
    actions->world.targets = {fake::orinTarget(), thorTarget};
    actions->world.caches = {{"vector_add", "jetson-orin-nano", "/c"}, {"llama_mini", "jetson-orin-nano", "/d"}, {"vector_add", "jetson-agx-thor", "/e"}};
    actions->onBoard = {Release{.id = "vector_add-1a2b3c4d5e6f", .commit = "f5a82c19d0", .deployedAt = unixNow() - 300, .by = "dev@pc", .current = true, .good = true, .bytes = 2100000},
                        Release{.id = "vector_add-77aa01c3e9b2", .commit = "0c11d9ab41", .dirty = true, .deployedAt = unixNow() - 90000, .by = "dev@pc", .good = true, .bytes = 2050000, .outcome = "kept"}};
    KernelCache cache;
    cache.entries = {kernel("matmul_tiled", "kernels/matmul_tiled.cu", 38, 8192, 14200, true), kernel("row_softmax", "kernels/row_softmax.ll", 24, 1024, 6900, true),
                     kernel("saxpy", "kernels/saxpy.ll", 14, 0, 1800, true), kernel("scale_bias", "kernels/scale_bias.cu", 12, 0, 2100, true),
                     kernel("vector_add", "kernels/vector_add.ll", 10, 0, 1500, true), kernel("vector_add_f16", "kernels/vector_add_f16.ll", 12, 0, 1700, false, "duplicate of vector_add_f16_77.o")};
    actions->caches["/c"] = cache;
    actions->caches["/d"] = {};
    return actions;
}

void show(MainWindow &window, const QString &page, const std::shared_ptr<fake::FakeActions> &actions) {
    if (page == "preflight")
        window.openPackage("/home/dev/.cache/slipway/packages/vector_add-jetson-orin-nano", true);
    else if (page == "cache")
        window.openCache("/c");
    else if (page.startsWith("sysroot")) {
        window.showPage(Page::sysroot);
        if (page != "sysroot")
            window.findChild<QPushButton *>("syncSysroot")->click();
        for (auto *button : window.findChildren<QPushButton *>())
            if (page == "sysroot" && button->text() == "&Verify")
                button->click();
    } else if (page == "add")
        window.findChild<DevicesPage *>()->addDevice();
    else
        window.showPage(Page::devices);
    if (page == "ship") {
        window.ship("orin-lab", "/home/dev/vector_add");
        QTimer::singleShot(400, &window, [&window, actions] {
            actions->gate.close();
            window.findChild<ShipDialog *>()->findChild<QPushButton *>("startShip")->click();
        });
    }
    if (page == "devices") {
        window.boards().readFacts("orin-lab");
        for (auto *button : window.findChildren<QPushButton *>())
            if (button->text() == "&List")
                QTimer::singleShot(300, button, &QPushButton::click);
    }
}

} // namespace

int main(int count, char **words) {
    QApplication app(count, words);
    app.setStyle(QStyleFactory::create("Fusion"));
    const auto arguments = app.arguments();
    const auto page = arguments.value(1), file = arguments.value(2);
    app.setPalette(arguments.contains("dark") ? gui::darkPalette() : gui::lightPalette());
    auto actions = page == "empty" ? std::make_shared<fake::FakeActions>() : world();
    auto settings = std::make_shared<fake::MemorySettings>();
    settings->values["dest/orin-lab"] = "/opt/vector_add";
    settings->values["device"] = "orin-lab";
    if (arguments.contains("activity"))
        settings->values["window/activity"] = "shown";
    MainWindow window(actions, settings);
    window.show();
    QTimer::singleShot(300, &window, [&] { show(window, page, actions); });
    QTimer::singleShot(1800, &window, [&] {
        if (!file.isEmpty() && !app.primaryScreen()->grabWindow(0).save(file))
            app.exit(1);
        if (!file.isEmpty())
            app.exit(0);
    });
    return app.exec();
}
