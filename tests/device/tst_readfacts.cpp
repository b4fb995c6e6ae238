// SPDX-License-Identifier: Apache-2.0
//
// Facts: the parser on texts that real boards printed, and the script with the real probe on this machine through sshd.

#include "tests/device/fakesession.h"
#include "tests/device/localsshd.h"

#include "core/base/files.h"
#include "core/device/factsscript.h"
#include "core/device/probe.h"

#include <QSysInfo>

#include <ctime>
#include <sys/stat.h>

using namespace slipway;

class TestReadFacts : public QObject {
    Q_OBJECT

    Catalog m_catalog;
    Progress m_quiet;

    static std::string output(const std::vector<std::pair<std::string, std::string>> &sections) {
        std::string text = "\n@@slipway:begin\n";
        for (const auto &[name, content] : sections)
            text += "\n@@slipway:" + name + "\n" + content;
        return text + "\n@@slipway:end\n";
    }
    BoardFacts parsed(const std::vector<std::pair<std::string, std::string>> &sections) {
        const auto facts = parseFacts(output(sections), m_catalog, 1764433500);
        return facts.value_or(BoardFacts{});
    }
    static ProbePrograms probes() { return {fs::path(SLIPWAY_BIN_DIR) / "probe"}; }

private Q_SLOTS:
    void initTestCase() {
        const auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(catalog, catalog ? "" : catalog.error().message.c_str());
        m_catalog = *catalog;
    }

    void thePackageTellsTheReleaseWhereTheFileIsMissing() {
        const auto facts = parsed({{"release", ""}, {"l4tcore", "36.4.3-20250107174145"}});
        QCOMPARE(facts.l4t, std::optional<std::string>("36.4.3"));
        QCOMPARE(facts.jetpack, std::optional<std::string>("6.2"));
        const auto newer = parsed({{"l4tcore", "41.1.0-20270101000000"}, {"jetpackpackage", "8.0-b12"}});
        QCOMPARE(newer.jetpack, std::optional<std::string>("8.0"));
        QCOMPARE(newer.warnings.size(), std::size_t(1));
    }

    void identityOfAnOrinNano() {
        const auto facts =
            parsed({{"model", "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super\n"},
                    {"compatible", "nvidia,p3768-0000+p3767-0005-super\nnvidia,p3767-0005\nnvidia,tegra234\n"},
                    {"bootcontrol", "TNSPEC 3767-300-0005-S.1-1-1-jetson-orin-nano-devkit-super-\nTEGRA_CHIPID 0x23\n"},
                    {"power", "NV Power Mode: 15W\n0\n"},
                    {"arch", "aarch64\n"}});
        QCOMPARE(facts.model,
                 std::optional<std::string>("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super"));
        QCOMPARE(facts.compatible->size(), std::size_t(3));
        QCOMPARE(facts.tnspec, std::optional<std::string>("3767-300-0005-S.1-1-1-jetson-orin-nano-devkit-super-"));
        QCOMPARE(facts.powerMode, std::optional<std::string>("15W"));
        const auto *target = m_catalog.recognise(facts);
        QVERIFY(target);
        QCOMPARE(target->id, std::string("jetson-orin-nano"));
    }

    void librariesAndTheirVersions() {
        const auto facts = parsed(
            {{"glibc", "ldd (Ubuntu GLIBC 2.35-0ubuntu3.8) 2.35\n"},
             {"ldcache", "2 libs found in cache `/etc/ld.so.cache'\n\tlibcuda.so.1 (libc6,AArch64) => "
                         "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1\n"
                         "\tlibc.so.6 (libc6,AArch64, OS ABI: Linux 3.7.0) => /lib/aarch64-linux-gnu/libc.so.6\n"},
             {"ldfiles", "ld-linux-aarch64.so.1\nlibc.so.6\n"},
             {"cxx", "CXXABI_1.3\nCXXABI_1.3.13\nCXXABI_1.3.9\nGLIBCXX_3.4\nGLIBCXX_3.4.30\nGLIBCXX_3.4.9\n"}});
        QCOMPARE(facts.glibc, std::optional<std::string>("2.35"));
        QCOMPARE(facts.glibcxx, std::optional<std::string>("3.4.30"));
        QCOMPARE(facts.cxxabi, std::optional<std::string>("1.3.13"));
        QCOMPARE(*facts.libraries, (std::vector<std::string>{"ld-linux-aarch64.so.1", "libc.so.6", "libcuda.so.1"}));
        QCOMPARE(parsed({{"glibc", "glibc 2.31\n"}}).glibc, std::optional<std::string>("2.31"));
        QVERIFY(!parsed({{"glibc", "musl libc (aarch64)\n"}}).glibc);
    }

    void disksWithTheirMountOptions() {
        const auto facts =
            parsed({{"df", "Filesystem     1024-blocks     Used Available Capacity Mounted on\n"
                           "/dev/nvme0n1p1   239258208 20000000 206000000       9% /\n"
                           "tmpfs               3905000        0   3905000       0% /dev/shm\n"
                           "devtmpfs            3905000        0   3905000       0% /dev\n"
                           "/dev/sda1              1000      400       600      40% /media/my disk\n"
                           "/dev/nvme0n1p1   239258208 20000000 206000000       9% /home\n"
                           "sysfs                       0        0         0       -  /sys\n"
                           "none                      -        -         -       -  /weird\n"},
                    {"mounts", "/dev/nvme0n1p1 / ext4 ro,relatime 0 0\n/dev/nvme0n1p1 /home ext4 rw,relatime 0 "
                               "0\ntmpfs /dev/shm tmpfs rw,nosuid,noexec 0 0\n"
                               "devtmpfs /dev devtmpfs rw 0 0\n/dev/sda1 /media/my\\040disk vfat ro,noexec 0 0\n"}});
        QCOMPARE(facts.disks->size(), std::size_t(4));
        QCOMPARE(facts.disks->at(0).mount, std::string("/"));
        QCOMPARE(facts.disks->at(0).freeBytes, std::uint64_t(206000000) * 1024);
        QCOMPARE(facts.disks->at(0).type, std::string("ext4"));
        QVERIFY(!facts.disks->at(0).noexec && facts.disks->at(0).readOnly);
        QCOMPARE(facts.disks->at(3).mount, std::string("/home"));
        QVERIFY(!facts.disks->at(3).readOnly);
        QVERIFY(facts.disks->at(1).noexec);
        QCOMPARE(facts.disks->at(2).mount, std::string("/media/my disk"));
        QVERIFY(facts.disks->at(2).readOnly);
    }

    void bothBannersOfNvidiaSmi_data() {
        QTest::addColumn<QString>("banner");
        QTest::addColumn<int>("driver");
        QTest::newRow("JetPack 6")
            << "| NVIDIA-SMI 540.4.0                Driver Version: 540.4.0      CUDA Version: 12.6     |" << 12060;
        QTest::newRow("610") << "| NVIDIA-SMI 610.43    KMD Version: 610.43    CUDA UMD Version: 13.3     |" << 13030;
        QTest::newRow("none") << "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver." << 0;
    }
    void bothBannersOfNvidiaSmi() {
        QFETCH(QString, banner);
        QFETCH(int, driver);
        const auto facts = parsed({{"smi", banner.toStdString() + "\n"}, {"smigpus", "Orin (nvgpu), 8.7\n"}});
        QCOMPARE(facts.cudaDriver.value_or(0), driver);
        QCOMPARE(facts.gpu()->name, std::string("Orin (nvgpu)"));
        QCOMPARE(facts.gpu()->capability.number, 87);
        QVERIFY(!facts.cudaDriverStatus);
    }

    void theProbeComesBeforeNvidiaSmi() {
        const auto facts = parsed(
            {{"smi", "CUDA Version: 12.2"},
             {"probe",
              R"({"probe":1,"driver":{"status":"ok","version":12060,"library":"/usr/lib/libcuda.so.1"},)"
              R"("gpus":[{"name":"Orin","capability":"8.7","sm_count":8,"integrated":true,"memory_bytes":7990000000}]})"}});
        QCOMPARE(facts.cudaDriver, std::optional<int>(12060));
        QCOMPARE(facts.cudaDriverStatus, std::optional<std::string>("ok"));
        QCOMPARE(facts.gpu()->smCount, std::optional<int>(8));
        QCOMPARE(facts.gpu()->integrated, std::optional<bool>(true));
        const auto hung =
            parsed({{"probe", R"({"probe":1,"driver":{"status":"hung","error":"no answer in 20 s"},"gpus":[]})"}});
        QCOMPARE(hung.cudaDriverStatus, std::optional<std::string>("hung"));
        QVERIFY(!hung.gpus && hung.warnings.size() == 1);
    }

    void toolsWithAndWithoutVersions() {
        const auto facts = parsed(
            {{"tools", "rsync\trsync  version 3.2.7  protocol version 31\ntar\ttar (GNU tar) 1.34\nln\t\nsftp\t\n"}});
        QCOMPARE(*facts.tools,
                 (std::map<std::string, std::string>{{"ln", ""}, {"rsync", "3.2.7"}, {"sftp", ""}, {"tar", "1.34"}}));
        QVERIFY(!parsed({}).tools);
    }

    void toolkitVersionsOfBothForms() {
        QCOMPARE(parsed({{"toolkit", R"({"cuda":{"name":"CUDA SDK","version":"12.6.11"}})"}}).cudaToolkit,
                 std::optional<std::string>("12.6"));
        QCOMPARE(parsed({{"toolkit", "CUDA Version 10.2.300\n"}}).cudaToolkit, std::optional<std::string>("10.2"));
        QVERIFY(!parsed({{"toolkit", "{\"cuda\": 7}"}}).cudaToolkit);
    }

    void aChattyShellIsFoundOut() {
        const auto facts = parseFacts("Welcome to my board!\n" + output({{"arch", "aarch64\n"}}), m_catalog, 0);
        QVERIFY(facts);
        QCOMPARE(facts->shellQuiet, std::optional<bool>(false));
        QCOMPARE(facts->arch, std::optional<std::string>("aarch64"));
        QCOMPARE(parsed({}).shellQuiet, std::optional<bool>(true));
    }

    void noAnswerOfOursIsAnError() {
        const auto facts = parseFacts("This account is currently not available.\n", m_catalog, 0);
        QVERIFY(!facts);
        QCOMPARE(
            facts.error().message,
            std::string(
                "the board's shell did not run our script; it printed \"This account is currently not available.\""));
    }

    void rubbishGivesAbsentFactsNotWrongOnes() {
        std::string noise;
        for (int i = 0; i < 5000; ++i)
            noise += char(i * 7919 % 256);
        const auto facts = parsed({{"clock", noise},
                                   {"release", noise},
                                   {"df", noise},
                                   {"mounts", noise},
                                   {"memory", noise},
                                   {"probe", noise},
                                   {"smi", noise},
                                   {"toolkit", noise},
                                   {"cxx", noise},
                                   {"glibc", noise}});
        QVERIFY(!facts.clockSkewSeconds && !facts.l4t && !facts.disks && !facts.memoryBytes && !facts.cudaDriver);
        QVERIFY(!facts.gpus && !facts.cudaToolkit && !facts.glibcxx && !facts.glibc);
        const auto cut = parseFacts("\n@@slipway:begin\n\n@@slipway:arch\naarch64", m_catalog, 0);
        QVERIFY(cut);
        QCOMPARE(cut->warnings.back(), std::string("the board's answer ended early: some facts are missing"));
    }

    void thisMachineThroughARealServer() {
        QTemporaryDir room;
        LocalSshd sshd({"SetEnv TMPDIR=" + room.path().toStdString()}); // /tmp is every test's
        const auto session = slipway::connect(sshd.login(), m_quiet);
        QVERIFY(session);
        const auto facts = readFacts(**session, m_catalog, probes(), m_quiet);
        QVERIFY2(facts, facts ? "" : facts.error().message.c_str());
        QCOMPARE(QString::fromStdString(facts->kernel.value_or("")), QSysInfo::kernelVersion());
        QCOMPARE(facts->glibc.value_or(""), std::string(runTool("getconf", {"GNU_LIBC_VERSION"})).substr(6, 4));
        QVERIFY(facts->shellQuiet.value_or(false));
        QVERIFY(std::abs(facts->clockSkewSeconds.value_or(99)) <= 2);
        QVERIFY(facts->memoryBytes.value_or(0) > 100000000);
        QVERIFY(facts->glibcxx && facts->glibcxx->starts_with("3.4."));
        QVERIFY(std::find(facts->libraries->begin(), facts->libraries->end(), "libc.so.6") != facts->libraries->end());
        QVERIFY(facts->tools->contains("tar") && !facts->tools->at("tar").empty());
        QVERIFY(facts->cudaDriverStatus.has_value());
        QVERIFY(facts->warnings.size() <= 1);
        QVERIFY(fs::is_empty(room.path().toStdString()));
    }

    void aNoisyLoginShellOnARealServer() {
        LocalSshd sshd({"ForceCommand echo Hello from .bashrc; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\""});
        const auto session = slipway::connect(sshd.login(), m_quiet);
        QVERIFY(session);
        const auto facts = readFacts(**session, m_catalog, probes(), m_quiet);
        QVERIFY(facts);
        QCOMPARE(facts->shellQuiet, std::optional<bool>(false));
        QVERIFY(facts->warnings.front().find("Hello from .bashrc") != std::string::npos);
    }

    void loadReportsEachImageOfAFolder() {
        FakeSession session;
        session.on(
            "sh -c", 1,
            "\n@@slipway:begin\n\n@@slipway:load\n"
            R"({"file":"./add_0.o","status":"ok","ms":0.31,"entries":["add"]})"
            "\n"
            R"({"file":"./sub_0.o","status":"refused","code":222,"error":"CUDA_ERROR_UNSUPPORTED_PTX_VERSION","log":"ptxas: Unsupported .version 8.7"})"
            "\n"
            R"({"summary":true,"driver":{"status":"ok","version":12060},"images":2,"ok":1,"refused":1})"
            "\n");
        const auto results =
            probeLoad(session, probes(), "x86_64", "/opt/it's here/cache", {{"TEENYC_PTX_VERSION", "82"}}, m_quiet);
        QVERIFY2(results, results ? "" : results.error().message.c_str());
        QCOMPARE(results->size(), std::size_t(2));
        QCOMPARE(results->at(0).file, std::string("add_0.o"));
        QCOMPARE(results->at(1).code, 222);
        QCOMPARE(results->at(1).log, std::string("ptxas: Unsupported .version 8.7"));
        QVERIFY(session.calls.front().input.find("cd '/opt/it'\\''s here/cache'") != std::string::npos);
        QVERIFY(session.calls.front().input.find("TEENYC_PTX_VERSION=82; export TEENYC_PTX_VERSION") !=
                std::string::npos);
        QVERIFY(!probeLoad(session, probes(), "x86_64", "/x", {{"A;rm -rf /", "1"}}, m_quiet));
    }

    void loadOnThisMachineSaysWhatItsDriverIs() {
        LocalSshd sshd;
        const auto session = slipway::connect(sshd.login(), m_quiet);
        QVERIFY(session);
        QVERIFY(writeFileAtomically(sshd.at("cache/k.o"), ".version 7.0\n.target sm_80\n.address_size 64\n"));
        const auto results =
            probeLoad(**session, probes(), QSysInfo::currentCpuArchitecture() == "arm64" ? "aarch64" : "x86_64",
                      sshd.at("cache").string(), {}, m_quiet);
        if (!results)
            QVERIFY2(results.error().message.starts_with("the board's CUDA driver is "),
                     results.error().message.c_str());
        else
            QCOMPARE(results->front().file, std::string("k.o"));
        const auto missing = probeLoad(**session, probes(), "x86_64", "/no/such/folder", {}, m_quiet);
        QVERIFY(!missing);
        QCOMPARE(missing.error().message, std::string("there is no folder /no/such/folder on the board"));
    }
};

QTEST_GUILESS_MAIN(TestReadFacts)
#include "tst_readfacts.moc"
