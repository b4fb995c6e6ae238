// SPDX-License-Identifier: Apache-2.0
//
// What was tuned for another board: recorded options, shared memory, PTX that only one GPU runs. Each row has a sibling that
// differs by one step and passes.

#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

class TestTuning : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void recordedOptionsAgainstTheLiveBoard_data() {
        QTest::addColumn<QString>("options");
        QTest::addColumn<QString>("said");
        QTest::newRow("nothing recorded") << "capability=sm_87,ptx-version=85" << "skipped: the package does not say what it was tuned for";
        QTest::newRow("another SM count") << "capability=sm_87,sm-count=16" << "warn: found tuned for 16 SMs, needed 8 SMs (power mode 15W)";
        QTest::newRow("the SM count of a lower power mode") << "sm-count=4" << "warn: found tuned for 4 SMs, needed 8 SMs (power mode 15W)";
        QTest::newRow("its SM count") << "capability=sm_87,sm-count=8" << "";
        QTest::newRow("another power mode") << "power-mode=7W" << "warn: found tuned for power mode 7W, needed power mode 15W";
        QTest::newRow("its power mode") << "power-mode=15W" << "";
        QTest::newRow("its power mode, as others write the key") << "power_mode=15W" << "";
    }
    void recordedOptionsAgainstTheLiveBoard() {
        QFETCH(QString, options);
        QFETCH(QString, said);
        CheckFixture fixture;
        fixture.package.manifest.options = options.toStdString();
        QCOMPARE(fixture.say("tuning"), said.toStdString());
        fixture.package.manifest.options.clear(); // as kernels record them
        fixture.package.manifest.kernels = {{.name = "k", .options = options.toStdString()}};
        QCOMPARE(fixture.say("tuning"), said.toStdString());
    }

    void aProfileHasEveryPowerModeOfItsKind() {
        CheckFixture fixture;
        fixture.facts = fixture.catalog.profileFacts(*fixture.catalog.find("jetson-orin-nano"));
        const auto say = [&](const char *options) {
            fixture.package.manifest.options = options;
            auto evidence = fixture.evidence();
            evidence.profileOnly = true;
            const auto check = std::find_if(checks().begin(), checks().end(), [](const auto &c) { return std::string_view(c.id) == "tuning"; });
            const auto findings = check->run(evidence, fixture.progress);
            return findings.empty() ? std::string() : fmt::format("{}: found {}, needed {}", statusName(findings[0].status), findings[0].found, findings[0].needed);
        };
        QCOMPARE(say("sm-count=16"), std::string("warn: found tuned for 16 SMs, needed 4 SMs (7W) or 8 SMs (15W, 25W, MAXN_SUPER)"));
        QCOMPARE(say("sm-count=4"), std::string());
        QCOMPARE(say("sm-count=8"), std::string());
        QCOMPARE(say("power-mode=30W"), std::string("warn: found tuned for power mode 30W, needed 4 SMs (7W) or 8 SMs (15W, 25W, MAXN_SUPER)"));
        QCOMPARE(say("power-mode=7W"), std::string());
    }

    void whatTheBoardDoesNotSayIsUnknown() {
        CheckFixture fixture;
        fixture.package.manifest.options = "sm-count=8";
        fixture.facts.gpus->front().smCount.reset();
        QCOMPARE(fixture.say("tuning"), std::string("unknown: found no SM count of the board, needed that fact, to check this"));
        fixture.package.manifest.options = "power-mode=15W";
        QCOMPARE(fixture.say("tuning"), std::string());
        fixture.facts.powerMode.reset();
        QCOMPARE(fixture.say("tuning"), std::string("unknown: found no power mode of the board, needed that fact, to check this"));
    }

    void blockSizesOfAnotherCardAreAWarning() {
        CheckFixture fixture;
        fixture.package.manifest.options = "capability=sm_80,block-size=256,num-warps=8";
        fixture.package.manifest.capability = Capability{80};
        QCOMPARE(fixture.say("tuning"), std::string("warn: found block-size=256, num-warps=8 chosen for sm_80, needed block sizes for sm_87"));
        fixture.package.manifest.capability = Capability{87};
        QCOMPARE(fixture.say("tuning"), std::string());
    }

    void blocksThatWantMoreSharedMemoryThanTheGpuHasFail() {
        CheckFixture fixture;
        fixture.images("matmul", {"ptx 8.2 sm_80"});
        auto &image = *fixture.kernels[0].images[0].image;
        image.meta["shared"] = "196608"; // as teenygrad's metadata says what a launch asks for
        QCOMPARE(fixture.say("tuning"), std::string("fail: found 196608 bytes of shared memory for a block, needed at most 166912 (sm_87)"));
        image.meta["shared"] = "166912";
        QVERIFY2(fixture.say("tuning").starts_with("skipped"), fixture.say("tuning").c_str());
        fixture.facts.gpus->front().capability = Capability{89}; // has less than an Orin
        QCOMPARE(fixture.say("tuning"), std::string("fail: found 166912 bytes of shared memory for a block, needed at most 101376 (sm_89)"));
    }

    void anotherImageOfTheKernelWithSmallerBlocksIsEnough() {
        CheckFixture fixture;
        fixture.images("matmul", {"ptx 8.2 sm_80", "cubin sm_87"});
        fixture.kernels[0].images[0].image->sharedBytes = 196608;
        fixture.kernels[0].images[1].image->sharedBytes = 49152;
        QVERIFY(fixture.say("tuning").starts_with("skipped"));
    }

    void ptxForOneGpuTiesThePackageToIt() {
        CheckFixture fixture;
        fixture.facts.gpus->front().capability = Capability{90};
        fixture.images("a", {"ptx 8.0 sm_90a"});
        fixture.images("b", {"ptx 8.0 sm_90a"});
        QCOMPARE(fixture.say("tuning"), std::string("warn: found 2 kernels in PTX for sm_90a only, needed PTX without a or f, if another kind of board should run it too"));
        QCOMPARE(fixture.run("tuning")[0].why, std::string("PTX for an a target runs on exactly that GPU, also not on newer ones"));
        fixture.kernels.clear();
        fixture.images("a", {"ptx 8.0 sm_90a", "ptx 8.0 sm_90"});
        QVERIFY(fixture.say("tuning").starts_with("skipped"));
    }

    void ptxForAFamilyTiesThePackageToTheFamily() {
        CheckFixture fixture;
        fixture.facts.gpus->front().capability = Capability{121};
        fixture.images("a", {"ptx 8.8 sm_120f"});
        QCOMPARE(fixture.say("tuning"), std::string("warn: found 1 kernel in PTX for sm_120f only, needed PTX without a or f, if another kind of board should run it too"));
        QCOMPARE(fixture.run("tuning")[0].why, std::string("PTX for an f target runs in its family only"));
    }
};

QTEST_APPLESS_MAIN(TestTuning)
#include "tst_tuning.moc"
