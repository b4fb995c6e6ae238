// SPDX-License-Identifier: Apache-2.0
//
// The command line on bad input: one clear line, the right exit code, nothing half done. And what needs no board.

#include "tests/app/commandline.h"

#include <QDir>
#include <QTest>

class TestCli : public QObject {
    Q_OBJECT
    CommandLine m_cli;

private Q_SLOTS:
    void initTestCase() {
        QDir().mkpath(m_cli.path("empty"));
        m_cli.write("broken/slipway.json", "{\"name\": \"x\",\n \"build\": {\"kind\" \"cmake\"}}");
        m_cli.write("typo/slipway.json", R"({"name": "x", "bild": {"kind": "cmake"}})");
        m_cli.write("typo/CMakeLists.txt", "project(x)\n");
        m_cli.write("wrongtype/slipway.json", R"({"name": "x", "build": {"kind": "cmake"}, "deploy": {"dest": "/opt/x", "keep": "three"}})");
        m_cli.write("notes.txt", "hello\n");
    }

    void badInputGivesOneClearLineAndTheRightExitCode_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<int>("code");
        QTest::addColumn<QByteArray>("line");
        const auto row = [&](const char *name, const QStringList &arguments, int code, const char *line) {
            QTest::newRow(name) << arguments << code << QByteArray(line);
        };
        row("no project", {"build", m_cli.path("empty"), "--target", "jetson-orin-nano"}, 1, "slipway.json");
        row("no such folder", {"build", m_cli.path("nowhere"), "--target", "jetson-orin-nano"}, 1, "nowhere");
        row("broken slipway.json", {"build", m_cli.path("broken"), "--target", "jetson-orin-nano"}, 1, "line 2, column 25");
        row("unknown key", {"build", m_cli.path("typo"), "--target", "jetson-orin-nano"}, 1, "bild");
        row("wrong type", {"build", m_cli.path("wrongtype"), "--target", "jetson-orin-nano"}, 1, "needed a whole number");
        row("unknown target", {"build", m_cli.path("typo"), "--target", "jetson-orin-nona"}, 2, "jetson-orin-nano");
        row("no target", {"build", m_cli.path("typo")}, 2, "--target");
        row("unknown device", {"device", "facts", "robot-7"}, 1, "robot-7");
        row("package that is none", {"preflight", m_cli.path("empty"), "--target", "jetson-orin-nano"}, 1, "package");
        row("preflight against nothing", {"preflight", m_cli.path("empty")}, 2, "--target T, --facts FILE and --device D");
        row("bad capability", {"aot", m_cli.path("typo"), "--target", "jetson-orin-nano", "--capability", "sm_banana"}, 1, "");
        row("inspect what is no image", {"inspect", m_cli.path("notes.txt")}, 1, "notes.txt");
        row("inspect nothing", {"inspect", m_cli.path("none.ptx")}, 1, "none.ptx");
        row("bad device name", {"device", "add", "../x", "nvidia@host"}, 1, "../x");
        row("cache of nothing", {"cache", "list", m_cli.path("nowhere")}, 1, "nowhere");
    }
    void badInputGivesOneClearLineAndTheRightExitCode() {
        QFETCH(QStringList, arguments);
        QFETCH(int, code);
        QFETCH(QByteArray, line);
        const auto outcome = m_cli.run(arguments);
        QVERIFY2(outcome.errorLine().contains(line), outcome.errors.constData());
        QVERIFY2(!outcome.errorLine().isEmpty(), outcome.errors.constData());
        QVERIFY2(outcome.code == code || (code == 1 && outcome.code == 2), qPrintable(QString::number(outcome.code)));
        QVERIFY2(outcome.output.isEmpty(), outcome.output.constData());
    }

    void usageErrorsExitWithTwo() {
        QCOMPARE(m_cli.run({"no-such-verb"}).code, 2);
        QCOMPARE(m_cli.run({}).code, 2);
        QCOMPARE(m_cli.run({"ship", "."}).code, 2);
        QCOMPARE(m_cli.run({"--help"}).code, 0);
        QCOMPARE(m_cli.run({"--version"}).output.trimmed(), QByteArray("slipway 0.1.0"));
    }

    void targetsAreOneDocument() {
        const auto outcome = m_cli.run({"targets", "--json"});
        QCOMPARE(outcome.code, 0);
        QStringList ids;
        const auto document = outcome.json();
        for (const auto &target : document["targets"])
            ids << QString::fromStdString(target["id"]);
        const QStringList expected{"dgx-spark", "generic-aarch64", "generic-x86_64", "jetson-agx-orin", "jetson-agx-thor", "jetson-agx-xavier",
                                   "jetson-nano", "jetson-orin-nano", "jetson-orin-nx", "jetson-t4000", "jetson-tx2", "jetson-xavier-nx"};
        QCOMPARE(ids, expected);
    }

    void devicesAreKeptWithoutSecretsAndBrokenEntriesStay() {
        m_cli.write("config/slipway/devices.json", R"({"devices": [{"name": "old", "host": "10.0.0.1"}, {"name": "bad", "host": 7}]})");
        QCOMPARE(m_cli.run({"device", "add", "robot", "nvidia@10.1.1.1:2222", "--target", "jetson-orin-nano"}).code, 0);
        const auto list = m_cli.run({"device", "list", "--json"});
        QCOMPARE(list.code, 0);
        QCOMPARE(list.json()["devices"].size(), std::size_t(2));
        QCOMPARE(list.json()["problems"].size(), std::size_t(1));
        QVERIFY(list.errors.contains("bad"));
        QCOMPARE(m_cli.run({"device", "remove", "robot"}).code, 0);
        const auto kept = *slipway::readFile(m_cli.path("config/slipway/devices.json").toStdString());
        QVERIFY(kept.contains("\"bad\"") && kept.contains("\"old\"") && !kept.contains("robot"));
    }

    void anUnreachableHostIsSaidInOneLine() {
        QCOMPARE(m_cli.run({"device", "add", "gone", "nvidia@127.0.0.1:1", "--target", "jetson-orin-nano"}).code, 0);
        const auto outcome = m_cli.run({"device", "facts", "gone"});
        QCOMPARE(outcome.code, 1);
        QVERIFY2(outcome.errorLine().contains("127.0.0.1") && outcome.errorLine().contains("refused"), outcome.errors.constData());
        const auto test = m_cli.run({"device", "test", "gone"});
        QCOMPARE(test.code, 1);
        QVERIFY(test.output.contains("needs attention"));
    }
};

QTEST_GUILESS_MAIN(TestCli)
#include "tst_cli.moc"
