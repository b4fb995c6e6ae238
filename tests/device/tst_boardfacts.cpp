// SPDX-License-Identifier: Apache-2.0
//
// What boards print, to facts: rows for every generation from JetPack 4.6 to 7.2 and for what is no Jetson. The parser is pure;
// the script and the probe on boards are in tst_factsonboards.
//
// Where a text comes from stands beside it:
//   [real]  copied from a public report or NVIDIA's own material (shared/facts/domain.md and jetson.json name the sources; others
//           are named here)
//   [form]  made up in the form that a real one has, because no captured text was at hand
// The answers of slipway-probe are in its own format; their figures are [real] where a deviceQuery output is named.

#include "core/device/probe.h"

#include <QTest>

using namespace slipway;

namespace {

using Sections = std::vector<std::pair<std::string, std::string>>;

constexpr long now = 1795981500; // 2026-11-29

std::string output(const Sections &sections) {
    std::string text = "\n@@slipway:begin\n";
    for (const auto &[name, content] : sections)
        text += "\n@@slipway:" + name + "\n" + content;
    return text + "\n@@slipway:end\n";
}

/// slipway-probe's answer about a working driver with one GPU.
std::string probe(int version, const char *library, const char *gpu) {
    return fmt::format(R"({{"probe":1,"driver":{{"status":"ok","version":{},"library":"{}"}},"gpus":[{}]}})", version, library, gpu) + "\n";
}

constexpr const char *noDriver =
    R"({"probe":1,"driver":{"status":"absent","error":"libcuda.so.1: cannot open shared object file: No such file or directory"},"gpus":[]})";

// [real] first lines of nvidia-smi: 540.4.0 from domain.md section 6; GB10 from snowflakedb/ArcticTraining#345, B200 from
// sgl-project/sglang#27487.
constexpr const char *smiOrin = "| NVIDIA-SMI 540.4.0  Driver Version: 540.4.0  CUDA Version: 12.6 |\n";
constexpr const char *smiSpark =
    "+-----------------------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI 580.126.09             Driver Version: 580.126.09     CUDA Version: 13.0     |\n"
    "+-----------------------------------------+------------------------+----------------------+\n"
    "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
    "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
    "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |\n"
    "| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |\n";
constexpr const char *smiB200 =
    "Sun Jun  7 08:16:57 2026\n"
    "+-----------------------------------------------------------------------------------------+\n"
    "| NVIDIA-SMI 610.43.02              KMD Version: 610.43.02     CUDA UMD Version: 13.3     |\n";

} // namespace

class TestBoardFacts : public QObject {
    Q_OBJECT

    Catalog m_catalog;

    [[nodiscard]] BoardFacts parsed(const Sections &sections) const {
        const auto facts = parseFacts(output(sections), m_catalog, now);
        if (!facts)
            qWarning("%s", facts.error().message.c_str());
        return facts.value_or(BoardFacts{});
    }
    /// Without what every row has alike.
    [[nodiscard]] std::string json(const Sections &sections) const {
        auto facts = parsed(sections);
        facts.readAt.reset();
        facts.shellQuiet.reset();
        return facts.toJson().dump();
    }
    /// What the board is taken for, and the newest PTX that its driver reads.
    [[nodiscard]] std::string takenFor(const Sections &sections) const {
        const auto facts = parsed(sections);
        const auto *target = m_catalog.recognise(facts);
        const auto newest = facts.cudaDriver ? m_catalog.isa.newestForDriver(*facts.cudaDriver) : std::nullopt;
        return fmt::format("{}, PTX {}", target ? target->id : "unknown", newest ? newest->newest.text() : "unknown");
    }

private Q_SLOTS:
    void initTestCase() {
        const auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(catalog, catalog ? "" : catalog.error().message.c_str());
        m_catalog = *catalog;
    }

    void releaseLinesOfAllGenerations_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("release");
        const auto row = [](const char *line, const char *release) { QTest::newRow(release) << line << release; };
        // [real] all of them, domain.md section 4
        row("# R32 (release), REVISION: 7.1, GCID: 29689809, BOARD: t186ref, EABI: aarch64, DATE: Wed Feb  2 21:33:23 UTC 2022", "32.7.1 4.6.1");
        row("# R34 (release), REVISION: 1.1, GCID: 30414990, BOARD: t186ref, EABI: aarch64, DATE: Tue May 17 04:20:55 UTC 2022", "34.1.1 5.0.1 DP");
        row("# R35 (release), REVISION: 3.1, GCID: 32790763, BOARD: t186ref, EABI: aarch64, DATE: Wed Mar 15 07:54:12 UTC 2023", "35.3.1 5.1.1");
        row("# R36 (release), REVISION: 3.0, GCID: 36191598, BOARD: generic, EABI: aarch64, DATE: Mon May  6 17:34:21 UTC 2024", "36.3.0 6.0");
        row("# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025", "36.4.3 6.2");
        row("# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64, DATE: Mon Jun 16 16:07:13 UTC 2025", "36.4.4 6.2.1");
        row("# R38 (release), REVISION: 2.0, GCID: 41844464, BOARD: generic, EABI: aarch64, DATE: Fri Aug 22 00:55:42 UTC 2025", "38.2.0 7.0");
        row("# R39 (release), REVISION: 2.0, GCID: 45755727, BOARD: generic, EABI: aarch64, DATE: Mon Jun  1 09:28:48 PM UTC 2026", "39.2.0 7.2");
        row("# R39 (release), REVISION: 2.1, GCID: 46758480, BOARD: generic, EABI: aarch64, DATE: Fri Aug 7 05:54:22 AM UTC 2026", "39.2.1 7.2.1");
    }
    void releaseLinesOfAllGenerations() {
        QFETCH(QString, line);
        QFETCH(QString, release);
        // [real] what follows the first line from R36 on
        const auto facts = parsed({{"release", line.toStdString() + "\n# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\n"}});
        QCOMPARE(QString::fromStdString(facts.l4t.value_or("?") + " " + facts.jetpack.value_or("?")), release);
        QVERIFY(facts.warnings.empty());
    }

    void packageVersionsOfAllGenerations_data() {
        QTest::addColumn<QString>("version");
        QTest::addColumn<QString>("release");
        const auto row = [](const char *version, const char *release) { QTest::newRow(version) << version << release; };
        // [real] jetpack.json, "commands"
        row("32.7.4-20230608212426", "32.7.4 4.6.4");
        row("35.4.1-20230801124926", "35.4.1 5.1.2");
        row("36.3.0-20240719161631", "36.3.0 6.0");
        row("36.4.3-20250107174145", "36.4.3 6.2");
    }
    void packageVersionsOfAllGenerations() {
        QFETCH(QString, version);
        QFETCH(QString, release);
        const auto facts = parsed({{"release", ""}, {"l4tcore", version.toStdString()}});
        QCOMPARE(QString::fromStdString(facts.l4t.value_or("?") + " " + facts.jetpack.value_or("?")), release);
    }

    void jetsonNanoOfJetPack461() {
        const Sections sections{
            {"arch", "aarch64\n"},                               // [real]
            {"kernel", "4.9.253-tegra\n"},                       // [real]
            {"model", "NVIDIA Jetson Nano Developer Kit\n\n"},   // [real] NUL-terminated there, a line end after `tr`
            {"release", "# R32 (release), REVISION: 7.1, GCID: 29689809, BOARD: t186ref, EABI: aarch64, DATE: Wed Feb  2 21:33:23 UTC 2022\n"}, // [real]
            {"os", "NAME=\"Ubuntu\"\nVERSION=\"18.04.6 LTS (Bionic Beaver)\"\nVERSION_ID=\"18.04\"\n"}, // [form]
            {"glibc", "glibc 2.27\n"},                           // [form] of getconf
            {"toolkit", "CUDA Version 10.2.300\n"},              // [form] version.txt
            // [real] NVIDIA-AI-IOT/jetbot#49, stdout and stderr of a user who is not root
            {"power", "NV Power Mode: 5W\n1\nNVPM ERROR: Error opening /sys/kernel/nvpmodel_emc_cap/emc_iso_cap: 13\n"
                      "NVPM ERROR: failed to read PARAM EMC: ARG MAX_FREQ: PATH /sys/kernel/nvpmodel_emc_cap/emc_iso_cap\n"},
            // figures [real]: deviceQuery of a Nano, jetson.json
            {"probe", probe(10020, "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",
                            R"({"name":"NVIDIA Tegra X1","capability":"5.3","sm_count":1,"integrated":true})")}};
        QCOMPARE(json(sections),
                 std::string(R"({"model":"NVIDIA Jetson Nano Developer Kit","l4t":"32.7.1","jetpack":"4.6.1","os":"Ubuntu 18.04","arch":"aarch64",)"
                             R"("kernel":"4.9.253-tegra","glibc":"2.27","cuda_driver":10020,"cuda_driver_status":"ok",)"
                             R"("cuda_driver_library":"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1","cuda_toolkit":"10.2",)"
                             R"("gpus":[{"name":"NVIDIA Tegra X1","capability":"5.3","sm_count":1,"integrated":true}],"power_mode":"5W"})"));
        QCOMPARE(takenFor(sections), std::string("jetson-nano, PTX 6.5"));
    }

    void orinNanoOfJetPack511IsKnownByItsModule() {
        const Sections sections{
            {"arch", "aarch64\n"},
            {"model", "NVIDIA Orin Nano Developer Kit\n"}, // [real] without "Jetson" there
            // [real] jetson.json
            {"compatible", "nvidia,p3768-0000+p3767-0003\nnvidia,p3768-0000+p3767-0005\nnvidia,p3767-0003\nnvidia,p3767-0005\nnvidia,tegra234\nnvidia,tegra23x\n"},
            {"release", "# R35 (release), REVISION: 3.1, GCID: 32790763, BOARD: t186ref, EABI: aarch64, DATE: Wed Mar 15 07:54:12 UTC 2023\n"}, // [real]
            {"probe", probe(11040, "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7","sm_count":8,"integrated":true})")}};
        QCOMPARE(json(sections),
                 std::string(R"({"model":"NVIDIA Orin Nano Developer Kit","compatible":["nvidia,p3768-0000+p3767-0003",)"
                             R"("nvidia,p3768-0000+p3767-0005","nvidia,p3767-0003","nvidia,p3767-0005","nvidia,tegra234","nvidia,tegra23x"],)"
                             R"("l4t":"35.3.1","jetpack":"5.1.1","arch":"aarch64","cuda_driver":11040,"cuda_driver_status":"ok",)"
                             R"("cuda_driver_library":"/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1",)"
                             R"("gpus":[{"name":"Orin","capability":"8.7","sm_count":8,"integrated":true}]})"));
        QCOMPARE(takenFor(sections), std::string("jetson-orin-nano, PTX 7.4"));
    }

    void aPowerModeThatHidesSmsIsWhatTheDriverCounts() {
        // figures [real]: deviceQuery of an AGX Orin 64 GB in its 30 W mode (62841 MBytes, 8 multiprocessors of 16), jetson.json
        const Sections sections{
            {"arch", "aarch64\n"},
            {"model", "NVIDIA Jetson AGX Orin Developer Kit\n"},
            {"compatible", "nvidia,p3737-0000+p3701-0005\nnvidia,p3701-0005\nnvidia,tegra234\n"}, // [real] jetson-gpio#125
            {"power", "NV Power Mode: MODE_30W\n2\n"},                                          // [form]
            {"tpcmask", "240\n"},                                                               // [form]; value from domain.md section 3
            {"probe", probe(12060, "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",
                            R"({"name":"Orin","capability":"8.7","sm_count":8,"integrated":true,"memory_bytes":65893564416})")}};
        const auto facts = parsed(sections);
        QCOMPARE(facts.gpu()->smCount, std::optional<int>(8));
        QCOMPARE(facts.gpu()->memoryBytes, std::optional<std::uint64_t>(65893564416));
        QCOMPARE(facts.powerMode, std::optional<std::string>("MODE_30W"));
        QCOMPARE(m_catalog.recognise(facts)->smCountMax, std::optional<int>(16));
    }

    void whereOnlyNvidiaSmiAnswersTheMaskTellsTheSms_data() {
        QTest::addColumn<QByteArray>("mask");
        QTest::addColumn<int>("count");
        // domain.md section 3, from NVIDIA's nvpmodel_*.conf: mask -> SMs that the driver reports
        for (const auto &[mask, count] : {std::pair("0", 16), {"128", 14}, {"240", 8}, {"248", 6}, {"252", 4}})
            QTest::newRow(mask) << QByteArray(mask) << count;
        QTest::newRow("hexadecimal") << QByteArray("0xfc") << 4;
        QTest::newRow("no mask") << QByteArray("") << 0;
        QTest::newRow("too large") << QByteArray("256") << 0;
        QTest::newRow("noise") << QByteArray("off") << 0;
    }
    void whereOnlyNvidiaSmiAnswersTheMaskTellsTheSms() {
        QFETCH(QByteArray, mask);
        QFETCH(int, count);
        const Sections sections{{"smi", smiOrin}, {"smigpus", "Orin (nvgpu), 8.7\n"}, {"tpcmask", mask.toStdString() + "\n"}}; // [real] name
        const auto facts = parsed(sections);
        QCOMPARE(facts.gpu()->smCount.value_or(0), count);
        QCOMPARE(facts.cudaDriver, std::optional<int>(12060));
        const auto xavier = parsed({{"smigpus", "Xavier, 7.2\n"}, {"tpcmask", mask.toStdString() + "\n"}});
        QVERIFY2(!xavier.gpu()->smCount, "the rule is Orin's");
    }

    void thorOfJetPack70() {
        const Sections sections{
            {"arch", "aarch64\n"},
            {"model", "NVIDIA Jetson AGX Thor Developer Kit\n"},                                    // [real]
            {"compatible", "nvidia,p4071-0000+p3834-0008\nnvidia,p3834-0008\nnvidia,tegra264\n"},    // [real]
            {"release", "# R38 (release), REVISION: 2.0, GCID: 41844464, BOARD: generic, EABI: aarch64, DATE: Fri Aug 22 00:55:42 UTC 2025\n"}, // [real]
            {"jetpackpackage", "7.0-b128"},                                                         // [real]
            {"power", "NV Power Mode: MAXN\n0\n"},                                                  // [real] anduril/jetpack-nixos#460
            // figures [real]: deviceQuery of a Thor, 125772 MBytes, 20 multiprocessors; the library's folder is not verified
            {"probe", probe(13000, "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",
                            R"({"name":"NVIDIA Thor","capability":"11.0","sm_count":20,"integrated":true,"memory_bytes":131881500672})")}};
        const auto facts = parsed(sections);
        QCOMPARE(facts.jetpack, std::optional<std::string>("7.0"));
        QCOMPARE(facts.gpu()->capability.sm(), std::string("sm_110"));
        QCOMPARE(facts.gpu()->smCount, std::optional<int>(20));
        QCOMPARE(takenFor(sections), std::string("jetson-agx-thor, PTX 9.0"));
    }

    void dgxSparkIsKnownByItsGpu() {
        // [real] banner; the line of --query-gpu and the system's name are [form]
        const Sections sections{{"arch", "aarch64\n"},
                                {"os", "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n"},
                                {"smi", smiSpark},
                                {"smigpus", "NVIDIA GB10, 12.1\n"}};
        QCOMPARE(json(sections), std::string(R"({"os":"Ubuntu 24.04","arch":"aarch64","cuda_driver":13000,"gpus":[{"name":"NVIDIA GB10","capability":"12.1"}]})"));
        QCOMPARE(takenFor(sections), std::string("dgx-spark, PTX 9.0"));
    }

    void aDesktopGpuBehindTheNewBannerIsAsItsDriverSays() {
        const Sections sections{{"arch", "x86_64\n"}, {"smi", smiB200}, {"smigpus", "NVIDIA B200, 10.0\nNVIDIA B200, 10.0\n"}}; // banner [real]
        const auto facts = parsed(sections);
        QCOMPARE(facts.cudaDriver, std::optional<int>(13030));
        QCOMPARE(facts.gpus->size(), std::size_t(2));
        QVERIFY(!facts.l4t && !facts.model && facts.warnings.empty());
        QCOMPARE(takenFor(sections), std::string("generic-x86_64, PTX 9.3"));
    }

    void aContainerOnAJetsonHasADriverAndNoBoard() {
        // [form] no device tree, no release file, no nvpmodel: what `docker run --runtime nvidia` leaves (ux.md, domain.md section 4)
        const Sections sections{{"arch", "aarch64\n"},
                                {"kernel", "5.15.148-tegra\n"},
                                {"release", ""},
                                {"os", "NAME=\"Ubuntu\"\nVERSION_ID=\"22.04\"\n"},
                                {"probe", probe(12060, "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7","sm_count":8,"integrated":true})")}};
        QCOMPARE(json(sections),
                 std::string(R"({"os":"Ubuntu 22.04","arch":"aarch64","kernel":"5.15.148-tegra","cuda_driver":12060,"cuda_driver_status":"ok",)"
                             R"("cuda_driver_library":"/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1",)"
                             R"("gpus":[{"name":"Orin","capability":"8.7","sm_count":8,"integrated":true}]})"));
        QCOMPARE(takenFor(sections), std::string("generic-aarch64, PTX 8.5"));
    }

    void anImageWithoutNvidiasFilesIsKnownByItsDeviceTree() {
        // [form] of an OE4T or NixOS image: the device tree is the kernel's, /etc/nv_tegra_release and the packages are not there
        const Sections sections{{"arch", "aarch64\n"},
                                {"model", "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super\n"},
                                {"compatible", "nvidia,p3768-0000+p3767-0005-super\nnvidia,p3767-0005\nnvidia,tegra234\n"}, // [real]
                                {"os", "NAME=NixOS\nVERSION_ID=\"25.05\"\n"},
                                {"probe", probe(12060, "/run/opengl-driver/lib/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7","sm_count":8,"integrated":true})")}};
        const auto facts = parsed(sections);
        QVERIFY(!facts.l4t && !facts.jetpack);
        QVERIFY(facts.warnings.empty());
        QCOMPARE(takenFor(sections), std::string("jetson-orin-nano, PTX 8.5"));
    }

    void aBoardWithoutADriverIsAFact() {
        const Sections sections{{"arch", "aarch64\n"}, {"os", "NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\n"}, {"probe", noDriver}};
        QCOMPARE(json(sections),
                 std::string(R"({"os":"Debian 12","arch":"aarch64","cuda_driver_status":"absent",)"
                             R"("warnings":["the CUDA driver is absent: libcuda.so.1: cannot open shared object file: No such file or directory"]})"));
        QCOMPARE(takenFor(sections), std::string("generic-aarch64, PTX unknown"));
    }

    void aReleaseNewerThanTheTableIsTakenFromItsDriverWithAWarning() {
        // [form] no such release was seen
        const Sections sections{{"arch", "aarch64\n"},
                                {"compatible", "nvidia,p4071-0000+p3834-0008\nnvidia,p3834-0008\nnvidia,tegra264\n"},
                                {"release", "# R41 (release), REVISION: 1.0, GCID: 50000000, BOARD: generic, EABI: aarch64, DATE: Mon Mar  1 09:00:00 PM UTC 2027\n"},
                                {"jetpackpackage", "8.0-b12"},
                                {"probe", probe(13040, "/opt/nvidia/l4t-gpu-libs/openrm/libcuda.so.1.1", R"({"name":"NVIDIA Thor","capability":"11.0","sm_count":20,"integrated":true})")}};
        const auto facts = parsed(sections);
        QCOMPARE(facts.l4t, std::optional<std::string>("41.1.0"));
        QCOMPARE(facts.jetpack, std::optional<std::string>("8.0"));
        QCOMPARE(facts.warnings, (std::vector<std::string>{"L4T 41.1.0 is newer than every release in the JetPack table: what the driver itself reports is used"}));
        QCOMPARE(takenFor(sections), std::string("jetson-agx-thor, PTX 9.4"));
    }

    void cudaCompatRaisesWhatAProgramGetsAndOnlyWhereItIsAskedFor() {
        const auto own = probe(11040, "/usr/lib/aarch64-linux-gnu/tegra/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7"})");
        const auto compat = probe(12020, "/usr/local/cuda-12.2/compat/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7"})");
        // folders and versions [real]: CUDA for Tegra note (JetPack 5: 11.4, with the package 12.2), domain.md section 4
        const Sections sections{{"probe", own}, {"compat", "/usr/local/cuda-12.2/compat\n" + compat + "/usr/local/cuda/compat -> /usr/local/cuda-12.2/compat\n"}};
        const auto facts = parsed(sections);
        QCOMPARE(facts.cudaDriver, std::optional<int>(11040));
        QCOMPARE(facts.toJson()["cuda_compat"].dump(),
                 std::string(R"([{"path":"/usr/local/cuda-12.2/compat","status":"ok","driver":12020,"links":["/usr/local/cuda/compat"]}])"));
        QCOMPARE(facts.driverWith(""), std::optional<int>(11040));
        QCOMPARE(facts.driverWith("/opt/app/lib:/usr/local/cuda-12.2/compat/"), std::optional<int>(12020));
        QCOMPARE(facts.driverWith("/usr/local/cuda/compat:/opt/app/lib"), std::optional<int>(12020));
        QCOMPARE(facts.driverWith("/usr/local/cuda-12.2/lib64"), std::optional<int>(11040));
    }

    void aCompatPackageThatDoesNotFitIsNoDriver() {
        const auto own = probe(12060, "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1", R"({"name":"Orin","capability":"8.7"})");
        // code and name [real]: cuda.h 803; the loader's own library answers where the compat one cannot be loaded
        const std::string misfit = R"({"probe":1,"driver":{"status":"error","version":13000,"library":"/usr/local/cuda-13.0/compat/libcuda.so.1.1","code":803,)"
                                   R"("error":"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"},"gpus":[]})";
        const auto facts = parsed({{"probe", own}, {"compat", "/usr/local/cuda-12.9/compat\n" + own + "/usr/local/cuda-13.0/compat\n" + misfit + "\n"}});
        QCOMPARE(facts.toJson()["cuda_compat"].dump(), std::string(R"([{"path":"/usr/local/cuda-12.9/compat","status":"error"},)"
                                                                   R"({"path":"/usr/local/cuda-13.0/compat","status":"error","driver":13000}])"));
        QCOMPARE(facts.driverWith("/usr/local/cuda-13.0/compat:/usr/local/cuda-12.9/compat"), std::optional<int>(12060));
        QVERIFY2(facts.warnings.empty(), "a package that nobody uses is no warning");
    }
};

QTEST_APPLESS_MAIN(TestBoardFacts)
#include "tst_boardfacts.moc"
