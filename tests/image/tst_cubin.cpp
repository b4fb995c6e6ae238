// SPDX-License-Identifier: Apache-2.0
//
// cubins and fat binaries made by CUDA 13.0 (tests/data/images/make.sh), whole, cut off and with bytes changed.

#include "core/base/process.h"
#include "core/image/elfimage.h"
#include "core/image/kernelimage.h"

#include <QTemporaryDir>
#include <QTest>

#include <random>

using namespace slipway;

namespace {

std::string fixture(const QString &name) {
    return readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images" / name.toStdString()).value_or("");
}

QByteArray joined(const std::vector<std::string> &lines) {
    QByteArray all;
    for (const auto &line : lines)
        all += QByteArray::fromStdString(line) + '\n';
    return all;
}

const char *const all[] = {"scale_sm_75.cubin",  "scale_sm_87.cubin",  "scale_sm_90.cubin",
                           "scale_sm_90a.cubin", "scale_sm_110.cubin", "scale_sm_120f.cubin",
                           "scale_size.fatbin",  "scale_speed.fatbin", "scale_none.fatbin"};

} // namespace

class TestCubin : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theTargetIsReadWithItsSuffix_data() {
        QTest::addColumn<QString>("sm");
        for (const char *sm : {"sm_75", "sm_87", "sm_90", "sm_90a", "sm_110", "sm_120f"})
            QTest::newRow(sm) << sm;
    }
    void theTargetIsReadWithItsSuffix() {
        QFETCH(QString, sm);
        const auto image = readKernelImage(fixture("scale_" + sm + ".cubin"));
        QVERIFY(image.has_value());
        QVERIFY(image->kind == ImageKind::cubin);
        QVERIFY2(image->damage.empty(), joined(image->damage).constData());
        QCOMPARE(QString::fromStdString(image->target->sm()), sm);
        QCOMPARE(image->entries.size(), std::size_t(1));
        QCOMPARE(image->entries[0].name, std::string("scale"));
        // From sm_90 on the toolchain reserves 1024 bytes of shared memory before the kernel's own.
        QCOMPARE(*image->sharedBytes, std::uint64_t(image->target->number >= 90 ? 256 + 1024 : 256));
        QVERIFY2(image->tools.find("release 13.0") != std::string::npos, image->tools.c_str());
        QVERIFY(!image->ptxVersion);
    }

    void theOlderLayoutIsRead() {
        auto bytes = fixture("scale_sm_87.cubin");
        bytes[7] = 0x33;  // OS/ABI
        bytes[8] = 7;     // ABI version
        bytes[0x30] = 87; // e_flags: the SM in the low byte, 0x400 for 64-bit addresses
        bytes[0x31] = 0x04;
        bytes[0x32] = 87;
        bytes[0x33] = 0;
        auto image = readCubin(bytes);
        QVERIFY2(image.damage.empty(), joined(image.damage).constData());
        QCOMPARE(image.target->sm(), std::string("sm_87"));
        bytes = fixture("scale_sm_75.cubin"); // its note says sm_75, so that only the flag tells of sm_90a
        bytes[8] = 7;
        bytes[0x30] = 90;
        bytes[0x31] = 0x0c;
        image = readCubin(bytes);
        QCOMPARE(image.target->sm(), std::string("sm_90a"));
        bytes[8] = 9;
        image = readCubin(bytes);
        QVERIFY(joined(image.damage).contains("cubin format is version 9"));
        QVERIFY(!image.target);
    }

    void fatBinariesAreReadWhateverTheirCompression_data() {
        QTest::addColumn<QString>("name");
        QTest::newRow("zstd, all") << "scale_size.fatbin";
        QTest::newRow("LZ4, PTX only") << "scale_speed.fatbin";
        QTest::newRow("none") << "scale_none.fatbin";
    }
    void fatBinariesAreReadWhateverTheirCompression() {
        QFETCH(QString, name);
        const auto image = readKernelImage(fixture(name));
        QVERIFY(image.has_value());
        QVERIFY(image->kind == ImageKind::fatbin);
        QVERIFY2(image->damage.empty(), joined(image->damage).constData());
        QCOMPARE(image->members.size(), std::size_t(3));
        QVERIFY(image->members[0].kind == ImageKind::ptx);
        QCOMPARE(image->members[0].target->sm(), std::string("sm_87"));
        QCOMPARE(image->members[0].ptxVersion->text(), std::string("9.0"));
        QCOMPARE(image->members[0].entries[0].parameters.size(), std::size_t(4));
        QVERIFY(image->members[1].kind == ImageKind::cubin);
        QCOMPARE(image->members[1].target->sm(), std::string("sm_87"));
        QCOMPARE(image->members[2].target->sm(), std::string("sm_90a"));
        QCOMPARE(image->entries.size(), std::size_t(1));
        QCOMPARE(image->entries[0].name, std::string("scale"));
    }

    void aFileCutOffAnywhereIsDamagedOrRefused_data() {
        QTest::addColumn<QString>("name");
        for (const char *name : all)
            QTest::newRow(name) << name;
    }
    void aFileCutOffAnywhereIsDamagedOrRefused() {
        QFETCH(QString, name);
        const auto bytes = fixture(name);
        QVERIFY(!bytes.empty());
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            const std::string cut = bytes.substr(0, length); // its own allocation: a read behind it is caught
            const auto image = readKernelImage(cut);
            QVERIFY2(!image || !image->damage.empty(), qPrintable(QString::number(length)));
        }
    }

    void changedBytesNeverCrash() {
        std::mt19937 random(20261129);
        for (const char *name : all) {
            const auto bytes = fixture(name);
            for (int round = 0; round < 200; ++round) {
                auto changed = bytes;
                for (int i = 0; i < 1 + round % 6; ++i) // the headers are where it matters
                    changed[random() % (round % 2 ? std::min<std::size_t>(changed.size(), 160) : changed.size())] =
                        char(random());
                (void)readKernelImage(changed);
                (void)readCubin(changed);
                (void)readFatbin(changed);
                (void)readElf(changed);
                (void)fatbinsInElf(changed);
            }
        }
    }

    void aMemberThatLiesAboutItsSizeIsRefused() {
        auto bytes = fixture("scale_size.fatbin");
        for (int i = 0; i < 8; ++i) // the unpacked size of the first member
            bytes[std::size_t(16 + 56 + i)] = char(i < 6 ? 0xff : 0);
        auto image = readFatbin(bytes);
        QVERIFY2(joined(image.damage).contains("unpacks to"), joined(image.damage).constData());
        bytes = fixture("scale_speed.fatbin");
        bytes[16 + 56 + 2] = 0x10; // 1 MiB more than LZ4 can make of it
        image = readFatbin(bytes);
        QVERIFY2(joined(image.damage).contains("LZ4 cannot"), joined(image.damage).constData());
        bytes = fixture("scale_none.fatbin");
        bytes[16 + 8 + 7] = 0x7f; // the data size
        image = readFatbin(bytes);
        QVERIFY2(joined(image.damage).contains("it is truncated"), joined(image.damage).constData());
    }

    void theFatBinariesOfAProgramAreFound() {
        QTemporaryDir dir;
        const fs::path path = dir.path().toStdString();
        const auto data = fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/images";
        QVERIFY(
            writeFileAtomically(path / "a.s",
                                fmt::format(".section .nv_fatbin, \"a\"\n.incbin \"{0}/scale_none.fatbin\"\n.balign 8\n"
                                            ".zero 16\n.incbin \"{0}/scale_size.fatbin\"\n.balign 8\n"
                                            ".section __nv_relfatbin, \"a\"\n.incbin \"{0}/scale_speed.fatbin\"\n",
                                            data.string()))
                .has_value());
        Progress silent;
        const auto made =
            runChecked({.program = "gcc", .arguments = {"-c", "a.s", "-o", "a.o"}, .directory = path}, silent);
        QVERIFY2(made.has_value(), made ? "" : made.error().detail.c_str());
        const auto object = readFile(path / "a.o").value_or("");
        const auto found = fatbinsInElf(object);
        QCOMPARE(found.size(), std::size_t(3));
        for (const auto &image : found) {
            QVERIFY2(image.damage.empty(), joined(image.damage).constData());
            QCOMPARE(image.members.size(), std::size_t(3));
        }
        QVERIFY(readElf(object)->hasFatbin);
        QVERIFY(fatbinsInElf("not an ELF").empty());
        const auto asKernel = readKernelImage(object);
        QVERIFY(!asKernel);
        QVERIFY2(asKernel.error().message.find("it is an ELF relocatable for x86_64") != std::string::npos,
                 asKernel.error().message.c_str());
    }

    void ptxasOfThisMachineMakesWhatIsRead() {
        const fs::path ptxas = "/usr/local/cuda/bin/ptxas";
        if (!fs::exists(ptxas))
            QSKIP("CUDA is not installed: the committed fixtures stand in for it");
        QTemporaryDir dir;
        const fs::path path = dir.path().toStdString();
        Progress silent;
        for (const char *sm : {"sm_87", "sm_103a", "sm_121f"}) {
            const auto text = fmt::format(".version 9.0\n.target {}\n.address_size 64\n.visible .entry first() {{ ret; "
                                          "}}\n.entry second() {{ ret; }}\n",
                                          sm);
            QVERIFY(writeFileAtomically(path / "k.ptx", text).has_value());
            const auto made = runChecked({.program = ptxas.string(),
                                          .arguments = {std::string("-arch=") + sm, "k.ptx", "-o", "k.cubin"},
                                          .directory = path},
                                         silent);
            QVERIFY2(made.has_value(), made ? "" : made.error().detail.c_str());
            const auto image = readCubin(readFile(path / "k.cubin").value_or(""));
            QVERIFY2(image.damage.empty(), joined(image.damage).constData());
            QCOMPARE(image.target->sm(), std::string(sm));
            QCOMPARE(image.entries.size(), std::size_t(2));
        }
    }
};

QTEST_APPLESS_MAIN(TestCubin)
#include "tst_cubin.moc"
