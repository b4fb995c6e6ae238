// SPDX-License-Identifier: Apache-2.0
//
// The live strip: lines of tegrastats (of JetPack 5 and 6 from public captures, those of 6 shortened; the JetPack 4 line is made up in
// its form and waits for a real one), the files and nvidia-smi instead of it, and a real server.

#include "tests/device/localsshd.h"

#include "core/device/live.h"

using namespace slipway;

class TestLive : public QObject {
    Q_OBJECT

    Progress m_quiet;

private Q_SLOTS:
    void tegrastatsOfAllGenerations_data() {
        QTest::addColumn<QString>("line");
        QTest::addColumn<QString>("json");
        QTest::newRow("Nano, JetPack 4")
            << "RAM 2448/3964MB (lfb 1x512kB) SWAP 0/1982MB (cached 0MB) CPU [5%@102,2%@102,0%@102,3%@102] EMC_FREQ 0% GR3D_FREQ 7%@76 APE 25 "
               "PLL@29C CPU@32.5C PMIC@100C GPU@30C AO@40C thermal@31.25C POM_5V_IN 2450/2450 POM_5V_GPU 0/0 POM_5V_CPU 163/163"
            << R"({"source":"tegrastats","gpu_percent":7.0,"cpu_percent":2.5,"cores_on":4,"memory_used_bytes":2566914048,"memory_total_bytes":4156555264,"celsius":30.0,"milliwatts":2450})";
        QTest::newRow("Xavier NX, JetPack 5")
            << "07-09-2024 13:31:31 RAM 3168/6851MB (lfb 2x4MB) SWAP 161/3426MB (cached 0MB) CPU "
               "[23%@1397,17%@1192,16%@1190,13%@1190,23%@1190,10%@1190] EMC_FREQ 2%@204 GR3D_FREQ 0%@[114] VIC_FREQ 115 APE 150 AUX@45C CPU@46.5C "
               "thermal@45.6C AO@45C GPU@45.5C PMIC@50C VDD_IN 2763mW/2846mW VDD_CPU_GPU_CV 650mW/670mW VDD_SOC 650mW/711mW"
            << R"({"source":"tegrastats","gpu_percent":0.0,"cpu_percent":17.0,"cores_on":6,"memory_used_bytes":3321888768,"memory_total_bytes":7183794176,"celsius":45.5,"milliwatts":2763})";
        QTest::newRow("AGX Orin, JetPack 6, GPU off")
            << "04-11-2025 10:36:27 RAM 4321/62801MB (lfb 1759x4MB) SWAP 19/31400MB (cached 0MB) CPU [0%@729,0%@729,off,off] EMC_FREQ 0%@2133 "
               "GR3D_FREQ 0%@[0,0] VIC_FREQ 729 APE 174 CV0@-256C CPU@44.562C Tboard@32C SOC2@40.093C Tdiode@33C SOC0@41.093C CV1@-256C GPU@-256C "
               "tj@44.343C SOC1@41.25C CV2@-256C VDD_GPU_SOC 2340mW/2340mW VDD_CPU_CV 390mW/390mW VIN_SYS_5V0 4025mW/4025mW NC 0mW/0mW"
            << R"({"source":"tegrastats","gpu_percent":0.0,"cpu_percent":0.0,"cores_on":2,"memory_used_bytes":4530896896,"memory_total_bytes":65851621376,"celsius":44.343,"milliwatts":6755})";
        QTest::newRow("Orin Nano, JetPack 6, busy")
            << "10-08-2026 04:35:02 RAM 6712/7620MB (lfb 12x4MB) SWAP 369/3810MB (cached 8MB) CPU [38%@1497,2%@729,1%@729,0%@729,1%@729,0%@729] "
               "EMC_FREQ 61%@2133 GR3D_FREQ 99%@[611] NVDEC off cpu@48.562C soc2@46.593C gpu@49.625C tj@49.312C VDD_IN 5251mW/8535mW "
               "VDD_CPU_GPU_CV 512mW/1944mW VDD_SOC 2720mW/3659mW"
            << R"({"source":"tegrastats","gpu_percent":99.0,"cpu_percent":7.0,"cores_on":6,"memory_used_bytes":7038042112,"memory_total_bytes":7990149120,"celsius":49.625,"milliwatts":5251})";
    }
    void tegrastatsOfAllGenerations() {
        QFETCH(QString, line);
        QFETCH(QString, json);
        const auto sample = parseTegrastats(line.toStdString());
        QVERIFY(sample);
        QCOMPARE(QString::fromStdString(sample->toJson().dump()), json);
    }

    void linesThatAreNoneGiveNothing() {
        for (const char *line : {"", "tegrastats: permission denied", "RAM x/yMB", "cpu  1 2 3 4", "RAM 12345678901/1MB"})
            QVERIFY2(!parseTegrastats(line), line);
        QVERIFY(!parseTegrastats(std::string(100000, '@')));
    }

    void filesAreReadWhereThereIsNoTegrastats() {
        LiveReader reader;
        for (const char *line : {"NV Power Mode: MAXN", "0", "cpu  100 0 100 800 0 0 0 0 0 0", "MemTotal:        8000000 kB", "MemAvailable:    6000000 kB",
                                 "gpuload 523", "zone gpu-thermal 45500", "zone tj-thermal 46000", "zone cv0-thermal -256000"})
            QVERIFY2(!reader.take(line), line);
        const auto first = reader.take("tick");
        QVERIFY(first);
        QCOMPARE(first->toJson().dump(), std::string(R"({"source":"sysfs","gpu_percent":52.3,"memory_used_bytes":2048000000,)"
                                                     R"("memory_total_bytes":8192000000,"celsius":46.0,"power_mode":"MAXN"})"));
        (void)reader.take("cpu  150 0 150 900 0 0 0 0 0 0");
        QCOMPARE(reader.take("tick")->cpuPercent, std::optional<double>(50.0));
    }

    void nvidiaSmiGivesTheGpuOfADesktopAndPartsOfASpark() {
        LiveReader reader;
        (void)reader.take("smi 37, 1024, 24576, 61, 120.50");
        const auto desktop = reader.take("tick");
        QCOMPARE(desktop->toJson().dump(), std::string(R"({"source":"nvidia-smi","gpu_percent":37.0,"memory_used_bytes":1073741824,)"
                                                       R"("memory_total_bytes":25769803776,"celsius":61.0,"milliwatts":120500})"));
        (void)reader.take("MemTotal: 125000000 kB");
        (void)reader.take("MemAvailable: 100000000 kB");
        (void)reader.take("smi 5, [N/A], [N/A], 40, [N/A]");
        const auto spark = reader.take("tick");
        QCOMPARE(spark->memoryUsed, std::optional<std::uint64_t>(25000000ull * 1024));
        QVERIFY(!spark->milliwatts);
    }

    void aRealServerIsSampledOnceASecondAndNothingGoesOn() {
        LocalSshd sshd;
        const auto session = slipway::connect(sshd.login(), m_quiet);
        QVERIFY(session);
        std::vector<Sample> samples;
        const auto watched = watchBoard(**session, 2, [&](const Sample &sample) { samples.push_back(sample); }, m_quiet);
        QVERIFY2(watched, watched ? "" : watched.error().message.c_str());
        QCOMPARE(samples.size(), std::size_t(2));
        QVERIFY(samples[1].cpuPercent && *samples[1].cpuPercent >= 0 && *samples[1].cpuPercent <= 100);
        QVERIFY(samples[0].memoryTotal.value_or(0) > samples[0].memoryUsed.value_or(~0ull) / 2);
        QCOMPARE((*session)->run({"echo", "on"}, m_quiet)->output, std::string("on\n"));
        QTRY_COMPARE_WITH_TIMEOUT((*session)->execute({.line = "pgrep -f 'gpu.0/loa[d]' >/dev/null && echo yes"}, m_quiet)->output, std::string(), 4000);
    }
};

QTEST_GUILESS_MAIN(TestLive)
#include "tst_live.moc"
