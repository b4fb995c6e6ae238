// SPDX-License-Identifier: Apache-2.0
//
// Names of capabilities and PTX versions.

#include "core/target/capability.h"

#include <QTest>

using namespace slipway;

class TestCapability : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everySpellingGivesTheSameCapability_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("sm");
        QTest::addColumn<QString>("dotted");
        QTest::newRow("sm") << "sm_87" << "sm_87" << "8.7";
        QTest::newRow("compute") << "compute_87" << "sm_87" << "8.7";
        QTest::newRow("dotted") << "8.7" << "sm_87" << "8.7";
        QTest::newRow("three digits") << "sm_110" << "sm_110" << "11.0";
        QTest::newRow("dotted three") << "12.1" << "sm_121" << "12.1";
        QTest::newRow("a") << "sm_90a" << "sm_90a" << "9.0";
        QTest::newRow("f") << "compute_120f" << "sm_120f" << "12.0";
        QTest::newRow("blanks") << " sm_75\n" << "sm_75" << "7.5";
    }
    void everySpellingGivesTheSameCapability() {
        QFETCH(QString, text);
        QFETCH(QString, sm);
        QFETCH(QString, dotted);
        const auto parsed = Capability::parse(text.toStdString());
        QVERIFY2(parsed.has_value(), parsed ? "" : parsed.error().message.c_str());
        QCOMPARE(QString::fromStdString(parsed->sm()), sm);
        QCOMPARE(QString::fromStdString(parsed->dotted()), dotted);
    }

    void nonsenseIsRefusedAsUsage_data() {
        QTest::addColumn<QString>("text");
        for (const char *text :
             {"", "sm_", "sm_8", "sm_1234", "sm_87b", "sm_87af", "87", "8", "8.", ".7", "8.10", "0.7", "100.0", "sm_-7",
              "sm_99999999999999999999", "8.7a", "SM_87", "sm_ 87", "sm_07"})
            QTest::newRow(text[0] ? text : "empty") << text;
    }
    void nonsenseIsRefusedAsUsage() {
        QFETCH(QString, text);
        const auto parsed = Capability::parse(text.toStdString());
        QVERIFY(!parsed);
        QVERIFY(parsed.error().kind == ErrorKind::usage);
        QVERIFY(parsed.error().message.find("needed sm_N") != std::string::npos);
    }

    void aCapabilitySplitsIntoMajorAndMinor() {
        QCOMPARE(Capability{110}.major(), 11);
        QCOMPARE(Capability{110}.minor(), 0);
        QCOMPARE(Capability{87}.minor(), 7);
        QVERIFY((Capability{90, Capability::Flavour::architecture}.baseline() == Capability{90}));
    }

    void ptxVersionsAreReadFromBothForms() {
        QCOMPARE(PtxVersion::parse("8.2")->code(), 82);
        QCOMPARE(PtxVersion::parse("82")->text(), std::string("8.2"));
        QCOMPARE(PtxVersion::parse("9.00")->text(), std::string("9.0"));
        QCOMPARE(PtxVersion::parse("100")->text(), std::string("10.0"));
        for (const char *bad : {"", "8", "8.", "9.0.1", "0.1", "x", "1000", "8.12"})
            QVERIFY2(!PtxVersion::parse(bad), bad);
    }

    void versionsOrderByMajorThenMinor() {
        QVERIFY((PtxVersion{8, 8} < PtxVersion{9, 0}));
        QVERIFY((PtxVersion{8, 6} < PtxVersion{8, 7}));
    }
};

QTEST_APPLESS_MAIN(TestCapability)
#include "tst_capability.moc"
