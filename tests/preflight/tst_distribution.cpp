// SPDX-License-Identifier: Apache-2.0
//
// No false alarms, and agreement with the real thing: the programs of some hundred arm64 packages against an arm64 root that
// has them raise nothing; and on samples, also broken ones, the verdict is that of the arm64 loader, run under emulation. The
// packages need a Debian mirror; without one only the loader's part runs, with the root that the cross compiler brings.

#include "core/base/process.h"
#include "core/base/text.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

namespace {

constexpr const char *loader = "/lib/ld-linux-aarch64.so.1";

/// The package that an arm64 root would be: everything below usr/ as its files, the root as its sysroot.
class Root {
public:
    explicit Root(const fs::path &path) {
        fixture.package.directory = path / "usr";
        sysroot.path = path;
        for (const auto *folder : {"bin", "sbin", "lib"})
            addFiles(folder);
        readFacts();
    }

    [[nodiscard]] Evidence evidence() {
        auto all = fixture.evidence();
        all.sysroot = sysroot;
        all.factsSource = "bookworm";
        return all;
    }

    CheckFixture fixture;
    Sysroot sysroot;

private:
    void addFiles(const char *folder) {
        for (const auto &entry : fs::recursive_directory_iterator(fixture.package.directory / folder)) {
            if (entry.is_symlink() || !entry.is_regular_file())
                continue;
            const auto head = readHead(entry.path(), 4);
            const bool program = head && (isElf(*head) || head->starts_with("#!"));
            fixture.package.manifest.files.push_back({.path = entry.path().lexically_relative(fixture.package.directory).string(),
                                                      .size = entry.file_size(),
                                                      .mode = program ? 0755U : 0644U});
        }
    }
    /// What ldconfig and the C libraries of the root say.
    void readFacts() {
        auto &facts = fixture.facts;
        facts.libraries.emplace();
        for (const auto *folder : {"lib/aarch64-linux-gnu", "lib"}) {
            for (const auto &entry : fs::directory_iterator(fixture.package.directory / folder)) {
                const auto name = entry.path().filename().string();
                if (name.find(".so") != std::string::npos && fs::is_regular_file(entry.path()))
                    facts.libraries->push_back(name);
            }
        }
        facts.glibc = "2.36";
        facts.glibcxx = "3.4.30";
        facts.cxxabi = "1.3.13";
    }
};

/// Whether the arm64 loader resolves everything of a program.
bool loaderAccepts(const fs::path &root, const fs::path &program, Progress &progress, std::string &said) {
    const auto finished = run({.program = "qemu-aarch64-static", .arguments = {"-L", root.string(), root.string() + loader, "--list", program.string()},
                               .environment = {{"LC_ALL", "C"}}, .timeout = std::chrono::seconds(60)}, progress);
    said = finished ? finished->output + finished->errors : finished.error().message;
    return finished && finished->exitCode == 0 && said.find("not found") == std::string::npos;
}

} // namespace

class TestDistribution : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        const auto finished = run({.program = std::string(SLIPWAY_SOURCE_DIR) + "/tests/preflight/arm64root.sh", .arguments = {m_dir.path().toStdString()}}, m_progress);
        QVERIFY(finished);
        if (finished->exitCode == 77) {
            m_noPackages = "the arm64 packages cannot be fetched here: " + finished->errors;
            m_loaderRoot = "/usr/aarch64-linux-gnu";
            m_facts = factsOfCrossRoot();
            return;
        }
        QVERIFY2(finished->exitCode == 0, finished->errors.c_str());
        QVERIFY2(std::stoi(finished->output) >= 200, finished->output.c_str());
        m_root = std::make_unique<Root>(fs::path(m_dir.path().toStdString()));
        m_loaderRoot = m_root->sysroot.path;
        m_facts = m_root->fixture.facts;
    }

    void realProgramsRaiseNothing() {
        if (!m_root)
            QSKIP(m_noPackages.c_str());
        auto evidence = m_root->evidence();
        evidence.profileOnly = true; // there is no board whose disks could be full
        evidence.facts.libraries = m_root->fixture.facts.libraries;
        const auto elves = readShippedElves(evidence.package, m_progress).value();
        QVERIFY2(elves.size() > 1000, std::to_string(elves.size()).c_str());
        evidence.elves = elves;
        std::string alarms;
        for (const auto &check : checks()) {
            if (std::string_view(check.id) == "rehearsal" || std::string_view(check.id) == "cache-present")
                continue; // asked below of a sample; and the distribution has no kernels
            for (const auto &finding : check.run(evidence, m_progress)) {
                if (finding.status == Status::skipped)
                    continue;
                const auto text = fmt::format("{}: {}: {}: found {}, needed {}", check.id, statusName(finding.status), finding.subject, finding.found, finding.needed);
                std::string said; // a plug-in whose library is only recommended by its package is a true alarm
                if (std::string_view(check.id) == "needed-libs" && !loaderAccepts(m_root->sysroot.path, evidence.package.directory / finding.subject, m_progress, said))
                    qInfo("the loader agrees: %s", text.c_str());
                else
                    alarms += text + "\n";
            }
        }
        QVERIFY2(alarms.empty(), alarms.c_str());
    }

    void theLoaderAgreesOnRealPrograms() {
        if (!m_root)
            QSKIP(m_noPackages.c_str());
        auto evidence = m_root->evidence();
        evidence.elves = readShippedElves(evidence.package, m_progress).value();
        std::size_t programs = 0;
        for (const auto &shipped : evidence.elves) {
            if (shipped.elf.interpreter.empty() || !shipped.path.starts_with("bin/") || ++programs % 10 != 0)
                continue;
            std::string said;
            QVERIFY2(loaderAccepts(m_root->sysroot.path, evidence.package.directory / shipped.path, m_progress, said), said.c_str());
        }
        QVERIFY(programs > 100);
    }

    void theLoaderAgreesOnBrokenPrograms_data() {
        QTest::addColumn<QStringList>("libraryFlags"); // of liba.so, which the program needs
        QTest::addColumn<QStringList>("programFlags");
        QTest::addColumn<QString>("where"); // below bin/, where liba.so is shipped; "" = not
        QTest::addColumn<bool>("good");
        const QStringList none;
        QTest::newRow("RUNPATH leads there") << none << QStringList{"-Wl,-rpath,$ORIGIN/lib"} << "lib" << true;
        QTest::newRow("RPATH leads there") << none << QStringList{"-Wl,--disable-new-dtags", "-Wl,-rpath,$ORIGIN/lib"} << "lib" << true;
        QTest::newRow("no path") << none << none << "lib" << false;
        QTest::newRow("beside, without a path") << none << none << "." << false;
        QTest::newRow("not shipped") << none << QStringList{"-Wl,-rpath,$ORIGIN/lib"} << "" << false;
        QTest::newRow("the other folder") << none << QStringList{"-Wl,-rpath,$ORIGIN/../lib"} << "lib" << false;
        QTest::newRow("through ..") << none << QStringList{"-Wl,-rpath,$ORIGIN/../bin/./lib"} << "lib" << true;
    }
    void theLoaderAgreesOnBrokenPrograms() {
        QFETCH(QStringList, libraryFlags);
        QFETCH(QStringList, programFlags);
        QFETCH(QString, where);
        QFETCH(bool, good);
        agree([&](const fs::path &bin) {
            QVERIFY(writeFileAtomically(bin / "../a.c", "int a(void) { return 0; }\n"));
            QVERIFY(writeFileAtomically(bin / "../m.c", "int a(void);\nint main(void) { return a(); }\n"));
            const auto library = where.isEmpty() ? bin / "../unshipped" : bin / where.toStdString();
            fs::create_directories(library);
            compile({(bin / "../a.c").string(), "-shared", "-fPIC", "-Wl,-soname,liba.so", "-o", (library / "liba.so").string()}, libraryFlags);
            compile({(bin / "../m.c").string(), (library / "liba.so").string(), "-o", (bin / "app").string()}, programFlags);
        }, good);
    }

    void theLoaderAgreesOnVersions_data() {
        QTest::addColumn<QString>("linked");  // version script's name when the program was linked
        QTest::addColumn<QString>("shipped"); // and in the library that is shipped
        QTest::addColumn<bool>("good");
        QTest::newRow("the same") << "MINE_2" << "MINE_2" << true;
        QTest::newRow("an older library") << "MINE_2" << "MINE_1" << false;
    }
    void theLoaderAgreesOnVersions() {
        QFETCH(QString, linked);
        QFETCH(QString, shipped);
        QFETCH(bool, good);
        agree([&](const fs::path &bin) {
            QVERIFY(writeFileAtomically(bin / "../a.c", "int a(void) { return 0; }\n"));
            QVERIFY(writeFileAtomically(bin / "../m.c", "int a(void);\nint main(void) { return a(); }\n"));
            for (const auto &version : {linked, shipped}) {
                QVERIFY(writeFileAtomically(bin / "../v.map", version.toStdString() + " { global: a; local: *; };\n"));
                compile({(bin / "../a.c").string(), "-shared", "-fPIC", "-Wl,-soname,liba.so", "-Wl,--version-script," + (bin / "../v.map").string(), "-o", (bin / "liba.so").string()}, {});
                if (version == linked && !fs::exists(bin / "app"))
                    compile({(bin / "../m.c").string(), (bin / "liba.so").string(), "-o", (bin / "app").string()}, {"-Wl,-rpath,$ORIGIN"});
            }
        }, good);
    }

    void theLoaderAgreesOnANewerGlibc() {
        for (const auto *version : {"GLIBC_2.99", "GLIBC_2.17"}) {
            agree([&](const fs::path &bin) { // as field report E62: linked against a libc that has the version
                QVERIFY(writeFileAtomically(bin / "../c.c", "int strlcpy(void) { return 0; }\n"));
                QVERIFY(writeFileAtomically(bin / "../m.c", "int strlcpy(void);\nint main(void) { return strlcpy(); }\n"));
                QVERIFY(writeFileAtomically(bin / "../v.map", std::string(version) + " { global: strlcpy; local: *; };\n"));
                compile({(bin / "../c.c").string(), "-fno-builtin", "-nostdlib", "-shared", "-fPIC", "-Wl,-soname,libc.so.6", "-Wl,--version-script," + (bin / "../v.map").string(), "-o", (bin / "../libc.so").string()}, {});
                compile({(bin / "../m.c").string(), "-fno-builtin", "-nostdlib", "-Wl,-e,main", (bin / "../libc.so").string(), "-o", (bin / "app").string()}, {});
            }, std::string_view(version) == "GLIBC_2.17");
        }
    }

private:
    /// Facts of a board that has what the packages libc6-arm64-cross and libstdc++6-arm64-cross have.
    static BoardFacts factsOfCrossRoot() {
        auto facts = orinFacts();
        const fs::path folder = "/usr/aarch64-linux-gnu/lib";
        facts.libraries.emplace();
        for (const auto &entry : fs::directory_iterator(folder))
            facts.libraries->push_back(entry.path().filename().string());
        facts.glibc = "2.17";
        for (const auto &version : readElfFile(folder / "libc.so.6")->defines) {
            if (version.starts_with("GLIBC_2.") && compareVersions(version.substr(6), *facts.glibc) > 0)
                facts.glibc = version.substr(6);
        }
        return facts;
    }

    void compile(const std::vector<std::string> &arguments, const QStringList &flags) {
        auto all = arguments;
        for (const auto &flag : flags)
            all.push_back(flag.toStdString());
        const auto finished = run({.program = "aarch64-linux-gnu-gcc", .arguments = all}, m_progress);
        QVERIFY2(finished && finished->exitCode == 0, finished ? finished->errors.c_str() : finished.error().message.c_str());
    }

    /// Makes bin/app and asks both.
    void agree(const std::function<void(const fs::path &)> &make, bool good) {
        QTemporaryDir directory;
        CheckFixture fixture;
        fixture.package.directory = directory.path().toStdString();
        const auto bin = fixture.package.directory / "bin";
        fs::create_directories(bin);
        make(bin);
        std::string said;
        QCOMPARE(loaderAccepts(m_loaderRoot, bin / "app", m_progress, said), good);
        for (const auto &entry : fs::recursive_directory_iterator(bin)) {
            if (entry.is_regular_file())
                fixture.package.manifest.files.push_back({.path = entry.path().lexically_relative(fixture.package.directory).string(), .size = entry.file_size(), .mode = 0755});
        }
        fixture.facts = m_facts;
        auto evidence = fixture.evidence();
        evidence.elves = readShippedElves(evidence.package, m_progress).value();
        bool raised = false;
        for (const auto &check : checks()) {
            const std::string_view id(check.id);
            if (id != "elf-arch" && id != "glibc" && id != "needed-libs")
                continue;
            for (const auto &finding : check.run(evidence, m_progress))
                raised = raised || finding.status == Status::fail;
        }
        QVERIFY2(raised != good, said.c_str());
    }

    QTemporaryDir m_dir;
    Progress m_progress;
    std::unique_ptr<Root> m_root; ///< null = the packages cannot be fetched here
    std::string m_noPackages;
    fs::path m_loaderRoot;
    BoardFacts m_facts;
};

QTEST_GUILESS_MAIN(TestDistribution)
#include "tst_distribution.moc"
