// SPDX-License-Identifier: Apache-2.0
//
// The vector_add sample, built for this machine: what it says without a GPU, on a simulated driver
// (tests/app/fakecuda.c), as an ahead-of-time program, and about a broken model. On a real GPU its own --self-test is
// the test.

#include <slipway/images.h>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

namespace {

const QStringList kernels = {"vector_add",   "saxpy",      "row_softmax",   "vector_add_f16",
                             "matmul_tiled", "scale_bias", "fill_generated"};

void write(const QString &path, const QByteArray &bytes) {
    QFile file(path);
    QVERIFY2(file.open(QIODevice::WriteOnly), qPrintable(path));
    QCOMPARE(file.write(bytes), bytes.size());
}

/// A package as it lies on a board: bin/, cache/ and data/.
struct Package {
    Package() {
        QDir root(dir.path());
        for (const auto *folder : {"bin", "cache", "data"})
            root.mkdir(folder);
        QFile::copy(SLIPWAY_SAMPLE, dir.filePath("bin/vector_add"));
        QFile::copy(SLIPWAY_SOURCE_DIR "/resources/samples/vector_add/data/model.safetensors",
                    dir.filePath("data/model.safetensors"));
    }

    void addKernel(const QString &name, const QByteArray &version = "8.2", const QByteArray &target = "sm_87") const {
        const auto hash = slipway::runtime::imageKey(name.toStdString(), target.toStdString(), 82);
        write(dir.filePath("cache/" + name + "_" + QString::fromStdString(hash) + ".o"),
              "// meta:id=" + name.toUtf8() + "\n// meta:name=" + name.toUtf8() + "\n.version " + version +
                  "\n.target " + target + "\n.visible .entry " + name.toUtf8() + "(){}\n");
    }

    QTemporaryDir dir;
};

struct Ran {
    int exitCode = -1;
    QString out;
    QString err;
};

enum class Driver { none, simulated };

Ran run(const Package &package, const QStringList &arguments, Driver driver = Driver::none, const QString &mode = {}) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.remove("LD_LIBRARY_PATH");
    environment.insert("TEENYC_PTX_VERSION", "82");
    environment.insert("FAKE_CUDA", mode);
    if (driver == Driver::simulated)
        environment.insert("LD_LIBRARY_PATH", SLIPWAY_FAKE_CUDA_DIR);
    process.setProcessEnvironment(environment);
    process.start(package.dir.filePath("bin/vector_add"), arguments);
    if (!process.waitForFinished(30000) || process.exitStatus() != QProcess::NormalExit)
        return {-1, {}, process.errorString()};
    return {process.exitCode(), process.readAllStandardOutput().constData(),
            process.readAllStandardError().constData()};
}

} // namespace

class TestSample : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void withoutADriverItSaysSoInOneLineAndExitsWithTwo() {
        const Package package;
        const auto result = run(package, {"--self-test"});
        QCOMPARE(result.exitCode, 2);
        QCOMPARE(result.out, QString());
        QVERIFY2(result.err.startsWith(
                     "vector_add: nothing was run, it needs an NVIDIA GPU: no CUDA driver on this machine"),
                 qPrintable(result.err));
        QCOMPARE(result.err.count('\n'), 1);
    }

    void aDriverWithoutGpuIsNoSuccessEither() {
        const auto result = run(Package(), {"--self-test"}, Driver::simulated, "no device");
        QCOMPARE(result.exitCode, 2);
        QVERIFY2(result.err.contains("CUDA_ERROR_NO_DEVICE (100)"), qPrintable(result.err));
    }

    void onASimulatedDriverEveryKernelIsLoadedAndNothingIsClaimed() {
        const Package package;
        for (const auto &name : kernels)
            package.addKernel(name);
        const auto result = run(package, {"--self-test"}, Driver::simulated);
        QVERIFY2(result.exitCode == 0, qPrintable(result.out + result.err));
        const auto lines = result.out.trimmed().split('\n');
        QCOMPARE(lines.size(), 8);
        for (int i = 0; i < 7; ++i) {
            QVERIFY2(lines[i].startsWith(kernels[i] + ' '), qPrintable(lines[i]));
            QVERIFY2(
                lines[i].contains("loaded, not run: this is a simulated driver; PTX " + package.dir.filePath("cache/")),
                qPrintable(lines[i]));
        }
        QCOMPARE(lines[7], "7 kernels loaded, 0 refused; nothing was computed: this is a simulated driver (Orin "
                           "(simulated by Slipway))");
        QCOMPARE(result.err, QString());
    }

    void aMissingKernelFailsAndNamesTheFolderAndWhatIsThere() {
        const Package package;
        for (const auto &name : kernels.mid(1))
            package.addKernel(name);
        package.addKernel("vector_add", "8.2", "sm_89");
        const auto result = run(package, {"--self-test"}, Driver::simulated);
        QCOMPARE(result.exitCode, 1);
        QVERIFY2(result.out.contains("FAIL  no image of kernel \"vector_add\" for sm_87 in " +
                                     package.dir.filePath("cache")),
                 qPrintable(result.out));
        QVERIFY2(result.out.contains("it holds only vector_add_"), qPrintable(result.out));
        QVERIFY2(result.out.contains("(for sm_89)"), qPrintable(result.out));
        QVERIFY(result.out.contains("6 kernels loaded, 1 refused"));
    }

    void aRefusedImageFailsWithTheDriversCodeAndLog() {
        const Package package;
        for (const auto &name : kernels)
            package.addKernel(name, name == "saxpy" ? "9.1" : "8.2");
        const auto result = run(package, {"--self-test"}, Driver::simulated);
        QCOMPARE(result.exitCode, 1);
        QVERIFY2(
            result.out.contains(
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222), made up; the driver's log: Unsupported .version \"9.1\""),
            qPrintable(result.out));
    }

    void anInexactImageIsTakenAndSaid() {
        const Package package;
        package.addKernel("vector_add", "8.2", "sm_80");
        const auto result = run(package, {}, Driver::simulated);
        QCOMPARE(result.exitCode, 0);
        QVERIFY2(result.err.startsWith(
                     "slipway: the cache has no image of \"vector_add\" keyed for sm_87 and PTX 82; took "),
                 qPrintable(result.err));
        QCOMPARE(result.err.count('\n'), 1);
    }

    void theAheadOfTimeRunWritesUnderTheNameThatTheBoardLooksUp() {
        const Package package;
        const QString path = package.dir.filePath(
            "made/here/fill_generated_0913911c68ad71d8554533b24ce74aeeefcde9e832f9355ff412430d86fda6d2.o");
        QStringList arguments = {"--device",    "cuda",
                                 "--options",   "capability=sm_87,ptx-version=82",
                                 "--cache-dir", package.dir.filePath("made/here")};
        QCOMPARE(run(package, arguments).out, "wrote " + path + "\n");
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().startsWith(
            "// meta:id=fill_generated__f32\n// meta:name=fill_generated\n.version 8.2\n.target sm_87\n"));
        write(path, "touched");
        QCOMPARE(run(package, arguments).out, "kept " + path + " (--force writes it again)\n");
        QCOMPARE(QFileInfo(path).size(), 7);
        QCOMPARE(run(package, arguments << "--force").out, "wrote " + path + "\n");
        QVERIFY(QFileInfo(path).size() > 100);
        QCOMPARE(QDir(package.dir.filePath("made/here")).entryList(QDir::AllEntries | QDir::NoDotAndDotDot).size(), 1);
    }

    void aVariantsNameIsKeyedByThePlainCapability() {
        const Package package;
        const auto cache = package.dir.filePath("made");
        const auto result = run(package, {"--device", "cuda", "--options", "capability=sm_90a", "--cache-dir", cache});
        QCOMPARE(result.exitCode, 0);
        const auto hash = slipway::runtime::imageKey("fill_generated__f32", "sm_90", std::nullopt);
        QFile file(cache + "/fill_generated_" + QString::fromStdString(hash) + ".o");
        QVERIFY2(file.open(QIODevice::ReadOnly), qPrintable(result.out));
        QVERIFY(file.readAll().contains(".version 8.0\n.target sm_90a\n"));
    }

    void badArgumentsGetOneLineAndOne_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("message");
        const auto aot = [](const char *options) { return QStringList{"--device", "cuda", "--options", options}; };
        QTest::newRow("none") << aot("") << "--options names no capability, needed capability=sm_N";
        QTest::newRow("capability") << aot("capability=sm_86a")
                                    << "unknown capability \"sm_86a\", needed one such as sm_87";
        QTest::newRow("too old") << aot("capability=sm_87,ptx-version=70")
                                 << "ptx-version=70 does not know sm_87, needed at least 74";
        QTest::newRow("version") << aot("capability=sm_87,ptx-version=8.2")
                                 << "option ptx-version is \"8.2\", needed a number such as 82";
        QTest::newRow("key")
            << aot("capability=sm_87,fast=1")
            << "unknown option \"fast\", needed capability, ptx-version, sm-count, opt-level or maxnreg";
        QTest::newRow("value") << aot("capability") << "option \"capability\" has no value, needed key=value";
        QTest::newRow("device") << QStringList{"--device", "metal"} << "unknown device \"metal\", needed cuda";
        QTest::newRow("argument") << QStringList{"--selftest"} << "unknown argument \"--selftest\", --help lists them";
        QTest::newRow("no value") << QStringList{"--cache-dir"} << "--cache-dir needs a value";
    }
    void badArgumentsGetOneLineAndOne() {
        QFETCH(QStringList, arguments);
        QFETCH(QString, message);
        const auto result = run(Package(), arguments);
        QCOMPARE(result.exitCode, 1);
        QCOMPARE(result.err, "vector_add: " + message + "\n");
        QCOMPARE(result.out, QString());
    }

    void aBrokenModelIsRefused_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QString>("message");
        const auto file = [](const QByteArray &header, const QByteArray &data = {}) {
            QByteArray length(8, '\0');
            length[0] = char(header.size());
            return length + header + data;
        };
        QTest::newRow("empty") << QByteArray() << "it has 0 bytes, needed at least 8";
        QTest::newRow("header beyond the end") << QByteArray(8, '\xff') << "the file ends before";
        QTest::newRow("not JSON") << file("nothing") << "header byte 0 is not '{'";
        QTest::newRow("unclosed") << file(R"({"a":{"dtype":"F16")") << "is not '}'";
        QTest::newRow("another dtype") << file(R"({"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}})", "x")
                                       << "tensor a is I8, needed F16";
        QTest::newRow("outside") << file(R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", "1234")
                                 << "tensor a lies outside the file or does not fit its shape";
        QTest::newRow("overflow")
            << file(R"({"a":{"dtype":"F16","shape":[4294967296,4294967296],"data_offsets":[0,0]}})")
            << "is not a shape that fits the file";
        QTest::newRow("number") << file(R"({"a":{"dtype":"F16","shape":[99999999999999999999],"data_offsets":[0,0]}})")
                                << "is not a number that fits 64 bits";
    }
    void aBrokenModelIsRefused() {
        QFETCH(QByteArray, bytes);
        QFETCH(QString, message);
        const Package package;
        write(package.dir.filePath("data/model.safetensors"), bytes);
        const auto result = run(package, {"--self-test"}, Driver::simulated);
        QCOMPARE(result.exitCode, 1);
        QVERIFY2(result.err.contains(message), qPrintable(result.err));
        QCOMPARE(result.err.count('\n'), 1);
    }

    void theCommittedModelIsWhatTheScriptWrites() {
        QTemporaryDir dir;
        QDir(dir.path()).mkdir("data");
        const QString source = SLIPWAY_SOURCE_DIR "/resources/samples/vector_add";
        QVERIFY(QFile::copy(source + "/makemodel.py", dir.filePath("makemodel.py")));
        QCOMPARE(QProcess::execute("python3", {dir.filePath("makemodel.py")}), 0);
        QFile made(dir.filePath("data/model.safetensors"));
        QFile committed(source + "/data/model.safetensors");
        QVERIFY(made.open(QIODevice::ReadOnly) && committed.open(QIODevice::ReadOnly));
        QCOMPARE(made.readAll(), committed.readAll());
    }
};

QTEST_APPLESS_MAIN(TestSample)
#include "tst_sample.moc"
