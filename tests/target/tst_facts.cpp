// SPDX-License-Identifier: Apache-2.0
//
// The facts file: the design's example comes back as it was, and edited files fail with the key's name.

#include "core/target/facts.h"

#include <QTest>

using namespace slipway;

namespace {

constexpr const char *example =
    R"({"model": "NVIDIA Jetson Orin Nano Developer Kit", "compatible": ["nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"],
 "l4t": "36.4.3", "jetpack": "6.2", "os": "Ubuntu 22.04", "arch": "aarch64", "kernel": "5.15.148-tegra",
 "glibc": "2.35", "glibcxx": "3.4.30", "cxxabi": "1.3.13", "cuda_driver": 12060, "cuda_toolkit": "12.6",
 "gpus": [{"name": "Orin", "capability": "8.7", "sm_count": 8, "integrated": true}],
 "memory_bytes": 7990000000, "machine_id": "0123456789abcdef0123456789abcdef", "power_mode": "15W",
 "disks": [{"mount": "/", "free_bytes": 20000000000, "read_only": false, "noexec": false}],
 "tools": {"rsync": "3.2.7", "tar": "1.34", "sha256sum": true, "sftp": true}, "libraries": ["libc.so.6", "libm.so.6"],
 "clock_skew_s": 0, "shell_quiet": true, "env": {"TEENYC_PTX_VERSION": "82"}})";

} // namespace

class TestFacts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theDesignsExampleRoundTrips() {
        const auto json = *parseJson(example, "facts");
        const auto facts = BoardFacts::fromJson(json, "facts");
        QVERIFY2(facts.has_value(), facts ? "" : facts.error().message.c_str());
        QCOMPARE(*facts->cudaDriver, 12060);
        QCOMPARE(facts->gpu()->capability.sm(), std::string("sm_87"));
        QCOMPARE(*facts->gpu()->smCount, 8);
        QCOMPARE(facts->disks->front().freeBytes, std::uint64_t(20000000000));
        QCOMPARE(facts->tools->at("rsync"), std::string("3.2.7"));
        QCOMPARE(facts->tools->at("sha256sum"), std::string());
        QCOMPARE(facts->env->at("TEENYC_PTX_VERSION"), std::string("82"));
        // As values: the tools are written in alphabetical order.
        QVERIFY(nlohmann::json::parse(facts->toJson().dump()) == nlohmann::json::parse(json.dump()));
    }

    void everyOptionalFactRoundTrips() {
        BoardFacts facts;
        facts.tnspec = "3767-300-0005-S.1-1-1-jetson-orin-nano-devkit-super-";
        facts.serial = "1421523012345";
        facts.cudaDriverStatus = "hung";
        facts.cudaDriverLibrary = "/usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1.1";
        facts.simulated = "CUDA driver";
        facts.readAt = 1795969519;
        facts.cpuAes = false;
        facts.cudaCompat = {{.path = "/usr/local/cuda-12.8/compat", .status = "ok", .driver = 12080, .links = {"/usr/local/cuda/compat"}},
                            {.path = "/usr/local/cuda-13.0/compat", .status = "error", .driver = {}}};
        facts.clockSkewSeconds = -31536000;
        facts.gpus = {GpuFacts{.name = "Orin", .capability = {87}, .memoryBytes = 7990000000}};
        facts.disks = {DiskFacts{.mount = "/data", .freeBytes = 1, .readOnly = true, .noexec = true, .type = "ext4"}};
        facts.warnings = {"JetPack 7.9 is newer than the table"};
        const auto again = BoardFacts::fromJson(facts.toJson(), "facts");
        QVERIFY(again.has_value());
        QCOMPARE(again->toJson().dump(), facts.toJson().dump());
        QCOMPARE(*again->clockSkewSeconds, -31536000L);
        QVERIFY(!again->gpus->front().integrated);
    }

    void whatCouldNotBeReadIsAbsent() {
        QCOMPARE(BoardFacts().toJson().dump(), std::string("{}"));
        const auto facts = BoardFacts::fromJson(
            *parseJson(R"({"glibc": null, "gpus": null, "tools": {"rsync": false, "tar": null}})", "f"), "f");
        QVERIFY(facts.has_value());
        QVERIFY(!facts->glibc);
        QVERIFY(!facts->gpus);
        QVERIFY(!facts->gpu());
        QVERIFY(facts->tools->empty());
    }

    void unknownKeysAreIgnored() {
        QVERIFY(BoardFacts::fromJson(*parseJson(R"({"colour": {"r": 1}, "glibc": "2.35"})", "f"), "f").has_value());
    }

    void aWrongTypeNamesItsKey_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QByteArray>("named");
        QTest::newRow("text") << QByteArray(R"({"glibc": 2.35})") << QByteArray("\"glibc\" is number, needed a text");
        QTest::newRow("number") << QByteArray(R"({"cuda_driver": "12.6"})")
                                << QByteArray("\"cuda_driver\" is string, needed a whole number");
        QTest::newRow("fraction") << QByteArray(R"({"cuda_driver": 12.6})") << QByteArray("\"cuda_driver\"");
        QTest::newRow("huge") << QByteArray(R"({"cuda_driver": 99999999999})") << QByteArray("\"cuda_driver\"");
        QTest::newRow("negative size") << QByteArray(R"({"memory_bytes": -1})") << QByteArray("\"memory_bytes\"");
        QTest::newRow("list of texts") << QByteArray(R"({"compatible": ["a", 1]})") << QByteArray("\"compatible\"");
        QTest::newRow("gpus no list") << QByteArray(R"({"gpus": {}})")
                                      << QByteArray("\"gpus\" is object, needed a list");
        QTest::newRow("gpu no object") << QByteArray(R"({"gpus": [1]})") << QByteArray("\"gpus\" number 1");
        QTest::newRow("second gpu") << QByteArray(R"({"gpus": [{"capability": "8.7"}, {"name": "x"}]})")
                                    << QByteArray("\"gpus\" number 2: \"capability\" is missing");
        QTest::newRow("bad capability") << QByteArray(R"({"gpus": [{"capability": "orin"}]})")
                                        << QByteArray("\"capability\": \"orin\" is not");
        QTest::newRow("disk") << QByteArray(R"({"disks": [{"mount": "/"}]})")
                              << QByteArray("\"free_bytes\" is missing");
        QTest::newRow("tool") << QByteArray(R"({"tools": {"tar": 1}})") << QByteArray("\"tools\", \"tar\" is number");
        QTest::newRow("env") << QByteArray(R"({"env": {"A": 1}})") << QByteArray("\"env\"");
        QTest::newRow("skew") << QByteArray(R"({"clock_skew_s": 18446744073709551615})")
                              << QByteArray("\"clock_skew_s\"");
        QTest::newRow("compat") << QByteArray(R"({"cuda_compat": [{"path": "/c"}]})") << QByteArray("\"cuda_compat\" number 1: \"status\" is missing");
        QTest::newRow("bool") << QByteArray(R"({"shell_quiet": "yes"})") << QByteArray("\"shell_quiet\"");
        QTest::newRow("warnings") << QByteArray(R"({"warnings": "none"})") << QByteArray("\"warnings\"");
        QTest::newRow("not an object") << QByteArray("[]") << QByteArray("needed an object");
    }
    void aWrongTypeNamesItsKey() {
        QFETCH(QByteArray, text);
        QFETCH(QByteArray, named);
        const auto facts = BoardFacts::fromJson(*parseJson(text.toStdString(), "facts.json"), "facts.json");
        QVERIFY(!facts);
        QVERIFY2(facts.error().message.find(named.toStdString()) != std::string::npos, facts.error().message.c_str());
        QVERIFY2(facts.error().message.starts_with("facts.json: "), facts.error().message.c_str());
    }
};

QTEST_APPLESS_MAIN(TestFacts)
#include "tst_facts.moc"
