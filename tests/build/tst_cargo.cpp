// SPDX-License-Identifier: Apache-2.0
//
// Cargo builds with the distribution's cross linker and Rust, and what `cross` in a container is told.

#include "core/build/build.h"
#include "core/build/buildparts.h"
#include "core/image/elfimage.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace slipway;

class TestCargo : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_root;
    Progress m_progress;
    Target m_target;

    void write(const std::string &name, const std::string &text) const {
        fs::create_directories((m_root / name).parent_path());
        std::ofstream(m_root / name) << text;
    }

    /// An executable script in m_root/fake.
    void fake(const std::string &name, const std::string &script) const {
        write("fake/" + name, "#!/bin/sh\n" + script + "\n");
        fs::permissions(m_root / "fake" / name, fs::perms::all);
    }

    void writeHello() const {
        write("app/Cargo.toml", "[package]\nname = \"hello\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n"
                                "[features]\nloud = []\n");
        write("app/src/main.rs", "fn main() { println!(\"hi\"); }\n");
        write("app/src/bin/extra.rs", "fn main() {}\n");
        write("app/examples/demo.rs", "fn main() { #[cfg(not(feature = \"loud\"))] compile_error!(\"needs loud\"); }\n");
    }

    [[nodiscard]] Result<std::vector<Artifact>> build(const BuildSettings &settings, BuildVerb verb = BuildVerb::build) {
        auto project = TRY(Project::open(m_root / "app"));
        project.build = settings;
        const auto toolchain = TRY(findToolchain(settings, m_target, {}));
        return buildProject({.project = project, .target = m_target, .toolchain = toolchain, .directory = m_root / "build", .verb = verb}, m_progress);
    }

    static BuildSettings cargo() { return {.kind = BuildKind::cargo, .profile = "dev", .tool = "cargo"}; }

private Q_SLOTS:
    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_root = fs::canonical(m_dir->path().toStdString());
        m_target = {};
        m_target.name = "Jetson Orin Nano";
        m_target.triple = "aarch64-linux-gnu";
        m_target.arch = "aarch64";
    }

    void binariesForTheTargetAreThoseThatCargoReports() {
        writeHello();
        const auto built = build(cargo());
        QVERIFY2(built, built ? "" : (built.error().message + "\n" + built.error().hint + "\n" + built.error().detail).c_str());
        QCOMPARE(built->size(), std::size_t(2));
        QCOMPARE((*built)[0].name, std::string("extra"));
        QCOMPARE((*built)[1].name, std::string("hello"));
        QCOMPARE(readElfFile((*built)[1].file)->machine, std::string("aarch64"));
        QCOMPARE((*built)[1].why, std::string("built"));
        QCOMPARE((*build(cargo()))[1].why, std::string("unchanged"));
        write("app/src/main.rs", "fn main() { println!(\"changed\"); }\n");
        QCOMPARE((*build(cargo()))[1].why, std::string("rebuilt"));
    }

    void examplesAndFeaturesAreChosen() {
        writeHello();
        auto settings = cargo();
        settings.examples = {"demo"};
        const auto quiet = build(settings);
        QVERIFY(!quiet);
        QVERIFY2(quiet.error().message.find("examples/demo.rs:1:") != std::string::npos && quiet.error().message.find("needs loud") != std::string::npos,
                 quiet.error().message.c_str());
        settings.features = {"loud"};
        const auto built = build(settings);
        QVERIFY2(built, built ? "" : built.error().detail.c_str());
        QCOMPARE(built->size(), std::size_t(1));
        QCOMPARE(built->front().name, std::string("demo"));
    }

    void aCompilerErrorIsTheMessage() {
        writeHello();
        write("app/src/main.rs", "fn main() {\n    missing();\n}\n");
        const auto built = build(cargo(), BuildVerb::check);
        QVERIFY(!built);
        QCOMPARE(built.error().message,
                 std::string("the build failed: src/main.rs:2:5: error[E0425]: cannot find function `missing` in this scope"));
    }

    void aLinkerErrorNamesTheLibrary() {
        writeHello();
        write("app/src/main.rs", "#[link(name = \"nothere\")] extern \"C\" { fn f(); }\nfn main() { unsafe { f() } }\n");
        const auto built = build(cargo());
        QVERIFY(!built);
        QVERIFY2(built.error().message.find("cannot find -lnothere") != std::string::npos, built.error().message.c_str());
    }

    void aRustWithoutTheTargetsStandardLibraryIsPassedOver() {
        fake("cargo", "exit 0");
        fake("rustc", "echo /nonexistent");
        const auto none = findRust("aarch64-unknown-linux-gnu", {m_root / "fake"});
        QVERIFY(!none);
        QCOMPARE(none.error().message, fmt::format("no Rust here has the standard library for aarch64-unknown-linux-gnu (looked at {})",
                                                   (m_root / "fake/rustc").string()));
        QVERIFY(none.error().hint.find("libstd-rust-web-dev:arm64") != std::string::npos);
        write("good/root/lib/rustlib/aarch64-unknown-linux-gnu/lib/libstd-1.rlib", "");
        fs::copy(m_root / "fake/cargo", m_root / "good/cargo");
        write("good/rustc", "#!/bin/sh\necho " + (m_root / "good/root").string() + "\n");
        fs::permissions(m_root / "good/rustc", fs::perms::all);
        const auto good = findRust("aarch64-unknown-linux-gnu", {m_root / "absent", m_root / "fake", m_root / "good"});
        QVERIFY2(good, good ? "" : good.error().message.c_str());
        QCOMPARE(good->cargo, m_root / "good/cargo");
        QVERIFY(findRust("aarch64-unknown-linux-gnu", {}).error().message.starts_with("cargo and rustc are not installed"));
    }

    void theSysrootReachesTheLinkerBuildScriptsAndPkgConfig() {
        writeHello();
        fake("cargo", "{ echo \"$RUSTC|$CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER|$PKG_CONFIG_LIBDIR|$PKG_CONFIG_PATH\"; printf '%s\\n' \"$@\"; } > "
                          + (m_root / "seen").string());
        const fs::path sysroot = m_root / "sys root";
        write("sys root/usr/lib/aarch64-linux-gnu/crt1.o", "");
        write("sys root/usr/include/stdio.h", "");
        auto project = Project::open(m_root / "app");
        QVERIFY(project);
        project->build = cargo();
        Toolchain toolchain{.triple = "aarch64-linux-gnu", .cc = "/usr/bin/aarch64-linux-gnu-gcc", .cargo = m_root / "fake/cargo",
                            .rustc = "/usr/bin/rustc", .sysroot = Sysroot{.path = sysroot}, .rustTarget = "aarch64-unknown-linux-gnu"};
        qputenv("PKG_CONFIG_PATH", "/usr/lib/x86_64-linux-gnu/pkgconfig");
        const auto built = buildProject({.project = *project, .target = m_target, .toolchain = toolchain, .directory = m_root / "build"}, m_progress);
        qunsetenv("PKG_CONFIG_PATH");
        QVERIFY(!built); // the fake made nothing
        QCOMPARE(built.error().message, std::string("cargo made no binary of hello (needed a bin or an example)"));
        const auto seen = *readFile(m_root / "seen");
        const auto root = sysroot.string();
        QVERIFY2(seen.starts_with("/usr/bin/rustc|/usr/bin/aarch64-linux-gnu-gcc|" + root + "/usr/lib/aarch64-linux-gnu/pkgconfig:"), seen.c_str());
        QVERIFY2(seen.find("/usr/share/pkgconfig|\n") != std::string::npos, seen.c_str());
        QVERIFY2(seen.find("\ntarget.aarch64-unknown-linux-gnu.rustflags=[\"-Clink-arg=--sysroot=" + root + "\"") != std::string::npos, seen.c_str());
    }

    void crossWithoutAContainerEngineIsOneClearLine() {
        const auto path = qgetenv("PATH");
        fake("cross", "exit 0");
        fake("cargo", "exit 0");
        auto settings = cargo();
        settings.tool = "cross";
        qputenv("PATH", QByteArray::fromStdString((m_root / "fake").string()));
        const auto without = findToolchain(settings, m_target, {});
        fake("podman", "exit 0");
        const auto with = findToolchain(settings, m_target, {});
        fs::remove(m_root / "fake/cross");
        const auto noCross = findToolchain(settings, m_target, {});
        qputenv("PATH", path);
        QVERIFY(!without);
        QCOMPARE(without.error().message, std::string("neither docker nor podman is installed here (cross builds in a container)"));
        QVERIFY(with);
        QCOMPARE(with->container, m_root / "fake/podman");
        QVERIFY(!noCross);
        QVERIFY(noCross.error().message.starts_with("cross is not installed here"));
    }

    void crossIsToldToMountWhatPathDependenciesNeed() {
        write("libs/Cargo.toml", "[workspace]\nmembers = [\"lib1\"]\n[workspace.package]\nedition = \"2021\"\n");
        write("libs/lib1/Cargo.toml", "[package]\nname = \"lib1\"\nversion = \"1.0.0\"\nedition.workspace = true\n");
        write("libs/lib1/src/lib.rs", "");
        write("app/Cargo.toml", "[package]\nname = \"app\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[workspace]\n"
                                "[dependencies]\nlib1 = { path = \"../libs/lib1\" }\n");
        write("app/src/main.rs", "fn main() {}\n");
        fake("cross", "{ echo \"$CROSS_CONTAINER_OPTS|$CROSS_CONTAINER_ENGINE\"; printf '%s\\n' \"$@\"; } > " + (m_root / "seen").string()
                          + "\necho 'error: no matching manifest' >&2\nexit 125");
        auto project = Project::open(m_root / "app");
        QVERIFY2(project, project ? "" : project.error().message.c_str());
        project->build.tool = "cross";
        const auto cargoHere = findProgram("cargo");
        QVERIFY(cargoHere);
        const Toolchain toolchain{.triple = "aarch64-linux-gnu", .cargo = *cargoHere, .cross = m_root / "fake/cross",
                                  .container = "/usr/bin/podman", .rustTarget = "aarch64-unknown-linux-gnu"};
        std::vector<std::string> notes;
        Progress progress([&](const Event &e) { if (e.kind == Event::Kind::note) notes.push_back(e.text); }, {});
        const auto built = buildProject({.project = *project, .target = m_target, .toolchain = toolchain, .directory = m_root / "build"}, progress);
        QVERIFY(!built);
        QCOMPARE(built.error().message, std::string("the build failed: error: no matching manifest"));
        const auto libs = (m_root / "libs").string();
        const auto seen = *readFile(m_root / "seen");
        QVERIFY2(seen.starts_with("--volume=" + libs + ":" + libs + ":z|/usr/bin/podman\nbuild\n"), seen.c_str());
        QCOMPARE(notes.size(), std::size_t(1));
        QVERIFY(notes[0].starts_with(libs + " is outside the workspace"));
    }

    void whatCannotBeRelabelledIsNotMounted() {
        writeHello();
        auto project = Project::open(m_root / "app");
        const auto cargoHere = findProgram("cargo");
        QVERIFY(project && cargoHere);
        const BuildRequest request{.project = *project, .target = m_target,
                                   .toolchain = {.triple = "aarch64-linux-gnu", .cargo = *cargoHere, .sysroot = Sysroot{.path = "/usr/aarch64-linux-gnu"},
                                                 .rustTarget = "aarch64-unknown-linux-gnu"}};
        const auto plan = planContainer(request, m_progress);
        QVERIFY(!plan);
        QVERIFY2(plan.error().message.find("/usr/aarch64-linux-gnu cannot be mounted into the container") == 0, plan.error().message.c_str());
    }
};

QTEST_GUILESS_MAIN(TestCargo)
#include "tst_cargo.moc"
