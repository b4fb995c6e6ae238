// SPDX-License-Identifier: Apache-2.0
//
// Packages that are damaged in every way: a finding or one clear error, never a crash, a hang or a huge allocation.

#include "tests/preflight/checkfixture.h"
#include "tests/preflight/modelbytes.h"

#include <QElapsedTimer>
#include <QTest>

#include <sys/resource.h>
#include <sys/stat.h>

using namespace slipway;

namespace {

std::string bytesOf(const char *file) {
    return readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images" / file).value();
}

/// A package on disk with a file of every kind, by path.
std::map<std::string, std::string> wholeFiles() {
    return {{"bin/app", readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/fuzz/corpus/elf/small").value()},
            {"cache/a.o", ptxText("8.5", "sm_87", "a")},
            {"cache/b.cubin", bytesOf("scale_sm_87.cubin")},
            {"cache/c.fatbin", bytesOf("scale_speed.fatbin")},
            {"data/m.safetensors", safetensorsOf({{"w", "F16", {8}}, {"v", "I32", {2}}}, R"({"format": "pack-quantized", "ignore": ["w"]})")},
            {"data/m.gguf", ggufOf(2, 36)},
            {"data/m.onnx", onnxOf("w.bin", 4)},
            {"data/m.engine", planOf(10, 3, 0)},
            {"data/m.npy", std::string("\x93NUMPY\x01\x00\x3a\x00", 10) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), } \n" + "12345678"},
            {"data/run.sh", "#!/bin/sh\necho\n"}};
}

/// Pre-flight of a package with these files; must come to an end.
Result<Verdict> judge(CheckFixture &fixture, const std::map<std::string, std::string> &files) {
    for (const auto &[path, bytes] : files)
        fixture.file(path, bytes);
    fixture.package.manifest.models = {{.path = "data/m.safetensors", .dtype = "F16"}};
    return preflight(fixture.evidence(), fixture.progress);
}

bool hasFinding(const Verdict &verdict, std::string_view id, std::string_view found) {
    return std::any_of(verdict.findings.begin(), verdict.findings.end(), [&](const auto &f) {
        return f.id == id && f.status == Status::fail && f.found.find(found) != std::string::npos;
    });
}

} // namespace

class TestDamage : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void filesCutOffAnywhereAreFindings_data() {
        QTest::addColumn<QString>("path");
        for (const auto &[path, bytes] : wholeFiles())
            QTest::newRow(path.c_str()) << QString::fromStdString(path);
    }
    void filesCutOffAnywhereAreFindings() {
        QFETCH(QString, path);
        const auto whole = wholeFiles().at(path.toStdString());
        const auto step = std::max<std::size_t>(1, whole.size() / 41);
        for (std::size_t length = 0; length < whole.size(); length += step) {
            CheckFixture fixture;
            const auto verdict = judge(fixture, {{path.toStdString(), whole.substr(0, length)}});
            QVERIFY2(verdict, verdict ? "" : verdict.error().message.c_str());
        }
    }

    void bytesChangedAnywhereAreFindings_data() { filesCutOffAnywhereAreFindings_data(); }
    void bytesChangedAnywhereAreFindings() {
        QFETCH(QString, path);
        const auto whole = wholeFiles().at(path.toStdString());
        const auto step = std::max<std::size_t>(1, whole.size() / 43);
        for (std::size_t at = 0; at < whole.size(); at += step) {
            auto broken = whole;
            broken[at] = char(0xff);
            CheckFixture fixture;
            QVERIFY(judge(fixture, {{path.toStdString(), broken}}));
        }
    }

    void hugeSizesAllocateNothing_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QByteArray>("bytes");
        const auto add = [](const char *path, const std::string &bytes) { QTest::newRow(path) << QString(path) << QByteArray(bytes.data(), qsizetype(bytes.size())); };
        const auto huge = little(std::uint64_t(1) << 63, 8);
        add("data/m.safetensors", huge + "{}");
        add("data/shape.safetensors", little(83, 8) + R"({"w":{"dtype":"F16","shape":[9223372036854775808,2],"data_offsets":[0,9223372036854775808]}})");
        add("data/m.gguf", "GGUF" + little(3, 4) + huge + huge + "x");
        add("data/list.gguf", "GGUF" + little(3, 4) + little(0, 8) + little(1, 8) + little(1, 8) + "k" + little(9, 4) + little(8, 4) + huge);
        add("data/m.onnx", std::string("\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 12));
        add("cache/c.fatbin", little(0xBA55ED50, 4) + little(1, 2) + little(16, 2) + huge + "x");
        add("cache/b.cubin", bytesOf("scale_sm_87.cubin").substr(0, 0x28) + huge + bytesOf("scale_sm_87.cubin").substr(0x30));
        add("data/m.npy", std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12));
    }
    void hugeSizesAllocateNothing() {
        QFETCH(QString, path);
        QFETCH(QByteArray, bytes);
        CheckFixture fixture;
        rusage before{}, after{};
        ::getrusage(RUSAGE_SELF, &before);
        const auto verdict = judge(fixture, {{path.toStdString(), bytes.toStdString()}});
        ::getrusage(RUSAGE_SELF, &after);
        QVERIFY(verdict);
        QCOMPARE(verdict->status, Status::fail);
        QVERIFY2(after.ru_maxrss - before.ru_maxrss < 200'000, "more than 200 MB for a few bytes"); // kB
    }

    void deepAndRepeatedJsonIsAnError() {
        const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
        CheckFixture fixture;
        const auto verdict = judge(fixture, {{"data/m.safetensors", little(deep.size(), 8) + deep},
                                             {"data/q.safetensors", safetensorsOf({{"w", "F16", {1}}}, deep)},
                                             {"data/e.engine", planOf(10, 3, 0)},
                                             {"data/e.engine.json", deep}});
        QVERIFY(verdict);
        QVERIFY(hasFinding(*verdict, "dtype", "deep") || hasFinding(*verdict, "dtype", "nested"));
        QVERIFY(writeFileAtomically(fixture.package.directory / "conf/manifest.json", deep));
        QVERIFY(!Package::open(fixture.package.directory, fixture.progress));
    }

    void aManifestCutOffAnywhereIsOneError() {
        CheckFixture fixture;
        fixture.file("data/x", "x");
        fixture.package.manifest.kernels = {{.name = "k", .hash = "h", .id = "i", .kind = "cuda"}};
        const auto whole = jsonText(fixture.package.manifest.toJson());
        for (std::size_t length = 0; length + 2 < whole.size(); length += 3) {
            QVERIFY(writeFileAtomically(fixture.package.directory / "conf/manifest.json", whole.substr(0, length)));
            const auto opened = Package::open(fixture.package.directory, fixture.progress);
            QVERIFY(!opened);
            QVERIFY(!opened.error().message.empty() && opened.error().message.find('\n') == std::string::npos);
        }
    }

    void namesThatAreNoUtf8ArePrintedSafely() {
        CheckFixture fixture;
        fixture.file("data/\xff\xfe\x1b[2J.safetensors", safetensorsOf({{"w\x01", "F16", {1}}}));
        const auto verdict = preflight(fixture.evidence(), fixture.progress);
        QVERIFY(verdict);
        const auto text = jsonText(verdict->toJson());
        QVERIFY(text.find('\x1b') == std::string::npos);
    }

    void linksAndSpecialFilesAreNeverFollowed() {
        CheckFixture fixture;
        const auto &directory = fixture.package.directory;
        fixture.file("data/whole.txt", "text");
        for (const auto *path : {"data/link.safetensors", "data/pipe.gguf", "outside/x.npy", "data/gone.onnx", "data/other.txt"})
            fixture.package.manifest.files.push_back({.path = path, .size = 4});
        fs::create_symlink("/etc/passwd", directory / "data/link.safetensors");
        fs::create_directory_symlink("/", directory / "outside");
        QCOMPARE(::mkfifo((directory / "data/pipe.gguf").c_str(), 0600), 0);
        QVERIFY(writeFileAtomically(directory / "data/other.txt", "longer"));
        QElapsedTimer timer;
        timer.start();
        const auto verdict = preflight(fixture.evidence(), fixture.progress);
        QVERIFY(verdict);
        QVERIFY2(timer.elapsed() < 20'000, "it waited for a pipe");
        QVERIFY(hasFinding(*verdict, "package-files", "a symbolic link"));
        QVERIFY(hasFinding(*verdict, "package-files", "a special file"));
        QVERIFY(hasFinding(*verdict, "package-files", "behind a link"));
        QVERIFY(hasFinding(*verdict, "package-files", "missing"));
        QVERIFY(hasFinding(*verdict, "package-files", "6 bytes"));
        QCOMPARE(std::count_if(verdict->findings.begin(), verdict->findings.end(), [](const auto &f) { return f.id == "package-files"; }), 5);
    }
};

QTEST_APPLESS_MAIN(TestDamage)
#include "tst_damage.moc"
