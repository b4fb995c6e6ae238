// SPDX-License-Identifier: Apache-2.0
//
// slipway-kernelc with the real LLVM, and the pool that feeds it: crashes, kills and cancelling.

#include "core/kernel/worker.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <thread>

using namespace slipway;

namespace {

const fs::path kernelc = fs::path(SLIPWAY_BIN_DIR) / "slipway-kernelc";

constexpr const char *scale = R"(
define ptx_kernel void @scale(ptr addrspace(1) %p, float %by) {
  %v = load float, ptr addrspace(1) %p
  %r = fmul float %v, %by
  store float %r, ptr addrspace(1) %p
  ret void
})";

/// LLVM's NVPTX back end cannot select a sine in double precision and ends its process.
constexpr const char *fatal = R"(
declare double @llvm.sin.f64(double)
define ptx_kernel void @fatal(ptr %p) {
  %v = load double, ptr %p
  %r = call double @llvm.sin.f64(double %v)
  store double %r, ptr %p
  ret void
})";

constexpr const char *callsMissing = R"(
declare float @missing(float)
declare void @vprintf(ptr, ptr)
define ptx_kernel void @k(ptr %p) {
  %v = load float, ptr %p
  %r = call float @missing(float %v)
  store float %r, ptr %p
  call void @vprintf(ptr %p, ptr %p)
  ret void
})";

constexpr const char *callsLibdevice = R"(
declare float @__nv_sinf(float)
define ptx_kernel void @k(ptr %p) {
  %v = load float, ptr %p
  %r = call float @__nv_sinf(float %v)
  store float %r, ptr %p
  ret void
})";

/// What libdevice does, in five lines.
constexpr const char *libdevice = R"(
define float @__nv_sinf(float %x) {
  %r = fmul float %x, 3.0
  ret float %r
}
define float @__nv_unused(float %x) { ret float %x }
)";

} // namespace

class TestKernelc : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    [[nodiscard]] fs::path at(const std::string &name) const { return fs::path(m_dir->path().toStdString()) / name; }

    fs::path write(const std::string &name, std::string_view text, unsigned mode = 0644) {
        [&] { QVERIFY(writeFileAtomically(at(name), text, mode).has_value()); }();
        return at(name);
    }

    WorkerJob job(const std::string &name, std::string_view text, Capability capability = {87, {}},
                  PtxVersion ptx = {8, 2}) {
        return {.input = write(name + ".ll", text),
                .output = at("out/" + name + "_" + capability.sm() + ".o"),
                .capability = capability,
                .ptx = ptx,
                .id = "id-" + name,
                .name = name};
    }

    /// Runs jobs through the pool; results in the order of the jobs.
    std::vector<WorkerResult> work(const std::vector<WorkerJob> &jobs, int workers = 2,
                                   const fs::path &program = kernelc) {
        std::vector<WorkerResult> results(jobs.size());
        Progress progress;
        const auto done = runWorkers(
            program, jobs, workers,
            [&](std::size_t i, const WorkerResult &r) {
                results[i] = r;
                return true;
            },
            progress);
        [&] { QVERIFY2(done.has_value(), done ? "" : done.error().message.c_str()); }();
        return results;
    }

    std::string text(const fs::path &file) { return readFile(file).value_or(""); }

    /// A stand-in for the worker: `body` sees the job in $line.
    fs::path fakeWorker(const std::string &body) {
        return write("worker.sh", "#!/bin/sh\nwhile read -r line; do\n" + body + "\ndone\n", 0755);
    }

private Q_SLOTS:
    void init() { m_dir = std::make_unique<QTemporaryDir>(); }

    void ptxCarriesTheAskedVersionAndTheMetaLines() {
        const auto results = work({job("scale", scale)});
        QVERIFY2(results[0].ok, results[0].error.c_str());
        QCOMPARE(results[0].entries, std::vector<std::string>{"scale"});
        const auto ptx = text(at("out/scale_sm_87.o"));
        QVERIFY(ptx.starts_with("// meta:id=id-scale\n// meta:name=scale\n"));
        QVERIFY(ptx.find(".version 8.2\n.target sm_87\n") != std::string::npos);
        QVERIFY(ptx.find(".visible .entry scale(") != std::string::npos);
    }

    void oneSourceGoesToEveryCapabilityThatLlvmKnows() {
        Progress progress;
        const auto llvm = describeWorker(kernelc, progress);
        QVERIFY(llvm.has_value());
        std::vector<WorkerJob> jobs = {job("scale", scale, {53, {}}, {6, 5}), job("scale", scale, {87, {}}, {7, 4}),
                                       job("scale", scale, {90, Capability::Flavour::architecture}, {8, 0})};
        if (llvm->knows({110, {}}))
            jobs.push_back(job("scale", scale, {110, {}}, {9, 0}));
        for (const auto &result : work(jobs))
            QVERIFY2(result.ok, result.error.c_str());
        QVERIFY(text(at("out/scale_sm_90a.o")).find(".version 8.0\n.target sm_90a\n") != std::string::npos);
    }

    void anUnknownCpuIsRefusedByName() {
        const auto results = work({job("scale", scale, {999, {}})});
        QVERIFY(!results[0].ok);
        QVERIFY2(results[0].error.find("cannot generate code for sm_999 (needed a newer LLVM)") != std::string::npos,
                 results[0].error.c_str());
        QVERIFY(!fs::exists(at("out/scale_sm_999.o")));
    }

    void anUnknownPtxVersionIsRefusedWithTheNewestKnown() {
        const auto results = work({job("scale", scale, {87, {}}, {9, 9})});
        QVERIFY2(results[0].error.find("cannot generate PTX 9.9 (the newest it knows is ") != std::string::npos,
                 results[0].error.c_str());
    }

    void aVersionBelowTheTargetsMinimumIsAnErrorNotASilentRaise() {
        const auto results = work({job("scale", scale, {87, {}}, {6, 3})});
        QVERIFY(!results[0].ok);
        QVERIFY2(results[0].error.find("7.4") != std::string::npos, results[0].error.c_str());
        QVERIFY(!fs::exists(at("out/scale_sm_87.o")));
    }

    void unresolvedFunctionsAreNamedAndTheDriversOwnAreNot() {
        const auto results = work({job("k", callsMissing)});
        QCOMPARE(results[0].error, std::string("unresolved: missing"));
        QCOMPARE(results[0].unresolved, std::vector<std::string>{"missing"});
    }

    void libdeviceIsLinkedWhenItIsCalled() {
        auto with = job("k", callsLibdevice);
        with.libdevice = write("libdevice.ll.bc", libdevice);
        const auto textual = work({with}); // text is no bitcode
        QVERIFY2(textual[0].error.starts_with("cannot read "), textual[0].error.c_str());
        const auto without = work({job("k", callsLibdevice)});
        QCOMPARE(without[0].error, std::string("unresolved: __nv_sinf"));
        QVERIFY(without[0].hint.find("libdevice.10.bc") != std::string::npos);
        with.libdevice = "/usr/local/cuda/nvvm/libdevice/libdevice.10.bc";
        if (!fs::exists(with.libdevice))
            return; // the toolkit is not a distribution package
        const auto linked = work({with});
        QVERIFY2(linked[0].ok, linked[0].error.c_str());
        QVERIFY(linked[0].usedLibdevice);
        QVERIFY(text(with.output).find(".extern") == std::string::npos);
    }

    void brokenSourcesFailWithTheirPlace_data() {
        QTest::addColumn<QByteArray>("source");
        QTest::addColumn<QString>("message");
        QTest::newRow("syntax") << QByteArray("define ptx_kernel void @k() {\n  rex void\n}")
                                << "line 2, column 3: expected instruction opcode";
        QTest::newRow("empty") << QByteArray("") << "it holds no kernel (needed a function marked ptx_kernel)";
        QTest::newRow("for a CPU") << QByteArray("target triple = \"x86_64-linux-gnu\"\n")
                                   << "the module is for x86_64-linux-gnu, needed nvptx64-nvidia-cuda";
        QTest::newRow("bytes") << QByteArray("\x42\x43\xC0\xDE\x01\x02", 6) << "line ";
    }
    void brokenSourcesFailWithTheirPlace() {
        QFETCH(QByteArray, source);
        QFETCH(QString, message);
        const auto results = work({job("k", source.toStdString())});
        QVERIFY(!results[0].ok);
        QVERIFY2(QString::fromStdString(results[0].error).startsWith(message), results[0].error.c_str());
    }

    void aKernelThatEndsLlvmFailsAloneAndIsNamed() {
        const auto results = work({job("a", scale), job("fatal", fatal), job("b", scale), job("c", scale)}, 1);
        QVERIFY(results[0].ok && results[2].ok && results[3].ok);
        QVERIFY2(results[1].error.starts_with("LLVM gave up: Cannot select: "), results[1].error.c_str());
        QVERIFY(results[1].error.find("0x") == std::string::npos);
        QCOMPARE(results[1].input, at("fatal.ll"));
    }

    void aCrashIsReportedWithTheEndOfStderr() {
        const auto crashing = fakeWorker("case $line in *bad*) echo 'Stack dump: here' >&2; kill -SEGV $$;; *) echo "
                                         "'{\"input\":\"\",\"output\":\"\",\"status\":\"ok\"}';; esac");
        const auto results = work({job("a", scale), job("bad", scale), job("b", scale)}, 1, crashing);
        QVERIFY(results[0].ok && results[2].ok);
        QVERIFY2(results[1].error.find("signal 11") != std::string::npos, results[1].error.c_str());
        QVERIFY(results[1].detail.find("Stack dump: here") != std::string::npos);
    }

    void aWorkerKilledFromOutsideGetsItsJobAgain() {
        const auto mark = at("killed").string();
        const auto killed =
            fakeWorker("if [ ! -e " + mark + " ]; then : > " + mark +
                       "; kill -KILL $$; fi; echo '{\"input\":\"\",\"output\":\"\",\"status\":\"ok\"}'");
        const auto results = work({job("a", scale), job("b", scale)}, 1, killed);
        QVERIFY2(results[0].ok && results[1].ok, results[0].error.c_str());
    }

    void aKernelThatIsKilledTwiceFailsAlone() {
        const auto always = fakeWorker(
            "case $line in *bad*) kill -KILL $$;; *) echo '{\"input\":\"\",\"output\":\"\",\"status\":\"ok\"}';; esac");
        const auto results = work({job("a", scale), job("bad", scale), job("b", scale)}, 1, always);
        QVERIFY(results[0].ok && results[2].ok);
        QVERIFY2(results[1].error.find("signal 9") != std::string::npos, results[1].error.c_str());
    }

    void cancellingEndsTheRunWithinASecond() {
        const auto hanging = fakeWorker("sleep 60");
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        const std::vector jobs = {job("a", scale), job("b", scale)};
        std::jthread later([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            stop.request_stop();
        });
        QElapsedTimer timer;
        timer.start();
        const auto done =
            runWorkers(hanging, jobs, 2, [](std::size_t, const WorkerResult &) { return true; }, progress);
        QVERIFY(!done.has_value());
        QCOMPARE(done.error().kind, ErrorKind::cancelled);
        QVERIFY2(timer.elapsed() < 1200, qPrintable(QString::number(timer.elapsed())));
    }

    void aMissingProgramIsOneError() {
        Progress progress;
        const auto done = runWorkers(
            at("nothing"), {job("a", scale)}, 1, [](std::size_t, const WorkerResult &) { return true; }, progress);
        QVERIFY(!done.has_value());
        QVERIFY2(done.error().message.starts_with("cannot start "), done.error().message.c_str());
    }

    void anOutputThatCannotBeWrittenIsTold() {
        auto blocked = job("a", scale);
        blocked.output = write("file", "") / "a.o";
        const auto results = work({blocked});
        QVERIFY(results[0].outputFailed);
        QVERIFY2(results[0].error.starts_with("cannot write "), results[0].error.c_str());
    }
};

QTEST_GUILESS_MAIN(TestKernelc)
#include "tst_kernelc.moc"
