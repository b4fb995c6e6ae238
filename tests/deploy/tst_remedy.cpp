// SPDX-License-Identifier: Apache-2.0
//
// What `preflight --fix` does: each remedy makes its findings go away and leaves the package as its manifest says.

#include "core/base/process.h"
#include "core/deploy/remedy.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

using namespace slipway;

namespace {

/// A program that was built before, and a kernel in LLVM IR.
constexpr const char *projectText = R"({"name": "app", "build": {"kind": "prebuilt", "files": ["app"]}, "data": [], "models": [],
    "kernels": [{"kind": "llvm-ir", "files": ["kernels/saxpy.ll"]}], "run": {"command": "bin/app"}, "deploy": {"dest": "/opt/app"}})";

std::vector<std::string> idsOf(const std::vector<Remedy> &remedies) {
    std::vector<std::string> ids;
    for (const auto &remedy : remedies)
        ids.push_back(remedy.id);
    return ids;
}

std::vector<std::string> failing(const Verdict &verdict) {
    std::vector<std::string> ids;
    for (const auto &finding : verdict.findings) {
        if (finding.status == Status::fail && std::find(ids.begin(), ids.end(), finding.id) == ids.end())
            ids.push_back(finding.id);
    }
    return ids;
}

} // namespace

class TestRemedy : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A package on disk with its manifest.
    void init() {
        m_fixture = std::make_unique<CheckFixture>();
        m_fixture->package.manifest.ptx = PtxVersion{8, 5};
    }

    void confEnvIsWrittenAsTheCacheNeedsIt() {
        auto &package = m_fixture->package;
        addKernel("8.5", "sm_87", PtxVersion{8, 5});
        package.env = {{"TEENYC_PTX_VERSION", "82"}, {"TEENYC_CACHE_DIR", "/tmp/teenyc_cache"}, {"MINE", "a b"}};
        m_fixture->file("conf/env", envFileText(package.env));
        write();
        const auto before = judge();
        QCOMPARE(failing(before), (std::vector<std::string>{"cache-keys", "runtime-env"}));
        perform(before, {"env"});
        QCOMPARE(failing(judge()), std::vector<std::string>());
        const auto again = Package::open(package.directory, m_progress).value();
        QCOMPARE(again.env.at("TEENYC_PTX_VERSION"), std::string("85"));
        QCOMPARE(again.env.at("TEENYC_CACHE_DIR"), std::string("$RELEASE/cache"));
        QCOMPARE(again.env.at("MINE"), std::string("a b"));
    }

    void pathsOfThisMachineAreStripped() {
        auto &package = m_fixture->package;
        package.manifest.usesKernels = false;
        const auto source = fs::path(m_dir.path().toStdString()) / "m.c";
        QVERIFY(writeFileAtomically(source, "int main(void) { return 0; }\n"));
        const auto compiled = run({.program = "aarch64-linux-gnu-gcc", .arguments = {source.string(), "-Wl,-rpath,/home/dev/sysroot/lib:$ORIGIN/../lib", "-o", (source.string() + ".out")}}, m_progress);
        QVERIFY(compiled && compiled->exitCode == 0);
        m_fixture->file("bin/app", readFile(source.string() + ".out").value());
        m_fixture->package.manifest.files.back().mode = 0644; // as from a file system without modes
        write();
        const auto before = judge();
        QCOMPARE(failing(before), (std::vector<std::string>{"executable", "rpath"}));
        perform(before, {"rpath", "modes"});
        const auto after = judge();
        QCOMPARE(failing(after), std::vector<std::string>());
        QCOMPARE(readElfFile(package.directory / "bin/app")->runpath, std::vector<std::string>{"$ORIGIN/../lib"});
    }

    void scriptsGetTheirLineEndsAndModes() {
        m_fixture->package.manifest.usesKernels = false;
        m_fixture->file("bin/start", "#!/bin/sh\r\nexec true\r\n");
        write();
        const auto before = judge();
        QCOMPARE(failing(before), std::vector<std::string>{"executable"});
        perform(before, {"modes"});
        QCOMPARE(failing(judge()), std::vector<std::string>());
        QCOMPARE(readFile(m_fixture->package.directory / "bin/start").value(), std::string("#!/bin/sh\nexec true\n"));
    }

    void kernelsAreCompiledForTheBoardAndItsDriver() {
        addKernel("8.7", "sm_89", PtxVersion{8, 7});
        m_fixture->package.env = {{"TEENYC_PTX_VERSION", "87"}};
        m_fixture->package.manifest.options = "capability=sm_89,ptx-version=87";
        write();
        const auto before = judge();
        QVERIFY(!failing(before).empty());
        QVERIFY(idsOf(remediesFor(before, m_fixture->package, m_fixture->evidence(), {})).empty()); // nothing to build from
        const auto request = rebuild();
        const auto evidence = m_fixture->evidence();
        const auto remedies = remediesFor(before, m_fixture->package, evidence, request);
        QCOMPARE(idsOf(remedies), std::vector<std::string>{"rebuild"});
        QCOMPARE(remedies[0].description, std::string("compile the kernels for sm_87 with PTX 8.5 and pack again"));
        const auto done = remedies[0].perform(m_progress);
        QVERIFY2(done, done ? "" : (done.error().message + done.error().detail).c_str());
        m_fixture->package = Package::open(m_fixture->package.directory, m_progress).value();
        QVERIFY(verifyPackage(m_fixture->package, m_progress));
        QCOMPARE(failing(judge()), std::vector<std::string>());
        QCOMPARE(m_fixture->package.manifest.ptx->text(), std::string("8.5"));
    }

private:
    void addKernel(const std::string &version, const std::string &target, PtxVersion ptx) {
        auto &manifest = m_fixture->package.manifest;
        const auto hash = cacheKey("k-id", Capability::parse(target)->baseline().sm(), ptx);
        manifest.ptx = ptx;
        manifest.kernels = {{.name = "saxpy", .hash = hash, .id = "k-id", .kind = "llvm-ir"}};
        m_fixture->file("cache/saxpy_" + hash + ".o", ptxText(version, target));
    }
    void write() {
        std::ranges::sort(m_fixture->package.manifest.files, {}, &PackagedFile::path);
        QVERIFY(writeJsonFile(m_fixture->package.directory / "conf/manifest.json", m_fixture->package.manifest.toJson()));
    }
    Verdict judge() {
        auto evidence = m_fixture->evidence();
        return preflight(evidence, m_progress).value();
    }
    void perform(const Verdict &verdict, const std::vector<std::string> &expected) {
        const auto evidence = m_fixture->evidence();
        const auto remedies = remediesFor(verdict, m_fixture->package, evidence, {});
        QCOMPARE(idsOf(remedies), expected);
        for (const auto &remedy : remedies) {
            const auto done = remedy.perform(m_progress);
            QVERIFY2(done, done ? "" : done.error().message.c_str());
        }
        m_fixture->package = Package::open(m_fixture->package.directory, m_progress).value();
        const auto verified = verifyPackage(m_fixture->package, m_progress);
        QVERIFY2(verified, verified ? "" : verified.error().message.c_str());
    }

    /// A project of one kernel in LLVM IR and a program that was built before.
    AssembleRequest rebuild() {
        const auto root = fs::path(m_dir.path().toStdString()) / "project";
        const auto kernel = fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add/kernels/saxpy.ll";
        (void)writeFileAtomically(root / "kernels/saxpy.ll", readFile(kernel).value());
        (void)writeFileAtomically(root / "m.c", "int main(void) { return 0; }\n");
        (void)run({.program = "aarch64-linux-gnu-gcc", .arguments = {(root / "m.c").string(), "-o", (root / "app").string()}}, m_progress);
        (void)writeFileAtomically(root / "slipway.json", projectText);
        Workspace workspace;
        workspace.cache = fs::path(m_dir.path().toStdString()) / "cache";
        workspace.resources = fs::path(SLIPWAY_SOURCE_DIR) / "resources";
        workspace.bin = SLIPWAY_BIN_DIR;
        auto project = Project::open(root);
        return {.project = project ? *project : Project{}, .target = *m_fixture->catalog.find("jetson-orin-nano"), .facts = m_fixture->facts,
                .catalog = m_fixture->catalog, .workspace = workspace, .tools = findKernelTools(workspace.bin, workspace.resources)};
    }

    QTemporaryDir m_dir;
    Progress m_progress;
    std::unique_ptr<CheckFixture> m_fixture;
};

QTEST_APPLESS_MAIN(TestRemedy)
#include "tst_remedy.moc"
