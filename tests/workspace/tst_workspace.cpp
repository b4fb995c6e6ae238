// SPDX-License-Identifier: Apache-2.0
//
// Where things live, and the list of devices that survives what it does not understand.

#include "core/workspace/workspace.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <thread>

using namespace slipway;

class TestWorkspace : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_root;
    Workspace m_workspace;

    void writeDevices(const std::string &text) const {
        fs::create_directories(m_workspace.config);
        std::ofstream(m_workspace.config / "devices.json") << text;
    }

private Q_SLOTS:
    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_root = m_dir->path().toStdString();
        m_workspace = {};
        m_workspace.config = m_root / "config";
        m_workspace.cache = m_root / "cache";
        m_workspace.state = m_root / "state";
    }

    void aProgramOfTheBuildTreeFindsTheSourcesData() {
        const auto workspace = Workspace::from({{"HOME", "/home/u"}}, fs::path(SLIPWAY_BIN_DIR) / "slipway");
        QVERIFY2(workspace, workspace ? "" : workspace.error().message.c_str());
        QCOMPARE(workspace->resources, fs::path(SLIPWAY_SOURCE_DIR) / "resources");
        QCOMPARE(workspace->installedTargets, fs::path(SLIPWAY_SOURCE_DIR) / "targets");
        QCOMPARE(workspace->bin, fs::path(SLIPWAY_BIN_DIR));
        QCOMPARE(workspace->config, fs::path("/home/u/.config/slipway"));
        QCOMPARE(workspace->cache, fs::path("/home/u/.cache/slipway"));
        QCOMPARE(workspace->state, fs::path("/home/u/.local/state/slipway"));
        const auto own = Workspace::standard(); // this test program lies beside bin/, not in it
        QVERIFY2(own, own ? "" : own.error().message.c_str());
        QCOMPARE(own->bin, fs::path(SLIPWAY_BIN_DIR));
    }

    void anInstalledProgramFindsShareSlipway() {
        fs::create_directories(m_root / "prefix/share/slipway/resources");
        const auto workspace = Workspace::from({{"HOME", "/home/u"}, {"XDG_CONFIG_HOME", "/c"}, {"XDG_CACHE_HOME", "relative"}},
                                               m_root / "prefix/bin/slipway");
        QVERIFY2(workspace, workspace ? "" : workspace.error().message.c_str());
        QCOMPARE(workspace->resources, m_root / "prefix/share/slipway/resources");
        QCOMPARE(workspace->installedTargets, m_root / "prefix/share/slipway/targets");
        QCOMPARE(workspace->config, fs::path("/c/slipway"));
        QCOMPARE(workspace->cache, fs::path("/home/u/.cache/slipway"));
    }

    void theEnvironmentMayNameOtherResources() {
        fs::create_directories(m_root / "mine/resources");
        fs::create_directories(m_root / "mine/targets");
        const auto workspace = Workspace::from({{"HOME", "/h"}, {"SLIPWAY_RESOURCES", (m_root / "mine/resources/").string()}},
                                               m_root / "bin/slipway");
        QVERIFY2(workspace, workspace ? "" : workspace.error().message.c_str());
        QCOMPARE(workspace->resources, m_root / "mine/resources");
        QCOMPARE(workspace->installedTargets, m_root / "mine/targets");
    }

    void missingHomeAndMissingResourcesAreClearErrors() {
        QVERIFY(Workspace::from({}, "/usr/bin/slipway").error().message.starts_with("found no home directory"));
        QVERIFY(Workspace::from({{"HOME", "/h"}}, m_root / "bin/slipway").error().message.starts_with("found no resources in"));
    }

    void twoProjectsOfOneNameHaveTheirOwnDirectories() {
        const auto a = m_workspace.buildDirectory("/a/app", "jetson-orin-nano");
        const auto b = m_workspace.buildDirectory("/b/app", "jetson-orin-nano");
        QVERIFY(a != b);
        QCOMPARE(a, m_workspace.buildDirectory("/a/x/../app/", "jetson-orin-nano"));
        QVERIFY(a.string().find("/app-") != std::string::npos);
        QVERIFY(m_workspace.kernelCacheDirectory("/a/app", "x") != m_workspace.packageDirectory("/a/app", "x"));
    }

    void aSavedDeviceComesBackAndTheFileIsPrivate() {
        auto device = Device::fromAddress("orin", "nvidia@192.168.55.1:2222");
        QVERIFY(device);
        QVERIFY(saveDevice(m_workspace, *device));
        device->target = "jetson-orin-nano";
        QVERIFY(saveDevice(m_workspace, *device));
        const auto list = readDevices(m_workspace);
        QVERIFY(list);
        QCOMPARE(list->devices.size(), std::size_t(1));
        QCOMPARE(list->devices[0].target, std::string("jetson-orin-nano"));
        QCOMPARE(list->devices[0].port, 2222);
        const auto mode = fs::status(m_workspace.config / "devices.json").permissions();
        QCOMPARE(int(mode & fs::perms::mask), 0600);
        QVERIFY(removeDevice(m_workspace, "orin"));
        QVERIFY(readDevices(m_workspace)->devices.empty());
    }

    void aBrokenEntryIsNamedAndKept() {
        writeDevices(R"({"format": 1, "devices": [{"name": 7}, {"name": "good", "host": "h"}, "text", {"name": "../up", "host": "h"}]})");
        const auto list = readDevices(m_workspace);
        QVERIFY2(list, list ? "" : list.error().message.c_str());
        QCOMPARE(list->devices.size(), std::size_t(1));
        QCOMPARE(list->problems.size(), std::size_t(3));
        QVERIFY2(list->problems[0].find("device 1") != std::string::npos, list->problems[0].c_str());
        QVERIFY(saveDevice(m_workspace, *Device::fromAddress("new", "u@host")));
        const auto text = readFile(m_workspace.config / "devices.json");
        QVERIFY(text->find("\"text\"") != std::string::npos);
        QVERIFY(text->find("\"../up\"") != std::string::npos);
        QCOMPARE(readDevices(m_workspace)->devices.size(), std::size_t(2));
    }

    void whatTheUserAddedToAnEntryByHandStays() {
        writeDevices(R"({"note": "lab 3", "devices": [{"name": "orin", "host": "10.0.0.1", "port": 22, "rack": {"row": 2}}]})");
        QVERIFY(saveDevice(m_workspace, {.name = "orin", .host = "10.0.0.2"}));
        QCOMPARE(readJsonFile(m_workspace.config / "devices.json")->dump(),
                 std::string(R"({"note":"lab 3","devices":[{"name":"orin","host":"10.0.0.2","rack":{"row":2}}]})"));
    }

    void devicesSavedAtTheSameTimeAreAllKept() {
        std::vector<std::jthread> threads;
        for (int thread = 0; thread < 4; ++thread)
            threads.emplace_back([this, thread] {
                for (int i = 0; i < 25; ++i)
                    (void)saveDevice(m_workspace, {.name = fmt::format("d{}-{}", thread, i), .host = "h"});
            });
        threads.clear(); // joins
        const auto list = readDevices(m_workspace);
        QVERIFY(list);
        QCOMPARE(list->devices.size(), std::size_t(100));
        QVERIFY(list->problems.empty());
    }

    void aFileThatIsNoJsonIsNeverOverwritten() {
        writeDevices("{ \"devices\": [");
        QVERIFY(!readDevices(m_workspace));
        QVERIFY(!saveDevice(m_workspace, *Device::fromAddress("new", "u@host")));
        QCOMPARE(*readFile(m_workspace.config / "devices.json"), std::string("{ \"devices\": ["));
    }

    void anUnknownDeviceIsAnsweredWithTheKnownOnes() {
        QCOMPARE(findDevice(m_workspace, "x").error().message, std::string("there is no device \"x\" (none is saved yet)"));
        QVERIFY(saveDevice(m_workspace, *Device::fromAddress("orin", "u@h")));
        const auto missing = findDevice(m_workspace, "orim");
        QVERIFY(!missing);
        QCOMPARE(missing.error().message, std::string("there is no device \"orim\" (known: orin)"));
        QCOMPARE(missing.error().hint, std::string("did you mean orin?"));
        QCOMPARE(exitCode(removeDevice(m_workspace, "orim").error().kind), 2);
    }

    void namesThatAreNoFileNamesAreRefused() {
        for (const char *name : {"", ".", "..", "a/b", "-x", "a b", "ä"}) {
            auto device = *Device::fromAddress("ok", "u@h");
            device.name = name;
            QVERIFY2(!saveDevice(m_workspace, device), name);
            QVERIFY2(!loadFacts(m_workspace, name), name);
        }
    }

    void factsAreKeptForEachDevice() {
        BoardFacts facts;
        facts.model = "NVIDIA Jetson Orin Nano Developer Kit";
        facts.cudaDriver = 12060;
        QVERIFY(loadFacts(m_workspace, "orin").error().message.find("never read") != std::string::npos);
        QVERIFY(saveFacts(m_workspace, "orin", facts));
        const auto read = loadFacts(m_workspace, "orin");
        QVERIFY2(read, read ? "" : read.error().message.c_str());
        QCOMPARE(read->cudaDriver, std::optional<int>(12060));
    }

    void onlyFinishedSysrootsAreListed() {
        fs::create_directories(m_workspace.cache / "sysroots/unfinished/usr");
        QVERIFY(listSysroots(m_workspace).empty());
    }
};

QTEST_GUILESS_MAIN(TestWorkspace)
#include "tst_workspace.moc"
