// SPDX-License-Identifier: Apache-2.0
//
// Profiles, the JetPack table and recognising boards, against the shipped data and real boards' texts.

#include "core/target/target.h"

#include <QTemporaryDir>
#include <QTest>

using namespace slipway;

class TestTarget : public QObject {
    Q_OBJECT

    Catalog m_catalog;
    const fs::path m_shipped = fs::path(SLIPWAY_SOURCE_DIR) / "targets";

private Q_SLOTS:
    void initTestCase() {
        auto loaded = Catalog::load({m_shipped});
        QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
        m_catalog = *loaded;
    }

    void theDesignsProfilesAreShipped() {
        std::vector<std::string> ids;
        for (const auto &target : m_catalog.targets)
            ids.push_back(target.id);
        QCOMPARE(ids,
                 (std::vector<std::string>{"dgx-spark", "generic-aarch64", "generic-x86_64", "jetson-agx-orin",
                                           "jetson-agx-thor", "jetson-agx-xavier", "jetson-nano", "jetson-orin-nano",
                                           "jetson-orin-nx", "jetson-t4000", "jetson-tx2", "jetson-xavier-nx"}));
    }

    void everyProfileFitsTheTables() {
        for (const auto &target : m_catalog.targets) {
            QVERIFY2(target.isGeneric() || m_catalog.isa.find(*target.capability), target.id.c_str());
            for (const auto &version : {target.jetpackFirst, target.jetpackLast, target.jetpackAssumed})
                QVERIFY2(version.empty() || m_catalog.jetpacks.find(version), target.id.c_str());
            QVERIFY2(!target.sysrootFolders.empty(), target.id.c_str());
            QVERIFY2(!target.cudaTargetDir.empty(), target.id.c_str());
        }
    }

    void orinNanoIsWhatItsBoxSays() {
        const auto target = *m_catalog.target("jetson-orin-nano");
        QCOMPARE(target.capability->sm(), std::string("sm_87"));
        QCOMPARE(target.triple, std::string("aarch64-linux-gnu"));
        QCOMPARE(target.smCountByPowerMode.at("7W"), 4);
        QCOMPARE(target.smCountByPowerMode.at("15W"), 8);
        QCOMPARE(target.jetpackFirst, std::string("5.1.1"));
        QCOMPARE(target.jetpackAssumed, std::string("6.2"));
        QCOMPARE(target.cudaTargetDir, std::string("aarch64-linux"));
        QCOMPARE(Target::fromJson(target.toJson(), "again")->toJson().dump(), target.toJson().dump());
    }

    void sparkIsAnSbsaMachineWithoutJetPack() {
        const auto target = *m_catalog.target("dgx-spark");
        QCOMPARE(target.capability->sm(), std::string("sm_121"));
        QCOMPARE(target.cudaTargetDir, std::string("sbsa-linux"));
        QVERIFY(target.jetpackFirst.empty());
    }

    void anUnknownTargetListsWhatThereIsAndWhatIsNear() {
        const auto missing = m_catalog.target("jetson-orin-nan0");
        QVERIFY(!missing);
        QVERIFY(missing.error().kind == ErrorKind::usage);
        QVERIFY(missing.error().message.find("jetson-xavier-nx") != std::string::npos);
        QVERIFY2(missing.error().hint.find("did you mean jetson-orin-nano") != std::string::npos,
                 missing.error().hint.c_str());
        QVERIFY(m_catalog.target("thor").error().hint.find("jetson-agx-thor") != std::string::npos);
    }

    void boardsAreRecognised_data() {
        QTest::addColumn<QStringList>("compatible");
        QTest::addColumn<QString>("tnspec");
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("id");
        QTest::newRow("Orin Nano, JetPack 5.1.1")
            << QStringList{"nvidia,p3768-0000+p3767-0003", "nvidia,p3768-0000+p3767-0005", "nvidia,p3767-0003",
                           "nvidia,tegra234"}
            << ""
            << "NVIDIA Orin Nano Developer Kit" << "jetson-orin-nano";
        QTest::newRow("Orin Nano Super") << QStringList{"nvidia,p3768-0000+p3767-0005-super", "nvidia,p3767-0005",
                                                        "nvidia,tegra234"}
                                         << ""
                                         << "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"
                                         << "jetson-orin-nano";
        QTest::newRow("AGX Orin") << QStringList{"nvidia,p3737-0000+p3701-0005", "nvidia,p3701-0005", "nvidia,tegra234"}
                                  << "" << ""
                                  << "jetson-agx-orin";
        QTest::newRow("Thor") << QStringList{"nvidia,p4071-0000+p3834-0008", "nvidia,p3834-0008", "nvidia,tegra264"}
                              << "" << ""
                              << "jetson-agx-thor";
        QTest::newRow("T4000") << QStringList{"nvidia,p4071-0000+p3834-0000"} << "" << "" << "jetson-t4000";
        QTest::newRow("one text with NULs")
            << QStringList{QString::fromUtf8("nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0", 46)} << ""
            << "" << "jetson-orin-nx";
        QTest::newRow("the module wins over a reused model text")
            << QStringList{"nvidia,p3768-0000+p3767-0001"} << "" << "NVIDIA Jetson Orin Nano Developer Kit"
            << "jetson-orin-nx";
        QTest::newRow("TNSPEC of another maker's board") << QStringList{"seeed,recomputer", "nvidia,tegra234"}
                                                         << "TNSPEC 3767-300-0000-H.2-1-0-recomputer-orin-j401-"
                                                         << "NVIDIA Jetson Orin Nano Developer Kit" << "jetson-orin-nx";
        QTest::newRow("COMPATIBLE_SPEC with empty fields")
            << QStringList{} << "3834--0008--1--jetson-agx-thor-devkit-" << ""
            << "jetson-agx-thor";
        QTest::newRow("model with its NUL")
            << QStringList{} << "" << QString::fromUtf8("Jetson-AGX\0", 11) << "jetson-agx-xavier";
        QTest::newRow("JetPack 5 AGX Orin, without NVIDIA")
            << QStringList{} << "" << "Jetson AGX Orin" << "jetson-agx-orin";
        QTest::newRow("TX2") << QStringList{} << "" << "quill" << "jetson-tx2";
        QTest::newRow("Nano") << QStringList{} << "" << "NVIDIA Jetson Nano Developer Kit" << "jetson-nano";
        QTest::newRow("a module with a similar number")
            << QStringList{"nvidia,p3768-0000+p3767-00050"} << "" << "" << "generic-aarch64";
        QTest::newRow("IGX, not a profile")
            << QStringList{"nvidia,p3740-0002+p3701-0002", "nvidia,tegra234"} << "" << "" << "generic-aarch64";
        QTest::newRow("short TNSPEC") << QStringList{} << "3767" << "" << "generic-aarch64";
    }
    void boardsAreRecognised() {
        QFETCH(QStringList, compatible);
        QFETCH(QString, tnspec);
        QFETCH(QString, model);
        QFETCH(QString, id);
        BoardFacts facts;
        facts.arch = "aarch64";
        facts.compatible.emplace();
        for (const auto &entry : compatible)
            facts.compatible->push_back(entry.toStdString());
        if (!tnspec.isEmpty())
            facts.tnspec = tnspec.toStdString();
        if (!model.isEmpty())
            facts.model = model.toStdString();
        const auto *target = m_catalog.recognise(facts);
        QVERIFY(target);
        QCOMPARE(QString::fromStdString(target->id), id);
    }

    void machinesWithoutADeviceTreeAreRecognisedByGpuOrArchitecture() {
        BoardFacts facts;
        QVERIFY(!m_catalog.recognise(facts));
        facts.arch = "x86_64";
        QCOMPARE(m_catalog.recognise(facts)->id, std::string("generic-x86_64"));
        facts.arch = "aarch64";
        facts.gpus = {GpuFacts{.name = "NVIDIA GB10", .capability = {121}}};
        QCOMPARE(m_catalog.recognise(facts)->id, std::string("dgx-spark"));
    }

    void l4tLeadsToItsJetPack() {
        const auto &table = m_catalog.jetpacks;
        QCOMPARE(table.ofL4t("36.4.3")->version, std::string("6.2"));
        QCOMPARE(table.ofL4t("36.4.3")->driver, 12060);
        QCOMPARE(table.ofL4t("36.4.7")->version, std::string("6.2.1"));
        QCOMPARE(table.ofL4t("36.4.9")->version, std::string("6.2.1")); // unknown patch level: the one before
        QCOMPARE(table.ofL4t("35.4.1")->version, std::string("5.1.2"));
        QCOMPARE(table.ofL4t("32.7.4")->glibc, std::string("2.27"));
        QVERIFY(!table.ofL4t("36.2.0")); // a preview before every 36.x release here
        QVERIFY(!table.ofL4t("35.7.0"));
        QVERIFY(!table.ofL4t(""));
        QVERIFY(table.isNewerThanTable("40.1.0"));
        QVERIFY(table.isNewerThanTable("39.2.10"));
        QVERIFY(!table.isNewerThanTable("39.2.1"));
        QVERIFY(!table.isNewerThanTable("35.7.0"));
    }

    void aProfileGivesTheFactsOfTheAssumedJetPackAndSaysSo() {
        const auto facts = m_catalog.profileFacts(*m_catalog.find("jetson-orin-nano"));
        QCOMPARE(*facts.jetpack, std::string("6.2"));
        QCOMPARE(*facts.l4t, std::string("36.4.3"));
        QCOMPARE(*facts.cudaDriver, 12060);
        QCOMPARE(*facts.glibc, std::string("2.35"));
        QCOMPARE(*facts.glibcxx, std::string("3.4.30"));
        QCOMPARE(*facts.cxxabi, std::string("1.3.13"));
        QCOMPARE(facts.gpu()->capability.sm(), std::string("sm_87"));
        QCOMPARE(facts.warnings,
                 std::vector<std::string>{"assumes JetPack 6.2; give --facts or --device for the real board"});
        QVERIFY(!facts.machineId);
        QVERIFY(!facts.disks);
        const auto generic = m_catalog.profileFacts(*m_catalog.find("generic-aarch64"));
        QVERIFY(!generic.gpus);
        QVERIFY(!generic.cudaDriver);
        QCOMPARE(generic.warnings.size(), std::size_t(1));
    }

    void aUsersFileReplacesTheShippedOne() {
        QTemporaryDir dir;
        const fs::path user = dir.path().toStdString();
        auto json = m_catalog.find("jetson-orin-nano")->toJson();
        json["name"] = "My Orin";
        QVERIFY(writeJsonFile(user / "jetson-orin-nano.json", json).has_value());
        const auto catalog = Catalog::load({m_shipped, user, user / "absent"});
        QVERIFY(catalog.has_value());
        QCOMPARE(catalog->find("jetson-orin-nano")->name, std::string("My Orin"));
        QCOMPARE(catalog->targets.size(), std::size_t(12));
    }

    void aBrokenFileIsNamed() {
        QTemporaryDir dir;
        const fs::path user = dir.path().toStdString();
        QVERIFY(writeFileAtomically(user / "mine.json", "{\"id\": \"mine\", \"triple\": 3}").has_value());
        auto catalog = Catalog::load({m_shipped, user});
        QVERIFY(!catalog);
        QVERIFY2(catalog.error().message.find("mine.json: \"triple\" is number") != std::string::npos,
                 catalog.error().message.c_str());
        QVERIFY(writeFileAtomically(user / "mine.json", "{\"id\": \"other\", \"triple\": \"a-b-c\"}").has_value());
        catalog = Catalog::load({m_shipped, user});
        QVERIFY(!catalog);
        QVERIFY(catalog.error().message.find("\"id\" is \"other\"") != std::string::npos);
        QVERIFY(!Catalog::load({user}));
    }
};

QTEST_APPLESS_MAIN(TestTarget)
#include "tst_target.moc"
