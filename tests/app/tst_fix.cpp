// SPDX-License-Identifier: Apache-2.0
//
// `slipway preflight --fix` as a user runs it: a package with each mistake that can be mended without asking, before and after;
// what cannot be mended is left as it is.

#include "core/base/digest.h"
#include "core/base/process.h"
#include "core/image/elfimage.h"
#include "core/package/manifest.h"
#include "tests/app/commandline.h"

#include <QTest>

#include <set>
#include <sys/stat.h>

using namespace slipway;

class TestFix : public QObject {
    Q_OBJECT
    CommandLine m_cli;
    Progress m_progress;

    [[nodiscard]] std::string at(const QString &name) const { return m_cli.path(name).toStdString(); }

    /// A project of one kernel in LLVM IR and a program that was built before, with this library path.
    QString project(const QString &name, const std::string &rpath = "$ORIGIN/../lib") {
        const auto root = m_cli.path(name).toStdString();
        std::ignore = writeFileAtomically(root + "/kernels/saxpy.ll", readFile(fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add/kernels/saxpy.ll").value());
        std::ignore = writeFileAtomically(root + "/m.c", "int main(void) { return 0; }\n");
        std::ignore = run({.program = "aarch64-linux-gnu-gcc", .arguments = {root + "/m.c", "-Wl,-rpath," + rpath, "-o", root + "/app"}}, m_progress);
        std::ignore = writeFileAtomically(root + "/slipway.json", R"({"name": "app", "build": {"kind": "prebuilt", "files": ["app"]}, "data": [], "models": [],
 "kernels": [{"kind": "llvm-ir", "files": ["kernels/saxpy.ll"]}], "run": {"command": "bin/app"}, "deploy": {"dest": "/opt/app"}})");
        return m_cli.path(name);
    }
    QString package(const QString &project, const QStringList &more = {}) {
        const auto outcome = m_cli.run(QStringList{"package", project, "--target", "jetson-orin-nano", "--dest", project + "-package"} + more);
        return outcome.code == 0 ? project + "-package" : QString::fromUtf8(outcome.errors);
    }
    CommandLine::Outcome preflight(const QString &package, const QStringList &more = {}) {
        return m_cli.run(QStringList{"preflight", package, "--target", "jetson-orin-nano", "--json"} + more);
    }
    static std::set<std::string> failing(const CommandLine::Outcome &outcome) {
        std::set<std::string> ids;
        const auto document = outcome.json();
        for (const auto &check : document["checks"]) {
            if (check["status"] == "fail")
                ids.insert(check["id"].get<std::string>());
        }
        return ids;
    }
    static Manifest manifest(const QString &package) {
        return Manifest::fromJson(readJsonFile((package + "/conf/manifest.json").toStdString()).value(), "manifest").value();
    }
    /// Replaces a file of a package as somebody would who keeps its manifest right.
    static void replace(const QString &package, const std::string &path, const std::string &bytes) {
        auto changed = manifest(package);
        for (auto &file : changed.files) {
            if (file.path == path)
                file.size = bytes.size(), file.sha256 = sha256(bytes);
        }
        QVERIFY(writeFileAtomically((package + "/").toStdString() + path, bytes));
        QVERIFY(writeJsonFile((package + "/conf/manifest.json").toStdString(), changed.toJson()));
    }

private Q_SLOTS:
    void kernelsForAnotherGpuAndPtxVersionAreCompiledForTheBoard() {
        const auto source = project("sm89");
        const auto made = package(source, {"--capability", "sm_89", "--ptx-version", "80"});
        QVERIFY2(made.endsWith("-package"), qPrintable(made));
        const auto before = preflight(made);
        QCOMPARE(before.code, 3);
        QCOMPARE(failing(before), (std::set<std::string>{"cache-keys", "capability"}));
        const auto without = preflight(made, {"--fix"}); // nothing to compile from
        QCOMPARE(without.code, 3);
        QVERIFY2(without.errors.contains("nothing here can be fixed by itself"), without.errors.constData());
        const auto fixed = preflight(made, {"--fix", "--project", source});
        QVERIFY2(fixed.code == 0, (fixed.errors + fixed.output).constData());
        QVERIFY2(fixed.errors.contains("fixed: compile the kernels for sm_87 with PTX 8.5 and pack again"), fixed.errors.constData());
        QCOMPARE(manifest(made).ptx->text(), std::string("8.5"));
        QCOMPARE(manifest(made).capability->sm(), std::string("sm_87"));
        QCOMPARE(preflight(made).code, 0); // and it stays so
    }

    void oneMistakeOfManyKernelsIsExplainedOnce() {
        const auto source = project("many");
        const auto kernel = readFile(at("many/kernels/saxpy.ll")).value();
        for (int i = 1; i < 12; ++i) {
            const auto named = QString::fromStdString(kernel).replace("saxpy", "saxpy" + QString::number(i));
            QVERIFY(writeFileAtomically(at("many/kernels/saxpy" + QString::number(i) + ".ll"), named.toStdString()));
        }
        QVERIFY(writeFileAtomically(at("many/slipway.json"), QString::fromStdString(readFile(at("many/slipway.json")).value()).replace("saxpy.ll", "*.ll").toStdString()));
        const auto made = package(source, {"--capability", "sm_89"});
        const auto outcome = m_cli.run({"preflight", made, "--target", "jetson-orin-nano"});
        QCOMPARE(outcome.code, 3);
        QCOMPARE(outcome.output.count("FAIL    capability"), 1);
        QCOMPARE(outcome.output.count("PTX for sm_89 needs capability 8.9 or later, not 8.7"), 1);
        QCOMPARE(outcome.output.count("slipway aot --target jetson-orin-nano --capability sm_87, then slipway package"), 1);
        QCOMPARE(outcome.output.count("            also    2 more (--json lists all)\n"), 2); // of capability, of cache-keys
        QCOMPARE(outcome.output.count("; needed saxpy"), 10); // of cache-keys, each has its own
    }

    void anIncompleteCacheIsMadeComplete() {
        const auto source = project("gap");
        const auto made = package(source);
        QCOMPARE(preflight(made).code, 0);
        for (const auto &entry : fs::directory_iterator((made + "/cache").toStdString()))
            fs::remove(entry.path());
        const auto before = preflight(made);
        QCOMPARE(before.code, 3);
        QCOMPARE(failing(before), (std::set<std::string>{"cache-present", "package-files"}));
        const auto fixed = preflight(made, {"--fix", "--project", source});
        QVERIFY2(fixed.code == 0, (fixed.errors + fixed.output).constData());
        QVERIFY(!fs::is_empty((made + "/cache").toStdString()));
    }

    void confEnvIsWrittenAsTheCacheNeedsIt() {
        const auto made = package(project("env"));
        replace(made, "conf/env", "TEENYC_PTX_VERSION=82\nMINE=a\n");
        const auto before = preflight(made);
        QCOMPARE(failing(before), (std::set<std::string>{"cache-keys", "runtime-env"}));
        const auto fixed = preflight(made, {"--fix"});
        QVERIFY2(fixed.code == 0, (fixed.errors + fixed.output).constData());
        QVERIFY2(fixed.errors.contains("fixed: write conf/env as the cache needs it"), fixed.errors.constData());
        const auto env = readFile((made + "/conf/env").toStdString()).value();
        QVERIFY2(env.find("TEENYC_PTX_VERSION=85") != std::string::npos && env.find("MINE=a") != std::string::npos, env.c_str());
    }

    void libraryPathsOfThisMachineAreStripped() {
        const auto made = package(project("rpath", "/home/dev/sysroot/lib:$ORIGIN/../lib"));
        QCOMPARE(failing(preflight(made)), std::set<std::string>{"rpath"});
        const auto fixed = preflight(made, {"--fix"});
        QVERIFY2(fixed.code == 0, (fixed.errors + fixed.output).constData());
        QVERIFY2(fixed.errors.contains("fixed: strip library paths of this machine from bin/app"), fixed.errors.constData());
        QCOMPARE(readElfFile((made + "/bin/app").toStdString())->runpath, std::vector<std::string>{"$ORIGIN/../lib"});
        struct stat status {};
        QCOMPARE(::stat((made + "/bin/app").toStdString().c_str(), &status), 0);
        QCOMPARE(int(status.st_mode & 0777), 0755);
    }

    void aRightPackageIsLeftAlone() {
        const auto made = package(project("right"));
        const auto before = readFile((made + "/conf/manifest.json").toStdString()).value();
        const auto outcome = preflight(made, {"--fix"});
        QCOMPARE(outcome.code, 0);
        QVERIFY2(outcome.errors.contains("nothing is wrong"), outcome.errors.constData());
        QCOMPARE(readFile((made + "/conf/manifest.json").toStdString()).value(), before);
    }

    void aProjectThatCannotBeBuiltIsOneErrorAndThePackageStaysAsItWas() {
        const auto source = project("broken");
        const auto made = package(source, {"--capability", "sm_89", "--ptx-version", "80"});
        const auto before = readFile((made + "/conf/manifest.json").toStdString()).value();
        QVERIFY(writeFileAtomically((source + "/kernels/saxpy.ll").toStdString(), "this is no LLVM IR\n"));
        const auto outcome = preflight(made, {"--fix", "--project", source});
        QCOMPARE(outcome.code, 1);
        QVERIFY2(outcome.errorLine().contains("saxpy"), outcome.errors.constData());
        QCOMPARE(readFile((made + "/conf/manifest.json").toStdString()).value(), before);
    }
};

QTEST_GUILESS_MAIN(TestFix)
#include "tst_fix.moc"
