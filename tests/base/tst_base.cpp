// SPDX-License-Identifier: Apache-2.0
//
// Results, progress, jobs, child processes, files, digests and text: what every operation stands on.

#include "core/base/digest.h"
#include "core/base/job.h"
#include "core/base/json.h"
#include "core/base/process.h"
#include "core/base/text.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <sys/stat.h>

using namespace slipway;

class TestBase : public QObject {
    Q_OBJECT

    QTemporaryDir m_dir;
    [[nodiscard]] fs::path at(const char *name) const { return fs::path(m_dir.path().toStdString()) / name; }

private Q_SLOTS:
    void errorsGainTheirContextLevelByLevel() {
        const auto inner = []() -> Result<int> { return fail("found {}", 3); };
        const auto outer = [&]() -> Result<int> { return TRY_IN(inner(), "reading a.json"); };
        QCOMPARE(outer().error().message, std::string("reading a.json: found 3"));
    }

    void exitCodesAreThoseOfTheDesign() {
        QCOMPARE(exitCode(ErrorKind::failed), 1);
        QCOMPARE(exitCode(ErrorKind::usage), 2);
        QCOMPARE(exitCode(ErrorKind::stopped), 3);
        QCOMPARE(exitCode(ErrorKind::rolledBack), 4);
        QCOMPARE(exitCode(ErrorKind::cancelled), 130);
        QCOMPARE(exitCode(ErrorKind::unreachable), 1);
    }

    void stepsNestByScopeAndCountAsFailedUnlessDone() {
        std::vector<std::string> log;
        Progress progress(
            [&](const Event &e) {
                static const char *names[] = {"begin", "advance", "end", "skip", "fail", "note", "warning"};
                log.push_back(fmt::format("{}{} {}", std::string(std::size_t(e.depth), '.'), names[int(e.kind)], e.text));
            },
            {});
        {
            auto outer = progress.step("outer");
            {
                auto inner = progress.step("inner");
                progress.note("hello");
            }
            {
                auto same = progress.step("same");
                same.skip("unchanged");
            }
            outer.done("all");
        }
        const std::vector<std::string> expected{".begin outer", "..begin inner", "...note hello",  "..fail ",
                                                "..begin same", "..skip unchanged", ".end all"};
        QCOMPARE(log, expected);
    }

    void aStepReportsAtMostTenTimesASecond() {
        int advances = 0;
        Progress progress([&](const Event &e) { advances += e.kind == Event::Kind::advance; }, {});
        QElapsedTimer timer;
        timer.start();
        auto step = progress.step("copy", 1'000'000, Event::Unit::bytes);
        while (timer.elapsed() < 350)
            step.advance();
        QVERIFY2(advances >= 2 && advances <= 4, qPrintable(QString::number(advances)));
    }

    void cancellingAJobStopsItsChildAndAllThatTheChildStarted() {
        const auto marker = at("marker").string();
        Command command{.program = "sh", .arguments = {"-c", "(sleep 2; touch \"$0\") & sleep 30", marker}};
        Result<void> outcome = {};
        QElapsedTimer timer;
        {
            Job job([&](Progress &p) -> Result<void> { TRY(run(command, p)); return {}; }, {}, [&](const Result<void> &r) { outcome = r; });
            QTest::qWait(200);
            timer.start();
            job.cancel();
            job.wait();
        }
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY(!outcome);
        QCOMPARE(outcome.error().kind, ErrorKind::cancelled);
        QTest::qWait(2100);
        QVERIFY(!fs::exists(marker));
    }

    void aFailedProgramGivesCommandStatusAndTheTailOfItsErrors() {
        Progress progress;
        const auto result = runChecked({.program = "sh", .arguments = {"-c", "echo one >&2; echo 'no space left' >&2; exit 7"}}, progress);
        QVERIFY(!result);
        QCOMPARE(result.error().message, std::string("sh failed with exit status 7: no space left"));
        QVERIFY(result.error().detail.contains("command: sh -c 'echo one >&2; echo '\\''no space left'\\'' >&2; exit 7'"));
    }

    void aProgramThatIsNotThereIsNamed() {
        Progress progress;
        const auto result = run({.program = "no-such-program-here"}, progress);
        QVERIFY(!result);
        QVERIFY(result.error().message.starts_with("cannot start no-such-program-here"));
    }

    void aProgramThatHangsEndsAtItsTimeout() {
        Progress progress;
        const auto result = run({.program = "sleep", .arguments = {"20"}, .timeout = std::chrono::milliseconds(200)}, progress);
        QCOMPARE(result.error().message, std::string("sleep did not end within 200 ms"));
    }

    void linesArriveWholeWhateverTheChunks() {
        Progress progress;
        std::vector<std::string> seen;
        const auto result = run({.program = "printf", .arguments = {"a\\nb\\r\\nlast"}}, progress, [&](std::string_view l) { seen.emplace_back(l); });
        QVERIFY(result);
        QCOMPARE(seen, (std::vector<std::string>{"a", "b", "last"}));
    }

    void quotedWordsSurviveAShellUnchanged() {
        Progress progress;
        for (const std::string word : {"plain", "", "two words", "it's", "$HOME `id` \"x\" \\", "a\nb", "*", "~", "-n", "ü"}) {
            const auto result = run({.program = "sh", .arguments = {"-c", "printf %s " + shellQuote(word)}}, progress);
            QVERIFY(result);
            QCOMPARE(result->output, word);
        }
    }

    void writingAtomicallyLeavesTheOldFileWhenItFails() {
        const auto file = at("sub/x.json");
        QVERIFY(writeFileAtomically(file, "one"));
        QVERIFY(writeFileAtomically(file, "two", 0600));
        QCOMPARE(*readFile(file), std::string("two"));
        struct stat status{};
        ::stat(file.c_str(), &status);
        QCOMPARE(int(status.st_mode & 0777), 0600);
        const auto failed = writeFileAtomically("/proc/none/x", "three");
        QVERIFY(!failed && failed.error().message.starts_with("cannot write /proc/none/x"));
        QCOMPARE(std::distance(fs::directory_iterator(at("sub")), fs::directory_iterator()), 1);
    }

    void aScratchDirectoryVanishesUnlessCommitted() {
        const auto target = at("out");
        fs::path left;
        {
            auto scratch = ScratchDir::in(at("."));
            QVERIFY(scratch);
            left = scratch->path();
            std::ignore = writeFileAtomically(left / "f", "x");
        }
        QVERIFY(!fs::exists(left));
        for (const std::string content : {"first", "second"}) {
            auto scratch = ScratchDir::in(at("."));
            std::ignore = writeFileAtomically(scratch->path() / "f", content);
            QVERIFY(scratch->commit(target));
            QCOMPARE(*readFile(target / "f"), content);
        }
    }

    void aFileLargerThanTheLimitIsRefused() {
        std::ignore = writeFileAtomically(at("big"), std::string(1000, 'x'));
        QVERIFY(readFile(at("big"), 1000));
        QVERIFY(!readFile(at("big"), 999));
    }

    void pathsThatLeaveTheirRootAreRefused_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<bool>("inside");
        for (const auto &[path, inside] : std::initializer_list<std::pair<const char *, bool>>{
                 {"bin/a", true}, {"a..b/c", true}, {"../a", false}, {"a/../b", false}, {"/etc/passwd", false}, {"a//b", false}, {"", false}, {"./a", false}})
            QTest::newRow(path) << QString(path) << inside;
    }
    void pathsThatLeaveTheirRootAreRefused() {
        QFETCH(QString, path);
        QFETCH(bool, inside);
        QCOMPARE(isInsidePath(path.toStdString()), inside);
    }

    void brokenJsonIsReportedWithItsPlace() {
        const auto result = parseJson("{\n  \"a\": 1,\n  \"b\" 2\n}", "slipway.json");
        QVERIFY(!result);
        QVERIFY2(result.error().message.starts_with("slipway.json: line 3, column 7:"), result.error().message.c_str());
    }

    void deeplyNestedJsonIsRefusedBeforeItIsParsed() {
        const auto result = parseJson(std::string(100000, '['), "x.json");
        QCOMPARE(result.error().message, std::string("x.json: nested deeper than 64 levels"));
    }

    void aNumberThatNoDoubleHoldsIsAnErrorNotACrash() { // found by fuzz_devices
        const auto result = parseJson(R"({"keep": 1e999})", "x.json");
        QVERIFY(!result);
        QCOMPARE(result.error().message, std::string("x.json: number overflow parsing '1e999'"));
    }

    void aMemberOfTheWrongTypeIsNamed() {
        const auto json = *parseJson(R"({"keep": "three", "ok": 3})", "x");
        QCOMPARE(member<int>(json, "keep", 1, "slipway.json").error().message, std::string("slipway.json: \"keep\" is string, needed a whole number"));
        QCOMPARE(*member<int>(json, "ok", 1, "slipway.json"), 3);
        QCOMPARE(*member<int>(json, "none", 1, "slipway.json"), 1);
        QVERIFY(!required<int>(json, "none", "slipway.json"));
    }

    void sha256IsTheStandardOne() {
        QCOMPARE(sha256("abc"), std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        std::ignore = writeFileAtomically(at("abc"), "abc");
        Progress progress;
        QCOMPARE(*sha256OfFile(at("abc"), progress), sha256("abc"));
    }

    void versionsCompareNumberByNumber() {
        QCOMPARE(compareVersions("2.9", "2.34"), -1);
        QCOMPARE(compareVersions("2.34", "2.34.0"), 0);
        QCOMPARE(compareVersions("3.4.30", "3.4.4"), 1);
    }

    void textFromOutsideIsMadePrintable() {
        QCOMPARE(printable("a\x1b[31mb\n\xff"), std::string("a [31mb \xEF\xBF\xBD"));
        QCOMPARE(printable(std::string(300, 'x'), 10), std::string("xxxxxxxxxx…"));
    }

    void sizesAndTimesReadAsPeopleWriteThem() {
        QCOMPARE(formatBytes(999), std::string("999 B"));
        QCOMPARE(formatBytes(12'345'678), std::string("12.3 MB"));
        QCOMPARE(formatDuration(std::chrono::milliseconds(245'000)), std::string("4 min 05 s"));
    }
};

QTEST_GUILESS_MAIN(TestBase)
#include "tst_base.moc"
