// SPDX-License-Identifier: Apache-2.0
//
// What people reported (field-reports.md, kinds E to I): for each report that a check answers, its input with the expected
// words of the check, and a sibling that is one step away and passes.
//
// Reports that no check answers, and what does:
//   F71  which ptxas is used, and what it takes: `slipway aot` (here only: an old ptxas raises no false alarm)
//   F85  architectures that nvcc knows: `slipway aot` asks it
//   F86  the idea of a pre-flight itself
//   G89  the variable must be set before the program starts: `slipway run` starts it with conf/env
//   G91  keys by content, not by path or time: the kernel cache      G92  warm-up: the deploy's own step
//   I104 I107 I109 I110 I112  partial files, busy files, which releases go: the deploy

#include "tests/preflight/checkfixture.h"
#include "tests/preflight/modelbytes.h"

#include <QTest>

using namespace slipway;

namespace {

/// One report. `build` makes its input; with `broken` false the sibling.
struct Report {
    const char *name;
    const char *check;
    void (*build)(CheckFixture &fixture, bool broken);
    const char *expected;
    const char *sibling = "";
};

ElfImage program() {
    return {.machine = "aarch64", .type = "executable", .interpreter = "/lib/ld-linux-aarch64.so.1", .needed = {"libc.so.6"}};
}

void needs(CheckFixture &fixture, const std::string &path, const std::string &version, const std::string &symbol = {}) {
    auto elf = program();
    elf.versions = {{.library = "libc.so.6", .version = version}};
    if (!symbol.empty())
        elf.versions[0].symbols = {symbol};
    fixture.elves.push_back({.path = path, .elf = elf});
}

KernelImage image(const std::string &spec) {
    KernelImage made{.kind = spec.starts_with("ptx") ? ImageKind::ptx : ImageKind::cubin, .entries = {{.name = "k"}}};
    made.target = Capability::parse(spec.substr(spec.find("sm_"))).value();
    if (made.kind == ImageKind::ptx)
        made.ptxVersion = PtxVersion::parse(spec.substr(4, 3)).value();
    return made;
}

/// A shared object of somebody else with GPU code in it.
void vendor(CheckFixture &fixture, const std::string &path, const std::vector<std::string> &specs) {
    KernelImage fatbin{.kind = ImageKind::fatbin};
    for (const auto &spec : specs)
        fatbin.members.push_back(image(spec));
    fixture.elves.push_back({.path = path, .elf = {.machine = "aarch64", .type = "shared object"}, .fatbins = {fatbin}});
}

void onGpu(CheckFixture &fixture, const std::string &target, const std::string &capability, int driver) {
    fixture.target = target;
    fixture.facts.gpus->front().capability = Capability::parse(capability).value();
    fixture.facts.cudaDriver = driver;
}

void cudart(CheckFixture &fixture, const std::string &version) {
    fixture.elves = {{.path = "bin/libcudart.so." + version, .elf = {.machine = "aarch64", .soname = "libcudart.so." + version.substr(0, 2)}}};
}

void jitCache(CheckFixture &fixture, const std::string &path) {
    fixture.images("saxpy", {"ptx 8.5 sm_87"});
    fixture.package.env = {{"CUDA_CACHE_PATH", path}};
    fixture.facts.disks->push_back({.mount = "/run", .freeBytes = 1, .type = "tmpfs"});
    fixture.facts.disks->push_back({.mount = "/system", .freeBytes = 1, .readOnly = true});
}

void model(CheckFixture &fixture, const std::string &name, const std::string &bytes, const std::string &dtype = {}) {
    fixture.file("data/" + name, bytes);
    fixture.package.manifest.models = {{.path = "data/" + name, .dtype = dtype}};
}

void ggml(CheckFixture &fixture, const std::string &names) {
    fixture.file("bin/libggml-base.so", "\x7f" "ELF" + names);
    fixture.elves = {{.path = "bin/libggml-base.so", .elf = {.machine = "aarch64"}}};
}

const std::string packed = R"({"format": "pack-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "symmetric": false,
    "strategy": "group", "group_size": 32}}}, "teenygrad_packed_int4": {"l.weight": {"logical_shape": [4, 64], "elements": 256}}})";
const std::string packedWords = R"({"format": "pack-quantized", "config_groups": {"group_0": {"weights": {"num_bits": 4, "symmetric": true,
    "strategy": "group", "group_size": 32}}}})";

std::vector<FakeTensor> teeny(std::uint64_t bytes, bool zero) {
    std::vector<FakeTensor> tensors{{"l.weight", "U8", {bytes}}, {"l.weight_scale", "F32", {8}}};
    if (zero)
        tensors.push_back({"l.weight_zero_point", "I32", {8}});
    return tensors;
}

std::vector<FakeTensor> words(std::uint64_t groups, bool shape) {
    std::vector<FakeTensor> tensors{{"l.weight_packed", "I32", {4, 8}}, {"l.weight_scale", "BF16", {4, groups}}};
    if (shape)
        tensors.push_back({"l.weight_shape", "I64", {2}});
    return tensors;
}

const std::vector<Report> reports{
    // E: glibc, libstdc++, processor
    {"E61 a program of a newer Ubuntu on JetPack 5", "glibc",
     [](CheckFixture &f, bool broken) { f.facts.glibc = broken ? "2.31" : "2.34", needs(f, "bin/t_gwm_proto", "GLIBC_2.34", "__libc_start_main"); },
     "fail: found needs GLIBC_2.34 (__libc_start_main), needed at most GLIBC_2.31"},
    {"E62 every missing version at once", "glibc",
     [](CheckFixture &f, bool broken) {
         f.facts.glibc = broken ? "2.17" : "2.38";
         needs(f, "bin/app", "GLIBC_2.38");
         for (const auto *version : {"GLIBC_2.35", "GLIBC_2.17", "GLIBC_ABI_DT_RELR"})
             f.elves[0].elf.versions.push_back({.library = "libc.so.6", .version = version});
     },
     "fail: found needs GLIBC_2.38, GLIBC_2.35, GLIBC_ABI_DT_RELR, needed at most GLIBC_2.17"},
    {"E64 a prebuilt module on a Jetson Nano", "glibc",
     [](CheckFixture &f, bool broken) { f.facts.glibc = "2.27", needs(f, "bin/llama.node", broken ? "GLIBC_2.28" : "GLIBC_2.27"); },
     "fail: found needs GLIBC_2.28, needed at most GLIBC_2.27"},
    {"E65 a library of conda's newer libstdc++", "libstdcxx",
     [](CheckFixture &f, bool broken) { f.facts.glibcxx = broken ? "3.4.25" : "3.4.26", needs(f, "bin/libopencv_core.so", "GLIBCXX_3.4.26"); },
     "fail: found needs GLIBCXX_3.4.26, needed at most GLIBCXX_3.4.25"},
    {"E67 host tools among the board's files", "elf-arch",
     [](CheckFixture &f, bool broken) {
         needs(f, "bin/hello", "GLIBC_2.17");
         needs(f, "bin/hello86", "GLIBC_2.17");
         if (broken)
             f.elves[1].elf.machine = "x86_64";
     },
     "fail: found x86_64, needed aarch64"},
    {"E68 the program's own need", "glibc",
     [](CheckFixture &f, bool broken) { needs(f, "bin/app", broken ? "GLIBC_2.38" : "GLIBC_2.33"), needs(f, "bin/libx.so", "GLIBCXX_3.4.30"); },
     "fail: found needs GLIBC_2.38, needed at most GLIBC_2.35"},
    {"E68 the bundled library's need", "libstdcxx",
     [](CheckFixture &f, bool broken) { f.facts.glibcxx = "3.4.29", needs(f, "bin/app", "GLIBC_2.33"), needs(f, "bin/libx.so", broken ? "GLIBCXX_3.4.30" : "GLIBCXX_3.4.29"); },
     "fail: found needs GLIBCXX_3.4.30, needed at most GLIBCXX_3.4.29"},

    // F: PTX, driver, capability
    {"F70 the servers' cublas on a Jetson", "cuda-libs",
     [](CheckFixture &f, bool broken) { vendor(f, "bin/libcublas.so.12", {"cubin sm_80", broken ? "cubin sm_90" : "cubin sm_87"}); },
     "fail: found CUDA's library for sbsa-linux, needed the one for aarch64-linux"},
    {"F70 told by the toolkit's folder", "cuda-libs",
     [](CheckFixture &f, bool broken) { f.elves = {{.path = fmt::format("bin/targets/{}-linux/lib/libcufft.so.11", broken ? "sbsa" : "aarch64"), .elf = {.machine = "aarch64"}}}; },
     "fail: found CUDA's library for sbsa-linux, needed the one for aarch64-linux"},
    {"F73 nvcc without -arch", "capability", [](CheckFixture &f, bool broken) { vendor(f, "bin/libk.so", {broken ? "cubin sm_75" : "cubin sm_87", "ptx 8.5 sm_75"}); },
     "warn: found a cubin for sm_75, PTX for sm_75, needed sm_87 for the best speed"},
    {"F74 sm_80 cubins only on an Orin", "capability",
     [](CheckFixture &f, bool broken) { broken ? vendor(f, "bin/libflash.so", {"cubin sm_80"}) : vendor(f, "bin/libflash.so", {"cubin sm_80", "ptx 8.0 sm_80"}); },
     "fail: found a cubin for sm_80, needed an image that runs on sm_87 (capability 8.7)",
     "warn: found a cubin for sm_80, PTX for sm_80, needed sm_87 for the best speed"},
    {"F76 a vendor's library without sm_87", "capability",
     [](CheckFixture &f, bool broken) { vendor(f, "bin/libspconv.so", {"cubin sm_72", broken ? "cubin sm_86" : "cubin sm_87"}); },
     "fail: found a cubin for sm_72, a cubin for sm_86, needed an image that runs on sm_87 (capability 8.7)"},
    {"F77 an LLVM that does not know the GPU", "ptx-version",
     [](CheckFixture &f, bool broken) { onGpu(f, "jetson-agx-thor", "11.0", 13000), f.images("k", {broken ? "ptx 6.0 sm_110" : "ptx 9.0 sm_110"}); },
     "fail: found PTX 6.0, needed at least 9.0 (.target sm_110)"},
    {"F79 Thor's number before CUDA 13, and a neighbour's", "capability",
     [](CheckFixture &f, bool broken) { onGpu(f, "jetson-agx-thor", "11.0", 13000), f.images("k", {broken ? "ptx 8.6 sm_100a" : "ptx 8.6 sm_101a"}); },
     "fail: found PTX for sm_100a, needed an image that runs on sm_110 (capability 11.0)"},
    {"F80 an architecture-specific kernel on a newer GPU", "capability",
     [](CheckFixture &f, bool broken) { onGpu(f, "generic-aarch64", "10.0", 13000), f.images("k", {broken ? "ptx 8.0 sm_90a" : "ptx 8.0 sm_90"}); },
     "fail: found PTX for sm_90a, needed an image that runs on sm_100 (capability 10.0)", "warn: found PTX for sm_90, needed sm_100 for the best speed"},
    {"F80 a family's kernel on its member", "capability",
     [](CheckFixture &f, bool broken) { onGpu(f, "generic-aarch64", "10.3", 13000), f.images("k", {broken ? "ptx 8.8 sm_100a" : "ptx 8.8 sm_100f"}); },
     "fail: found PTX for sm_100a, needed an image that runs on sm_103 (capability 10.3)"},
    {"F82 sm_89 needs PTX 7.8", "ptx-version", [](CheckFixture &f, bool broken) { onGpu(f, "generic-x86_64", "8.9", 12060), f.images("k", {broken ? "ptx 7.7 sm_89" : "ptx 7.8 sm_89"}); },
     "fail: found PTX 7.7, needed at least 7.8 (.target sm_89)"},
    {"F82 sm_90a needs PTX 8.0", "ptx-version", [](CheckFixture &f, bool broken) { onGpu(f, "generic-x86_64", "9.0", 12060), f.images("k", {broken ? "ptx 7.8 sm_90a" : "ptx 8.0 sm_90a"}); },
     "fail: found PTX 7.8, needed at least 8.0 (.target sm_90a)"},
    {"F83 a runtime newer than JetPack 6's driver", "cuda-libs", [](CheckFixture &f, bool broken) { cudart(f, broken ? "12.8.90" : "12.6.68"); },
     "fail: found CUDA runtime 12.8, needed at most 12.6 (driver CUDA 12.6)"},
    {"F83 a runtime of the next major version", "cuda-libs", [](CheckFixture &f, bool broken) { cudart(f, broken ? "13" : "12"); },
     "fail: found CUDA runtime 13, needed at most 12.6 (driver CUDA 12.6)"},
    {"F83 minor versions do not matter on a PC", "cuda-libs",
     [](CheckFixture &f, bool broken) { onGpu(f, "generic-x86_64", "8.9", 12060), cudart(f, broken ? "13.0" : "12.8"); },
     "fail: found CUDA runtime 13.0, needed at most 12.6 (driver CUDA 12.6)"},
    {"F83 with the compat package in the path", "cuda-libs",
     [](CheckFixture &f, bool broken) { f.package.env = {{"LD_LIBRARY_PATH", "/usr/local/cuda-12.8/compat"}}, cudart(f, broken ? "12.8.90" : "12.6.68"); },
     "warn: found CUDA runtime 12.8, needed at most 12.6 (driver CUDA 12.6)"},

    // G: the driver's JIT cache
    {"G88 a JIT cache in memory", "runtime-env", [](CheckFixture &f, bool broken) { jitCache(f, broken ? "/run/app/cuda" : "/var/cache/app"); },
     "warn: found CUDA_CACHE_PATH=/run/app/cuda: /run, which is in memory, needed a folder that lasts and can be written"},
    {"G88 a JIT cache on a read-only disk", "runtime-env", [](CheckFixture &f, bool broken) { jitCache(f, broken ? "/system/cuda" : "$RELEASE/../../.slipway/cuda"); },
     "warn: found CUDA_CACHE_PATH=/system/cuda: /system, which is mounted read-only, needed a folder that lasts and can be written"},
    {"G88 a JIT cache that goes with the release", "runtime-env", [](CheckFixture &f, bool broken) { jitCache(f, broken ? "$RELEASE/data/jit" : "~/.nv/ComputeCache"); },
     "warn: found CUDA_CACHE_PATH=$RELEASE/data/jit: a folder of the release, which goes with it, needed a folder that lasts and can be written"},
    {"G89 the cache switched off", "runtime-env",
     [](CheckFixture &f, bool broken) { f.images("k", {"ptx 8.5 sm_87"}), f.package.env = {{"CUDA_CACHE_DISABLE", broken ? "1" : "0"}}; },
     "warn: found CUDA_CACHE_DISABLE=1, needed the driver's JIT cache"},

    // H: models
    {"H94 FP8 without its block scales", "dtype",
     [](CheckFixture &f, bool broken) {
         std::vector<FakeTensor> tensors{{"w", "F8_E4M3", {4}}};
         if (!broken)
             tensors.push_back({"w_scale_inv", "F32", {1}});
         model(f, "m.safetensors", safetensorsOf(tensors), "F8_E4M3");
     },
     "fail: found 1 quantised tensor without a scale (w), needed a tensor such as w_scale beside each"},
    {"H94 teeny-quant's int4 of another size", "dtype",
     [](CheckFixture &f, bool broken) { model(f, "m.safetensors", safetensorsOf(teeny(broken ? 120 : 128, true), packed), "int4"); },
     "fail: found 1 quantised tensor of the wrong size (l.weight has 120 bytes, 256 elements of 4 bits need 128), needed sizes that agree with quantization_config"},
    {"H94 an asymmetric scheme without zero points", "dtype",
     [](CheckFixture &f, bool broken) { model(f, "m.safetensors", safetensorsOf(teeny(128, !broken), packed)); },
     "fail: found 1 quantised tensor without a zero point (l.weight), needed l.weight_zero_point: the scheme is asymmetric"},
    {"H94 compressed-tensors' words without their shape", "dtype",
     [](CheckFixture &f, bool broken) { model(f, "m.safetensors", safetensorsOf(words(2, !broken), packedWords)); },
     "fail: found 1 quantised tensor packed to 4 bits without a shape (l.weight_packed), needed the shape before packing: weight_shape, or an entry of "
     "teenygrad_packed_int4"},
    {"H94 scales of other groups", "dtype",
     [](CheckFixture &f, bool broken) { model(f, "m.safetensors", safetensorsOf(words(broken ? 4 : 2, true), packedWords)); },
     "fail: found 1 quantised tensor of the wrong size (l.weight_packed [4, 8] with scales [4, 4]), needed sizes that agree with quantization_config"},
    {"H95 a Git LFS pointer for a model", "model-file",
     [](CheckFixture &f, bool broken) {
         model(f, "lfs.safetensors", broken ? "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n" : safetensorsOf({{"w", "F16", {2}}}));
     },
     "fail: found a Git LFS pointer, needed the file itself"},
    {"H95 a Git LFS pointer for any other file", "model-file",
     [](CheckFixture &f, bool broken) { f.file("data/labels.txt", broken ? "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n" : "cat\ndog\n"); },
     "fail: found a Git LFS pointer, needed the file itself", "skipped: the package holds no models"},
    {"H97 a runtime older than the type", "model-file",
     [](CheckFixture &f, bool broken) { model(f, "t39.gguf", ggufOf(39, 34)), ggml(f, broken ? std::string("\0q4_0\0", 6) : std::string("\0q4_0\0mxfp4\0", 12)); },
     "fail: found tensors of type MXFP4, needed a runtime that knows it (bin/libggml-base.so does not)"},
    {"H98 a type of a fork", "model-file", [](CheckFixture &f, bool broken) { model(f, "t.gguf", broken ? ggufOf(99, 64) : ggufOf(24, 64)); },
     "fail: found tensor blk.0.ffn_down_exps.weight: the dtype 99 does not exist: ggml's newest type is 42, so it comes from a fork or the file is damaged, "
     "needed a whole gguf file"},
    {"H98 a type that was removed", "model-file", [](CheckFixture &f, bool broken) { model(f, "t.gguf", broken ? ggufOf(31, 36) : ggufOf(2, 36)); },
     "fail: found tensor blk.0.ffn_down_exps.weight: the dtype 31 was removed from ggml: no runtime of today reads type 31, needed a whole gguf file"},
    {"H100 external data left behind", "model-file",
     [](CheckFixture &f, bool broken) {
         model(f, "model.onnx", onnxOf("model.onnx.data", 16));
         if (!broken)
             f.file("data/model.onnx.data", std::string(16, '\0'));
     },
     "fail: found no data/model.onnx.data in the package, needed the file that holds its weights"},
    {"H100 external data cut off", "model-file",
     [](CheckFixture &f, bool broken) { model(f, "model.onnx", onnxOf("model.onnx.data", 16)), f.file("data/model.onnx.data", std::string(broken ? 15 : 16, '\0')); },
     "fail: found 15 bytes, needed 16 bytes, which the model refers to"},
    {"H100 external data outside of the folder", "model-file",
     [](CheckFixture &f, bool broken) { model(f, "model.onnx", onnxOf(broken ? "../w.bin" : "w.bin", 4)), f.file("data/w.bin", "1234"); },
     "fail: found external data in ../w.bin, needed a file in the model's own folder"},
    {"H101 an engine of another GPU", "model-file",
     [](CheckFixture &f, bool broken) {
         model(f, "net.engine", planOf(10, 3, 0));
         f.file("data/net.engine.json", broken ? R"({"compute_capability": "8.6"})" : R"({"compute_capability": "8.7"})");
     },
     "fail: found an engine for compute capability 8.6, needed 8.7"},
    {"H103 an engine of another TensorRT", "model-file",
     [](CheckFixture &f, bool broken) { model(f, "net.engine", planOf(broken ? 8 : 10, broken ? 6 : 3, 0)), f.file("data/net.json", R"({"cc": 8.7})"); },
     "fail: found an engine of TensorRT 8.6.0, needed 10.3.0.30 (JetPack 6.2)"},
    {"H103 an engine that does not say where it is from", "model-file",
     [](CheckFixture &f, bool broken) {
         model(f, "net.engine", planOf(10, 3, 0));
         if (!broken)
             f.file("data/net.engine.json", R"({"capability": "sm_87"})");
     },
     "unknown: found a TensorRT engine of TensorRT 10.3.0, needed the GPU and TensorRT version that built it"},

    // I: the destination
    {"I106 a full disk", "disk-space",
     [](CheckFixture &f, bool broken) { f.package.manifest.files = {{.path = "data/big", .size = 1'000'000}}, f.facts.disks->front().freeBytes = broken ? 1'000'000 : 30'000'000; },
     "fail: found 1.0 MB free, needed 1.0 MB for the release, and 16.8 MB of headroom"},
    {"I113 a clock near 1970", "clock",
     [](CheckFixture &f, bool broken) { f.facts.readAt = 1'700'000'100, f.package.manifest.builtAt = 1'700'000'000, f.facts.clockSkewSeconds = broken ? -1'700'000'000 : 0; },
     "fail: found a clock 19675 days behind this machine, needed a clock after the package's sources"},
    {"I115 a script with CR LF", "executable", [](CheckFixture &f, bool broken) { f.file("bin/start.sh", broken ? "#!/bin/sh\r\nexec ./app\r\n" : "#!/bin/sh\nexec ./app\n"), f.package.manifest.files[0].mode = 0755; },
     "fail: found lines that end in CR LF, needed LF only"},
    {"I115 a program without its executable bit", "executable",
     [](CheckFixture &f, bool broken) { f.file("bin/app", "\x7f" "ELF…"), needs(f, "bin/app", "GLIBC_2.17"), f.package.manifest.files[0].mode = broken ? 0644 : 0755; },
     "fail: found mode 0644, needed mode 0755"},
    {"I115 an interpreter of the writer's machine", "executable",
     [](CheckFixture &f, bool broken) { f.file("bin/run", broken ? "#!/home/me/miniforge3/bin/python\n" : "#!/usr/bin/env python3\n"), f.package.manifest.files[0].mode = 0755; },
     "fail: found interpreter /home/me/miniforge3/bin/python, needed one that the board has, such as /bin/sh"},
    {"I115 an interpreter that not every board has", "executable",
     [](CheckFixture &f, bool broken) { f.file("bin/run", broken ? "#!/usr/bin/env node\n" : "#!/usr/bin/env bash\n"), f.package.manifest.files[0].mode = 0755; },
     "unknown: found interpreter node, which not every board has, needed that fact, to check this"},
    {"I116 a read-only destination", "dest-writable", [](CheckFixture &f, bool broken) { f.facts.disks->front().readOnly = broken; },
     "fail: found / is mounted read-only, needed a file system that can be written", "skipped: mounted read-write; whether the login may write there is tried with --device"},
    {"I116 a destination mounted noexec", "noexec", [](CheckFixture &f, bool broken) { f.facts.disks->front().noexec = broken; },
     "fail: found mounted noexec, needed a file system that programs may run from"},
    {"I116 a destination in memory", "noexec", [](CheckFixture &f, bool broken) { f.facts.disks->front().type = broken ? "tmpfs" : "ext4"; },
     "warn: found a tmpfs, in memory, needed a disk"},
};

} // namespace

class TestFieldReports : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theCheckNamesWhatWasReportedAndTheSiblingPasses_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < reports.size(); ++i)
            QTest::newRow(reports[i].name) << int(i);
    }
    void theCheckNamesWhatWasReportedAndTheSiblingPasses() {
        QFETCH(int, index);
        const auto &report = reports[std::size_t(index)];
        CheckFixture broken;
        report.build(broken, true);
        QCOMPARE(QString::fromStdString(broken.say(report.check)), QString::fromUtf8(report.expected));
        for (const auto &finding : broken.run(report.check))
            QVERIFY2(!finding.fix.empty() && !finding.subject.empty(), "a finding says where and how to fix it");
        CheckFixture sibling;
        report.build(sibling, false);
        QCOMPARE(QString::fromStdString(sibling.say(report.check)), QString::fromUtf8(report.sibling));
    }
};

QTEST_APPLESS_MAIN(TestFieldReports)
#include "tst_fieldreports.moc"
