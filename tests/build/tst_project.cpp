// SPDX-License-Identifier: Apache-2.0
//
// slipway.json, what is proposed without it, and the patterns for kernel files.

#include "core/build/project.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace slipway;

namespace {

/// JSON is easier to read in a string literal with ` for the quotes (moc does not get along with raw strings).
std::string quoted(std::string text) {
    std::ranges::replace(text, '`', '"');
    return text;
}

} // namespace

class TestProject : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_root;

    void write(const std::string &name, const std::string &text) const {
        fs::create_directories((m_root / name).parent_path());
        std::ofstream(m_root / name) << quoted(text);
    }

private Q_SLOTS:
    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_root = fs::canonical(m_dir->path().toStdString()) / "vision";
        fs::create_directories(m_root);
    }

    void everyKeyOfTheFileIsRead() {
        write("slipway.json", "{"
                              "`name`: `vector_add`,"
                              "`build`: {`kind`: `cmake`, `targets`: [`vector_add`], `defines`: {`WITH_X`: `ON`}, `profile`: `Debug`},"
                              "`kernels`: [{`kind`: `llvm-ir`, `files`: [`kernels/*.ll`]},"
                              "            {`kind`: `cuda`, `files`: [`kernels/*.cu`], `compiler`: `nvcc`, `flags`: [`-O2`]},"
                              "            {`kind`: `program`, `bin`: `vector_add`, `arguments`: [`aot`]}],"
                              "`models`: [{`file`: `data/model.safetensors`, `dtype`: `F16`}],"
                              "`data`: [`data/`, `assets`],"
                              "`run`: {`command`: `bin/vector_add -v`, `health`: `bin/vector_add --self-test`, `env`: {`A`: `b c`}},"
                              "`deploy`: {`dest`: `/srv/vision/`, `keep`: 5}}");
        const auto project = Project::open(m_root);
        QVERIFY2(project, project ? "" : project.error().message.c_str());
        QCOMPARE(project->name, std::string("vector_add"));
        QCOMPARE(project->root, m_root);
        QVERIFY(!project->proposed);
        QCOMPARE(project->build.targets, std::vector<std::string>{"vector_add"});
        QCOMPARE(project->build.defines.at("WITH_X"), std::string("ON"));
        QCOMPARE(project->build.profile, std::string("Debug"));
        QCOMPARE(project->kernels.size(), std::size_t(3));
        QCOMPARE(project->kernels[1].compiler, std::string("nvcc"));
        QCOMPARE(project->kernels[2].bin, std::string("vector_add"));
        QCOMPARE(project->models[0].dtype, std::string("F16"));
        QCOMPARE(project->data, (std::vector<std::string>{"data", "assets"}));
        QCOMPARE(project->env.at("A"), std::string("b c"));
        QCOMPARE(project->dest, std::string("/srv/vision"));
        QCOMPARE(project->keep, 5);
        const auto again = Project::fromJson(project->toJson(), m_root);
        QVERIFY2(again, again ? "" : again.error().message.c_str());
        QCOMPARE(jsonText(again->toJson()), jsonText(project->toJson()));
    }

    void keysThatAreAbsentTakeWhatTheTreeProposes() {
        write("CMakeLists.txt", "project(vision)\nadd_executable(detect main.cpp)\n");
        write("kernels/a.ll", "");
        write("data/x", "");
        write("slipway.json", "{}");
        const auto project = Project::open(m_root);
        QVERIFY2(project, project ? "" : project.error().message.c_str());
        QCOMPARE(project->build.targets, std::vector<std::string>{"detect"});
        QCOMPARE(project->kernels.size(), std::size_t(1));
        QCOMPARE(project->data, std::vector<std::string>{"data"});
        QCOMPARE(project->runCommand, std::string("bin/detect"));
        QCOMPARE(project->healthCommand, std::string());
        QCOMPARE(project->dest, std::string("/opt/vision"));
        QCOMPARE(project->keep, 3);
    }

    void errorsNameTheKeyWhatWasFoundAndWhatIsNeeded_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("message");
        const auto row = [](const char *name, const char *json, const char *message) { QTest::newRow(name) << json << message; };
        row("typo", "{`kernals`: []}", "slipway.json: unknown key `kernals` (did you mean `kernels`?)");
        row("nested typo", "{`deploy`: {`det`: `/x`}}", "slipway.json: deploy: unknown key `det` (did you mean `dest`?)");
        row("far off", "{`run`: {`zzzzzz`: 1}}", "slipway.json: run: unknown key `zzzzzz` (known: command, health, env)");
        row("wrong type", "{`deploy`: {`keep`: `3`}}", "slipway.json: deploy: `keep` is string, needed a whole number");
        row("keep 0", "{`deploy`: {`keep`: 0}}", "slipway.json: deploy: `keep` is 0, needed 1 to 1000 releases");
        row("kind", "{`build`: {`kind`: `make`}}", "slipway.json: build.kind is `make`, needed cmake, cargo, prebuilt");
        row("other kind's key", "{`build`: {`kind`: `cmake`, `bins`: []}}",
            "slipway.json: build: unknown key `bins` (known: kind, targets, defines, profile)");
        row("not a list", "{`kernels`: {}}", "slipway.json: `kernels` is object, needed a list");
        row("no files", "{`kernels`: [{`kind`: `cuda`}]}",
            "slipway.json: kernels[0]: `files` is missing (needed a list of texts)");
        row("leaves the root", "{`data`: [`../secret`]}",
            "slipway.json: data: `../secret` is not inside the project (needed a relative path without `..`)");
        row("absolute", "{`models`: [{`file`: `/etc/passwd`}]}",
            "slipway.json: models[0].file: `/etc/passwd` is not inside the project (needed a relative path without `..`)");
        row("option", "{`build`: {`kind`: `cmake`, `targets`: [`--install`]}}",
            "slipway.json: build.targets: `--install` is not a name (needed a text that does not begin with '-')");
        row("dest", "{`deploy`: {`dest`: `opt/x`}}",
            "slipway.json: deploy: `dest` is `opt/x`, needed an absolute path below / without `..`");
        row("root as dest", "{`deploy`: {`dest`: `/`}}",
            "slipway.json: deploy: `dest` is `/`, needed an absolute path below / without `..`");
        row("variable", "{`run`: {`env`: {`A=B`: `c`}}}", "slipway.json: run: env: `A=B` is not the name of a variable");
        row("name", "{`name`: `../x`}", "slipway.json: `name` is `../x`, needed letters, digits, '.', '_' or '-', at most 64");
        row("no object", "[]", "slipway.json: found array, needed an object");
    }

    void errorsNameTheKeyWhatWasFoundAndWhatIsNeeded() {
        QFETCH(QString, json);
        QFETCH(QString, message);
        write("CMakeLists.txt", "project(vision)\nadd_executable(detect main.cpp)\n");
        write("slipway.json", json.toStdString());
        const auto project = Project::open(m_root);
        QVERIFY(!project);
        QCOMPARE(project.error().message, quoted(message.toStdString()));
    }

    void brokenJsonIsReportedWithItsPlace() {
        write("slipway.json", "{\n  \"name\": \"x\",,\n}");
        const auto project = Project::open(m_root);
        QVERIFY(!project);
        QVERIFY2(project.error().message.starts_with("slipway.json: line 2, column 15"), project.error().message.c_str());
    }

    void aDirectoryWithoutAProjectIsOneClearLine() {
        const auto project = Project::open(m_root);
        QVERIFY(!project);
        QCOMPARE(project.error().message,
                 m_root.string() + " is no project (needed slipway.json, CMakeLists.txt or Cargo.toml)");
        QCOMPARE(exitCode(project.error().kind), 2);
        QVERIFY(Project::open(m_root / "absent").error().message.starts_with("there is no directory"));
    }

    void aCMakeTreeIsProposedWithItsExecutables() {
        write("CMakeLists.txt", "# add_executable(commented)\n#[[ add_executable(also) ]]\nproject(Vision VERSION 1)\n"
                                "add_executable(${PROJECT_NAME} main.cpp)\nadd_executable(imported IMPORTED)\n"
                                "add_executable(\n  \"second\"\n  a.cpp)\nadd_executable(${UNKNOWN} b.cpp)\nadd_subdirectory(tools)\n");
        write("tools/CMakeLists.txt", "ADD_EXECUTABLE(third c.cpp)\n");
        const auto project = Project::open(m_root);
        QVERIFY2(project, project ? "" : project.error().message.c_str());
        QVERIFY(project->proposed);
        QCOMPARE(project->name, std::string("Vision"));
        QCOMPARE(project->build.targets, (std::vector<std::string>{"Vision", "second", "third"}));
        QCOMPARE(project->runCommand, std::string("bin/Vision"));
    }

    void aCargoTreeIsProposedByAskingCargo() {
        write("Cargo.toml", "[package]\nname = \"hello\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n");
        write("src/main.rs", "fn main() {}\n");
        write("src/bin/extra.rs", "fn main() {}\n");
        const auto project = Project::open(m_root);
        QVERIFY2(project, project ? "" : project.error().detail.c_str());
        QCOMPARE(int(project->build.kind), int(BuildKind::cargo));
        QCOMPARE(project->name, std::string("hello"));
        auto bins = project->build.bins;
        std::ranges::sort(bins);
        QCOMPARE(bins, (std::vector<std::string>{"extra", "hello"}));
    }

    void bothSamplesAreReadAsTheyAre() {
        const fs::path samples = fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples";
        const auto vectorAdd = Project::open(samples / "vector_add");
        QVERIFY2(vectorAdd, vectorAdd ? "" : vectorAdd.error().message.c_str());
        const auto hello = Project::open(samples / "cargo_hello");
        QVERIFY2(hello, hello ? "" : hello.error().message.c_str());
        QCOMPARE(hello->build.bins, std::vector<std::string>{"cargo_hello"});
        const auto sources = kernelSources(*vectorAdd, {{"vector_add", "/build/vector_add"}});
        QVERIFY2(sources, sources ? "" : sources.error().message.c_str());
        QCOMPARE(sources->size(), std::size_t(7));
        QCOMPARE(sources->front().label, std::string("kernels/row_softmax.ll"));
        QCOMPARE(sources->back().file, fs::path("/build/vector_add"));
    }

    void patternsMatchWithinAFolderAndDownAndComeSorted() {
        for (const char *name : {"k/b.ll", "k/a.ll", "k/deep/c.ll", "k/deep/er/d.ll", "k/.hidden.ll", "k/a.cu"})
            write(name, "");
        QCOMPARE(*expandPattern(m_root, "k/*.ll"), (std::vector<std::string>{"k/a.ll", "k/b.ll"}));
        QCOMPARE(*expandPattern(m_root, "k/[ab].??"), (std::vector<std::string>{"k/a.cu", "k/a.ll", "k/b.ll"}));
        QCOMPARE(*expandPattern(m_root, "**/*.ll"),
                 (std::vector<std::string>{"k/a.ll", "k/b.ll", "k/deep/c.ll", "k/deep/er/d.ll"}));
        QCOMPARE(*expandPattern(m_root, "k/deep/**"), (std::vector<std::string>{"k/deep/c.ll", "k/deep/er/d.ll"}));
    }

    void aPatternWithoutAMatchIsAnError() {
        write("k/a.ll", "");
        const auto none = expandPattern(m_root, "k/*.cu");
        QVERIFY(!none);
        QCOMPARE(none.error().message, "no file matches \"k/*.cu\" in " + m_root.string());
    }

    void aKernelThatALinkPutsOutsideTheProjectIsRefused() {
        std::ofstream(m_root.parent_path() / "outside.ll") << "";
        write("k/a.ll", "");
        fs::create_symlink("../../outside.ll", m_root / "k/z.ll");
        const auto out = expandPattern(m_root, "k/*.ll");
        QVERIFY(!out);
        QVERIFY2(out.error().message.starts_with("k/z.ll is a link that leaves the project"), out.error().message.c_str());
    }

    void aScriptMayBeAKernelProgramButAPlainFileMayNot() {
        Project project;
        project.root = m_root;
        project.kernels = {{.kind = SourceKind::program, .bin = "gen.sh"}};
        write("gen.sh", "#!/bin/sh\n");
        QVERIFY(!kernelSources(project, {}));
        fs::permissions(m_root / "gen.sh", fs::perms::owner_all);
        const auto sources = kernelSources(project, {});
        QVERIFY2(sources, sources ? "" : sources.error().message.c_str());
        QCOMPARE(sources->front().file, m_root / "gen.sh");
    }
};

QTEST_GUILESS_MAIN(TestProject)
#include "tst_project.moc"
