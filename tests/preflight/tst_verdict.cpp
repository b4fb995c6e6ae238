// SPDX-License-Identifier: Apache-2.0
//
// The whole pre-flight on packages on disk: the four classic mistakes each beside the package that is one step from it,
// the verdict's JSON form, and what stops a deploy.

#include "core/preflight/gather.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

#include <mutex>

using namespace slipway;

namespace {

/// A package as `slipway aot` and `slipway package` make it: one kernel, an F16 model.
struct Scenario {
    std::string target = "sm_87";
    std::string ptx = "8.5";
    std::optional<PtxVersion> keyPtx = PtxVersion{8, 5};
    std::string envPtx = "85";
    std::string dtype = "F16";
    bool cache = true;
};

Result<Verdict> judge(CheckFixture &fixture, const Scenario &scenario) {
    const std::string header = R"({"w":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}})";
    fixture.file("data/model.safetensors", std::string(1, char(header.size())) + std::string(7, '\0') + header + "ab");
    auto &manifest = fixture.package.manifest;
    manifest.models = {{.path = "data/model.safetensors", .dtype = scenario.dtype}};
    manifest.ptx = scenario.keyPtx;
    fixture.package.env = {{"TEENYC_PTX_VERSION", scenario.envPtx}, {"TEENYC_CACHE_DIR", "$RELEASE/cache"}};
    const auto hash = cacheKey("saxpy-id", Capability::parse(scenario.target)->baseline().sm(), scenario.keyPtx);
    manifest.kernels = {{.name = "saxpy", .hash = hash, .id = "saxpy-id", .kind = "llvm-ir"}};
    fs::create_directories(fixture.package.directory / "cache");
    if (scenario.cache)
        fixture.file("cache/saxpy_" + hash + ".o", ptxText(scenario.ptx, scenario.target));
    return preflight(fixture.evidence(), fixture.progress);
}

/// ids of the checks with this status.
std::vector<std::string> with(const Verdict &verdict, Status status) {
    std::vector<std::string> ids;
    for (const auto &finding : verdict.findings) {
        if (finding.status == status)
            ids.push_back(finding.id);
    }
    return ids;
}

} // namespace

class TestVerdict : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theRightPackagePasses() {
        CheckFixture fixture;
        const auto verdict = judge(fixture, {});
        QVERIFY(verdict);
        QVERIFY2(verdict->status == Status::pass, jsonText(verdict->toJson()).c_str());
        QCOMPARE(blockingChecks(*verdict, {}).value(), std::vector<std::string>());
    }

    void theFourClassicMistakesAreStopped_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QStringList>("failing");
        QTest::newRow("sm_89 kernels for an Orin") << 1 << QStringList{"capability", "cache-keys"};
        QTest::newRow("PTX 8.7 for JetPack 6.2") << 2 << QStringList{"ptx-version"};
        QTest::newRow("PTX 8.6 for sm_120a") << 3 << QStringList{"capability", "ptx-version", "cache-keys"};
        QTest::newRow("an empty cache") << 4 << QStringList{"cache-present", "cache-present"};
        QTest::newRow("built under another TEENYC_PTX_VERSION") << 5 << QStringList{"cache-keys", "runtime-env"};
        QTest::newRow("an F16 model declared I8") << 6 << QStringList{"dtype"};
    }
    void theFourClassicMistakesAreStopped() {
        QFETCH(int, which);
        QFETCH(QStringList, failing);
        Scenario scenario;
        if (which == 1)
            scenario.target = "sm_89";
        if (which == 2)
            scenario.ptx = "8.7";
        if (which == 3)
            scenario.target = "sm_120a", scenario.ptx = "8.6";
        if (which == 4)
            scenario.cache = false;
        if (which == 5)
            scenario.keyPtx = PtxVersion{8, 2};
        if (which == 6)
            scenario.dtype = "I8";
        CheckFixture fixture;
        const auto verdict = judge(fixture, scenario);
        QVERIFY(verdict);
        QCOMPARE(verdict->status, Status::fail);
        QStringList ids;
        for (const auto &id : with(*verdict, Status::fail))
            ids << QString::fromStdString(id);
        QCOMPARE(ids, failing);
        for (const auto &finding : verdict->findings) {
            if (finding.status == Status::fail)
                QVERIFY2(!finding.found.empty() && !finding.needed.empty() && !finding.why.empty() &&
                             !finding.fix.empty(),
                         finding.id.c_str());
        }
        const auto blocking = blockingChecks(*verdict, {}).value();
        QCOMPARE(stoppedBy(*verdict, blocking).kind, ErrorKind::stopped);
    }

    void theJsonFormIsThatOfTheDesign() {
        CheckFixture fixture;
        const auto json = judge(fixture, {.ptx = "8.7"})->toJson();
        QCOMPARE(json.size(), std::size_t(3));
        QCOMPARE(json["verdict"].get<std::string>(), std::string("fail"));
        std::set<std::string> ids;
        for (const auto &check : json["checks"]) {
            QCOMPARE(check.size(), std::size_t(7));
            for (const auto *key : {"id", "status", "subject", "found", "needed", "why", "fix"})
                QVERIFY(check.at(key).is_string());
            ids.insert(check["id"].get<std::string>());
        }
        QCOMPARE(ids.size(), checks().size()); // no check hides another
    }

    void aFailingCheckCanBeAllowedButNotAHardOneNorOneThatDoesNotExist() {
        CheckFixture fixture;
        const auto verdict = judge(fixture, {.ptx = "8.7"}).value();
        QCOMPARE(blockingChecks(verdict, {}).value(), std::vector<std::string>{"ptx-version"});
        QCOMPARE(blockingChecks(verdict, {"ptx-version"}).value(), std::vector<std::string>());
        const auto hard = blockingChecks(verdict, {"elf-arch"});
        QVERIFY(!hard);
        QCOMPARE(hard.error().kind, ErrorKind::usage);
        QCOMPARE(hard.error().message, std::string("elf-arch cannot be allowed to fail: the program would not start"));
        const auto typo = blockingChecks(verdict, {"ptx-verison"});
        QVERIFY(!typo);
        QCOMPARE(typo.error().hint, std::string("did you mean ptx-version?"));
    }

    void savedFactsSayHowOldTheyAre() {
        auto facts = orinFacts();
        QCOMPARE(savedFactsSource("facts.json", facts, 2'000'000'000), std::string("facts.json, of unknown age"));
        facts.readAt = 2'000'000'000 - 90;
        QCOMPARE(savedFactsSource("facts.json", facts, 2'000'000'000), std::string("facts.json, 1 minute old"));
        facts.readAt = 2'000'000'000 - 7200;
        QCOMPARE(savedFactsSource("facts.json", facts, 2'000'000'000), std::string("facts.json, 2 hours old"));
        facts.readAt = 2'000'000'000 - 3 * 86400;
        QCOMPARE(savedFactsSource("facts.json", facts, 2'000'000'000),
                 std::string("facts.json, 3 days old: the board may have changed since (slipway device facts NAME --json reads it again)"));
        facts.readAt = 2'000'000'000 + 5; // the clock of the machine that read them
        QCOMPARE(savedFactsSource("facts.json", facts, 2'000'000'000), std::string("facts.json, 0 minutes old"));
    }

    void theJsonFormSaysWhereTheFactsAreFromAndHowOldTheyAre() {
        CheckFixture fixture;
        auto evidence = fixture.evidence();
        evidence.factsSource = "facts.json, 3 days old";
        evidence.facts.readAt = 1764433500;
        const auto facts = preflight(evidence, fixture.progress)->toJson()["facts"];
        QCOMPARE(facts["source"].get<std::string>(), std::string("facts.json, 3 days old"));
        QCOMPARE(facts["read_at"].get<long>(), 1764433500L);
        evidence.profileOnly = true; // nobody read them
        QVERIFY(preflight(evidence, fixture.progress)->toJson()["facts"]["read_at"].is_null());
    }

    void theChecksSeeWhatWasExpectedOfTheBoard() {
        CheckFixture fixture;
        auto evidence = fixture.evidence();
        evidence.expectedMachineId = "another";
        evidence.expectedSerial = "1424";
        evidence.facts.serial = "1425";
        const auto verdict = preflight(evidence, fixture.progress).value();
        const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const auto &f) { return f.id == "board-identity"; });
        QCOMPARE(found->status, Status::fail);
        QCOMPARE(found->needed, std::string("1424, as the last time"));
    }

    void unknownNeverCountsAsAPass() {
        CheckFixture fixture;
        fixture.facts.cudaDriver.reset();
        fixture.facts.l4t.reset();
        fixture.facts.jetpack.reset();
        const auto verdict = judge(fixture, {}).value();
        QCOMPARE(verdict.status, Status::unknown);
        QCOMPARE(with(verdict, Status::unknown), std::vector<std::string>{"ptx-version"});
    }

    void readingIsReportedKernelByKernel() {
        CheckFixture fixture;
        fixture.file("cache/a.o", ptxText("8.5", "sm_87", "a"));
        fixture.file("cache/b.o", ptxText("8.5", "sm_87", "b"));
        std::vector<Event> events;
        std::mutex mutex;
        Progress progress([&](const Event &event) {
            const std::lock_guard lock(mutex);
            events.push_back(event);
        }, {});
        QVERIFY(preflight(fixture.evidence(), progress));
        const auto read = std::find_if(events.begin(), events.end(), [](const auto &e) { return e.kind == Event::Kind::end && e.unit == Event::Unit::kernels; });
        QVERIFY(read != events.end());
        QCOMPARE(read->done, std::uint64_t(2));
        QCOMPARE(read->total, std::uint64_t(2));
    }

    void aPassOfTheImagesSaysWhatPtxasWasAsked() {
        CheckFixture fixture;
        fixture.file("cache/a.o", ptxText("8.5", "sm_87", "a"));
        fixture.file("cache/b.o", ptxText("8.5", "sm_87", "b"));
        const auto passed = [&](const std::string &ptxas) {
            auto evidence = fixture.evidence();
            evidence.ptxas = ptxas;
            const auto verdict = preflight(evidence, fixture.progress).value();
            const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(), [](const auto &f) { return f.id == "kernel-integrity"; });
            return fmt::format("{}: {}", statusName(found->status), found->found);
        };
        QCOMPARE(passed(""), std::string("pass: 2 kernels are whole"));
        QCOMPARE(passed("/bin/true"), std::string("pass: 2 kernels are whole; ptxas assembled 2 of 2 for sm_87"));
        const auto old = (fixture.package.directory / "ptxas").string(); // as a ptxas that does not know the version answers
        QVERIFY(writeFileAtomically(old, "#!/bin/sh\necho 'ptxas fatal : Unsupported .version 8.5' >&2\nexit 255\n", 0755));
        QCOMPARE(passed(old), std::string("pass: 2 kernels are whole; ptxas assembled 0 of 2 for sm_87"));
    }

    void cancellingEndsIt() {
        CheckFixture fixture;
        std::stop_source stop;
        stop.request_stop();
        Progress progress([](const Event &) {}, stop.get_token());
        const auto verdict = preflight(fixture.evidence(), progress);
        QVERIFY(!verdict);
        QCOMPARE(verdict.error().kind, ErrorKind::cancelled);
    }
};

QTEST_APPLESS_MAIN(TestVerdict)
#include "tst_verdict.moc"
