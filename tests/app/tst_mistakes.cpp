// SPDX-License-Identifier: Apache-2.0
//
// The four classic mistakes, as a user makes them: each is stopped before a byte reaches the board, with exit code 3 and the
// value that fixes it; and each has a sibling that differs by one step and ships. Then what a board itself can be bad at.

#include "core/base/digest.h"
#include "core/kernel/key.h"
#include "tests/app/commandline.h"

#include <QDir>
#include <QRegularExpression>
#include <QSet>
#include <QTest>

using namespace slipway;

namespace {

/// A minimal kernel as a compiler would write it.
std::string ptxText(const std::string &target, const std::string &version) {
    return fmt::format("// meta:name=k\n.version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n  ret;\n}}\n", version, target);
}

/// A safetensors file with one tensor of four elements.
std::string model(const std::string &dtype, int bytesEach) {
    const auto header = fmt::format(R"({{"w":{{"dtype":"{}","shape":[4],"data_offsets":[0,{}]}}}})", dtype, 4 * bytesEach);
    std::string file(8, '\0');
    file[0] = char(header.size());
    return file + header + std::string(std::size_t(4 * bytesEach), '\0');
}

} // namespace

class TestMistakes : public QObject {
    Q_OBJECT
    CommandLine m_cli;
    fs::path m_root;

    [[nodiscard]] bool somethingWasSent() const {
        const auto dest = m_root / "opt/mistake";
        return fs::exists(dest / "current") || (fs::exists(dest / "releases") && !fs::is_empty(dest / "releases"));
    }

    /// A project whose binary and kernel are finished files.
    QString project(const QString &name, const std::string &target, const std::string &version, const std::string &declared, const std::string &held) {
        const auto at = [&](const char *file) { return (m_cli.path(name) + "/" + file).toStdString(); };
        std::ignore = writeFileAtomically(at("hello.sh"), "#!/bin/sh\necho hello\n", 0755);
        std::ignore = writeFileAtomically(at("kernels/k.ptx"), ptxText(target, version));
        std::ignore = writeFileAtomically(at("data/m.safetensors"), model(held, held == "I8" ? 1 : 2));
        std::ignore = writeFileAtomically(at("slipway.json"),
                                          fmt::format(R"({{"name": "mistake", "build": {{"kind": "prebuilt", "files": ["hello.sh"]}},
 "kernels": [{{"kind": "prebuilt", "files": ["kernels/k.ptx"]}}], "models": [{{"file": "data/m.safetensors", "dtype": "{}"}}],
 "run": {{"command": "bin/hello.sh", "health": "bin/hello.sh"}}, "deploy": {{"dest": "/opt/mistake"}}}})", declared));
        return m_cli.path(name);
    }

    /// A package of cargo teeny: binary, one kernel under its key, the marker.
    QString teenyPackage(const QString &name, const std::string &target, const std::string &version, const std::string &options,
                         const std::string &keyCpu, int keyPtx) {
        const auto at = [&](const std::string &file) { return m_cli.path(name).toStdString() + "/" + file; };
        const auto source = std::string("kernel source");
        const auto key = cacheKey(sourceId(source), keyCpu, PtxVersion::fromCode(keyPtx));
        std::ignore = writeFileAtomically(at("bin/hello"), "#!/bin/sh\necho hello\n", 0755);
        std::ignore = writeFileAtomically(at("cache/k_" + key + ".o"), "// meta:id=" + sourceId(source) + "\n" + ptxText(target, version));
        std::ignore = writeFileAtomically(at("conf/.cargo-teeny-package"),
                                          fmt::format("1\nTARGET=jetson-orin-nano\nBIN=hello\nDEVICE=cuda\nOPTIONS={}\nBUILD_UNIX_TIME=1700000000\nSOURCE_COMMIT=deadbeef\n", options));
        return m_cli.path(name);
    }

private Q_SLOTS:
    void initTestCase() {
        const auto started = m_cli.run({"virtual-board", "start", "--name", "orin", "--json"});
        QVERIFY2(started.code == 0, started.errors.constData());
        m_root = started.json()["root"].get<std::string>();
        QCOMPARE(m_cli.run({"device", "facts", "orin", "--json"}).code, 0);
    }
    void cleanupTestCase() { QCOMPARE(m_cli.run({"virtual-board", "stop", "--name", "orin"}).code, 0); }

    void eachMistakeIsStoppedBeforeAByteIsSentWithTheValueThatFixesIt_data() {
        QTest::addColumn<QString>("package");
        QTest::addColumn<QString>("check");
        QTest::addColumn<QString>("value");
        QTest::newRow("sm_89 kernels for an Orin") << teenyPackage("sm89", "sm_89", "7.8", "capability=sm_89,ptx-version=78", "sm_89", 78)
                                                   << "capability" << "sm_87";
        QTest::newRow("PTX 8.7 for JetPack 6.2") << teenyPackage("ptx87", "sm_87", "8.7", "capability=sm_87,ptx-version=87", "sm_87", 87)
                                                 << "ptx-version" << "85";
        const auto empty = teenyPackage("empty", "sm_87", "8.5", "capability=sm_87,ptx-version=85", "sm_87", 85);
        for (const auto &file : QDir(empty + "/cache").entryList(QDir::Files))
            QFile::remove(empty + "/cache/" + file);
        QTest::newRow("an empty cache") << empty << "cache-present" << "aot";
        QTest::newRow("a cache built under another TEENYC_PTX_VERSION")
            << teenyPackage("otherkey", "sm_87", "8.2", "capability=sm_87,ptx-version=85", "sm_87", 82) << "cache-keys" << "TEENYC_PTX_VERSION";
    }
    void eachMistakeIsStoppedBeforeAByteIsSentWithTheValueThatFixesIt() {
        QFETCH(QString, package);
        QFETCH(QString, check);
        QFETCH(QString, value);
        const auto outcome = m_cli.run({"deploy", package, "--device", "orin", "--dest", "/opt/mistake", "--json"});
        QVERIFY2(outcome.code == 3, (outcome.errors + outcome.output).constData());
        QVERIFY2(outcome.errorLine().contains(check.toUtf8()), outcome.errors.constData());
        std::string fix;
        const auto document = outcome.json();
        for (const auto &entry : document["checks"]) {
            if (entry["id"] == check.toStdString() && entry["status"] == "fail")
                fix += entry["fix"].get<std::string>() + entry["needed"].get<std::string>();
        }
        QVERIFY2(fix.contains(value.toStdString()), fix.c_str());
        QVERIFY(!somethingWasSent());
    }

    void ptx86ForSm120aIsToldToRaiseTo87() {
        const auto package = teenyPackage("sm120a", "sm_120a", "8.6", "capability=sm_120,ptx-version=86", "sm_120", 86);
        m_cli.write("rtx.json", R"({"arch": "aarch64", "cuda_driver": 12080, "gpus": [{"name": "RTX", "capability": "12.0"}], "glibc": "2.39"})");
        const auto outcome = m_cli.run({"preflight", package, "--facts", m_cli.path("rtx.json"), "--json"});
        QCOMPARE(outcome.code, 3);
        std::string text;
        const auto document = outcome.json();
        for (const auto &entry : document["checks"]) {
            if (entry["id"] == "ptx-version" && entry["status"] == "fail")
                text = entry["needed"].get<std::string>() + " | " + entry["fix"].get<std::string>();
        }
        QVERIFY2(text.contains("8.7") && text.contains("87"), text.c_str());
    }

    void anF16ModelDeclaredI8IsStopped() {
        const auto outcome = m_cli.run({"ship", project("dtype", "sm_87", "8.5", "I8", "F16"), "--device", "orin", "--json"});
        QVERIFY2(outcome.code == 3, outcome.errors.constData());
        QVERIFY2(outcome.errorLine().contains("dtype") && outcome.errorLine().contains("F16"), outcome.errors.constData());
        QVERIFY(!somethingWasSent());
    }

    void kernelsForAnotherGpuInAProjectAreStopped() {
        const auto outcome = m_cli.run({"ship", project("sm89project", "sm_89", "7.8", "F16", "F16"), "--device", "orin"});
        QVERIFY2(outcome.code == 3, outcome.errors.constData());
        QVERIFY2(outcome.errorLine().contains("sm_89") && outcome.errors.contains("sm_87"), outcome.errors.constData());
        QVERIFY(!somethingWasSent());
    }

    void anExplicitPtxVersionThatTheDriverRefusesIsStopped() {
        const auto outcome = m_cli.run({"ship", QStringLiteral(SLIPWAY_SOURCE_DIR "/resources/samples/vector_add"), "--device", "orin", "--ptx-version", "87"});
        QVERIFY2(outcome.code == 3, outcome.errors.constData());
        QVERIFY2(outcome.errors.contains("8.5"), outcome.errors.constData());
    }

    void theSameProjectWithoutMistakeShips() {
        const auto outcome = m_cli.run({"ship", project("right", "sm_87", "8.5", "F16", "F16"), "--device", "orin"});
        QVERIFY2(outcome.code == 0, (outcome.errors + outcome.output).constData());
        QVERIFY(somethingWasSent());
    }

    void aChangedHostKeyStopsWithBothFingerprints() {
        const auto devices = m_cli.path("config/slipway/devices.json").toStdString();
        const auto before = *readFile(devices);
        const auto json = *readJsonFile(devices);
        const fs::path known = json["devices"][0]["known_hosts"].get<std::string>();
        const auto right = *readFile(known);
        QProcess::execute("ssh-keygen", {"-q", "-t", "ed25519", "-N", "", "-f", m_cli.path("otherkey_ed25519")});
        const auto other = *readFile(m_cli.path("otherkey_ed25519.pub").toStdString());
        std::ignore = writeFileAtomically(known, right.substr(0, right.find(' ')) + " " + other);
        const auto outcome = m_cli.run({"device", "facts", "orin"});
        std::ignore = writeFileAtomically(known, right);
        QCOMPARE(outcome.code, 1);
        QSet<QString> fingerprints;
        auto matches = QRegularExpression("SHA256:[A-Za-z0-9+/]+").globalMatch(QString::fromUtf8(outcome.errors));
        while (matches.hasNext())
            fingerprints << matches.next().captured();
        QCOMPARE(fingerprints.size(), 2); // the known one and the one it shows now
        QVERIFY2(outcome.errors.contains("reflashed"), outcome.errors.constData());
        QCOMPARE(*readFile(devices), before);
    }

    void aFullDiskOnTheBoardIsOneLineAndThePreviousReleaseStaysLive() {
        const auto started = m_cli.run({"virtual-board", "start", "--name", "small", "--disk-mb", "24", "--json"});
        QVERIFY2(started.code == 0, started.errors.constData());
        auto small = project("small", "sm_87", "8.5", "F16", "F16");
        QCOMPARE(m_cli.run({"ship", small, "--device", "small"}).code, 0);
        std::string noise; // nothing that a file system could compress away
        for (int i = 0; i < 750'000; ++i)
            noise += sha256(std::to_string(i)).substr(0, 40);
        std::ignore = writeFileAtomically((small + "/data/big.bin").toStdString(), noise);
        const auto refused = m_cli.run({"ship", small, "--device", "small"});
        QVERIFY2(refused.code == 3 && refused.errorLine().contains("disk-space"), refused.errors.constData());
        const auto forced = m_cli.run({"ship", small, "--device", "small", "--allow", "disk-space"});
        QVERIFY2(forced.code == 1, forced.errors.constData());
        QVERIFY2(forced.errorLine().contains("space") || forced.errorLine().contains("full"), forced.errors.constData());
        const auto releases = m_cli.run({"releases", "--device", "small", "--dest", "/opt/mistake", "--json"}).json();
        QCOMPARE(releases["releases"][0]["current"].get<bool>(), true);
        QCOMPARE(m_cli.run({"run", "--device", "small", "--dest", "/opt/mistake"}).output, QByteArray("hello\n"));
        QCOMPARE(m_cli.run({"virtual-board", "stop", "--name", "small"}).code, 0);
    }
};

QTEST_GUILESS_MAIN(TestMistakes)
#include "tst_mistakes.moc"
