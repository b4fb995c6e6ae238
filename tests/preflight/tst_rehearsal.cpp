// SPDX-License-Identifier: Apache-2.0
//
// The start of real arm64 programs, rehearsed with the cross compiler's own arm64 root, which is a root of the distribution: its
// loader, C library and C++ library.

#include "core/base/process.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

class TestRehearsal : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QVERIFY2(fs::exists(root() + "/lib/ld-linux-aarch64.so.1"), "needs g++-aarch64-linux-gnu (installer/debian-packages.txt)");
        QVERIFY2(findProgram("qemu-aarch64-static"), "needs qemu-user-static (installer/debian-packages.txt)");
    }

    void init() {
        m_fixture = std::make_unique<CheckFixture>();
        fs::create_directories(m_fixture->package.directory / "bin");
        fs::create_directories(m_fixture->package.directory / "lib");
    }

    void aProgramThatFindsEverythingPasses() {
        library();
        program({"-Wl,-rpath,$ORIGIN/../lib"});
        QCOMPARE(QString::fromStdString(say()), QString());
    }

    void aProgramThatFindsEverythingByTheEnvironmentOfThePackagePasses() {
        library();
        program({});
        QCOMPARE(QString::fromStdString(say()), QString("fail: found does not find libmine.so.1, needed each in the package or in the sysroot"));
        m_fixture->package.env["LD_LIBRARY_PATH"] = "$RELEASE/lib";
        QCOMPARE(QString::fromStdString(say()), QString());
    }

    void aMissingLibraryFails() {
        library();
        program({"-Wl,-rpath,$ORIGIN/../lib"});
        fs::remove(m_fixture->package.directory / "lib/libmine.so.1");
        QCOMPARE(QString::fromStdString(say()), QString("fail: found does not find libmine.so.1, needed each in the package or in the sysroot"));
    }

    void aMissingLibraryThatTheBoardIsKnownToHaveIsTheSysrootsFault() {
        library();
        program({});
        fs::remove(m_fixture->package.directory / "lib/libmine.so.1");
        m_fixture->facts.libraries->push_back("libmine.so.1");
        QCOMPARE(QString::fromStdString(say()), QString("warn: found does not find libmine.so.1, needed each in the package or in the sysroot"));
        QCOMPARE(m_findings[0].fix, std::string("the sysroot may be older than the board: slipway sysroot sync DEVICE"));
    }

    void aSymbolVersionThatTheLibraryLacksFails() {
        library("MINE_2");
        program({"-Wl,-rpath,$ORIGIN/../lib"});
        QCOMPARE(QString::fromStdString(say()), QString());
        library("MINE_1"); // the board's is older than the one that was linked with
        QCOMPARE(QString::fromStdString(say()), QString("fail: found does not find MINE_2 of libmine.so.1 (needed by app), needed symbol versions that the sysroot's libraries have"));
    }

    void aSymbolVersionThatIsNewerThanTheSysrootsGlibcFails_data() {
        QTest::addColumn<QString>("version");
        QTest::addColumn<QString>("said");
        QTest::newRow("too new") << "GLIBC_2.99" << "fail: found does not find GLIBC_2.99 of libc.so.6 (needed by app), needed symbol versions that the sysroot's libraries have";
        QTest::newRow("old enough") << "GLIBC_2.17" << "";
    }
    void aSymbolVersionThatIsNewerThanTheSysrootsGlibcFails() { // as field report E62
        QFETCH(QString, version);
        QFETCH(QString, said);
        write("c.c", "int strlcpy(void) { return 0; }\n");
        write("m.c", "int strlcpy(void);\nint main(void) { return strlcpy(); }\n");
        write("v.map", version.toStdString() + " { global: strlcpy; local: *; };\n");
        compile({path("c.c"), "-fno-builtin", "-nostdlib", "-shared", "-fPIC", "-Wl,-soname,libc.so.6", "-Wl,--version-script," + path("v.map"), "-o", path("libc.so")});
        compile({path("m.c"), "-fno-builtin", "-nostdlib", "-Wl,-e,main", path("libc.so"), "-o", path("bin/app")});
        QCOMPARE(say(), said.toStdString());
    }

    void aSysrootOfAnotherReleaseOnlyWarns() {
        library();
        program({});
        m_l4t = "35.3.1";
        QCOMPARE(QString::fromStdString(say()), QString("warn: found does not find libmine.so.1, needed each in the package or in the sysroot"));
        m_l4t = "36.4.3"; // the board's
        QCOMPARE(say().substr(0, 4), std::string("fail"));
        m_l4t.clear();
    }

    void withoutASysrootThereIsNoRehearsal() {
        library();
        program({});
        QVERIFY(read());
        QCOMPARE(m_fixture->say("rehearsal"), std::string("skipped: there is no sysroot of the board: slipway sysroot sync DEVICE"));
    }

    void aSysrootWithoutALoaderLeavesItUnknown() {
        library();
        program({});
        m_root = m_fixture->package.directory.string();
        QCOMPARE(QString::fromStdString(say()), QString("unknown: found no /lib/ld-linux-aarch64.so.1 in the sysroot, needed that fact, to check this"));
        m_root = root();
    }

    void withoutAnEmulatorItIsUnknown() {
        library();
        program({});
        const auto before = qgetenv("PATH");
        qputenv("PATH", "/nowhere");
        const auto said = say();
        qputenv("PATH", before);
        QCOMPARE(said, std::string("unknown: found no qemu-aarch64-static on this machine, needed that fact, to check this"));
    }

private:
    static std::string root() { return "/usr/aarch64-linux-gnu"; }
    [[nodiscard]] std::string path(const char *name) const { return (m_fixture->package.directory / name).string(); }
    void write(const char *name, const std::string &text) { QVERIFY(writeFileAtomically(path(name), text)); }
    void compile(const std::vector<std::string> &arguments) {
        const auto finished = run({.program = "aarch64-linux-gnu-gcc", .arguments = arguments}, m_progress);
        QVERIFY2(finished && finished->exitCode == 0, finished ? finished->errors.c_str() : finished.error().message.c_str());
    }
    /// lib/libmine.so.1 with one function of this version.
    void library(const std::string &version = "MINE_1") {
        write("a.c", "int mine(void) { return 0; }\n");
        write("mine.map", version + " { global: mine; local: *; };\n");
        compile({"-shared", "-fPIC", path("a.c"), "-Wl,-soname,libmine.so.1", "-Wl,--version-script," + path("mine.map"), "-o", path("lib/libmine.so.1")});
    }
    /// bin/app, which needs it.
    void program(const std::vector<std::string> &flags) {
        write("m.c", "int mine(void);\nint main(void) { return mine(); }\n");
        std::vector<std::string> arguments{path("m.c"), path("lib/libmine.so.1"), "-o", path("bin/app")};
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        compile(arguments);
    }
    bool read() {
        auto &package = m_fixture->package;
        package.manifest.files.clear();
        for (const auto *folder : {"bin", "lib"}) {
            for (const auto &entry : fs::directory_iterator(package.directory / folder))
                package.manifest.files.push_back({.path = entry.path().lexically_relative(package.directory).string(), .size = entry.file_size(), .mode = 0755});
        }
        auto elves = readShippedElves(package, m_progress);
        m_fixture->elves = elves.value_or(std::vector<ShippedElf>());
        return elves.has_value();
    }
    std::string say() {
        if (!read())
            return "cannot read the package";
        auto evidence = m_fixture->evidence();
        evidence.sysroot = Sysroot{.path = m_root, .l4t = m_l4t};
        const auto check = std::find_if(checks().begin(), checks().end(), [](const auto &c) { return std::string_view(c.id) == "rehearsal"; });
        m_findings = check->run(evidence, m_progress);
        if (m_findings.empty())
            return {};
        return fmt::format("{}: found {}, needed {}", statusName(m_findings[0].status), m_findings[0].found, m_findings[0].needed);
    }

    Progress m_progress;
    std::unique_ptr<CheckFixture> m_fixture;
    std::vector<Finding> m_findings;
    std::string m_root = root();
    std::string m_l4t;
};

QTEST_APPLESS_MAIN(TestRehearsal)
#include "tst_rehearsal.moc"
