// SPDX-License-Identifier: Apache-2.0
//
// The checks of programs and libraries, by what their ELF headers say.

#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

namespace {

ElfImage program() {
    return {.machine = "aarch64",
            .type = "executable",
            .interpreter = "/lib/ld-linux-aarch64.so.1",
            .needed = {"libc.so.6"},
            .versions = {{.library = "libc.so.6", .version = "GLIBC_2.34", .symbols = {"__libc_start_main"}}}};
}

/// Changes one thing of a program and tells what a check says.
std::string say(const char *id, const std::function<void(ElfImage &)> &change) {
    CheckFixture fixture;
    auto elf = program();
    change(elf);
    fixture.elves = {{.path = "bin/app", .elf = elf}};
    return fixture.say(id);
}

} // namespace

class TestBinaryChecks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void aProgramForTheBoardPassesEverything() {
        for (const auto *id : {"elf-arch", "glibc", "needed-libs", "rpath"})
            QCOMPARE(say(id, [](ElfImage &) {}), std::string());
        QCOMPARE(say("libstdcxx", [](ElfImage &) {}), std::string("skipped: no binary needs the C++ library"));
    }

    void anotherMachineClassOrInterpreterFails() {
        QCOMPARE(say("elf-arch", [](ElfImage &e) { e.machine = "x86_64"; }),
                 std::string("fail: found x86_64, needed aarch64"));
        QCOMPARE(say("elf-arch", [](ElfImage &e) { e.machine = "arm", e.bits = 32; }),
                 std::string("fail: found arm, 32 bits, needed aarch64"));
        QCOMPARE(say("elf-arch", [](ElfImage &e) { e.interpreter = "/lib/ld-musl-aarch64.so.1"; }),
                 std::string("fail: found interpreter /lib/ld-musl-aarch64.so.1, needed /lib/ld-linux-aarch64.so.1"));
        QCOMPARE(say("elf-arch", [](ElfImage &e) { e.interpreter.clear(); }), std::string());
        QVERIFY(say("elf-arch", [](ElfImage &e) { e.damage = {"it ends inside its header"}; }).starts_with("fail"));
    }

    void aNewerGlibcFailsAndEveryVersionIsNamed() {
        const auto said = say("glibc", [](ElfImage &e) {
            e.versions.push_back(
                {.library = "libc.so.6", .version = "GLIBC_2.38", .symbols = {"__isoc23_strtol", "strlcpy"}});
            e.versions.push_back({.library = "libc.so.6", .version = "GLIBC_2.36", .symbols = {"arc4random"}});
        });
        QCOMPARE(said, std::string("fail: found needs GLIBC_2.38 (__isoc23_strtol, strlcpy), GLIBC_2.36 (arc4random), "
                                   "needed at most GLIBC_2.35"));
        QCOMPARE(say("glibc", [](ElfImage &e) { e.versions[0].version = "GLIBC_2.35"; }), std::string());
        QCOMPARE(say("glibc", [](ElfImage &e) { e.versions[0].version = "GLIBC_2.9"; }), std::string());
        QCOMPARE(say("glibc", [](ElfImage &e) { e.versions[0].version = "GLIBC_PRIVATE"; }), std::string());
        QCOMPARE(say("glibc", [](ElfImage &e) { e.versions.push_back({.version = "GLIBC_2.38", .weak = true}); }),
                 std::string());
    }

    void anUnknownGlibcIsUnknown() {
        CheckFixture fixture;
        fixture.elves = {{.path = "bin/app", .elf = program()}};
        fixture.facts.glibc.reset();
        QVERIFY(fixture.say("glibc").starts_with("unknown"));
    }

    void theCxxLibraryIsCompared() {
        QCOMPARE(say("libstdcxx", [](ElfImage &e) { e.versions.push_back({.version = "GLIBCXX_3.4.32"}); }),
                 std::string("fail: found needs GLIBCXX_3.4.32, needed at most GLIBCXX_3.4.30"));
        QCOMPARE(say("libstdcxx", [](ElfImage &e) { e.versions.push_back({.version = "GLIBCXX_3.4.30"}); }),
                 std::string());
        QCOMPARE(say("libstdcxx", [](ElfImage &e) { e.versions.push_back({.version = "CXXABI_1.3.14"}); }),
                 std::string("fail: found needs CXXABI_1.3.14, needed at most CXXABI_1.3.13"));
        QCOMPARE(say("libstdcxx", [](ElfImage &e) { e.versions.push_back({.version = "CXXABI_TM_1"}); }),
                 std::string("skipped: no binary needs the C++ library"));
    }

    void aShippedCxxLibraryCounts() {
        CheckFixture fixture;
        auto elf = program();
        elf.versions.push_back({.version = "GLIBCXX_3.4.32"});
        fixture.elves = {{.path = "bin/app", .elf = elf},
                         {.path = "bin/libstdc++.so.6",
                          .elf = {.machine = "aarch64",
                                  .soname = "libstdc++.so.6",
                                  .defines = {"GLIBCXX_3.4.30", "GLIBCXX_3.4.33"}}}};
        QCOMPARE(fixture.say("libstdcxx"), std::string());
    }

    void aLibraryThatIsNowhereFails() {
        QCOMPARE(say("needed-libs", [](ElfImage &e) { e.needed.emplace_back("libopencv_core.so.4"); }),
                 std::string("fail: found needs libopencv_core.so.4, needed each in the package or on the board"));
        QCOMPARE(say("needed-libs", [](ElfImage &e) { e.needed.emplace_back("libm.so.6"); }), std::string());
        QCOMPARE(say("needed-libs", [](ElfImage &e) { e.needed.emplace_back("libcuda.so.1"); }), std::string());
    }

    void theDriversOwnLibrariesAndStubsAreNotShipped() {
        for (const auto *path : {"bin/libcuda.so.1", "bin/libnvidia-ml.so.1", "data/stubs/libcublas.so"}) {
            CheckFixture fixture;
            fixture.elves = {{.path = path, .elf = {.machine = "aarch64"}}};
            QCOMPARE(fixture.say("needed-libs"), std::string("fail: found a library of the driver (or its stub), needed the board's own"));
        }
    }

    void aShippedLibraryCountsWhereTheLoaderLooks_data() {
        QTest::addColumn<QString>("rpath");
        QTest::addColumn<QString>("runpath");
        QTest::addColumn<QString>("environment");
        QTest::addColumn<QString>("said");
        const QString lost = "fail: found ships libmine.so.1 (bin/lib/libmine.so.1), where the loader does not look, needed an RPATH that leads there";
        QTest::newRow("no path") << "" << "" << "" << lost;
        QTest::newRow("RUNPATH") << "" << "$ORIGIN/lib" << "" << "";
        QTest::newRow("RPATH") << "$ORIGIN/../bin/lib" << "" << "" << "";
        QTest::newRow("RUNPATH hides RPATH") << "$ORIGIN/lib" << "$ORIGIN" << "" << lost;
        QTest::newRow("out of the package") << "" << "$ORIGIN/../../lib" << "" << lost;
        QTest::newRow("LD_LIBRARY_PATH") << "" << "" << "$RELEASE/bin/lib" << "";
    }
    void aShippedLibraryCountsWhereTheLoaderLooks() {
        QFETCH(QString, rpath);
        QFETCH(QString, runpath);
        QFETCH(QString, environment);
        QFETCH(QString, said);
        CheckFixture fixture;
        auto elf = program();
        elf.needed.emplace_back("libmine.so.1");
        if (!rpath.isEmpty())
            elf.rpath = {rpath.toStdString()};
        if (!runpath.isEmpty())
            elf.runpath = {runpath.toStdString()};
        if (!environment.isEmpty())
            fixture.package.env["LD_LIBRARY_PATH"] = environment.toStdString();
        fixture.elves = {{.path = "bin/app", .elf = elf}, {.path = "bin/lib/libmine.so.1", .elf = {.machine = "aarch64", .soname = "libmine.so.1"}}};
        QCOMPARE(fixture.say("needed-libs"), said.toStdString());
    }

    void aLibrarysLibraryIsFoundByTheProgramsRpathButNotByItsRunpath() {
        for (const bool runpath : {false, true}) {
            CheckFixture fixture;
            auto elf = program();
            elf.needed = {"liba.so"};
            (runpath ? elf.runpath : elf.rpath) = {"$ORIGIN/lib"};
            fixture.elves = {{.path = "bin/app", .elf = elf},
                             {.path = "bin/lib/liba.so", .elf = {.machine = "aarch64", .needed = {"libb.so"}}},
                             {.path = "bin/lib/libb.so", .elf = {.machine = "aarch64"}}};
            QCOMPARE(fixture.say("needed-libs").substr(0, 4), std::string(runpath ? "fail" : ""));
        }
    }

    void anotherProcessorsLibraryIsNoLibrary() {
        CheckFixture fixture;
        auto elf = program();
        elf.needed = {"libmine.so"};
        elf.runpath = {"$ORIGIN"};
        fixture.elves = {{.path = "bin/app", .elf = elf}, {.path = "bin/libmine.so", .elf = {.machine = "x86_64"}}};
        QCOMPARE(fixture.say("needed-libs"), std::string("fail: found needs libmine.so, needed each in the package or on the board"));
        fixture.elves[1].elf.machine = "aarch64";
        QCOMPARE(fixture.say("needed-libs"), std::string());
    }

    void aFolderOfTheBoardWhoseFilesAreNotKnownIsUnknownUntilThereIsASysroot() {
        CheckFixture fixture;
        auto elf = program();
        elf.needed = {"libcudart.so.12"};
        elf.runpath = {"/usr/local/cuda/lib64"};
        fixture.elves = {{.path = "bin/app", .elf = elf}};
        QVERIFY2(fixture.say("needed-libs").starts_with("unknown: found needs libcudart.so.12 from /usr/local/cuda/lib64"), fixture.say("needed-libs").c_str());
        QTemporaryDir root;
        auto evidence = fixture.evidence();
        evidence.sysroot = Sysroot{.path = root.path().toStdString()};
        const auto check = std::find_if(checks().begin(), checks().end(), [](const auto &c) { return std::string_view(c.id) == "needed-libs"; });
        QCOMPARE(check->run(evidence, fixture.progress).at(0).status, Status::fail);
        QVERIFY(writeFileAtomically(fs::path(root.path().toStdString()) / "usr/local/cuda/lib64/libcudart.so.12", "x"));
        QVERIFY(check->run(evidence, fixture.progress).empty());
    }

    void aScriptThatSetsTheLibraryPathIsBelieved() {
        CheckFixture fixture;
        auto elf = program();
        elf.needed = {"libmine.so"};
        fixture.elves = {{.path = "bin/app", .elf = elf}, {.path = "data/lib/libmine.so", .elf = {.machine = "aarch64"}}};
        QVERIFY(fixture.say("needed-libs").starts_with("fail"));
        fixture.file("bin/start", "#!/bin/sh\nLD_LIBRARY_PATH=data/lib exec bin/app\n");
        QCOMPARE(fixture.say("needed-libs"), std::string());
    }

    void aVersionThatTheShippedLibraryLacksFails() {
        CheckFixture fixture;
        auto elf = program();
        elf.needed = {"libmine.so.1"};
        elf.runpath = {"$ORIGIN"};
        elf.versions = {{.library = "libmine.so.1", .version = "MINE_2"}};
        fixture.elves = {{.path = "bin/app", .elf = elf}, {.path = "bin/libmine.so.1", .elf = {.machine = "aarch64", .soname = "libmine.so.1", .defines = {"MINE_1"}}}};
        QCOMPARE(fixture.say("needed-libs"), std::string("fail: found needs MINE_2 of libmine.so.1, needed a bin/libmine.so.1 that has it (this one ends at MINE_1)"));
        fixture.elves[1].elf.defines.insert("MINE_2");
        QCOMPARE(fixture.say("needed-libs"), std::string());
    }

    void hostSysrootAndStubPathsFail_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<bool>("good");
        for (const auto *bad : {"/usr/local/cuda/lib64/stubs", "/home/dev/build", "/tmp/sysroot/usr/lib",
                                "/root/miniforge3/lib", "", "/usr/libexec2/x", "relative"})
            QTest::addRow("bad %s", bad) << bad << false;
        for (const auto *good : {"$ORIGIN", "$ORIGIN/../lib", "${ORIGIN}/lib", "/usr/lib/aarch64-linux-gnu",
                                 "/usr/local/cuda/lib64", "/usr/local/cuda-12.6/lib64", "/lib"})
            QTest::addRow("good %s", good) << good << true;
    }
    void hostSysrootAndStubPathsFail() {
        QFETCH(QString, path);
        QFETCH(bool, good);
        const auto said = say("rpath", [&](ElfImage &e) { e.runpath = {path.toStdString()}; });
        QVERIFY2(good ? said.empty() : said.starts_with("fail: found RPATH "), said.c_str());
    }
};

QTEST_APPLESS_MAIN(TestBinaryChecks)
#include "tst_binarychecks.moc"
