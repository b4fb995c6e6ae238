// SPDX-License-Identifier: Apache-2.0
//
// The rules "can this image run there", against the shipped table. Expected values are NVIDIA's and those measured with
// ptxas 13.0 and on an H200, written out here.

#include "core/target/target.h"

#include <QTest>

using namespace slipway;

namespace {

Capability sm(const QString &text) {
    return *Capability::parse(text.toStdString());
}

} // namespace

class TestPtxIsa : public QObject {
    Q_OBJECT

    Catalog m_catalog;

private Q_SLOTS:
    void initTestCase() {
        auto loaded = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(loaded.has_value(), loaded ? "" : loaded.error().message.c_str());
        m_catalog = *loaded;
    }

    void theOldestVersionOfATargetIsKnown_data() {
        QTest::addColumn<QString>("target");
        QTest::addColumn<int>("code");
        QTest::newRow("nano") << "sm_53" << 42;
        QTest::newRow("tx2") << "sm_62" << 50;
        QTest::newRow("xavier") << "sm_72" << 61;
        QTest::newRow("turing") << "sm_75" << 63;
        QTest::newRow("orin") << "sm_87" << 74;
        QTest::newRow("t239") << "sm_88" << 90;
        QTest::newRow("hopper") << "sm_90" << 78;
        QTest::newRow("hopper a") << "sm_90a" << 80;
        QTest::newRow("thor, old name") << "sm_101" << 86;
        QTest::newRow("thor") << "sm_110" << 90;
        QTest::newRow("blackwell a") << "sm_120a" << 87;
        QTest::newRow("spark") << "sm_121" << 88;
    }
    void theOldestVersionOfATargetIsKnown() {
        QFETCH(QString, target);
        QFETCH(int, code);
        QVERIFY(m_catalog.isa.find(sm(target)));
        QCOMPARE(m_catalog.isa.find(sm(target))->minPtx.code(), code);
    }

    void targetsThatWereNeverMadeAreUnknown() {
        for (const char *name : {"sm_90f", "sm_87a", "sm_91", "sm_111"})
            QVERIFY2(!m_catalog.isa.find(sm(name)), name);
    }

    void versionsThatWereNeverMadeDoNotExist() {
        for (const int code : {55, 66, 79, 89, 96, 99})
            QVERIFY2(!m_catalog.isa.exists(PtxVersion::fromCode(code)), qPrintable(QString::number(code)));
        for (const int code : {42, 50, 60, 65, 70, 78, 80, 88, 90, 95})
            QVERIFY2(m_catalog.isa.exists(PtxVersion::fromCode(code)), qPrintable(QString::number(code)));
        QCOMPARE(m_catalog.isa.atMost({8, 9})->code(), 88);
        QCOMPARE(m_catalog.isa.atMost({7, 9})->code(), 78);
        QVERIFY(!m_catalog.isa.atMost({3, 9}));
        QCOMPARE(m_catalog.isa.cudaOf({8, 2}), std::string("12.2"));
        QCOMPARE(m_catalog.isa.cudaOf({8, 9}), std::string());
    }

    void driversAcceptWhatNvidiaSays_data() {
        QTest::addColumn<int>("driver");
        QTest::addColumn<int>("code");
        QTest::addColumn<bool>("extrapolated");
        QTest::newRow("JetPack 4") << 10020 << 65 << false;
        QTest::newRow("JetPack 5") << 11040 << 74 << false;
        QTest::newRow("JetPack 6.0") << 12020 << 82 << false;
        QTest::newRow("12.6 has no version of its own") << 12060 << 85 << false;
        QTest::newRow("patch digit") << 12061 << 85 << false;
        QTest::newRow("12.7") << 12070 << 86 << false;
        QTest::newRow("12.9") << 12090 << 88 << false;
        QTest::newRow("JetPack 7.0") << 13000 << 90 << false;
        QTest::newRow("13.5") << 13050 << 95 << false;
        QTest::newRow("newer minor") << 13070 << 97 << true;
        QTest::newRow("newer major") << 14020 << 102 << true;
        QTest::newRow("between known ones") << 12100 << 88 << true;
    }
    void driversAcceptWhatNvidiaSays() {
        QFETCH(int, driver);
        QFETCH(int, code);
        QFETCH(bool, extrapolated);
        const auto found = m_catalog.isa.newestForDriver(driver);
        QVERIFY(found.has_value());
        QCOMPARE(found->newest.code(), code);
        QCOMPARE(found->extrapolated, extrapolated);
    }

    void driversOlderThanTheTableAreUnknown() {
        for (const int driver : {8000, 0, -1})
            QVERIFY(!m_catalog.isa.newestForDriver(driver));
    }

    void ptxRunsWhereItsTargetAllows_data() {
        QTest::addColumn<QString>("target");
        QTest::addColumn<QString>("device");
        QTest::addColumn<bool>("runs");
        QTest::newRow("same") << "sm_87" << "8.7" << true;
        QTest::newRow("older code on a newer device") << "sm_80" << "8.7" << true;
        QTest::newRow("across majors") << "sm_53" << "12.1" << true;
        QTest::newRow("newer code on an older device") << "sm_89" << "8.7" << false;
        QTest::newRow("a exact") << "sm_90a" << "9.0" << true;
        QTest::newRow("a later") << "sm_90a" << "10.0" << false;
        QTest::newRow("a same major") << "sm_120a" << "12.1" << false;
        QTest::newRow("a earlier") << "sm_90a" << "8.9" << false;
        QTest::newRow("f same") << "sm_120f" << "12.0" << true;
        QTest::newRow("f family") << "sm_120f" << "12.1" << true;
        QTest::newRow("f family, earlier member") << "sm_121f" << "12.0" << false;
        QTest::newRow("f 100 on 103") << "sm_100f" << "10.3" << true;
        QTest::newRow("f 100 on thor") << "sm_100f" << "11.0" << false;
        QTest::newRow("f 110 on 120") << "sm_110f" << "12.0" << false;
        QTest::newRow("old name on the new") << "sm_101" << "11.0" << true;
        QTest::newRow("old name a on the new") << "sm_101a" << "11.0" << true;
        QTest::newRow("old name f on the new") << "sm_101f" << "11.0" << true;
        QTest::newRow("new name on the old") << "sm_110" << "10.1" << true;
        QTest::newRow("new name a on the old") << "sm_110a" << "10.1" << true;
        QTest::newRow("sm_103 on a device that says 10.1") << "sm_103" << "10.1" << false;
        QTest::newRow("unknown future device") << "sm_121" << "13.0" << true;
        QTest::newRow("family that is not in the table") << "sm_130f" << "13.1" << false;
    }
    void ptxRunsWhereItsTargetAllows() {
        QFETCH(QString, target);
        QFETCH(QString, device);
        QFETCH(bool, runs);
        const auto answer = m_catalog.isa.ptxRuns(sm(target), sm(device));
        QVERIFY2(answer.yes == runs, answer.why.c_str());
        QVERIFY2(answer.why.find(device.toStdString()) != std::string::npos, answer.why.c_str());
    }

    void cubinsRunWhereTheirMachineCodeDoes_data() {
        QTest::addColumn<QString>("cubin");
        QTest::addColumn<QString>("device");
        QTest::addColumn<bool>("runs");
        QTest::newRow("same") << "sm_87" << "8.7" << true;
        QTest::newRow("desktop, later minor") << "sm_80" << "8.6" << true;
        QTest::newRow("desktop, earlier minor") << "sm_89" << "8.6" << false;
        QTest::newRow("desktop, other major") << "sm_80" << "9.0" << false;
        QTest::newRow("desktop on tegra") << "sm_86" << "8.7" << false;
        QTest::newRow("tegra on desktop") << "sm_87" << "8.9" << false;
        QTest::newRow("tegra on tegra") << "sm_87" << "8.8" << false;
        QTest::newRow("a exact") << "sm_90a" << "9.0" << true;
        QTest::newRow("a later") << "sm_100a" << "10.3" << false;
        QTest::newRow("f family") << "sm_120f" << "12.1" << true;
        QTest::newRow("f other family") << "sm_100f" << "11.0" << false;
        QTest::newRow("thor by its old name") << "sm_101" << "11.0" << true;
        QTest::newRow("thor by its new name") << "sm_110" << "10.1" << true;
    }
    void cubinsRunWhereTheirMachineCodeDoes() {
        QFETCH(QString, cubin);
        QFETCH(QString, device);
        QFETCH(bool, runs);
        const auto answer = m_catalog.isa.cubinRuns(sm(cubin), sm(device));
        QVERIFY2(answer.yes == runs, answer.why.c_str());
    }

    void aRenamedChipIsExplained() {
        const auto why = m_catalog.isa.ptxRuns(sm("sm_101a"), sm("11.0")).why;
        QVERIFY2(why.find("sm_101 is the old name of sm_110") != std::string::npos, why.c_str());
    }

    void theVersionThatFitsBothEndsIsChosen() {
        QCOMPARE(m_catalog.choosePtx(sm("sm_87"), 12060)->code(), 85);
        QCOMPARE(m_catalog.choosePtx(sm("sm_87"), 11040)->code(), 74);
        QCOMPARE(m_catalog.choosePtx(sm("sm_87"), std::nullopt)->code(), 74);
        QCOMPARE(m_catalog.choosePtx(sm("sm_120a"), 12080)->code(), 87);
        QCOMPARE(m_catalog.choosePtx(sm("sm_110"), 13990)->code(), 95); // newer than the table: the newest that exists
        QCOMPARE(m_catalog.choosePtx(sm("sm_130"), 13020)->code(), 92); // new hardware: what its driver accepts
        QCOMPARE(m_catalog.choosePtx(sm("sm_130"), std::nullopt)->code(), 95);
    }

    void aDriverTooOldForTheTargetNamesBothEnds() {
        const auto chosen = m_catalog.choosePtx(sm("sm_120a"), 12070);
        QVERIFY(!chosen);
        QCOMPARE(chosen.error().message,
                 std::string("sm_120a needs PTX 8.7 or newer, but the board's driver (CUDA 12.7) accepts at most 8.6"));
        QVERIFY(chosen.error().hint.find("CUDA 12.8") != std::string::npos);
        QVERIFY(!m_catalog.choosePtx(sm("sm_91"), 13000));
        QVERIFY(!m_catalog.choosePtx(sm("sm_90f"), 13000));
        QVERIFY(!m_catalog.choosePtx(sm("sm_53"), 8000));
    }

    void aBrokenTableIsAnErrorThatNamesTheKey() {
        const auto text =
            R"({"versions": [{"ptx": "8.2", "cuda": ["12.2"]}], "targets": [{"target": "sm_87", "min_ptx": 74}],
                              "drivers": [{"driver": 12020, "ptx": "8.2"}], "families": {}, "tegra": ["sm_87"]})";
        const auto isa = PtxIsa::fromJson(*parseJson(text, "test"));
        QVERIFY(!isa);
        QVERIFY2(isa.error().message.find("min_ptx") != std::string::npos, isa.error().message.c_str());
        QVERIFY(!PtxIsa::fromJson(Json::array()));
        QVERIFY(!PtxIsa::fromJson(Json::object()));
    }
};

QTEST_APPLESS_MAIN(TestPtxIsa)
#include "tst_ptxisa.moc"
