// SPDX-License-Identifier: Apache-2.0
//
// What is particular to CUDA sources, programs, prebuilt images and cubins.

#include "aotfixture.h"

using namespace slipway;

namespace {

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
echo '    16 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads' >&2
echo 'ptxas info    : Used 17 registers, used 0 barriers, 128 bytes smem, 360 bytes cmem[0]' >&2
)sh";

} // namespace

class TestSourceKinds : public QObject, private AotFixture {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { loadCatalog(); }
    void init() { begin(); }

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

    void fatbinsGiveTheImagesThatFit_data() {
        QTest::addColumn<QString>("fatbin");
        QTest::addColumn<QString>("capability");
        QTest::addColumn<int>("driver");
        QTest::addColumn<QString>("ptx"); // .target of the image taken; empty = none
        QTest::addColumn<QString>("cubin");
        for (const char *packed : {"scale_size.fatbin", "scale_speed.fatbin", "scale_none.fatbin"})
            QTest::addRow("%s on Orin", packed) << packed << "sm_87" << 13000 << "sm_87" << "sm_87";
        QTest::newRow("a driver that is too old for the PTX")
            << "scale_size.fatbin" << "sm_87" << 12060 << "" << "sm_87";
        QTest::newRow("another GPU of the same number")
            << "scale_size.fatbin" << "sm_90" << 13000 << "sm_87" << "sm_90a";
        QTest::newRow("newer, by PTX") << "scale_size.fatbin" << "sm_120" << 13000 << "sm_87" << "";
        QTest::newRow("inside a program") << "" << "sm_87" << 13000 << "sm_87" << "sm_87";
    }

    void fatbinsGiveTheImagesThatFit() {
        QFETCH(QString, fatbin);
        QFETCH(QString, capability);
        QFETCH(int, driver);
        QFETCH(QString, ptx);
        QFETCH(QString, cubin);
        const auto images = fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images";
        if (fatbin.isEmpty()) {
            write("in.s",
                  fmt::format(".section .nv_fatbin, \"a\"\n.incbin \"{}\"\n", (images / "scale_size.fatbin").string()));
            QVERIFY(runChecked({.program = "cc", .arguments = {"-c", at("in.s"), "-o", at("in")}}, m_progress));
        } else {
            fs::copy_file(images / fatbin.toStdString(), at("in"));
        }
        auto asked = request({source(SourceKind::prebuilt, "in")}, {*Capability::parse(capability.toStdString())});
        asked.ptx = PtxVersion{9, 0};
        asked.driver = driver;
        if (driver == 12060)
            asked.ptx = PtxVersion{8, 2};
        const auto report = compiled(asked);
        QVERIFY2(report.allGood(), problem(report.outcomes.at(0)).c_str());
        QCOMPARE(report.outcomes.size(), std::size_t(1));
        const auto &record = report.outcomes[0].record;
        QCOMPARE(record.name, std::string("scale"));
        QCOMPARE(record.entries, std::vector<std::string>{"scale"});
        const auto target = [&](const char *extension) {
            const auto bytes = readFile(cache() / (record.name + "_" + record.hash + extension));
            const auto image = bytes ? readKernelImage(*bytes) : Result<KernelImage>(fail("none"));
            return QString::fromStdString(image && image->damage.empty() ? image->target->sm() : "");
        };
        QCOMPARE(target(".o"), ptx);
        QCOMPARE(target(".cubin"), cubin);
        QVERIFY(!compiled(asked).outcomes[0].built);
    }

    void aFatbinOfWhichNothingFitsSaysWhatItHolds() {
        fs::copy_file(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images/scale_size.fatbin", at("in.fatbin"));
        const auto report = compiled(request({source(SourceKind::prebuilt, "in.fatbin")}, {{75, {}}}));
        QVERIFY2(problem(report.outcomes[0]).starts_with("in.fatbin for sm_75: it holds ") &&
                     problem(report.outcomes[0]).find("of which nothing fits: it is for sm_") != std::string::npos,
                 problem(report.outcomes[0]).c_str());
        QVERIFY(files().empty());
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
        QCOMPARE(record.stackBytes, 16);
        QCOMPARE(readKernelRecords(cache())->at(0).stackBytes, 16);
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
};

QTEST_GUILESS_MAIN(TestSourceKinds)
#include "tst_sourcekinds.moc"
