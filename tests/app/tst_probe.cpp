// SPDX-License-Identifier: Apache-2.0
//
// The probe as boards meet it: what its ELF asks of them, and what it says about drivers that are absent, well, hung
// or crashing. The driver is tests/app/fakecuda.c.

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>
#include <QVersionNumber>

#include <cstring>

namespace {

struct Ran {
    int exitCode = -1;
    QByteArray out;
    QByteArray err;

    QJsonValue document() const { return QJsonDocument::fromJson(out).object(); }
    QList<QJsonValue> lines() const {
        QList<QJsonValue> objects;
        for (const auto &line : out.trimmed().split('\n'))
            objects << QJsonDocument::fromJson(line).object();
        return objects;
    }
};

Ran run(const QString &program, const QStringList &arguments, const QMap<QString, QString> &variables = {}) {
    QProcess process;
    auto environment = QProcessEnvironment::systemEnvironment();
    environment.remove("LD_LIBRARY_PATH");
    for (auto at = variables.begin(); at != variables.end(); ++at)
        environment.insert(at.key(), at.value());
    process.setProcessEnvironment(environment);
    process.start(program, arguments);
    if (!process.waitForFinished(30000) || process.exitStatus() != QProcess::NormalExit)
        return {-1, process.readAllStandardOutput(), process.errorString().toUtf8()};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

QString probe(const QString &arch) {
    return QString(SLIPWAY_BIN_DIR "/probe/%1/slipway-probe").arg(arch);
}

/// The probe for this machine, with the fake driver where the loader looks first.
Ran runWithDriver(const QStringList &arguments, const QString &mode = {}) {
    return run(probe("x86_64"), arguments, {{"LD_LIBRARY_PATH", SLIPWAY_FAKE_CUDA_DIR}, {"FAKE_CUDA", mode}});
}

/// The arm64 probe under emulation, by the cross compiler's loader and libc.
Ran runEmulated(const QStringList &arguments) {
    const QString root = "/usr/aarch64-linux-gnu/lib";
    return run("qemu-aarch64-static",
               QStringList{root + "/ld-linux-aarch64.so.1", "--library-path", root, probe("aarch64")} + arguments);
}

void write(const QString &path, const QByteArray &bytes) {
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
}

void addArchitectures() {
    QTest::addColumn<QString>("arch");
    QTest::newRow("aarch64") << "aarch64";
    QTest::newRow("x86_64") << "x86_64";
}

constexpr auto good =
    "// meta:id=k\n// meta:name=k\n.version 8.2\n.target sm_87\n/* .entry no( */\n.visible .entry k(){}\n";

template <class Number>
void put(QByteArray &bytes, qsizetype offset, Number value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// A cubin's skeleton: a symbol table at 64 with the kernel "k" and the plain function "f", their names at 136, and two
/// section headers at 144.
QByteArray cubin() {
    QByteArray bytes(144 + 2 * 64, '\0');
    bytes.replace(0, 4,
                  "\x7f"
                  "ELF");
    put<quint16>(bytes, 18, 190);
    put<quint64>(bytes, 40, 144);
    put<quint16>(bytes, 58, 64);
    put<quint16>(bytes, 60, 2);
    put<quint32>(bytes, 64 + 24, 1);
    put<quint16>(bytes, 64 + 28, 0x1012);
    put<quint32>(bytes, 64 + 48, 3);
    put<quint16>(bytes, 64 + 52, 0x0012);
    bytes.replace(137, 3, QByteArray("k\0f", 3));
    put<quint32>(bytes, 144 + 4, 2);
    put<quint64>(bytes, 144 + 24, 64);
    put<quint64>(bytes, 144 + 32, 72);
    put<quint32>(bytes, 144 + 40, 1);
    put<quint64>(bytes, 208 + 24, 136);
    put<quint64>(bytes, 208 + 32, 8);
    return bytes;
}

} // namespace

class TestProbe : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void asksForNoGlibcNewerThan217_data() { addArchitectures(); }
    void asksForNoGlibcNewerThan217() {
        QFETCH(QString, arch);
        const auto result = run("readelf", {"-VW", probe(arch)});
        QCOMPARE(result.exitCode, 0);
        static const QRegularExpression pattern("Name: (\\S+)");
        auto versions = pattern.globalMatch(QString::fromUtf8(result.out));
        QVERIFY(versions.hasNext());
        while (versions.hasNext()) {
            const auto name = versions.next().captured(1);
            QVERIFY2(name.startsWith("GLIBC_"), qPrintable(name));
            QVERIFY2(QVersionNumber::fromString(name.mid(6)) <= QVersionNumber(2, 17), qPrintable(name));
        }
    }

    void needsLibcAndLibdlAlone_data() { addArchitectures(); }
    void needsLibcAndLibdlAlone() {
        QFETCH(QString, arch);
        const auto result = run("readelf", {"-dW", probe(arch)});
        QCOMPARE(result.exitCode, 0);
        static const QRegularExpression pattern("\\((NEEDED|RPATH|RUNPATH)\\).*\\[(.+)\\]");
        QStringList found;
        auto entries = pattern.globalMatch(QString::fromUtf8(result.out));
        while (entries.hasNext())
            found << entries.next().captured(2);
        QCOMPARE(found, QStringList({"libc.so.6", "libdl.so.2"}));
    }

    void isBuiltForItsArchitecture() {
        QVERIFY(run("readelf", {"-hW", probe("aarch64")}).out.contains("AArch64"));
        QVERIFY(run("readelf", {"-hW", probe("x86_64")}).out.contains("X86-64"));
    }

    void aMachineWithoutDriverIsAFact() {
        const auto native = run(probe("x86_64"), {"facts"});
        QCOMPARE(native.exitCode, 3);
        QCOMPARE(native.document()["probe"], QJsonValue(1));
        QCOMPARE(native.document()["driver"]["status"], QJsonValue("absent"));
        QCOMPARE(native.document()["gpus"], QJsonValue(QJsonArray()));
    }

    void theArm64ProbeRunsUnderEmulation() {
        const auto emulated = runEmulated({"facts"});
        QCOMPARE(emulated.exitCode, 3);
        QCOMPARE(emulated.document()["driver"]["status"], QJsonValue("absent"));
    }

    void factsAreWhatTheDriverSays() {
        const auto result = runWithDriver({"facts"});
        QCOMPARE(result.exitCode, 0);
        const auto driver = result.document()["driver"];
        QCOMPARE(driver["status"], QJsonValue("ok"));
        QCOMPARE(driver["version"], QJsonValue(12060));
        QCOMPARE(driver["library"].toString(), QFileInfo(SLIPWAY_FAKE_CUDA_DIR "/libcuda.so.1").canonicalFilePath());
        const auto gpus = result.document()["gpus"].toArray();
        QCOMPARE(gpus.size(), 1);
        const QJsonObject expected{{"name", "Orin (simulated by Slipway)"},
                                   {"capability", "8.7"},
                                   {"sm_count", 8},
                                   {"integrated", true},
                                   {"memory_bytes", qint64(7990000000)},
                                   {"l2_bytes", 4194304},
                                   {"shared_per_block_optin_bytes", 166912},
                                   {"warp_size", 32},
                                   {"clock_khz", 624000},
                                   {"uuid", "GPU-00112233-4455-6677-8899-aabbccddeeff"}};
        QCOMPARE(gpus[0].toObject(), expected);
    }

    void aDriverWithoutGpuKeepsItsVersionAndItsWords() {
        const auto result = runWithDriver({"facts"}, "no device");
        QCOMPARE(result.exitCode, 3);
        const auto driver = result.document()["driver"];
        QCOMPARE(driver["status"], QJsonValue("error"));
        QCOMPARE(driver["version"], QJsonValue(12060));
        QCOMPARE(driver["code"], QJsonValue(100));
        QCOMPARE(driver["error"].toString(),
                 QString::fromUtf16(u"CUDA_ERROR_NO_DEVICE: no CUDA-capable device \ufffd is detected"));
    }

    void aSickDriverCannotStopUs_data() {
        QTest::addColumn<QString>("mode");
        QTest::addColumn<QString>("status");
        QTest::addColumn<QString>("error");
        QTest::newRow("hangs") << "hang" << "hung" << "no answer from the driver in time";
        QTest::newRow("crashes") << "crash" << "crashed" << "the driver crashed with signal 9";
        QTest::newRow("ends the process") << "exit" << "crashed" << "the driver ended the process";
    }
    void aSickDriverCannotStopUs() {
        QFETCH(QString, mode);
        QFETCH(QString, status);
        QFETCH(QString, error);
        QElapsedTimer timer;
        timer.start();
        const auto result = runWithDriver({"facts", "--timeout", "1"}, mode);
        QVERIFY(timer.elapsed() < 10000);
        QCOMPARE(result.exitCode, 3);
        const auto driver = result.document()["driver"];
        QCOMPARE(driver["status"].toString(), status);
        QCOMPARE(driver["error"].toString(), error);
        QCOMPARE(driver["version"], QJsonValue(12060));
    }

    void aBrokenLibraryIsAnErrorAndNotAbsence() {
        QTemporaryDir dir;
        write(dir.filePath("libcuda.so.1"), "not a library");
        const auto result = run(probe("x86_64"), {"facts"}, {{"LD_LIBRARY_PATH", dir.path()}});
        QCOMPARE(result.exitCode, 3);
        QCOMPARE(result.document()["driver"]["status"], QJsonValue("error"));
        QVERIFY(result.document()["driver"]["error"].toString().contains("libcuda.so.1"));
    }

    void everyImageOfAFolderIsTriedWhateverTheOthersDo() {
        QTemporaryDir dir;
        write(dir.filePath("a.ptx"), ".version 9.1\n.target sm_87\n.visible .entry a(){}");
        write(dir.filePath("b.o"), "// CRASH");
        write(dir.filePath("c.fatbin"), "");
        write(dir.filePath("d.o"), "// HANG");
        write(dir.filePath("e.cubin"), good);
        write(dir.filePath("f.o"), "// meta:name=other\n.version 8.2\n.visible .entry k(){}");
        write(dir.filePath("notes.txt"), "no image");
        const auto result = runWithDriver({"load", "--timeout", "1", dir.path(), dir.filePath("gone.o")});
        QCOMPARE(result.exitCode, 1);
        const auto lines = result.lines();
        QCOMPARE(lines.size(), 8);
        QCOMPARE(lines[0]["file"].toString(), dir.filePath("a.ptx"));
        QCOMPARE(lines[0]["status"], QJsonValue("refused"));
        QCOMPARE(lines[0]["code"], QJsonValue(222));
        QCOMPARE(lines[0]["error"], QJsonValue("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
        QCOMPARE(lines[0]["log"], QJsonValue("Unsupported .version \"9.1\""));
        QCOMPARE(lines[1]["status"], QJsonValue("crashed"));
        QCOMPARE(lines[2]["code"], QJsonValue(200));
        QCOMPARE(lines[3]["status"], QJsonValue("hung"));
        QCOMPARE(lines[4]["status"], QJsonValue("ok"));
        QCOMPARE(lines[4]["entries"], QJsonValue(QJsonArray({"k"})));
        QCOMPARE(lines[5]["status"], QJsonValue("refused"));
        QCOMPARE(lines[5]["missing"], QJsonValue(QJsonArray({"other"})));
        QCOMPARE(lines[6]["status"], QJsonValue("unreadable"));
        QCOMPARE(lines[6]["error"], QJsonValue("No such file or directory"));
        QCOMPARE(lines[7]["summary"], QJsonValue(true));
        QCOMPARE(lines[7]["images"], QJsonValue(7));
        QCOMPARE(lines[7]["ok"], QJsonValue(1));
        QCOMPARE(lines[7]["refused"], QJsonValue(3));
        QCOMPARE(lines[7]["unreadable"], QJsonValue(1));
        QCOMPARE(lines[7]["hung"], QJsonValue(1));
        QCOMPARE(lines[7]["crashed"], QJsonValue(1));
    }

    void aCubinsKernelsAreItsMarkedSymbols() {
        QTemporaryDir dir;
        write(dir.filePath("k.cubin"), cubin());
        const auto result = runWithDriver({"load", dir.path()});
        QCOMPARE(result.exitCode, 0);
        QCOMPARE(result.lines().value(0)["entries"], QJsonValue(QJsonArray({"k"})));
    }

    void truncatedAndTwistedCubinsHarmNobody() {
        QTemporaryDir dir;
        const auto whole = cubin();
        for (int length = 4; length < whole.size(); length += 3)
            write(dir.filePath(QString("cut%1.cubin").arg(length)), whole.left(length));
        for (int offset = 16; offset + 8 <= whole.size(); offset += 4) {
            auto twisted = whole;
            put<quint64>(twisted, offset, 0xfffffffffffffff0);
            write(dir.filePath(QString("twist%1.cubin").arg(offset)), twisted);
        }
        const auto summary = runWithDriver({"load", dir.path()}).lines().constLast();
        QCOMPARE(summary["crashed"], QJsonValue(0));
        QCOMPARE(summary["hung"], QJsonValue(0));
        QVERIFY(summary["images"].toInt() > 120);
        QVERIFY(summary["ok"].toInt() > 100);
    }

    void goodImagesExitWithZero() {
        QTemporaryDir dir;
        write(dir.filePath("k.o"), good);
        const auto result = runWithDriver({"load", dir.filePath("k.o")});
        QCOMPARE(result.exitCode, 0);
        QCOMPARE(result.lines().value(0)["status"], QJsonValue("ok"));
    }

    void namesWithQuotesAndControlsMakeValidJson() {
        const auto result = runWithDriver({"load", QString("/nowhere/\"\n\t")});
        QCOMPARE(result.exitCode, 1);
        QCOMPARE(result.lines().value(0)["file"], QJsonValue("/nowhere/\"\n\t"));
    }

    void withoutDriverNoImageCountsAsTried() {
        QTemporaryDir dir;
        write(dir.filePath("k.o"), good);
        const auto result = run(probe("x86_64"), {"load", dir.path()});
        QCOMPARE(result.exitCode, 3);
        QCOMPARE(result.lines().value(0)["not_tried"], QJsonValue(1));
        QCOMPARE(result.lines().value(0)["ok"], QJsonValue(0));
    }

    void wrongUsageGetsOneLineAndTwo_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QByteArray>("message");
        QTest::newRow("timeout") << QStringList{"facts", "--timeout", "soon"}
                                 << QByteArray(
                                        "slipway-probe: --timeout needs seconds, a whole number from 1 to 86400\n");
        QTest::newRow("no path") << QStringList{"load"} << QByteArray("slipway-probe: load needs a file or a folder\n");
        QTest::newRow("option") << QStringList{"facts", "--fast"}
                                << QByteArray("slipway-probe: unknown option --fast\n");
    }
    void wrongUsageGetsOneLineAndTwo() {
        QFETCH(QStringList, arguments);
        QFETCH(QByteArray, message);
        const auto result = run(probe("x86_64"), arguments);
        QCOMPARE(result.exitCode, 2);
        QCOMPARE(result.err, message);
        QCOMPARE(result.out, QByteArray());
    }
};

QTEST_APPLESS_MAIN(TestProbe)
#include "tst_probe.moc"
