// SPDX-License-Identifier: Apache-2.0
//
// Names of cache files and the --options text. The digests were made with sha256sum:
// printf 'vecsm_87\x52\0\0\0' | sha256sum

#include "core/kernel/key.h"
#include "core/kernel/options.h"

#include <QTest>

using namespace slipway;
using Flavour = Capability::Flavour;

class TestKey : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theKeyIsTheDigestOfIdCpuAndVersion() {
        QCOMPARE(cacheKey("vec", "sm_87", PtxVersion{8, 2}),
                 std::string("749c9bdff23de96daeb394119b4fb96f4c44789a1cbf9ba38bd2b31f57da9249"));
    }

    void withoutAVersionTheKeyIsAnother() {
        QCOMPARE(cacheKey("vec", "sm_87", std::nullopt),
                 std::string("afb92f929152a8058284611cb1f84f530e0ebbeb581af2f0d462a213bfa49ed6"));
    }

    void theIdOfASourceIsItsDigest() {
        QCOMPARE(sourceId(""), std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
    }

    void aFlavourIsNoPartOfTheKey() {
        QCOMPARE(keyCpu({90, Flavour::architecture}, {{90, Flavour::architecture}, {87, Flavour::baseline}}),
                 std::string("sm_90"));
    }

    void flavoursOfOneNumberInOneRunGetNamesOfTheirOwn() {
        const std::vector<Capability> all = {
            {120, Flavour::baseline}, {120, Flavour::architecture}, {120, Flavour::family}};
        QCOMPARE(keyCpu(all[0], all), std::string("sm_120"));
        QCOMPARE(keyCpu(all[1], all), std::string("sm_120a"));
        QCOMPARE(keyCpu(all[2], all), std::string("sm_120f"));
    }

    void fileNamesAreTakenApart_data() {
        const QString hash(64, 'a');
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("digest");
        QTest::addColumn<QString>("extension");
        QTest::newRow("image") << "relu_" + hash + ".o" << "relu" << hash << ".o";
        QTest::newRow("underscores") << "a_b_c_" + hash + ".cubin" << "a_b_c" << hash << ".cubin";
        QTest::newRow("temporary") << "k_" + hash + ".o.tmp.123" << "k" << hash << ".o.tmp.123";
        QTest::newRow("loose") << "soft.max.ptx" << "soft.max" << "" << ".ptx";
        QTest::newRow("hash too short") << "k_" + hash.left(63) + ".o" << "k_" + hash.left(63) << "" << ".o";
        QTest::newRow("hash too long") << "k_" + hash + "a.o" << "k_" + hash + "a" << "" << ".o";
        QTest::newRow("upper case") << "k_" + QString(64, 'A') + ".o" << "k_" + QString(64, 'A') << "" << ".o";
        QTest::newRow("no name") << "_" + hash + ".o" << "_" + hash << "" << ".o";
        QTest::newRow("hidden") << ".o" << ".o" << "" << "";
        QTest::newRow("empty") << "" << "" << "" << "";
    }
    void fileNamesAreTakenApart() {
        QFETCH(QString, file);
        QFETCH(QString, name);
        QFETCH(QString, digest);
        QFETCH(QString, extension);
        const auto parsed = parseCacheFileName(file.toStdString());
        QCOMPARE(QString::fromStdString(parsed.name), name);
        QCOMPARE(QString::fromStdString(parsed.hash), digest);
        QCOMPARE(QString::fromStdString(parsed.extension), extension);
    }

    void optionsOfCargoTeenyAreUnderstood() {
        const auto options =
            parseAotOptions("capability=sm_87, ptx-version=82,sm-count=8,opt-level=2,maxnreg=64,num-warps=4");
        QVERIFY(options.has_value());
        QCOMPARE(options->capability->sm(), std::string("sm_87"));
        QCOMPARE(options->ptx->text(), std::string("8.2"));
        QCOMPARE(options->canonical(), std::string("opt-level=2,maxnreg=64,sm-count=8"));
        QCOMPARE(options->others, std::string("sm-count=8,opt-level=2,maxnreg=64,num-warps=4"));
        QCOMPARE(options->unknown, std::vector<std::string>{"num-warps"});
    }

    void brokenOptionsAreNamed_data() {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        QTest::newRow("no value") << "opt-level" << "option \"opt-level\" was found, needed key=value";
        QTest::newRow("empty value") << "maxnreg=" << "option \"maxnreg=\" was found, needed key=value";
        QTest::newRow("range") << "opt-level=4" << "option opt-level is \"4\", needed a number from 0 to 3";
        QTest::newRow("text") << "maxnreg=many" << "option maxnreg is \"many\", needed a number from 1 to 255";
        QTest::newRow("trailing comma") << "opt-level=1," << "option \"\" was found, needed key=value";
    }
    void brokenOptionsAreNamed() {
        QFETCH(QString, text);
        QFETCH(QString, message);
        const auto options = parseAotOptions(text.toStdString());
        QVERIFY(!options.has_value());
        QCOMPARE(QString::fromStdString(options.error().message), message);
        QCOMPARE(options.error().kind, ErrorKind::usage);
    }
};

QTEST_APPLESS_MAIN(TestKey)
#include "tst_key.moc"
