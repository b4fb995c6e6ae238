// SPDX-License-Identifier: Apache-2.0
//
// Precompiled CUDA headers: the same PTX to the byte, made once, and made again when what is in them changes.

#include "aotfixture.h"

using namespace slipway;

namespace {

constexpr const char *mathSource =
    "__device__ static int counter;\n__constant__ float table[4] = {1, 2, 3, 4};\n"
    "template <typename T> __device__ T twice(T v) { return v + v; }\n"
    "extern \"C\" __global__ void m(float *p, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  __shared__ float tile[64];\n"
    "  tile[threadIdx.x % 64] = p[i];\n  __syncthreads();\n"
    "  if (i < n) p[i] = twice(sinf(tile[63 - threadIdx.x % 64])) * table[i % 4] + powf(p[i], 1.5f) + LIMIT;\n"
    "  atomicAdd(&counter, 1);\n}\n";

constexpr const char *plainSource =
    "extern \"C\" __global__ void p(float *p, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) p[i] = fmaf(p[i], 2.0f, LIMIT);\n}\n";

} // namespace

class TestCudaPrelude : public QObject, private AotFixture {
    Q_OBJECT

    KernelSource cuda(const std::string &label) const {
        auto made = source(SourceKind::cuda, label);
        made.flags = {"-DLIMIT=3"};
        return made;
    }
    /// Finished preludes, the newest time of any of them.
    [[nodiscard]] std::vector<fs::path> preludes() const {
        std::vector<fs::path> found;
        std::error_code error;
        for (const auto &entry : fs::directory_iterator(m_tools.preludes, error)) {
            if (fs::exists(entry.path() / "headers"))
                found.push_back(entry.path());
        }
        return found;
    }
    /// The PTX of a forced run over one source.
    std::string made(const KernelSource &source) {
        auto asked = request({source});
        asked.force = true;
        asked.cubin = false;
        const auto report = compiled(asked);
        return report.allGood() ? text(report.outcomes.at(0).record) : problem(report.outcomes.at(0));
    }
    void useToolkit() { m_tools.cudaRoot = findKernelTools(SLIPWAY_BIN_DIR, m_tools.resources).cudaRoot; }

private Q_SLOTS:
    void initTestCase() { loadCatalog(); }
    void init() { begin(); }

    void thePtxIsTheSameToTheByte_data() {
        QTest::addColumn<bool>("toolkit");
        QTest::addColumn<QString>("options");
        QTest::newRow("Slipway's own prelude") << false << "";
        QTest::newRow("own prelude, not optimised") << false << "opt-level=0,sm-count=8";
        if (!findKernelTools(SLIPWAY_BIN_DIR, {}).cudaRoot.empty()) { // no distribution package
            QTest::newRow("the toolkit's headers") << true << "";
            QTest::newRow("the toolkit, other options") << true << "opt-level=1,sm-count=8,maxnreg=40";
        }
    }

    void thePtxIsTheSameToTheByte() {
        QFETCH(bool, toolkit);
        QFETCH(QString, options);
        if (toolkit)
            useToolkit();
        write("k/m.cu", toolkit ? mathSource : plainSource);
        std::vector<std::string> texts;
        for (const auto &directory : {fs::path(), at("preludes")}) {
            m_tools.preludes = directory;
            auto asked = request({cuda("k/m.cu")}, {orin, {90, Capability::Flavour::architecture}});
            asked.force = true;
            asked.options = options.toStdString();
            const auto report = compiled(asked);
            QVERIFY2(report.allGood(), problem(report.outcomes[0]).c_str());
            for (const auto &outcome : report.outcomes)
                texts.push_back(text(outcome.record));
        }
        QCOMPARE(preludes().size(), std::size_t(2)); // one for each capability
        QCOMPARE(texts[2], texts[0]);
        QCOMPARE(texts[3], texts[1]);
        QVERIFY(texts[0].find(".version 8.2\n.target sm_87\n") != std::string::npos);
        QVERIFY(texts[1].find(".version 8.2\n.target sm_90a\n") != std::string::npos);
    }

    void theRecordsAreTheSameToo() {
        write("c.cu", cudaSource);
        write("factor.h", "#define FACTOR 2.0f\n");
        std::vector<std::string> hashes;
        for (const auto &directory : {fs::path(), at("preludes")}) {
            m_tools.preludes = directory;
            auto asked = request({source(SourceKind::cuda, "c.cu")});
            asked.force = true;
            hashes.push_back(compiled(asked).outcomes.at(0).record.sourceHash);
        }
        QCOMPARE(hashes[1], hashes[0]); // the same inputs: source, prelude, factor.h
        write("factor.h", "#define FACTOR 3.0f\n");
        QCOMPARE(compiled(request({source(SourceKind::cuda, "c.cu")})).outcomes.at(0).record.why,
                 std::string("factor.h changed"));
    }

    void onePreludeServesManySourcesAndLaterRuns() {
        m_tools.preludes = at("preludes");
        std::vector<KernelSource> sources;
        for (int i = 0; i < 6; ++i) {
            write(fmt::format("k{}.cu", i), fmt::format("extern \"C\" __global__ void k{}() {{}}\n", i));
            sources.push_back(source(SourceKind::cuda, fmt::format("k{}.cu", i)));
        }
        QVERIFY(compiled(request(sources)).allGood());
        QCOMPARE(preludes().size(), std::size_t(1));
        const auto time = fs::last_write_time(preludes().front() / "prelude.pch");
        auto again = request(sources);
        again.force = true;
        QVERIFY(compiled(again).allGood());
        QCOMPARE(preludes().size(), std::size_t(1));
        QVERIFY(fs::last_write_time(preludes().front() / "prelude.pch") == time);
    }

    void anotherHeaderMakesItAgain() {
        fs::create_directories(at("resources/cuda"));
        fs::copy_file(m_tools.resources / "cuda/slipway_cuda_prelude.h", at("resources/cuda/slipway_cuda_prelude.h"));
        m_tools.resources = at("resources");
        m_tools.preludes = at("preludes");
        write("m.cu", "#ifdef NEWER\nextern \"C\" __global__ void newer() {}\n#else\n"
                      "extern \"C\" __global__ void older() {}\n#endif\n");
        QVERIFY(made(source(SourceKind::cuda, "m.cu")).find(".entry older") != std::string::npos);
        const auto header = readFile(at("resources/cuda/slipway_cuda_prelude.h")).value_or("") + "#define NEWER\n";
        write("resources/cuda/slipway_cuda_prelude.h", header);
        QVERIFY(made(source(SourceKind::cuda, "m.cu")).find(".entry newer") != std::string::npos);
        QCOMPARE(preludes().size(), std::size_t(2));
    }

    void aDamagedPreludeCostsNothingButTime() {
        m_tools.preludes = at("preludes");
        write("m.cu", plainSource);
        const auto good = made(cuda("m.cu"));
        QVERIFY(good.find(".entry p(") != std::string::npos);
        QVERIFY(writeFileAtomically(preludes().front() / "prelude.pch", "not a prelude").has_value());
        QCOMPARE(made(cuda("m.cu")), good);
        QCOMPARE(made(cuda("m.cu")), good);
        QVERIFY(readFile(preludes().front() / "prelude.pch")->size() > 1000); // it was made again
    }

    void whereNoneCanBeKeptEverythingWorks() {
        write("file", "");
        m_tools.preludes = at("file") / "preludes";
        write("m.cu", plainSource);
        QVERIFY(made(cuda("m.cu")).find(".entry p(") != std::string::npos);
    }

    void flagsThatIncludeFilesRuleItOut() {
        m_tools.preludes = at("preludes");
        write("m.cu", "extern \"C\" __global__ void m(float *p) { *p = FACTOR; }\n");
        auto including = source(SourceKind::cuda, "m.cu");
        including.flags = {"-include", at("factor.h").string()};
        for (const auto *factor : {"1.0f", "2.0f"}) {
            write("factor.h", fmt::format("#define FACTOR {}\n", factor));
            const auto ptx = made(including);
            QVERIFY2(ptx.find(factor[0] == '1' ? "1065353216" : "1073741824") != std::string::npos, ptx.c_str());
        }
        QVERIFY(preludes().empty());
    }

    void anErrorInTheSourceIsToldInTheCompilersOwnWords() {
        write("bad.cu", "extern \"C\" __global__ void bad() { undeclared(); }\n");
        const auto without = made(source(SourceKind::cuda, "bad.cu"));
        m_tools.preludes = at("preludes");
        QCOMPARE(made(source(SourceKind::cuda, "bad.cu")), without);
        QVERIFY2(without.find("undeclared identifier") != std::string::npos, without.c_str());
    }
};

QTEST_GUILESS_MAIN(TestCudaPrelude)
#include "tst_cudaprelude.moc"
