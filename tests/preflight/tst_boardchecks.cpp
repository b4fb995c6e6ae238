// SPDX-License-Identifier: Apache-2.0
//
// The checks of the board itself.

#include "tests/deploy/localsession.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

#include <unistd.h>

using namespace slipway;

class TestBoardChecks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theRightBoardPasses() {
        CheckFixture fixture;
        for (const auto *id : {"board-identity", "disk-space", "noexec", "clock", "remote-shell", "remote-tools"})
            QCOMPARE(fixture.say(id), std::string());
    }

    void aProfileHasNoDisksAndNoClock() {
        CheckFixture fixture;
        auto evidence = fixture.evidence();
        evidence.profileOnly = true;
        for (const auto *id :
             {"board-identity", "disk-space", "dest-writable", "noexec", "clock", "remote-shell", "remote-tools"}) {
            const auto check = std::find_if(checks().begin(), checks().end(),
                                            [&](const auto &c) { return std::string_view(c.id) == id; });
            QCOMPARE(check->run(evidence, fixture.progress).at(0).status, Status::skipped);
        }
    }

    void anotherKindOfBoardFailsAndOneOfTheSameGpuWarns() {
        CheckFixture fixture;
        fixture.package.manifest.target = "jetson-agx-thor";
        QVERIFY2(fixture.say("board-identity").starts_with("fail: found jetson-orin-nano"),
                 fixture.say("board-identity").c_str());
        fixture.package.manifest.target = "jetson-agx-orin";
        QVERIFY2(fixture.say("board-identity").starts_with("warn: found jetson-orin-nano"),
                 fixture.say("board-identity").c_str());
    }

    void anotherMachineIdFails() {
        CheckFixture fixture;
        auto evidence = fixture.evidence();
        evidence.expectedMachineId = "fedcba";
        const auto check = std::find_if(checks().begin(), checks().end(),
                                        [](const auto &c) { return std::string_view(c.id) == "board-identity"; });
        const auto findings = check->run(evidence, fixture.progress);
        QCOMPARE(findings.size(), std::size_t(1));
        QCOMPARE(findings[0].status, Status::fail);
        QCOMPARE(findings[0].needed, std::string("fedcba, as the last time"));
        evidence.expectedMachineId = "0123456789abcdef";
        QVERIFY(check->run(evidence, fixture.progress).empty());
    }

    void aFullDiskFailsWithBothNumbers() {
        CheckFixture fixture;
        fixture.package.manifest.files = {{.path = "data/big", .size = 1'000'000'000}};
        fixture.facts.disks->front().freeBytes = 900'000'000;
        QVERIFY2(fixture.say("disk-space").starts_with("fail: found 900.0 MB free, needed 1.0 GB for the release"),
                 fixture.say("disk-space").c_str());
        fixture.facts.disks->front().freeBytes = 1'100'000'000;
        QCOMPARE(fixture.say("disk-space"), std::string());
        fixture.facts.disks->push_back({.mount = "/opt", .freeBytes = 1000});
        QVERIFY(fixture.say("disk-space").starts_with("fail: found 1000 B free") ||
                fixture.say("disk-space").starts_with("fail: found 1.0 kB free"));
        fixture.facts.disks.reset();
        QVERIFY(fixture.say("disk-space").starts_with("unknown"));
    }

    void readOnlyNoexecAndTmpfsDestinations() {
        CheckFixture fixture;
        auto &disk = fixture.facts.disks->front();
        disk.readOnly = true;
        QCOMPARE(fixture.say("dest-writable"),
                 std::string("fail: found / is mounted read-only, needed a file system that can be written"));
        disk.readOnly = false;
        QVERIFY(fixture.say("dest-writable").starts_with("skipped"));
        disk.noexec = true;
        QCOMPARE(fixture.say("noexec"),
                 std::string("fail: found mounted noexec, needed a file system that programs may run from"));
        disk.noexec = false;
        disk.type = "tmpfs";
        QVERIFY(fixture.say("noexec").starts_with("warn"));
    }

    void theLiveBoardSaysWhetherTheLoginMayWrite() {
        CheckFixture fixture;
        LocalSession session;
        auto evidence = fixture.evidence();
        evidence.session = &session;
        const auto check = std::find_if(checks().begin(), checks().end(),
                                        [](const auto &c) { return std::string_view(c.id) == "dest-writable"; });
        const auto inside = fixture.package.directory.string();
        evidence.dest = inside + "/a/b/c";
        QVERIFY(check->run(evidence, fixture.progress).empty());
        QVERIFY(!fs::exists(inside + "/a"));
        QVERIFY(writeFileAtomically(inside + "/file", "x"));
        evidence.dest = inside + "/file/app";
        QCOMPARE(check->run(evidence, fixture.progress).at(0).found, inside + "/file is not a directory");
    }

    void aClockBeforeTheSourcesFailsAndALittleSkewPasses() {
        CheckFixture fixture;
        fixture.package.manifest.builtAt = 1'790'000'000;
        fixture.facts.readAt = 1'796'000'000;
        fixture.facts.clockSkewSeconds = -1'795'000'000; // 1970
        QVERIFY(fixture.say("clock").starts_with("fail"));
        fixture.facts.clockSkewSeconds = -400;
        QVERIFY(fixture.say("clock").starts_with("warn"));
        fixture.facts.clockSkewSeconds = 20;
        QCOMPARE(fixture.say("clock"), std::string());
        fixture.facts.clockSkewSeconds.reset();
        QVERIFY(fixture.say("clock").starts_with("unknown"));
    }

    void aLoudShellAndMissingToolsFail() {
        CheckFixture fixture;
        fixture.facts.shellQuiet = false;
        QVERIFY(fixture.say("remote-shell").starts_with("fail"));
        fixture.facts.tools->erase("sha256sum");
        QCOMPARE(fixture.say("remote-tools"),
                 std::string("fail: found no sha256sum, needed a POSIX shell, tar and sha256sum"));
        fixture.facts.tools.reset();
        QVERIFY(fixture.say("remote-tools").starts_with("unknown"));
    }
};

QTEST_APPLESS_MAIN(TestBoardChecks)
#include "tst_boardchecks.moc"
