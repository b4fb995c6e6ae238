// SPDX-License-Identifier: Apache-2.0
//
// The checks of model files on small real files.

#include "core/preflight/modelparts.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

namespace {

/// A safetensors file of one-element tensors: name -> dtype.
std::string safetensors(const std::vector<std::pair<std::string, std::string>> &tensors) {
    Json header = Json::object();
    std::uint64_t at = 0;
    for (const auto &[name, dtype] : tensors) {
        const std::uint64_t size = dtype == "F16" || dtype == "BF16"  ? 2
                                   : dtype == "F32" || dtype == "I32" ? 4
                                   : dtype == "I64"                   ? 8
                                                                      : 1;
        header[name] = {{"dtype", dtype}, {"shape", {1}}, {"data_offsets", {at, at + size}}};
        at += size;
    }
    const auto text = header.dump();
    std::string bytes;
    for (int i = 0; i < 8; ++i)
        bytes += char(std::uint64_t(text.size()) >> (8 * i) & 0xff);
    return bytes + text + std::string(at, '\0');
}

struct ModelFixture : CheckFixture {
    ModelFixture(const std::string &bytes, const std::string &dtype) {
        file("data/model.safetensors", bytes);
        package.manifest.models = {{.path = "data/model.safetensors", .dtype = dtype}};
    }
};

} // namespace

class TestModelChecks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void anF16ModelDeclaredI8IsStoppedAndTheFixNamesTheType() {
        ModelFixture fixture(safetensors({{"a", "F16"}, {"b", "F16"}}), "I8");
        QCOMPARE(fixture.say("dtype"), std::string("fail: found 2 F16 tensors, needed I8 as declared"));
        QCOMPARE(fixture.run("dtype")[0].fix,
                 std::string("\"dtype\": \"F16\" in slipway.json, or convert the model to I8"));
        ModelFixture right(safetensors({{"a", "F16"}, {"b", "F16"}}), "F16");
        QCOMPARE(right.say("dtype"), std::string());
    }

    void declaredNamesOfTheSameTypeAreTheSame() {
        for (const auto *name : {"f16", "float16", "half", "FP16"}) {
            ModelFixture fixture(safetensors({{"a", "F16"}}), name);
            QCOMPARE(fixture.say("dtype"), std::string());
        }
    }

    void aFewTensorsOfAnotherTypeAreAWarning() {
        ModelFixture fixture(safetensors({{"a", "F16"}, {"b", "F16"}, {"c", "F16"}, {"norm", "F32"}}), "F16");
        QCOMPARE(fixture.say("dtype"), std::string("warn: found 3 F16 tensors, 1 F32 tensor, needed F16 as declared"));
    }

    void quantisedWeightsNeedTheirScales() {
        ModelFixture bare(safetensors({{"l.weight", "I8"}}), "I8");
        QCOMPARE(bare.say("dtype"), std::string("fail: found 1 quantised tensor without a scale (l.weight), needed a "
                                                "tensor such as l.weight_scale beside each"));
        ModelFixture scaled(safetensors({{"l.weight", "I8"}, {"l.weight_scale", "F32"}}), "I8");
        QCOMPARE(scaled.say("dtype"), std::string());
        ModelFixture eight(safetensors({{"w", "F8_E4M3"}}), "F8_E4M3");
        QVERIFY(eight.say("dtype").starts_with("fail"));
        ModelFixture inverse(safetensors({{"w", "F8_E4M3"}, {"w_scale_inv", "F32"}}), "F8_E4M3");
        QCOMPARE(inverse.say("dtype"), std::string());
    }

    void aTypeThatNoKernelTakesFails() {
        ModelFixture fixture(safetensors({{"a", "F16"}}), "F16");
        fixture.package.manifest.kernels = {{.name = "saxpy", .dtypes = {"f32"}}};
        QCOMPARE(fixture.say("dtype"),
                 std::string("fail: found F16, but kernels take f32, needed a kernel with F16 arguments"));
        fixture.package.manifest.kernels.push_back({.name = "half", .dtypes = {"f16"}});
        QCOMPARE(fixture.say("dtype"), std::string());
        fixture.package.manifest.kernels = {{.name = "saxpy", .dtypes = {"f32"}}, {.name = "opaque"}};
        QCOMPARE(fixture.say("dtype"), std::string());
    }

    void mangledNamesTellWhatKernelsTake_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("types");
        QTest::newRow("floats") << "_Z5saxpyfPKfPf" << "f32";
        QTest::newRow("half by name") << "_Z4axpyPK6__halfPS_i" << "f16";
        QTest::newRow("a substitution for a pointer") << "_Z3addPKfS0_Pf" << "f32";
        QTest::newRow("brain floats and bytes") << "_Z5dequnPKaP13__nv_bfloat16" << "bf16,i8";
        QTest::newRow("no pointer") << "_Z4idlei" << "";
        QTest::newRow("extern C") << "saxpy" << "";
        QTest::newRow("void says nothing") << "_Z4copyPvPKv" << "";
        QTest::newRow("a type of its own") << "_Z4copyP7Complex" << "";
        QTest::newRow("a template") << "_Z4axpyIfEvPT_" << "";
        QTest::newRow("cut off") << "_Z5saxpyP" << "";
        QTest::newRow("a length past the end") << "_Z99saxpyPf" << "";
        QTest::newRow("a substitution of nothing") << "_Z5saxpyS5_" << "";
    }
    void mangledNamesTellWhatKernelsTake() {
        QFETCH(QString, name);
        QFETCH(QString, types);
        QCOMPARE(QString::fromStdString(fmt::format("{}", fmt::join(mangledPointers(name.toStdString()), ","))), types);
    }

    void theTypesOfEntriesCountWhereTheManifestSaysNothing() {
        ModelFixture fixture(safetensors({{"a", "F16"}}), "F16");
        fixture.images("_Z5saxpyPKfPf", {"ptx 8.5 sm_87"});
        QCOMPARE(fixture.say("dtype"), std::string("fail: found F16, but kernels take f32, needed a kernel with F16 arguments"));
        fixture.images("_Z4axpyPK6__half", {"ptx 8.5 sm_87"});
        QCOMPARE(fixture.say("dtype"), std::string());
        fixture.kernels.pop_back();
        fixture.images("plain", {"ptx 8.5 sm_87"}); // may take anything
        QCOMPARE(fixture.say("dtype"), std::string());
    }

    void theTypesOfMlirBesideTheImageCount() {
        ModelFixture fixture(safetensors({{"a", "F16"}}), "F16");
        fixture.images("saxpy", {"ptx 8.5 sm_87"});
        const auto mlir = fixture.package.directory / "cache/saxpy.mlir";
        fixture.kernels[0].entry.companions = {mlir};
        QVERIFY(writeFileAtomically(mlir, "tt.func public @saxpy(%a: !tt.ptr<f32>, %n: i32) {"));
        QVERIFY(fixture.say("dtype").starts_with("fail: found F16, but kernels take f32"));
        QVERIFY(writeFileAtomically(mlir, "tt.func public @saxpy(%a: !tt.ptr<f16>, %n: i32) {"));
        QCOMPARE(fixture.say("dtype"), std::string());
    }

    void theQuantisationBesideTheModelCounts() {
        ModelFixture fixture(safetensors({{"l.weight", "I8"}, {"l.weight_scale", "F32"}, {"norm.weight", "F16"}}), "I8");
        fixture.file("data/config.json", R"({"quantization_config": {"format": "int-quantized", "ignore": ["norm.weight"],
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "symmetric": false}}}}})");
        QVERIFY2(fixture.say("dtype").starts_with("fail: found 1 quantised tensor without a zero point (l.weight)"), fixture.say("dtype").c_str());
        fixture.file("data/config.json", R"({"quantization_config": {"format": "int-quantized", "ignore": ["norm.weight"],
            "config_groups": {"group_0": {"weights": {"num_bits": 8, "symmetric": true}}}}})");
        QCOMPARE(fixture.say("dtype"), std::string());
    }

    void modelFilesMustBeWhole() {
        const auto whole = safetensors({{"a", "F16"}});
        ModelFixture good(whole, "");
        QCOMPARE(good.say("model-file"), std::string());
        QVERIFY(good.say("dtype").starts_with("skipped"));
        ModelFixture cut(whole.substr(0, whole.size() - 1), "F16");
        QVERIFY(cut.say("model-file").starts_with("fail"));
        QVERIFY(cut.say("dtype").starts_with("unknown"));
        ModelFixture pointer("version https://git-lfs.github.com/spec/v1\noid "
                             "sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n",
                             "F16");
        QCOMPARE(pointer.say("model-file"), std::string("fail: found a Git LFS pointer, needed the file itself"));
        QCOMPARE(pointer.run("model-file")[0].fix, std::string("git lfs pull, then slipway package"));
        CheckFixture none;
        QVERIFY(none.say("model-file").starts_with("skipped"));
    }
};

QTEST_APPLESS_MAIN(TestModelChecks)
#include "tst_modelchecks.moc"
