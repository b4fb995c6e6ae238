// SPDX-License-Identifier: Apache-2.0
//
// Ahead-of-time runs: what is built again and why, PTX versions, options, failures, several processes.

#include "aotfixture.h"

#include <QElapsedTimer>
#include <QProcess>

#include <thread>

using namespace slipway;

namespace {

constexpr const char *fatalIr =
    "declare double @llvm.sin.f64(double)\ndefine ptx_kernel void @fatal(ptr %p) {\n  %v = load double, ptr %p\n"
    "  %r = call double @llvm.sin.f64(double %v)\n  store double %r, ptr %p\n  ret void\n}\n";

/// The notes of a run without ptxas that has nothing else to say.
const std::vector<std::string> quiet = {
    "no ptxas here: the board compiles the PTX at the first load, which takes some 0.2 s a kernel"};

} // namespace

class TestCompile : public QObject, private AotFixture {
    Q_OBJECT

    [[nodiscard]] std::vector<KernelSource> eightKernels(int from) const {
        std::vector<KernelSource> sources;
        for (int i = from; i < from + 8; ++i)
            sources.push_back(source(SourceKind::llvmIr, fmt::format("k{}.ll", i)));
        return sources;
    }

public:
    /// What the other process of a test does.
    int compileIn(const QString &directory, int from) {
        loadCatalog();
        begin();
        m_project = directory.toStdString();
        const auto report = compile(request(eightKernels(from)));
        return report && report->allGood() ? 0 : 1;
    }

private Q_SLOTS:
    void initTestCase() { loadCatalog(); }
    void init() { begin(); }

    void oneRunMakesEverySourceForEveryCapability() {
        write("k/a.ll", llvmIr("a"));
        write("k/b.ll", llvmIr("b"));
        auto asked =
            request({source(SourceKind::llvmIr, "k/a.ll"), source(SourceKind::llvmIr, "k/b.ll")}, {orin, {90, {}}});
        const auto report = compiled(asked);
        QCOMPARE(report.outcomes.size(), std::size_t(4));
        QVERIFY(report.allGood());
        QCOMPARE(files().size(), std::size_t(4));
        const auto &record = report.outcomes[0].record;
        QCOMPARE(record.hash, cacheKey(sourceId(llvmIr("a")), "sm_87", PtxVersion{8, 2}));
        QCOMPARE(record.why, std::string("new"));
        QVERIFY(record.tool.starts_with("LLVM "));
        QVERIFY(text(record).starts_with("// meta:id=" + sourceId(llvmIr("a")) + "\n// meta:name=a\n"));
    }

    void aSecondRunBuildsNothingAndSaysWhy() {
        write("a.ll", llvmIr("a"));
        write("c.cu", cudaSource);
        write("factor.h", "#define FACTOR 2.0f\n");
        const auto asked = request({source(SourceKind::llvmIr, "a.ll"), source(SourceKind::cuda, "c.cu")});
        const auto first = compiled(asked);
        QVERIFY2(first.allGood(), problem(first.outcomes[1]).c_str());
        const auto second = compiled(asked);
        for (const auto &outcome : second.outcomes) {
            QVERIFY(!outcome.built);
            QVERIFY2(outcome.record.why.starts_with("up to date: "), outcome.record.why.c_str());
        }
        fs::last_write_time(at("a.ll"), fs::file_time_type::clock::now()); // touched, not changed
        QVERIFY(!compiled(asked).outcomes[0].built);
    }

    void whatChangedIsBuiltAgainWithTheReason_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("why");
        QTest::newRow("source") << "source" << "source changed";
        QTest::newRow("option") << "option" << "options opt-level=3 -> opt-level=1";
        QTest::newRow("ptx") << "ptx" << "ptx version 8.2 -> 8.5";
        QTest::newRow("force") << "force" << "forced";
        QTest::newRow("image gone") << "gone" << "is missing";
        QTest::newRow("image changed") << "damaged" << "was changed";
    }

    void whatChangedIsBuiltAgainWithTheReason() {
        QFETCH(QString, change);
        QFETCH(QString, why);
        write("a.ll", llvmIr("a"));
        auto asked = request({source(SourceKind::llvmIr, "a.ll")});
        const auto image = cache() / fmt::format("a_{}.o", compiled(asked).outcomes.at(0).record.hash);
        if (change == "source")
            write("a.ll", llvmIr("a", "fsub"));
        else if (change == "option")
            asked.options = "opt-level=1";
        else if (change == "ptx")
            asked.ptx = PtxVersion{8, 5};
        else if (change == "force")
            asked.force = true;
        else if (change == "gone")
            fs::remove(image);
        else
            QVERIFY(writeFileAtomically(image, "half").has_value());
        const auto again = compiled(asked).outcomes.at(0);
        QVERIFY(again.built);
        QVERIFY2(QString::fromStdString(again.record.why).contains(why), again.record.why.c_str());
        QVERIFY(text(again.record).find("\n.version ") != std::string::npos);
        QCOMPARE(files().size(),
                 std::size_t(change == "ptx" ? 2 : 1)); // the outdated image of a changed source is gone
        QVERIFY(!compiled({.sources = asked.sources,
                           .capabilities = asked.capabilities,
                           .ptx = asked.ptx,
                           .options = asked.options,
                           .cacheDirectory = cache()})
                     .outcomes.at(0)
                     .built);
    }

    void anotherCompilerVersionRebuilds() {
        write("c.cu", "extern \"C\" __global__ void c() {}\n");
        const auto asked = request({source(SourceKind::cuda, "c.cu")});
        QVERIFY(compiled(asked).allGood());
        const auto other = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'clang version 99.0.0 (x)' && exit\nexec " +
                           m_tools.clang.string() + " \"$@\"\n";
        m_tools.clang = write("clang++", other, 0755);
        const auto outcome = compiled(asked).outcomes.at(0);
        QVERIFY(outcome.built);
        QVERIFY2(outcome.record.why.starts_with("tool clang ") &&
                     outcome.record.why.ends_with(" -> clang 99.0.0, no CUDA"),
                 outcome.record.why.c_str());
    }

    void aKernelThatFailsDoesNotStopTheOthers() {
        write("a.ll", llvmIr("a"));
        write("fatal.ll", fatalIr);
        write("bad.cu", "extern \"C\" __global__ void bad() { undeclared(); }\n");
        write("good.cu", "extern \"C\" __global__ void good() {}\n");
        auto missing = source(SourceKind::llvmIr, "missing.ll");
        const auto report =
            compiled(request({source(SourceKind::llvmIr, "a.ll"), source(SourceKind::llvmIr, "fatal.ll"),
                              source(SourceKind::cuda, "bad.cu"), source(SourceKind::cuda, "good.cu"), missing}));
        QVERIFY(!report.allGood());
        QCOMPARE(problem(report.outcomes[0]), std::string());
        QVERIFY2(problem(report.outcomes[1]).starts_with("fatal.ll for sm_87: LLVM gave up: "),
                 problem(report.outcomes[1]).c_str());
        QVERIFY2(problem(report.outcomes[2]).find("undeclared") != std::string::npos,
                 problem(report.outcomes[2]).c_str());
        QCOMPARE(problem(report.outcomes[3]), std::string());
        QVERIFY2(problem(report.outcomes[4]).find("missing.ll: No such file") != std::string::npos,
                 problem(report.outcomes[4]).c_str());
        QCOMPARE(files().size(), std::size_t(2));
    }

    void ptxVersionsThatCannotWorkAreRefusedWithTheOneThatDoes_data() {
        QTest::addColumn<QString>("capability");
        QTest::addColumn<int>("asked");
        QTest::addColumn<int>("driver");
        QTest::addColumn<QString>("message");
        QTest::addColumn<QString>("works");
        QTest::newRow("newer than JetPack 6.2")
            << "sm_87" << 87 << 12060
            << "PTX 8.7 is newer than what the board's driver (CUDA 12.6) accepts, which is 8.5 at most" << "85";
        QTest::newRow("older than the target")
            << "sm_120a" << 86 << 13000 << "PTX 8.6 does not know sm_120a, which needs 8.7 or newer" << "87";
        QTest::newRow("never was") << "sm_87" << 89 << 13000 << "there is no PTX 8.9" << "90";
    }

    void ptxVersionsThatCannotWorkAreRefusedWithTheOneThatDoes() {
        QFETCH(QString, capability);
        QFETCH(int, asked);
        QFETCH(int, driver);
        QFETCH(QString, message);
        QFETCH(QString, works);
        write("a.ll", llvmIr("a"));
        auto run = request({source(SourceKind::llvmIr, "a.ll")}, {*Capability::parse(capability.toStdString())});
        run.ptx = PtxVersion::fromCode(asked);
        run.driver = driver;
        const auto report = compile(run);
        QVERIFY(!report.has_value());
        QCOMPARE(QString::fromStdString(report.error().message), message);
        QCOMPARE(report.error().kind, ErrorKind::stopped);
        QVERIFY2(QString::fromStdString(report.error().hint).contains("--ptx-version " + works),
                 report.error().hint.c_str());
        QVERIFY(!fs::exists(cache()));
    }

    void theVersionDefaultsToTheNewestThatBoardAndLlvmTake() {
        write("a.ll", llvmIr("a"));
        auto asked = request({source(SourceKind::llvmIr, "a.ll")});
        asked.ptx.reset();
        asked.driver = 12060;
        QCOMPARE(compiled(asked).ptx.at(orin).text(), std::string("8.5"));
        asked.driver.reset();
        QCOMPARE(compiled(asked).ptx.at(orin).text(), std::string("7.4"));
        asked.driver = 13050; // accepts more than any LLVM here knows
        const auto report = compiled(asked);
        QVERIFY2(report.allGood(), problem(report.outcomes[0]).c_str());
    }

    void takingTheNamesOfAnotherFlavourIsSaid() {
        write("a.ll", llvmIr("a"));
        const std::vector sources = {source(SourceKind::llvmIr, "a.ll")};
        const Capability plain{90, {}};
        const Capability specific{90, Capability::Flavour::architecture};
        QCOMPARE(compiled(request(sources, {specific})).notes, quiet);
        const auto asked = request(sources, {plain});
        const auto second = compiled(asked);
        QCOMPARE(second.notes.at(1),
                 std::string("the cache's kernels for sm_90a are looked up under the same names as those for sm_90, "
                             "which take their place: compile both in one run (--capability sm_90a,sm_90), or each "
                             "into a cache of its own"));
        QCOMPARE(files().size(), std::size_t(1));
        QVERIFY(text(second.outcomes.at(0).record).find(".target sm_90\n") != std::string::npos);
        QCOMPARE(readKernelRecords(cache())->size(), std::size_t(1)); // nothing claims the image that is no more
        QCOMPARE(compiled(asked).notes, quiet);
        const auto both = compiled(request(sources, {specific, plain}));
        QCOMPARE(both.notes, quiet);
        QCOMPARE(files().size(), std::size_t(2));
        for (const auto &outcome : both.outcomes)
            QCOMPARE(outcome.built, outcome.record.target == specific);
    }

    void optionsThatNoKindKnowsAreRefused() {
        write("a.ll", llvmIr("a"));
        auto asked = request({source(SourceKind::llvmIr, "a.ll")});
        asked.options = "num-warps=4";
        const auto report = compile(asked);
        QVERIFY(!report.has_value());
        QCOMPARE(
            report.error().message,
            std::string("unknown option num-warps (needed capability, ptx-version, sm-count, opt-level or maxnreg)"));
        QCOMPARE(report.error().kind, ErrorKind::usage);
    }

    void twoProcessesMayCompileIntoOneCache() {
        for (int i = 0; i < 12; ++i)
            write(fmt::format("k{}.ll", i), llvmIr(fmt::format("k{}", i)));
        QProcess first, second; // k0 to k7, and k4 to k11
        first.start(QCoreApplication::applicationFilePath(), {"--compile", m_dir->path(), "0"});
        second.start(QCoreApplication::applicationFilePath(), {"--compile", m_dir->path(), "4"});
        QVERIFY(first.waitForFinished() && second.waitForFinished());
        QCOMPARE(first.exitCode(), 0);
        QCOMPARE(second.exitCode(), 0);
        QCOMPARE(readKernelRecords(cache())->size(), std::size_t(12));
        QCOMPARE(files().size(), std::size_t(12));
        auto again = eightKernels(0);
        for (const auto &more : eightKernels(4))
            again.push_back(more);
        for (const auto &outcome : compiled(request(again)).outcomes)
            QVERIFY(!outcome.built);
    }

    void anImageThatCannotBeWrittenStopsTheRunWithOneError() {
        write("a.ll", llvmIr("a"));
        write("b.ll", llvmIr("b"));
        for (const auto *name : {"a", "b"})
            fs::create_directories(
                cache() / fmt::format("{}_{}.o", name, cacheKey(sourceId(llvmIr(name)), "sm_87", PtxVersion{8, 2})) /
                "x");
        const auto report = compile(request({source(SourceKind::llvmIr, "a.ll"), source(SourceKind::llvmIr, "b.ll")}));
        QVERIFY(!report.has_value());
        QVERIFY2(report.error().message.starts_with("cannot write "), report.error().message.c_str());
    }

    void aCacheThatCannotBeWrittenIsOneError() {
        write("cache", "a file is in the way");
        write("a.ll", llvmIr("a"));
        const auto report = compile(request({source(SourceKind::llvmIr, "a.ll")}));
        QVERIFY(!report.has_value());
        QVERIFY2(report.error().message.starts_with("the kernel cache cannot be written: "),
                 report.error().message.c_str());
    }

    void aCancelledRunKeepsWhatIsDoneAndEndsWithinASecond() {
        write("a.ll", llvmIr("a"));
        write("slow", "#!/bin/sh\nsleep 60\n", 0755);
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        std::jthread later([&] {
            for (int i = 0; i < 500 && (!fs::exists(cache()) || files().size() < 2);
                 ++i) // a.o and the scratch directory
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            stop.request_stop();
        });
        QElapsedTimer timer;
        const auto report = [&] {
            const auto asked = request({source(SourceKind::llvmIr, "a.ll"), source(SourceKind::program, "slow")});
            timer.start();
            return compileKernels(asked, m_tools, m_catalog, progress);
        }();
        QVERIFY(!report.has_value());
        QCOMPARE(report.error().kind, ErrorKind::cancelled);
        QVERIFY(timer.elapsed() < 7000);
        QVERIFY(!compiled(request({source(SourceKind::llvmIr, "a.ll")})).outcomes[0].built);
        QCOMPARE(files().size(), std::size_t(1)); // nothing is left behind
    }
};

int main(int argc, char **argv) {
    QCoreApplication app(argc, argv);
    TestCompile test;
    if (argc == 4 && std::string_view(argv[1]) == "--compile")
        return test.compileIn(argv[2], std::atoi(argv[3]));
    return QTest::qExec(&test, argc, argv);
}
#include "tst_compile.moc"
