// SPDX-License-Identifier: Apache-2.0
//
// Ahead-of-time runs over all four kinds of sources, with the real LLVM and clang. No CUDA toolkit is needed: where one
// is installed the tests hide it, and ptxas is a script.

#include "core/kernel/compile.h"
#include "core/kernel/records.h"

#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <thread>
#include <unistd.h>

using namespace slipway;

namespace {

const Capability orin{87, Capability::Flavour::baseline};
const Capability thor{110, Capability::Flavour::baseline};

std::string llvmIr(const std::string &name, const std::string &operation = "fadd") {
    return "define ptx_kernel void @" + name +
           "(ptr addrspace(1) %p) {\n  %v = load float, ptr addrspace(1) %p\n  %r = " + operation +
           " float %v, 2.0\n  store float %r, ptr addrspace(1) %p\n  ret void\n}\n";
}

constexpr const char *fatalIr =
    "declare double @llvm.sin.f64(double)\ndefine ptx_kernel void @fatal(ptr %p) {\n  %v = load double, ptr %p\n"
    "  %r = call double @llvm.sin.f64(double %v)\n  store double %r, ptr %p\n  ret void\n}\n";

constexpr const char *cudaSource = "#include \"factor.h\"\n"
                                   "extern \"C\" __global__ void times(float *p, int n) {\n"
                                   "  __shared__ float tile[32];\n"
                                   "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                   "  tile[threadIdx.x % 32] = p[i];\n  __syncthreads();\n"
                                   "  if (i < n) p[i] = tile[(threadIdx.x + 1) % 32] * FACTOR;\n}\n";

std::string ptx(const std::string &entry, const std::string &version = "8.2", const std::string &target = "sm_87") {
    return ".version " + version + "\n.target " + target + "\n.address_size 64\n\n.visible .entry " + entry +
           "()\n{\n    ret;\n}\n";
}

/// Writes one kernel under the contract of `program`, and says in `calls` how it was called.
constexpr const char *programScript = R"sh(#!/bin/sh
echo "$@" TEENYC_PTX_VERSION=$TEENYC_PTX_VERSION >> "$(dirname "$0")/calls"
while [ $# -gt 0 ]; do
  case $1 in --cache-dir) dir=$2; shift;; --options) options=$2; shift;; esac
  shift
done
sm=${options#capability=}; sm=${sm%%,*}
hash=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
printf '.version 8.2\n.target %s\n.address_size 64\n.visible .entry gen_entry_point()\n{\n ret;\n}\n' "$sm" > "$dir/gen_$hash.o"
echo 'tt.func public @gen_entry_point(%arg0: !tt.ptr<f32>, %arg1: i32) {' > "$dir/gen_$hash.mlir"
: > "$dir/gen_$hash.lock"
)sh";

constexpr const char *fakePtxas = R"sh(#!/bin/sh
case $1 in
--version) echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit;;
--help) echo "Allowed values for this option:  'sm_87'"; exit;;
esac
while [ $# -gt 1 ]; do
  case $1 in -o) out=$2; shift;; *.o) in=$1;; esac
  shift
done
[ $1 = -o ] || out=${out:-$1}
echo "cubin of $(basename $in)" > "$out"
echo 'ptxas info    : Function properties for k' >&2
echo '    0 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads' >&2
echo 'ptxas info    : Used 17 registers, used 0 barriers, 128 bytes smem, 360 bytes cmem[0]' >&2
)sh";

} // namespace

class TestCompile : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    Catalog m_catalog;
    KernelTools m_tools;
    Progress m_progress;

    [[nodiscard]] fs::path at(const std::string &name) const { return fs::path(m_dir->path().toStdString()) / name; }
    [[nodiscard]] fs::path cache() const { return at("cache"); }
    fs::path write(const std::string &name, std::string_view text, unsigned mode = 0644) const {
        [&] { QVERIFY(writeFileAtomically(at(name), text, mode).has_value()); }();
        return at(name);
    }
    KernelSource source(SourceKind kind, const std::string &label) const {
        return {.kind = kind, .name = fs::path(label).stem().string(), .file = at(label), .label = label};
    }
    AotRequest request(std::vector<KernelSource> sources, std::vector<Capability> capabilities = {orin}) const {
        return {.sources = std::move(sources),
                .capabilities = std::move(capabilities),
                .ptx = PtxVersion{8, 2},
                .cacheDirectory = cache(),
                .workers = 2};
    }
    Result<AotReport> compile(const AotRequest &asked) { return compileKernels(asked, m_tools, m_catalog, m_progress); }
    AotReport compiled(const AotRequest &asked) {
        auto report = compile(asked);
        [&] { QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str()); }();
        return report ? *report : AotReport{};
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator(cache())) {
            if (entry.path().filename() != recordsFileName)
                names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    [[nodiscard]] std::string text(const KernelRecord &record) const {
        return readFile(cache() / (record.name + "_" + record.hash + ".o")).value_or("");
    }
    static std::string problem(const AotOutcome &outcome) { return outcome.error ? outcome.error->message : ""; }

private Q_SLOTS:
    void initTestCase() {
        auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(catalog.has_value(), catalog ? "" : catalog.error().message.c_str());
        m_catalog = *catalog;
    }

    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_tools = findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources");
        QVERIFY2(!m_tools.clang.empty(), "clang is in installer/debian-packages.txt");
        m_tools.cudaRoot.clear();
        m_tools.libdevice.clear();
        m_tools.ptxas.clear();
        m_tools.nvcc.clear();
    }

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

    void aChangedHeaderRebuildsTheCudaSourceThatIncludesIt() {
        write("c.cu", cudaSource);
        write("other.cu", "extern \"C\" __global__ void other() {}\n");
        write("factor.h", "#define FACTOR 2.0f\n");
        const auto asked = request({source(SourceKind::cuda, "c.cu"), source(SourceKind::cuda, "other.cu")});
        const auto first = compiled(asked);
        QVERIFY2(first.allGood(), problem(first.outcomes[0]).c_str());
        QCOMPARE(first.outcomes[0].record.entries, std::vector<std::string>{"times"});
        QVERIFY(text(first.outcomes[0].record).find(".version 8.2\n.target sm_87") != std::string::npos);
        write("factor.h", "#define FACTOR 3.0f\n");
        const auto second = compiled(asked);
        QCOMPARE(second.outcomes[0].record.why, std::string("factor.h changed"));
        QVERIFY(!second.outcomes[1].built);
        QVERIFY(text(second.outcomes[0].record).find("0f40400000") != std::string::npos); // 3.0
    }

    void cudaCompilesWithTheToolkitWhereThereIsOne() {
        m_tools = findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources");
        if (m_tools.cudaRoot.empty())
            return; // the toolkit is not a distribution package
        write("m.cu", "extern \"C\" __global__ void m(float *p) { p[threadIdx.x] = sinf(p[threadIdx.x]); }\n");
        const auto report = compiled(request({source(SourceKind::cuda, "m.cu")}));
        QVERIFY2(report.allGood(), problem(report.outcomes[0]).c_str());
        const auto &record = report.outcomes[0].record;
        QVERIFY2(record.tool.find(", CUDA ") != std::string::npos, record.tool.c_str());
        QVERIFY(record.registers > 0);
        QVERIFY(fs::exists(cache() / fmt::format("m_{}.cubin", record.hash)));
    }

    void theSamplesKernelsCompileWithoutAToolkit() {
        const auto kernels = fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add/kernels";
        std::vector<KernelSource> sources;
        for (const auto &entry : fs::directory_iterator(kernels)) {
            const auto kind = entry.path().extension() == ".cu" ? SourceKind::cuda : SourceKind::llvmIr;
            sources.push_back({.kind = kind,
                               .name = entry.path().stem().string(),
                               .file = entry.path(),
                               .label = "kernels/" + entry.path().filename().string()});
        }
        QVERIFY(sources.size() >= 6);
        for (const auto &outcome : compiled(request(sources)).outcomes)
            QVERIFY2(!outcome.error, problem(outcome).c_str());
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

    void aProgramWritesItsOwnKernels() {
        write("gen", programScript, 0755);
        auto generator = source(SourceKind::program, "gen");
        generator.arguments = {"--model", "a b"};
        auto asked = request({generator});
        asked.options = "sm-count=8,num-warps=4";
        const auto first = compiled(asked);
        QVERIFY2(first.allGood(), problem(first.outcomes[0]).c_str());
        const auto &record = first.outcomes[0].record;
        QCOMPARE(record.name, std::string("gen"));
        QCOMPARE(record.entries, std::vector<std::string>{"gen_entry_point"});
        QCOMPARE(record.dtypes, std::vector<std::string>{"f32"});
        QCOMPARE(files().size(), std::size_t(2)); // .o and .mlir, no .lock
        QVERIFY(!compiled(asked).outcomes[0].built);
        asked.force = true;
        QVERIFY(compiled(asked).outcomes[0].built);
        const auto calls = readFile(at("calls")).value_or("");
        QVERIFY2(calls.starts_with("--model a b --device cuda --options "
                                   "capability=sm_87,ptx-version=82,sm-count=8,num-warps=4 --cache-dir "),
                 calls.c_str());
        QCOMPARE(std::count(calls.begin(), calls.end(), '\n'), 2);
        QVERIFY(calls.ends_with(" --force TEENYC_PTX_VERSION=82\n"));
        write("gen", std::string(programScript) + "# changed\n", 0755);
        asked.force = false;
        QCOMPARE(compiled(asked).outcomes[0].record.why, std::string("source changed"));
    }

    void aProgramThatFailsOrWritesNothingIsTold() {
        write("fails", "#!/bin/sh\necho 'no such model' >&2\nexit 3\n", 0755);
        write("idle", "#!/bin/sh\nexit 0\n", 0755);
        write("wrong",
              "#!/bin/sh\nwhile [ $1 != --cache-dir ]; do shift; done\nprintf '.version 8.2\\n.target sm_90\\n.visible "
              ".entry k()\\n{\\n}\\n' > $2/k_" +
                  std::string(64, 'a') + ".o\n",
              0755);
        const auto report = compiled(request({source(SourceKind::program, "fails"), source(SourceKind::program, "idle"),
                                              source(SourceKind::program, "wrong")}));
        QCOMPARE(problem(report.outcomes[0]),
                 std::string("fails for sm_87: fails failed with exit status 3: no such model"));
        QCOMPARE(problem(report.outcomes[1]), std::string("idle for sm_87: idle ended well but wrote no NAME_HASH.o"));
        QVERIFY2(problem(report.outcomes[2]).find("it is for sm_90 and cannot run on sm_87") != std::string::npos,
                 problem(report.outcomes[2]).c_str());
        QVERIFY(files().empty());
    }

    void prebuiltImagesAreTakenWhenTheyFit() {
        write("made/relu.ptx", ptx("relu"));
        write("made/new.ptx", ptx("new", "9.0"));
        write("made/other.ptx", ptx("other", "8.2", "sm_90"));
        write("made/text.ptx", "hello");
        auto asked =
            request({source(SourceKind::prebuilt, "made/relu.ptx"), source(SourceKind::prebuilt, "made/new.ptx"),
                     source(SourceKind::prebuilt, "made/other.ptx"), source(SourceKind::prebuilt, "made/text.ptx")});
        asked.driver = 12060;
        const auto report = compiled(asked);
        const auto &record = report.outcomes[0].record;
        QCOMPARE(problem(report.outcomes[0]), std::string());
        QCOMPARE(record.hash, cacheKey(sourceId(ptx("relu")), "sm_87", PtxVersion{8, 2}));
        QCOMPARE(text(record), "// meta:id=" + sourceId(ptx("relu")) + "\n// meta:name=relu\n" + ptx("relu"));
        QCOMPARE(
            problem(report.outcomes[1]),
            std::string("made/new.ptx for sm_87: its PTX 9.0 is newer than the board's driver accepts (at most 8.5)"));
        QCOMPARE(report.outcomes[1].error->kind, ErrorKind::stopped);
        QVERIFY2(problem(report.outcomes[2])
                     .starts_with("made/other.ptx for sm_87: it is for sm_90 and cannot run on sm_87"),
                 problem(report.outcomes[2]).c_str());
        QVERIFY(report.outcomes[3].error.has_value());
        QVERIFY(!compiled(asked).outcomes[0].built);
    }

    void aWholeCacheDirectoryIsTakenOver() {
        const std::string named(64, 'c');
        write("triton/relu_" + named + ".o", ptx("relu"));
        write("triton/relu_" + named + ".mlir", "module {}");
        write("triton/relu90.ptx", ptx("relu", "8.2", "sm_90"));
        write("triton/deep/gelu.ptx", ptx("gelu"));
        auto directory = source(SourceKind::prebuilt, "triton");
        const auto report = compiled(request({directory}));
        QVERIFY2(report.allGood(), report.outcomes.empty() ? "" : problem(report.outcomes[0]).c_str());
        QCOMPARE(report.outcomes.size(), std::size_t(2));
        QVERIFY(fs::exists(cache() / ("relu_" + named + ".o"))); // its id is not known: it keeps its name
        QVERIFY(fs::exists(cache() / ("relu_" + named + ".mlir")));
        QVERIFY2(!report.notes.empty() &&
                     report.notes.back().starts_with("triton/relu90.ptx is left out for sm_87: it is for sm_90"),
                 "");
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

    void maxnregReachesBothKinds() {
        write("a.ll", llvmIr("a"));
        write("c.cu", "extern \"C\" __global__ void c(float *p) { *p = 1; }\n");
        auto asked = request({source(SourceKind::llvmIr, "a.ll"), source(SourceKind::cuda, "c.cu")});
        asked.options = "maxnreg=48";
        for (const auto &outcome : compiled(asked).outcomes)
            QVERIFY2(text(outcome.record).find("\n.maxnreg 48") != std::string::npos, problem(outcome).c_str());
    }

    void aCubinIsMadeWherePtxasKnowsTheCapability() {
        m_tools.ptxas = write("ptxas", fakePtxas, 0755);
        write("a.ll", llvmIr("a"));
        auto asked = request({source(SourceKind::llvmIr, "a.ll")}, {orin, {90, {}}});
        const auto report = compiled(asked);
        QVERIFY2(report.allGood(), problem(report.outcomes[0]).c_str());
        const auto &record = report.outcomes[0].record;
        QCOMPARE(record.registers, 17);
        QCOMPARE(record.sharedBytes, 128);
        QCOMPARE(record.spillBytes, 24);
        QCOMPARE(report.outcomes[1].record.registers, -1); // this ptxas knows no sm_90
        const auto cubin = cache() / fmt::format("a_{}.cubin", record.hash);
        QVERIFY(fs::exists(cubin));
        fs::remove(cubin);
        QVERIFY(!compiled(asked).outcomes[0].built);
        QVERIFY(fs::exists(cubin)); // made again from the PTX that was kept
        asked.cubin = false;
        QVERIFY(compiled(asked).allGood());
        QVERIFY(!fs::exists(cubin));
    }

    void twoProcessesMayCompileIntoOneCache() {
        std::vector<KernelSource> sources;
        for (int i = 0; i < 12; ++i) {
            write(fmt::format("k{}.ll", i), llvmIr(fmt::format("k{}", i)));
            sources.push_back(source(SourceKind::llvmIr, fmt::format("k{}.ll", i)));
        }
        const auto half = [&](std::size_t from) {
            Progress progress;
            const auto report =
                compileKernels(request({sources.begin() + long(from), sources.begin() + long(from) + 8}), m_tools,
                               m_catalog, progress);
            return report && report->allGood();
        };
        // QLockFile and the renames know no difference between two threads and two processes: each run locks by itself
        bool first = false, second = false;
        {
            std::jthread a([&] { first = half(0); });
            std::jthread b([&] { second = half(4); });
        }
        QVERIFY(first && second);
        QCOMPARE(readKernelRecords(cache())->size(), std::size_t(12));
        for (const auto &outcome : compiled(request(sources)).outcomes)
            QVERIFY(!outcome.built);
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

QTEST_GUILESS_MAIN(TestCompile)
#include "tst_compile.moc"
