// SPDX-License-Identifier: Apache-2.0
//
// The simulated CUDA driver against what a real one said: every row of the first table was loaded on an NVIDIA H200 with
// driver 580.159.04 (cuDriverGetVersion 13000), and code and log text are that driver's.

#include "core/base/files.h"

#include <QTemporaryDir>
#include <QTest>

#include <cstring>
#include <dlfcn.h>
#include <elf.h>

namespace fs = std::filesystem;

namespace {

constexpr std::string_view aborted = "\nptxas fatal   : Ptx assembly aborted due to errors";
constexpr std::string_view kernel = R"(
.visible .entry k(.param .u64 p)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [p];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 7;
    st.global.u32 [%rd2], %r1;
    ret;
}
)";

std::string ptx(std::string_view version, std::string_view target, std::string_view body = kernel) {
    return fmt::format(".version {}\n.target {}\n.address_size 64\n{}", version, target, body);
}

std::string ptxCalling(std::string_view declarations, std::string_view called) {
    return ptx("8.2", "sm_90",
               fmt::format("{}\n.visible .entry k(.param .u64 p)\n{{\n    call.uni (rr), {}, (q0);\n    ret;\n}}\n", declarations, called));
}

template <typename T> void append(std::string &to, const T &value) { to.append(reinterpret_cast<const char *>(&value), sizeof value); }

/// A cubin with one kernel `k`: header, names, symbols, note, section headers.
std::string cubin(unsigned sm, unsigned char abi = 8, std::string_view arch = {}) {
    const std::string names("\0k\0", 3);
    const std::string note = arch.empty() ? std::string() : fmt::format("-arch {} -m 64", arch);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_OSABI] = abi == 8 ? 0x41 : 0x33;
    header.e_ident[EI_ABIVERSION] = abi;
    header.e_type = ET_EXEC;
    header.e_machine = 190;
    header.e_flags = abi == 8 ? 0x06000004U | sm << 8 : 0x00500500U | sm;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 4;
    header.e_shstrndx = 1;
    const std::size_t namesAt = sizeof header;
    const std::size_t symbolsAt = namesAt + names.size();
    const std::size_t noteAt = symbolsAt + 2 * sizeof(Elf64_Sym);
    header.e_shoff = noteAt + note.size();
    std::string bytes;
    append(bytes, header);
    bytes += names;
    Elf64_Sym symbol{};
    append(bytes, symbol);
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = 0x10;
    append(bytes, symbol);
    bytes += note;
    append(bytes, Elf64_Shdr{});
    append(bytes, Elf64_Shdr{.sh_type = SHT_STRTAB, .sh_offset = namesAt, .sh_size = names.size()});
    append(bytes, Elf64_Shdr{.sh_type = SHT_SYMTAB, .sh_offset = symbolsAt, .sh_size = 2 * sizeof(Elf64_Sym), .sh_link = 1});
    append(bytes, Elf64_Shdr{.sh_type = SHT_NOTE, .sh_offset = noteAt, .sh_size = note.size()});
    return bytes;
}

/// One entry of a fat binary; `version` is the PTX version of PTX, flags 0x8000 say zstd.
std::string fatEntry(std::uint16_t kind, unsigned sm, std::string data, std::uint16_t version = 0, std::uint64_t flags = 0x11) {
    data.resize((data.size() + 7) / 8 * 8);
    std::string bytes;
    append(bytes, kind);
    append(bytes, std::uint16_t(0x101));
    append(bytes, std::uint32_t(0x40));
    append(bytes, std::uint64_t(data.size()));
    append(bytes, std::uint32_t(0));
    append(bytes, std::uint32_t(0));
    append(bytes, std::uint16_t(version % 10));
    append(bytes, std::uint16_t(version / 10));
    append(bytes, std::uint32_t(sm));
    append(bytes, std::uint64_t(0));
    append(bytes, flags);
    append(bytes, std::uint64_t(0));
    append(bytes, std::uint64_t(0));
    return bytes + data;
}

std::string fatbin(const std::string &entries) {
    std::string bytes;
    append(bytes, std::uint32_t(0xBA55ED50));
    append(bytes, std::uint16_t(1));
    append(bytes, std::uint16_t(16));
    append(bytes, std::uint64_t(entries.size()));
    return bytes + entries;
}

/// The beginning of an image, with zeros behind it: the driver is told no length.
std::string cut(const std::string &image, std::size_t length) { return image.substr(0, length) + std::string(4096, '\0'); }

/// The simulated driver with a state of its own: a copy of the library, loaded under another name.
class Cuda {
public:
    explicit Cuda(const fs::path &boardFile) {
        const fs::path copy = fs::path(m_directory.path().toStdString()) / "libcuda.so.1";
        fs::copy_file(SLIPWAY_BINARY_DIR "/tests/libsimcuda.so", copy);
        qputenv("SLIPWAY_SIMCUDA_BOARD", QByteArray::fromStdString(boardFile.string()));
        m_library = dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
    ~Cuda() {
        if (m_library)
            dlclose(m_library);
    }
    Cuda(const Cuda &) = delete;
    Cuda &operator=(const Cuda &) = delete;

    template <typename... Args> int call(const char *name, Args... args) {
        auto *function = reinterpret_cast<int (*)(Args...)>(dlsym(m_library, name));
        return function ? function(args...) : -1;
    }
    int attribute(int number) {
        int value = -1;
        return call("cuDeviceGetAttribute", &value, number, 0) == 0 ? value : -1;
    }
    /// cuInit and a current context; the first code that is not success.
    int begin() {
        void *context = nullptr;
        if (const int code = call("cuInit", 0U))
            return code;
        if (const int code = call("cuDevicePrimaryCtxRetain", &context, 0))
            return code;
        return call("cuCtxSetCurrent", context);
    }

    struct Loaded {
        int code;
        std::string log;
        int kernelCode; ///< of cuModuleGetFunction("k")
        int otherCode;  ///< of cuModuleGetFunction("nope")
    };
    Loaded load(const std::string &image) {
        std::vector<char> log(4096, '#');
        int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER and its size
        void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
        void *module = nullptr;
        // std::string ends with a NUL, which the driver's interface wants after PTX.
        Loaded result{call("cuModuleLoadDataEx", &module, static_cast<const void *>(image.c_str()), 2U, options, values), log.data(), 0, 0};
        if (result.code == 0) {
            void *function = nullptr;
            result.kernelCode = call("cuModuleGetFunction", &function, module, "k");
            result.otherCode = call("cuModuleGetFunction", &function, module, "nope");
            call("cuModuleUnload", module);
        }
        return result;
    }

private:
    QTemporaryDir m_directory;
    void *m_library = nullptr;
};

fs::path boardFile(std::string_view profile) {
    if (profile == "hopper-test")
        return SLIPWAY_SOURCE_DIR "/tests/device/hopper-test.conf";
    return fs::path(SLIPWAY_SOURCE_DIR "/resources/virtualboard/profiles") / fmt::format("{}.conf", profile);
}

void row(const char *name, std::string_view profile, const std::string &image, int code, std::string_view log = {}) {
    QTest::newRow(name) << QString::fromUtf8(profile.data(), qsizetype(profile.size())) << QByteArray::fromStdString(image) << code
                        << QString::fromUtf8(log.data(), qsizetype(log.size()));
}

void hopper(const char *name, const std::string &image, int code, std::string_view log = {}) { row(name, "hopper-test", image, code, log); }

std::string ptxasLine(int line, std::string_view text) {
    return fmt::format("ptxas application ptx input, line {}; {}", line, text);
}

constexpr std::string_view notRecognised = "error   : Binary format for key='0', ident='' is not recognized";
constexpr std::string_view tooHigh = "ptxas fatal   : SM version specified by .target is higher than default SM version assumed";

} // namespace

class TestSimcuda : public QObject {
    Q_OBJECT

    static void headerRows() {
        const auto unsupported = [](std::string_view v) {
            return ptxasLine(1, fmt::format("fatal   : Unsupported .version {}; current version is '9.0'", v));
        };
        hopper("the newest version", ptx("9.0", "sm_90"), 0);
        hopper("a version newer than the driver", ptx("9.1", "sm_90"), 222, unsupported("9.1"));
        hopper("the version is checked before the target", ptx("9.1", "sm_120"), 222, unsupported("9.1"));
        hopper("a version that never existed", ptx("8.9", "sm_90"), 222, unsupported("8.9"));
        hopper("comments before the version", "//\n// hello\n/* x\n y */\n\n" + ptx("9.1", "sm_90"), 222,
               ptxasLine(6, "fatal   : Unsupported .version 9.1; current version is '9.0'"));
        hopper("the device's own suffix", ptx("8.2", "sm_90a"), 0);
        hopper("a Tegra target below the device", ptx("7.4", "sm_87"), 0);
        hopper("an older target", ptx("8.2", "sm_80"), 0);
        hopper("compute is a synonym of sm", ptx("8.2", "compute_90"), 0);
        hopper("a target above the device", ptx("8.6", "sm_100"), 218, tooHigh);
        hopper("a suffixed target above the device", ptx("8.7", "sm_120a"), 218, tooHigh);
        hopper("a family above the device", ptx("8.8", "sm_100f"), 218, tooHigh);
        hopper("a version too low for its target", ptx("8.6", "sm_120a"), 218,
               ptxasLine(2, "error   : PTX .version 8.6 does not support .target sm_120a") + std::string(aborted));
        hopper("an old version for its target", ptx("6.0", "sm_90"), 218,
               ptxasLine(2, "error   : PTX .version 6.0 does not support .target sm_90") + std::string(aborted));
        hopper("a target that does not exist", ptx("8.2", "sm_91"), 218, ptxasLine(2, "fatal   : Unsupported .target 'sm_91'") + std::string(aborted));
        hopper("a target that the driver does not know", ptx("9.0", "sm_107"), 218,
               ptxasLine(2, "fatal   : Unsupported .target 'sm_107'") + std::string(aborted));
        hopper("no architecture in the target", ptx("8.0", "texmode_unified"), 218,
               ptxasLine(2, "fatal   : Target architecture not defined at start of file 'application ptx input'") + std::string(aborted));
        hopper("no target", ".version 8.2\n" + std::string(kernel), 218,
               ptxasLine(3, "fatal   : Missing .target directive at start of file 'application ptx input'") + std::string(aborted));
        hopper("half a version", ptx("9", "sm_90"), 218,
               ptxasLine(1, "fatal   : Missing .version directive at start of file 'application ptx input'") + std::string(aborted));
    }
    static void textRows() {
        const std::string full = ptx("8.2", "sm_90");
        const auto parsing = [](int line, std::string_view near) {
            return ptxasLine(line, fmt::format("fatal   : Parsing error near '{}': syntax error", near)) + std::string(aborted);
        };
        hopper("CRLF line ends", ".version 8.2\r\n.target sm_90\r\n.address_size 64\r\n.visible .entry k()\r\n{\r\n ret;\r\n}\r\n", 0);
        hopper("a byte order mark", "\xef\xbb\xbf" + full, 200, notRecognised);
        hopper("no PTX at all", "hello world\n", 200, notRecognised);
        hopper("a Git LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:aa\nsize 12\n", 200, notRecognised);
        hopper("an empty file", "", 200, notRecognised);
        hopper("cut in the header", full.substr(0, 30), 218, parsing(3, ".ad"));
        hopper("cut in the parameters", full.substr(0, 60), 218, parsing(5, ""));
        hopper("cut in the body after a dot", full.substr(0, 90), 218, parsing(7, "."));
        hopper("cut before the last brace", full.substr(0, full.size() - 2), 218, parsing(14, ""));
        hopper("a brace too many", full + "}\n", 218, parsing(15, "}"));
        hopper("the same kernel twice", ptx("8.2", "sm_90", std::string(kernel) + std::string(kernel)), 218,
               ptxasLine(16, "error   : Duplicate definition of function 'k'") + std::string(aborted));
        hopper("a libdevice function that was not linked", ptxCalling(".extern .func (.param .b32 r) __nv_fmaf (.param .b32 a);", "__nv_fmaf"),
               218, "ptxas fatal   : Unresolved extern function '__nv_fmaf'");
        hopper("an extern function that nobody calls", ptx("8.2", "sm_90", ".extern .func (.param .b32 r) f (.param .b32 a);" + std::string(kernel)), 0);
        hopper("vprintf is the driver's", ptxCalling(".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);", "vprintf"), 0);
        hopper("extern shared memory", ptx("8.2", "sm_90", ".extern .shared .align 16 .b8 smem[];" + std::string(kernel)), 0);
    }
    static void binaryRows() {
        hopper("a cubin for the device", cubin(90), 0);
        hopper("a cubin of CUDA 12", cubin(90, 7), 0);
        hopper("a cubin with the device's suffix", cubin(90, 8, "sm_90a"), 0);
        hopper("a cubin for an older desktop part", cubin(80), 209);
        hopper("a cubin for a Tegra", cubin(87), 209);
        hopper("half a cubin", cut(cubin(90), 100), 200);
        hopper("the start of a cubin", cut(cubin(90), 16), 200, notRecognised);
        std::string x86 = cubin(90);
        x86[18] = 62;
        hopper("an ELF for another machine", x86, 200, notRecognised);
        hopper("a fat binary with the right cubin", fatbin(fatEntry(2, 80, cubin(80)) + fatEntry(2, 90, cubin(90))), 0);
        hopper("a fat binary for another device", fatbin(fatEntry(2, 80, cubin(80))), 209);
        hopper("a fat binary with PTX to fall back on", fatbin(fatEntry(2, 87, cubin(87)) + fatEntry(1, 80, ptx("8.2", "sm_80"), 82)), 0);
        hopper("a fat binary with PTX for a later device", fatbin(fatEntry(1, 120, ptx("8.7", "sm_120"), 87)), 209);
        hopper("half a fat binary", cut(fatbin(fatEntry(2, 90, cubin(90))), 200), 200);
        hopper("a fat binary's header alone", cut(fatbin(fatEntry(2, 90, cubin(90))), 16), 200);
    }
    static void boardRows() {
        row("JetPack 6.2 takes 8.5", "orin-nano-jp62", ptx("8.5", "sm_87"), 0);
        row("JetPack 6.2 refuses 8.6", "orin-nano-jp62", ptx("8.6", "sm_87"), 222,
            ptxasLine(1, "fatal   : Unsupported .version 8.6; current version is '8.5'"));
        row("JetPack 5.1 takes 7.4", "orin-jp51", ptx("7.4", "sm_87"), 0);
        row("JetPack 5.1 refuses 7.5", "orin-jp51", ptx("7.5", "sm_87"), 222,
            ptxasLine(1, "fatal   : Unsupported .version 7.5; current version is '7.4'"));
        row("kernels for a desktop GPU", "orin-nano-jp62", ptx("8.2", "sm_89"), 218, tooHigh);
        row("another part's suffix", "thor-jp70", ptx("8.2", "sm_90a"), 218,
            "ptxas fatal   : Program with .target 'sm_90a' cannot be compiled to future architecture");
        row("a cubin for Orin", "orin-nano-jp62", cubin(87), 0);
        row("a cubin of the same major for a desktop part", "orin-nano-jp62", cubin(80), 209);
        row("Thor's own suffix", "thor-jp70", ptx("9.0", "sm_110a"), 0);
        row("Thor by its old name", "thor-jp70", ptx("8.6", "sm_101a"), 0);
        row("Thor is not of the datacenter's family", "thor-jp70", ptx("8.8", "sm_100f"), 218,
            "ptxas fatal   : Program with .target 'sm_100f' cannot be compiled to different SM-family architecture");
        row("an Orin cubin on Thor", "thor-jp70", cubin(87), 209);
        row("compressed PTX newer than the driver", "orin-nano-jp62", fatbin(fatEntry(1, 80, "zstd", 90, 0x8011)), 222,
            ptxasLine(9, "fatal   : Unsupported .version 9.0; current version is '8.5'"));
        row("compressed PTX that the driver knows", "orin-nano-jp62", fatbin(fatEntry(1, 80, "zstd", 85, 0x8011)), 0);
    }

private Q_SLOTS:
    void imagesAreAcceptedOrRefusedAsByTheRealDriver_data() {
        QTest::addColumn<QString>("profile");
        QTest::addColumn<QByteArray>("image");
        QTest::addColumn<int>("code");
        QTest::addColumn<QString>("log");
        headerRows();
        textRows();
        binaryRows();
        boardRows();
    }
    void imagesAreAcceptedOrRefusedAsByTheRealDriver() {
        QFETCH(QString, profile);
        QFETCH(QByteArray, image);
        QFETCH(int, code);
        QFETCH(QString, log);
        Cuda cuda(boardFile(profile.toStdString()));
        QCOMPARE(cuda.begin(), 0);
        const auto loaded = cuda.load(image.toStdString());
        QCOMPARE(QString::fromStdString(loaded.log), log);
        QCOMPARE(loaded.code, code);
        if (code == 0)
            QCOMPARE(loaded.kernelCode, 0);
    }

    void unknownKernelNamesAreNotFound() {
        Cuda cuda(boardFile("hopper-test"));
        QCOMPARE(cuda.begin(), 0);
        QCOMPARE(cuda.load(ptx("8.2", "sm_90")).otherCode, 500);
        QCOMPARE(cuda.load(cubin(90)).otherCode, 500);
    }

    void theOrinReportsItsPropertiesAndThatItIsSimulated() {
        Cuda cuda(boardFile("orin-nano-jp62"));
        int version = 0;
        QCOMPARE(cuda.call("cuDriverGetVersion", &version), 0);
        QCOMPARE(version, 12060);
        QCOMPARE(cuda.call("cuInit", 0U), 0);
        char name[64];
        QCOMPARE(cuda.call("cuDeviceGetName", name, 64, 0), 0);
        QCOMPARE(QString(name), QString("Orin (simulated by Slipway)"));
        QCOMPARE(cuda.attribute(75), 8);
        QCOMPARE(cuda.attribute(76), 7);
        QCOMPARE(cuda.attribute(16), 8);
        QCOMPARE(cuda.attribute(18), 1);
        QCOMPARE(cuda.attribute(10), 32);
        QCOMPARE(cuda.attribute(120), 0);
        QCOMPARE(cuda.attribute(9999), -1);
        std::size_t bytes = 0;
        QCOMPARE(cuda.call("cuDeviceTotalMem_v2", &bytes, 0), 0);
        QCOMPARE(bytes, std::size_t(7988051968));
    }

    void aMachineWithoutABoardFileHasNoDevice() {
        Cuda cuda("/nonexistent");
        QCOMPARE(cuda.call("cuInit", 0U), 100);
    }

    void callsInTheWrongOrderGetTheRealCodes() {
        Cuda cuda(boardFile("hopper-test"));
        int device = 0;
        void *module = nullptr;
        const std::string image = ptx("8.2", "sm_90");
        QCOMPARE(cuda.call("cuDeviceGet", &device, 0), 3);
        QCOMPARE(cuda.call("cuInit", 0U), 0);
        QCOMPARE(cuda.call("cuDeviceGet", &device, 5), 101);
        QCOMPARE(cuda.call("cuModuleLoadData", &module, static_cast<const void *>(image.c_str())), 201);
        QCOMPARE(cuda.begin(), 0);
        QCOMPARE(cuda.call("cuModuleLoadData", &module, static_cast<const void *>(nullptr)), 1);
        QCOMPARE(cuda.call("cuModuleLoad", &module, "/nonexistent.ptx"), 301);
        QCOMPARE(cuda.call("cuModuleUnload", static_cast<void *>(&device)), 400);
    }

    void aSmallLogBufferIsFilledAndTerminated() {
        Cuda cuda(boardFile("hopper-test"));
        QCOMPARE(cuda.begin(), 0);
        char log[16];
        std::memset(log, '#', sizeof log);
        int options[] = {5, 6};
        void *values[] = {log, reinterpret_cast<void *>(7)};
        void *module = nullptr;
        QCOMPARE(cuda.call("cuModuleLoadDataEx", &module, static_cast<const void *>(ptx("9.1", "sm_90").c_str()), 2U, options, values), 222);
        QCOMPARE(QString(log), QString("ptxas "));
        QCOMPARE(log[7], '#');
    }

    void memoryHoldsWhatWasCopiedButNothingIsLaunched() {
        Cuda cuda(boardFile("orin-nano-jp62"));
        QCOMPARE(cuda.begin(), 0);
        std::uint64_t address = 0;
        const std::string bytes = "sixteen bytes ok";
        QCOMPARE(cuda.call("cuMemAlloc_v2", &address, bytes.size()), 0);
        QCOMPARE(cuda.call("cuMemcpyHtoD_v2", address, static_cast<const void *>(bytes.data()), bytes.size()), 0);
        std::string back(bytes.size(), '\0');
        QCOMPARE(cuda.call("cuMemcpyDtoH_v2", static_cast<void *>(back.data()), address, back.size()), 0);
        QCOMPARE(back, bytes);
        QCOMPARE(cuda.call("cuMemcpyDtoH_v2", static_cast<void *>(back.data()), address + 1, back.size()), 1);
        void *none = nullptr;
        QCOMPARE(cuda.call("cuLaunchKernel", none, 1U, 1U, 1U, 1U, 1U, 1U, 0U, none, none, none), 801);
        QCOMPARE(cuda.call("cuMemFree_v2", address), 0);
        QCOMPARE(cuda.call("cuMemAlloc_v2", &address, std::size_t(1) << 40), 2);
    }

    void procAddressFindsTheCurrentInterface() {
        Cuda cuda(boardFile("hopper-test"));
        void *function = nullptr;
        QCOMPARE(cuda.call("cuGetProcAddress", "cuInit", &function, 12000, std::uint64_t(0)), 0);
        QVERIFY(function);
        QCOMPARE(cuda.call("cuGetProcAddress", "cuMemAlloc", &function, 12000, std::uint64_t(0)), 0);
        QVERIFY(function);
        QCOMPARE(cuda.call("cuGetProcAddress", "cuNothing", &function, 12000, std::uint64_t(0)), 500);
    }

    void errorsHaveTheirNames() {
        Cuda cuda(boardFile("hopper-test"));
        const char *text = nullptr;
        QCOMPARE(cuda.call("cuGetErrorName", 222, &text), 0);
        QCOMPARE(QString(text), QString("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
        QCOMPARE(cuda.call("cuGetErrorString", 222, &text), 0);
        QCOMPARE(QString(text), QString("the provided PTX was compiled with an unsupported toolchain."));
        QCOMPARE(cuda.call("cuGetErrorName", 77777, &text), 1);
    }
};

QTEST_APPLESS_MAIN(TestSimcuda)
#include "tst_simcuda.moc"
