// SPDX-License-Identifier: Apache-2.0
//
// Model files built byte by byte here: whole ones, and every way in which downloads and conversions break them.

#include "core/image/modelfile.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace slipway;

namespace {

template <typename T>
std::string little(T value) {
    std::string bytes;
    for (std::size_t i = 0; i < sizeof(T); ++i)
        bytes += char(std::uint64_t(value) >> (8 * i) & 0xff);
    return bytes;
}
std::string u32(std::uint32_t value) {
    return little(value);
}
std::string u64(std::uint64_t value) {
    return little(value);
}
std::string counted(const std::string &text) {
    return u64(text.size()) + text;
}

std::string safetensors(const std::string &header, std::size_t dataBytes) {
    return counted(header) + std::string(dataBytes, 'x');
}

/// A protocol buffer field that holds bytes.
std::string field(int number, const std::string &bytes) {
    std::string length;
    for (auto rest = bytes.size();;) {
        length += char((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
        if ((rest >>= 7) == 0)
            break;
    }
    return std::string(1, char(number << 3 | 2)) + length + bytes;
}
std::string field(int number, int value) {
    return std::string{char(number << 3), char(value)};
}

constexpr const char *good =
    R"({"__metadata__": {"format": "pt"}, "a": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]},
                                "b": {"dtype": "F32", "shape": [], "data_offsets": [12, 16]}, "c": {"dtype": "BF16", "shape": [0, 7], "data_offsets": [16, 16]}})";

} // namespace

class TestModelFile : public QObject {
    Q_OBJECT

    QTemporaryDir m_dir;

    ModelFile read(const std::string &bytes, const char *name = "model.bin") {
        const auto path = fs::path(m_dir.path().toStdString()) / name;
        std::ofstream(path, std::ios::binary) << bytes; // plain: hundreds of files, and none must survive a crash
        auto model = readModelFile(path);
        return model ? *model : ModelFile{.format = model.error().message};
    }

private Q_SLOTS:
    void safetensorsAreReadWithDtypesAndMetadata() {
        const auto model = read(safetensors(good, 16));
        QCOMPARE(model.format, std::string("safetensors"));
        QVERIFY2(model.damage.empty(), model.damage.empty() ? "" : model.damage[0].c_str());
        QCOMPARE(model.tensors.size(), std::size_t(3));
        QCOMPARE(model.tensors[0].name, std::string("a"));
        QCOMPARE(model.tensors[0].shape, (std::vector<std::uint64_t>{2, 3}));
        QCOMPARE(model.tensors[0].bytes, std::uint64_t(12));
        QCOMPARE(model.dtypes, (std::map<std::string, std::uint64_t>{{"BF16", 1}, {"F16", 1}, {"F32", 1}}));
        QCOMPARE(model.metadata.at("format"), std::string("pt"));
    }

    void theSamplesModelIsWhole() {
        const auto model =
            readModelFile(fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add/data/model.safetensors");
        QVERIFY(model.has_value());
        QCOMPARE(model->format, std::string("safetensors"));
        QVERIFY2(model->damage.empty(), model->damage.empty() ? "" : model->damage[0].c_str());
        QVERIFY(!model->tensors.empty());
    }

    void brokenSafetensorsSayWhy_data() {
        QTest::addColumn<QByteArray>("bytes");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char *name, const std::string &bytes, const char *says) {
            QTest::newRow(name) << QByteArray::fromStdString(bytes) << QByteArray(says);
        };
        const auto one = [](const std::string &tensor, std::size_t data) {
            return safetensors("{\"t\": " + tensor + "}", data);
        };
        row("data cut off", safetensors(good, 10), "ends at byte 12 of 10: the file is truncated");
        row("data left over", safetensors(good, 20), "4 bytes behind the last tensor belong to none");
        row("header cut off", safetensors(good, 0).substr(0, 40), "the file ends before: it is truncated");
        row("header too large", u64(3'000'000'000) + "{}", "the format allows 100000000");
        row("header no JSON", safetensors("{\"t\": ", 0), "its header");
        row("header deep", safetensors("{\"t\": " + std::string(100, '[') + std::string(100, ']') + "}", 0),
            "its header");
        row("wrong size", one(R"({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]})", 4),
            "it has 4 bytes, but 2 elements of F32 need 8");
        row("overflow", one(R"({"dtype": "F32", "shape": [4294967296, 4294967296], "data_offsets": [0, 4]})", 4),
            "its shape overflows");
        row("overflow of bits", one(R"({"dtype": "F64", "shape": [1152921504606846976], "data_offsets": [0, 4]})", 4),
            "its shape overflows");
        row("offsets backwards", one(R"({"dtype": "F32", "shape": [1], "data_offsets": [4, 0]})", 4),
            "not a begin and an end");
        row("offset negative", one(R"({"dtype": "F32", "shape": [1], "data_offsets": [-4, 0]})", 4),
            "not a list of numbers");
        row("offset behind the end",
            one(R"({"dtype": "F32", "shape": [1], "data_offsets": [18446744073709551611, 18446744073709551615]})", 4),
            "the file is truncated");
        row("no dtype", one(R"({"shape": [1], "data_offsets": [0, 4]})", 4), "\"dtype\" is missing");
        row("unknown dtype", one(R"({"dtype": "F7", "shape": [1], "data_offsets": [0, 4]})", 4),
            "the dtype F7 is unknown");
        row("no object", one("3", 0), "tensor t:");
        row("hole",
            safetensors(
                R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "b": {"dtype": "U8", "shape": [1], "data_offsets": [3, 4]}})",
                4),
            "2 bytes before tensor b belong to none");
        row("overlap",
            safetensors(
                R"({"a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}, "b": {"dtype": "U8", "shape": [2], "data_offsets": [2, 4]}})",
                4),
            "tensor b overlaps");
    }
    void brokenSafetensorsSayWhy() {
        QFETCH(QByteArray, bytes);
        QFETCH(QByteArray, says);
        const auto model = read(bytes.toStdString(), "model.safetensors");
        QCOMPARE(model.format, std::string("safetensors"));
        QByteArray all;
        for (const auto &line : model.damage)
            all += QByteArray::fromStdString(line) + '\n';
        QVERIFY2(all.contains(says), all.constData());
    }

    void safetensorsCutOffAnywhereAreDamaged() {
        const auto bytes = safetensors(good, 16);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            const auto model = read(bytes.substr(0, length), "model.safetensors");
            QVERIFY2(!model.damage.empty(), qPrintable(QString::number(length)));
        }
    }

    void aGitLfsPointerIsNotAModel() {
        const auto model = read("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 548105171\n",
                                "model.safetensors");
        QCOMPARE(model.format, std::string("git-lfs pointer"));
        QCOMPARE(model.metadata.at("size"), std::string("548105171"));
        QCOMPARE(model.metadata.at("oid"), std::string("sha256:4d7a2146"));
        QVERIFY(model.damage[0].find("the real file of 548105171 bytes was not fetched") != std::string::npos);
    }

    void ggufIsReadAndItsDataMustBeThere() {
        const auto header = "GGUF" + u32(3) + u64(2) + u64(3) + counted("general.architecture") + u32(8) +
                            counted("llama") + counted("tokens") + u32(9) + u32(8) + u64(2) + counted("a") +
                            counted("b") + counted("general.alignment") + u32(4) + u32(64) + counted("w") + u32(2) +
                            u64(32) + u64(2) + u32(2) + u64(0) + counted("n") + u32(1) + u64(3) + u32(0) + u64(64);
        const auto start = (header.size() + 63) / 64 * 64;
        const auto whole = header + std::string(start - header.size() + 64 + 12, '\0');
        auto model = read(whole);
        QCOMPARE(model.format, std::string("gguf"));
        QVERIFY2(model.damage.empty(), model.damage.empty() ? "" : model.damage[0].c_str());
        QCOMPARE(model.metadata.at("general.architecture"), std::string("llama"));
        QCOMPARE(model.dtypes, (std::map<std::string, std::uint64_t>{{"F32", 1}, {"Q4_0", 1}}));
        QCOMPARE(model.tensors[0].bytes, std::uint64_t(36)); // two blocks of 18 bytes
        for (std::size_t length = 4; length < whole.size(); ++length) {
            model = read(whole.substr(0, length));
            QVERIFY2(!model.damage.empty(), qPrintable(QString::number(length)));
        }
        QVERIFY(!read("GGUF" + u32(3) + u64(UINT64_MAX) + u64(UINT64_MAX)).damage.empty());
        QVERIFY(read("GGUF" + u32(1) + u64(0) + u64(0)).damage[0].find("format version is 1") != std::string::npos);
    }

    void onnxNamesItsExternalFiles() {
        const auto inner = field(1, 2) + field(2, 10) + field(8, "w") + field(9, "1234"); // F16
        const auto outer = field(1, std::string("\x80\x02\x03", 3)) + field(2, 1) + field(8, "big") +
                           field(13, field(1, "location") + field(2, "big.data")) +
                           field(13, field(1, "offset") + field(2, "0")) + field(14, 1);
        const auto bytes =
            field(1, 8) + field(2, "pytorch") + field(7, field(2, "graph") + field(5, inner) + field(5, outer));
        auto model = read(bytes);
        QCOMPARE(model.format, std::string("onnx"));
        QVERIFY2(model.damage.empty(), model.damage.empty() ? "" : model.damage[0].c_str());
        QCOMPARE(model.dtypes, (std::map<std::string, std::uint64_t>{{"F16", 1}, {"F32", 1}}));
        QCOMPARE(model.tensors[1].shape, (std::vector<std::uint64_t>{256, 3}));
        QCOMPARE(model.external.begin()->first, std::string("big.data"));
        QCOMPARE(model.metadata.at("producer"), std::string("pytorch"));
        for (std::size_t length = 1; length < bytes.size(); ++length) {
            model = read(bytes.substr(0, length), "model.onnx");
            QVERIFY2(!model.damage.empty(), qPrintable(QString::number(length)));
        }
    }

    void numpyArraysAreReadAndMeasured() {
        const std::string header = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }\n";
        const auto bytes = "\x93NUMPY\x01" + std::string(1, '\0') + little(std::uint16_t(header.size())) + header +
                           std::string(12, '\0');
        auto model = read(bytes);
        QCOMPARE(model.format, std::string("numpy"));
        QVERIFY2(model.damage.empty(), model.damage.empty() ? "" : model.damage[0].c_str());
        QCOMPARE(model.tensors[0].dtype, std::string("F16"));
        QCOMPARE(model.tensors[0].shape, (std::vector<std::uint64_t>{2, 3}));
        for (std::size_t length = 6; length < bytes.size(); ++length)
            QVERIFY2(!read(bytes.substr(0, length)).damage.empty(), qPrintable(QString::number(length)));
    }

    void otherFilesAreToldApart() {
        QCOMPARE(read("ftrt....").format, std::string("tensorrt"));
        QCOMPARE(read("hello").format, std::string("unknown"));
        QVERIFY(read("hello").damage.empty());
        QCOMPARE(read("").damage, std::vector<std::string>{"it is empty"});
        QVERIFY(!readModelFile("/nonexistent/model"));
    }
};

QTEST_APPLESS_MAIN(TestModelFile)
#include "tst_modelfile.moc"
