// SPDX-License-Identifier: Apache-2.0
//
// The main job end to end, as a user does it: the real command line, compilers, sshd, arm64 userland; the CUDA driver of the
// virtual board is simulated and says so.

#include "core/image/elfimage.h"
#include "core/image/kernelimage.h"
#include "tests/app/commandline.h"

#include <QDir>
#include <QDirIterator>
#include <QElapsedTimer>
#include <QTest>

#include <csignal>

using namespace slipway;

class TestShip : public QObject {
    Q_OBJECT
    CommandLine m_cli;
    fs::path m_root; ///< of the board's userland, seen from here
    const QString m_project = m_cli.path("vector_add");

    CommandLine::Outcome ship(const QStringList &more = {}) { return m_cli.run(QStringList{"ship", m_project, "--device", "orin"} + more); }

    /// DEST/current on the board, from here.
    [[nodiscard]] fs::path current() const { return m_root / "opt/vector_add" / fs::read_symlink(m_root / "opt/vector_add/current"); }

    void edit(const QString &file, const QByteArray &from, const QByteArray &to) {
        QFile source(m_project + "/" + file);
        QVERIFY(source.open(QIODevice::ReadWrite));
        auto text = source.readAll();
        QVERIFY2(text.contains(from), from.constData());
        text.replace(from, to);
        source.resize(0);
        source.seek(0);
        source.write(text);
    }

private Q_SLOTS:
    void initTestCase() {
        fs::copy(fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add", m_project.toStdString(), fs::copy_options::recursive);
        const auto started = m_cli.run({"virtual-board", "start", "--name", "orin", "--profile", "orin-nano-jp62", "--json"});
        QVERIFY2(started.code == 0, started.errors.constData());
        QCOMPARE(started.json()["simulated"].get<bool>(), true);
        m_root = started.json()["root"].get<std::string>();
    }
    void cleanupTestCase() { QCOMPARE(m_cli.run({"virtual-board", "stop", "--name", "orin"}).code, 0); }

    void firstShipPutsAnAarch64BinaryAndKernelsForSm87OnTheBoard() {
        const auto outcome = ship({"--json"});
        QVERIFY2(outcome.code == 0, outcome.errors.constData());
        const auto elf = readElfFile(current() / "bin/vector_add");
        QVERIFY(elf);
        QCOMPARE(elf->machine, std::string("aarch64"));
        QStringList kernels;
        for (const auto &file : fs::directory_iterator(current() / "cache")) {
            if (file.path().extension() != ".o")
                continue;
            const auto image = readKernelImage(*readFile(file.path()));
            QVERIFY(image && image->target && image->ptxVersion);
            QCOMPARE(image->target->sm(), std::string("sm_87"));
            QVERIFY(*image->ptxVersion <= (PtxVersion{8, 5}));
            kernels << QString::fromStdString(image->entries.at(0).name);
        }
        kernels.sort();
        QCOMPARE(kernels, (QStringList{"fill_generated", "matmul_tiled", "row_softmax", "saxpy", "scale_bias", "vector_add", "vector_add_f16"}));
        const auto health = QString::fromStdString(outcome.json()["health_output"]);
        QVERIFY2(health.contains("simulated"), qPrintable(health));
    }

    void theFactsThatAShipReadAreKeptForChecksWithoutTheBoard() {
        const auto kept = readJsonFile(m_cli.path("state/slipway/facts/orin.json").toStdString());
        QVERIFY2(kept, kept ? "" : kept.error().message.c_str());
        QCOMPARE((*kept)["gpus"].at(0)["capability"].get<std::string>(), std::string("8.7"));
    }

    void secondShipWithoutChangesSkipsAndSaysWhy() {
        QElapsedTimer timer;
        timer.start();
        const auto before = fs::read_symlink(m_root / "opt/vector_add/current");
        const auto outcome = ship();
        QCOMPARE(outcome.code, 0);
        QVERIFY2(timer.elapsed() < 30'000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY2(outcome.errors.contains("skipped"), outcome.errors.constData());
        QVERIFY2(outcome.output.contains("live already"), outcome.output.constData());
        QCOMPARE(fs::read_symlink(m_root / "opt/vector_add/current"), before);
    }

    void aRebuiltBinaryReplacesTheOldOneAndRollbackBringsItBack() {
        const auto before = fs::read_symlink(m_root / "opt/vector_add/current");
        edit("main.cpp", "int main(", "extern const char slipwayTestMarker[] __attribute__((used)) = \"marker-two\";\nint main(");
        QVERIFY2(ship().code == 0, "second version");
        QVERIFY(readFile(current() / "bin/vector_add")->contains("marker-two"));
        const auto releases = m_cli.run({"releases", "--device", "orin", "--json"}).json()["releases"];
        QCOMPARE(releases.size(), std::size_t(2));
        const auto back = m_cli.run({"rollback", "--device", "orin", "--json"});
        QVERIFY2(back.code == 0, back.errors.constData());
        QCOMPARE(fs::read_symlink(m_root / "opt/vector_add/current"), before);
        QVERIFY(!readFile(current() / "bin/vector_add")->contains("marker-two"));
    }

    void runShowsTheProgramsOutputAndExitCode() {
        const auto outcome = m_cli.run({"run", "--device", "orin", "--", "--version"});
        QVERIFY2(outcome.code == 0, outcome.errors.constData());
        QVERIFY2(outcome.output.contains("vector_add"), outcome.output.constData());
        QVERIFY(m_cli.run({"run", "--device", "orin", "--", "--no-such-option"}).code != 0);
    }

    void killingADeployAtAnyMomentLeavesThePreviousReleaseLive() {
        edit("main.cpp", "marker-two", "marker-three");
        for (const int delay : {50, 200, 400, 700, 1000, 1500, 2200, 3000, 4500}) {
            const auto before = fs::read_symlink(m_root / "opt/vector_add/current");
            QProcess process;
            process.setProcessEnvironment(m_cli.environment());
            process.start(CommandLine::program(), {"ship", m_project, "--device", "orin"});
            const bool ended = process.waitForFinished(delay);
            process.kill();
            process.waitForFinished();
            const auto now = fs::read_symlink(m_root / "opt/vector_add/current");
            QVERIFY2(ended || now == before || readFile(current() / "bin/vector_add")->contains("marker-three"), "neither old nor new is live");
            QVERIFY(readElfFile(current() / "bin/vector_add"));
        }
        QTRY_VERIFY_WITH_TIMEOUT(ship().code == 0, 60'000);
        QVERIFY(readFile(current() / "bin/vector_add")->contains("marker-three"));
    }

    void anUnhealthyReleaseIsRolledBackWithExitCodeFour() {
        const auto before = fs::read_symlink(m_root / "opt/vector_add/current");
        edit("slipway.json", "bin/vector_add --self-test", "bin/vector_add --no-such-option");
        const auto outcome = ship();
        QCOMPARE(outcome.code, 4);
        QVERIFY2(outcome.errorLine().contains("rolled back") || outcome.errorLine().contains("live again"), outcome.errors.constData());
        QCOMPARE(fs::read_symlink(m_root / "opt/vector_add/current"), before);
        edit("slipway.json", "bin/vector_add --no-such-option", "bin/vector_add --self-test");
    }

    void theFactsOfTheVirtualBoardAreThoseOfItsProfile() {
        const auto facts = m_cli.run({"device", "facts", "orin", "--json"}).json();
        QCOMPARE(facts["l4t"].get<std::string>(), std::string("36.4.3"));
        QCOMPARE(facts["jetpack"].get<std::string>(), std::string("6.2"));
        QCOMPARE(facts["arch"].get<std::string>(), std::string("aarch64"));
        QCOMPARE(facts["cuda_driver"].get<int>(), 12060);
        QCOMPARE(facts["gpus"][0]["capability"].get<std::string>(), std::string("8.7"));
        QVERIFY(facts["gpus"][0]["name"].get<std::string>().contains("simulated"));
        QVERIFY(facts.contains("machine_id") && facts.contains("glibc") && facts.contains("disks") && facts.contains("libraries"));
    }

    void theDeviceTestEndsWithAVerdict() {
        const auto outcome = m_cli.run({"device", "test", "orin"});
        QVERIFY2(outcome.output.contains("orin is ready"), outcome.output.constData());
        QCOMPARE(outcome.code, 0);
    }

    void aSysrootSyncsLinksAndIsUsedByTheBuild() {
        const auto synced = m_cli.run({"sysroot", "sync", "orin", "--path", m_cli.path("sysroot"), "--json"}, {}, 500'000);
        QVERIFY2(synced.code == 0, synced.errors.constData());
        QCOMPARE(synced.json()["good"].get<bool>(), true);
        QVERIFY(fs::exists(m_cli.path("sysroot").toStdString() + "/usr/include/stdio.h"));
    }
};

QTEST_GUILESS_MAIN(TestShip)
#include "tst_ship.moc"
