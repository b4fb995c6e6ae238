// SPDX-License-Identifier: Apache-2.0
//
// The checks of kernels: each failing row has a sibling that differs by one step and passes.

#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

class TestKernelChecks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void capability_data() {
        QTest::addColumn<QString>("images");
        QTest::addColumn<QString>("device");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char *name, const char *images, const char *device, const char *expected) {
            QTest::newRow(name) << images << device << expected;
        };
        row("sm_89 PTX on an Orin", "ptx 8.2 sm_89", "8.7",
            "fail: found PTX for sm_89, needed an image that runs on sm_87 (capability 8.7)");
        row("sm_87 PTX on an Orin", "ptx 8.2 sm_87", "8.7", "");
        row("older PTX runs with a warning", "ptx 8.2 sm_80", "8.7",
            "warn: found PTX for sm_80, needed sm_87 for the best speed");
        row("sm_80 cubin on a Tegra", "cubin sm_80", "8.7",
            "fail: found a cubin for sm_80, needed an image that runs on sm_87 (capability 8.7)");
        row("sm_80 cubin with PTX beside it", "cubin sm_80;ptx 8.2 sm_87", "8.7", "");
        row("sm_80 cubin on a desktop 8.6", "cubin sm_80", "8.6", "");
        row("sm_86 cubin on a desktop 8.0", "cubin sm_86", "8.0",
            "fail: found a cubin for sm_86, needed an image that runs on sm_80 (capability 8.0)");
        row("exact cubin", "cubin sm_87", "8.7", "");
        row("architecture PTX elsewhere", "ptx 8.2 sm_90a", "10.0",
            "fail: found PTX for sm_90a, needed an image that runs on sm_100 (capability 10.0)");
        row("architecture PTX at home", "ptx 8.2 sm_90a", "9.0", "");
        row("baseline PTX forward", "ptx 8.2 sm_100", "10.0", "");
        row("family PTX inside", "ptx 8.8 sm_120f", "12.1", "");
        row("family PTX outside", "ptx 9.0 sm_100f", "11.0",
            "fail: found PTX for sm_100f, needed an image that runs on sm_110 (capability 11.0)");
        row("Thor's old name", "ptx 8.6 sm_101", "11.0", "");
        row("PTX for an exact cubin is not missed", "ptx 8.2 sm_80;cubin sm_87", "8.7", "");
    }
    void capability() {
        QFETCH(QString, images);
        QFETCH(QString, device);
        QFETCH(QString, expected);
        CheckFixture fixture;
        std::vector<std::string> specs;
        for (const auto &spec : images.split(';'))
            specs.push_back(spec.toStdString());
        fixture.images("saxpy", specs);
        fixture.facts.gpus->front().capability = Capability::parse(device.toStdString()).value();
        QCOMPARE(QString::fromStdString(fixture.say("capability")), expected);
    }

    void aKernelShippedForTwoCapabilitiesNeedsOnlyOneThatRuns() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.2 sm_89"}, std::string(64, 'a'));
        QVERIFY(fixture.say("capability").starts_with("fail"));
        fixture.images("saxpy", {"ptx 8.2 sm_87"}, std::string(64, 'b'));
        QCOMPARE(fixture.say("capability"), std::string());
        fixture.images("other", {"ptx 8.2 sm_89"}, std::string(64, 'c'));
        QVERIFY(fixture.say("capability").starts_with("fail"));
    }

    void theFixOfAWrongCapabilityNamesTheRightOne() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.2 sm_89"});
        QCOMPARE(fixture.run("capability")[0].fix,
                 std::string("slipway aot --target jetson-orin-nano --capability sm_87, then slipway package"));
    }

    void anUnknownGpuIsUnknownAndNoPass() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.2 sm_87"});
        fixture.facts.gpus.reset();
        fixture.target.clear();
        QVERIFY(fixture.say("capability").starts_with("unknown"));
    }

    void ptxVersion_data() {
        QTest::addColumn<QString>("images");
        QTest::addColumn<int>("driver");
        QTest::addColumn<QString>("expected");
        QTest::addColumn<QString>("fix");
        const auto row = [](const char *name, const char *images, int driver, const char *expected, const char *fix) {
            QTest::newRow(name) << images << driver << expected << fix;
        };
        row("8.7 on JetPack 6.2", "ptx 8.7 sm_87", 12060, "fail: found PTX 8.7, needed at most 8.5 (driver CUDA 12.6)",
            "slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package");
        row("8.5 on JetPack 6.2", "ptx 8.5 sm_87", 12060, "", "");
        row("8.6 on JetPack 6.2", "ptx 8.6 sm_87", 12060, "fail: found PTX 8.6, needed at most 8.5 (driver CUDA 12.6)",
            "slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package");
        row("too old for its own target", "ptx 7.3 sm_87", 12060,
            "fail: found PTX 7.3, needed at least 7.4 (.target sm_87)",
            "slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package");
        row("the least for its target", "ptx 7.4 sm_87", 12060, "", "");
        row("a version that never was", "ptx 7.9 sm_87", 12060,
            "fail: found PTX 7.9, needed a version that exists, such as 7.8",
            "slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package");
        row("new PTX with an exact cubin", "ptx 8.7 sm_87;cubin sm_87", 12060, "", "");
        row("new PTX with a foreign cubin", "ptx 8.7 sm_87;cubin sm_80", 12060,
            "fail: found PTX 8.7, needed at most 8.5 (driver CUDA 12.6)",
            "slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package");
        row("new PTX beside old PTX", "ptx 8.7 sm_87;ptx 8.2 sm_87", 12060, "", "");
    }
    void ptxVersion() {
        QFETCH(QString, images);
        QFETCH(int, driver);
        QFETCH(QString, expected);
        QFETCH(QString, fix);
        CheckFixture fixture;
        std::vector<std::string> specs;
        for (const auto &spec : images.split(';'))
            specs.push_back(spec.toStdString());
        fixture.images("saxpy", specs);
        fixture.facts.cudaDriver = driver;
        QCOMPARE(QString::fromStdString(fixture.say("ptx-version")), expected);
        if (!fix.isEmpty())
            QCOMPARE(QString::fromStdString(fixture.run("ptx-version")[0].fix), fix);
    }

    void ptxTooOldForItsTargetNamesTheLeastVersion() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.6 sm_120a"});
        fixture.facts.gpus->front().capability = Capability::parse("12.0").value();
        fixture.facts.cudaDriver = 12080;
        fixture.target.clear();
        QCOMPARE(fixture.say("ptx-version"), std::string("fail: found PTX 8.6, needed at least 8.7 (.target sm_120a)"));
        QCOMPARE(fixture.run("ptx-version")[0].fix,
                 std::string("slipway aot --capability sm_120a --ptx-version 87, then slipway package"));
        fixture.kernels.clear();
        fixture.images("saxpy", {"ptx 8.7 sm_120a"});
        QCOMPARE(fixture.say("ptx-version"), std::string());
    }

    void whenNoVersionSatisfiesBothEndsTheFixSaysSo() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.6 sm_120a"});
        fixture.facts.gpus->front().capability = Capability::parse("12.0").value();
        const auto finding = fixture.run("ptx-version")[0];
        QCOMPARE(finding.needed, std::string("at least 8.7 (.target sm_120a)"));
        QVERIFY2(finding.fix.starts_with("no PTX version satisfies both ends: sm_120a needs at least 8.7, the driver "
                                         "(CUDA 12.6) accepts at most 8.5"),
                 finding.fix.c_str());
    }

    void theDriverOfAJetPackIsKnownWithoutAskingIt() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.7 sm_87"});
        fixture.facts.cudaDriver.reset();
        QCOMPARE(fixture.say("ptx-version"), std::string("fail: found PTX 8.7, needed at most 8.5 (driver CUDA 12.6)"));
        fixture.facts.l4t.reset();
        fixture.facts.jetpack.reset();
        QVERIFY(fixture.say("ptx-version").starts_with("unknown"));
    }

    void aCudaCompatDriverCountsWhereTheProgramsPathNamesIt() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.7 sm_87"});
        fixture.facts.cudaCompat = {{.path = "/usr/local/cuda-12.8/compat", .status = "ok", .driver = 12080}};
        QCOMPARE(fixture.say("ptx-version"), std::string("fail: found PTX 8.7, needed at most 8.5 (driver CUDA 12.6)"));
        QCOMPARE(fixture.run("ptx-version")[0].fix,
                 std::string("slipway aot --target jetson-orin-nano --capability sm_87 --ptx-version 85, then slipway package; or set "
                             "LD_LIBRARY_PATH=/usr/local/cuda-12.8/compat in the project's run.env: the CUDA 12.8 driver there reads PTX up to 8.7"));
        fixture.package.env["LD_LIBRARY_PATH"] = "/usr/local/cuda-12.8/compat";
        QCOMPARE(fixture.say("ptx-version"), std::string());
        fixture.facts.cudaCompat.front().status = "error"; // it does not fit the board's kernel driver
        QCOMPARE(fixture.say("ptx-version"), std::string("fail: found PTX 8.7, needed at most 8.5 (driver CUDA 12.6)"));
    }

    void aDriverNewerThanTheTableIsUsableWithAWarning() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.5 sm_87"});
        fixture.facts.cudaDriver = 13090;
        QVERIFY2(fixture.say("ptx-version").starts_with("warn: found driver CUDA 13.9"),
                 fixture.say("ptx-version").c_str());
    }

    void anEmptyOrMissingCacheFailsUnlessTheProjectHasNoKernels() {
        CheckFixture fixture;
        QCOMPARE(
            fixture.say("cache-present"),
            std::string("fail: found no cache/ in the package, needed the program's kernels, compiled ahead of time"));
        fs::create_directories(fixture.package.directory / "cache");
        QCOMPARE(fixture.say("cache-present"),
                 std::string("fail: found an empty cache/, needed the program's kernels, compiled ahead of time"));
        fixture.package.manifest.usesKernels = false;
        QCOMPARE(fixture.say("cache-present"), std::string("skipped: the project has no kernels"));
        fixture.images("saxpy", {"ptx 8.5 sm_87"});
        QCOMPARE(fixture.say("cache-present"), std::string());
    }

    void aListedKernelThatIsNotInTheCacheFails() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.5 sm_87"}, "aa");
        fixture.package.manifest.kernels = {{.name = "saxpy", .hash = "aa"}, {.name = "matmul", .hash = "bb"}};
        const auto findings = fixture.run("cache-present");
        QCOMPARE(findings.size(), std::size_t(1));
        QCOMPARE(findings[0].subject, std::string("cache/matmul_bb.o"));
        fixture.images("matmul", {"ptx 8.5 sm_87"}, "bb");
        QCOMPARE(fixture.say("cache-present"), std::string());
    }

    void integrity_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("expected");
        const auto whole = ptxText("8.5", "sm_87");
        const auto row = [](const char *name, const std::string &bytes, const char *expected) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << expected;
        };
        row("whole", whole, "");
        row("truncated", whole.substr(0, whole.size() - 4), "fail");
        row("empty", "", "fail");
        row("foreign", "<!DOCTYPE html>", "fail");
        const auto calling = [&](const std::string &name) {
            auto text = whole;
            text.insert(text.find("\tret;"),
                        fmt::format("\t{{ .param .b32 r; .param .b32 a;\n\tcall (r), {}, (a); }}\n", name));
            text.insert(text.find(".visible"),
                        fmt::format(".extern .func (.param .b32 r) {} (.param .b32 a)\n;\n", name));
            return text;
        };
        row("unresolved", calling("__nv_fmaf"),
            "fail: found unresolved __nv_fmaf, needed a body for every called function");
        row("printf is the driver's", calling("vprintf"), "");
        row("another entry", ptxText("8.5", "sm_87", "saxpy", "// meta:name=matmul\n"),
            "fail: found entry saxpy, needed matmul (// meta:name)");
        row("the same entry", ptxText("8.5", "sm_87", "saxpy", "// meta:name=saxpy\n"), "");
    }
    void integrity() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, expected);
        CheckFixture fixture;
        fixture.file("cache/saxpy.o", bytes.toStdString());
        fixture.kernels = readShippedKernels(fixture.package, fixture.progress).value();
        QCOMPARE(fixture.kernels.size(), std::size_t(1));
        const auto said = QString::fromStdString(fixture.say("kernel-integrity"));
        QVERIFY2(expected == "fail" ? said.startsWith("fail: ") : said == expected, qPrintable(said));
    }

    void aCacheBuiltUnderAnotherPtxVersionMissesAndTheFixNamesIt() {
        CheckFixture fixture;
        fixture.keyed("saxpy", "saxpy-id", "sm_87", PtxVersion{8, 2});
        fixture.package.env["TEENYC_PTX_VERSION"] = "85";
        const auto wanted =
            "saxpy_" + cacheKey("saxpy-id", "sm_87", PtxVersion{8, 5}) + ".o (sm_87, TEENYC_PTX_VERSION=85)";
        QCOMPARE(fixture.say("cache-keys"), "fail: found a key for sm_87, TEENYC_PTX_VERSION=82, needed " + wanted);
        QCOMPARE(fixture.run("cache-keys")[0].fix,
                 std::string("set TEENYC_PTX_VERSION=82 in conf/env (slipway package writes it)"));
        fixture.package.env["TEENYC_PTX_VERSION"] = "82";
        QCOMPARE(fixture.say("cache-keys"), std::string());
    }

    void confEnvWinsOverTheBoardsOwnEnvironment() {
        CheckFixture fixture;
        fixture.keyed("saxpy", "id", "sm_87", PtxVersion{8, 2});
        QVERIFY2(fixture.say("cache-keys").find("TEENYC_PTX_VERSION not set") != std::string::npos,
                 fixture.say("cache-keys").c_str());
        fixture.facts.env = std::map<std::string, std::string>{{"TEENYC_PTX_VERSION", "82"}};
        QCOMPARE(fixture.say("cache-keys"), std::string());
        fixture.package.env["TEENYC_PTX_VERSION"] = "85";
        QVERIFY(fixture.say("cache-keys").starts_with("fail"));
    }

    void aCacheForAnotherCapabilityMisses() {
        CheckFixture fixture;
        fixture.keyed("saxpy", "id", "sm_89", std::nullopt);
        QVERIFY2(fixture.say("cache-keys").starts_with("fail: found a key for sm_89, TEENYC_PTX_VERSION not set"),
                 fixture.say("cache-keys").c_str());
        fixture.keyed("saxpy", "id", "sm_87", std::nullopt);
        QCOMPARE(fixture.say("cache-keys"), std::string());
    }

    void withoutAnIdTheKeyIsUnknown() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.5 sm_87"}, std::string(64, 'a'));
        QCOMPARE(
            fixture.say("cache-keys"),
            std::string("unknown: found 1 kernels without a recorded id or source, needed that fact, to check this"));
    }

    void theIdIsRecoveredFromTheSourceBesideTheImage() {
        CheckFixture fixture;
        const std::string source = "fn kernel() {\n}\n";
        const auto hash = cacheKey(sourceId(source), "sm_87", PtxVersion{8, 5});
        fixture.images("saxpy", {"ptx 8.5 sm_87"}, hash);
        QVERIFY(writeFileAtomically(fixture.package.directory / "saxpy.rs", "#![prelude]\nuse x;\n" + source));
        fixture.kernels[0].entry.companions = {fixture.package.directory / "saxpy.rs"};
        QVERIFY(fixture.say("cache-keys").starts_with("fail"));
        fixture.package.env["TEENYC_PTX_VERSION"] = "85";
        QCOMPARE(fixture.say("cache-keys"), std::string());
    }

    void theEnvironmentMustBeTheOneOfTheCache() {
        CheckFixture fixture;
        fixture.images("saxpy", {"ptx 8.5 sm_87"});
        fixture.package.manifest.ptx = PtxVersion{8, 2};
        QCOMPARE(fixture.say("runtime-env"), std::string("fail: found TEENYC_PTX_VERSION not set, needed "
                                                         "TEENYC_PTX_VERSION=82, with which the cache was built"));
        fixture.package.env["TEENYC_PTX_VERSION"] = "85";
        QVERIFY(fixture.say("runtime-env").starts_with("fail: found TEENYC_PTX_VERSION=85"));
        fixture.package.env["TEENYC_PTX_VERSION"] = "8.2";
        QVERIFY(fixture.say("runtime-env").starts_with("fail: found TEENYC_PTX_VERSION=8.2, needed 82"));
        fixture.package.env["TEENYC_PTX_VERSION"] = "82";
        QCOMPARE(fixture.say("runtime-env"), std::string());
        fixture.package.env["TEENYC_CACHE_DIR"] = "/home/dev/cache";
        QVERIFY(fixture.say("runtime-env").starts_with("fail: found TEENYC_CACHE_DIR=/home/dev/cache"));
        fixture.package.env["TEENYC_CACHE_DIR"] = "$RELEASE/cache";
        QCOMPARE(fixture.say("runtime-env"), std::string());
    }
};

QTEST_APPLESS_MAIN(TestKernelChecks)
#include "tst_kernelchecks.moc"
