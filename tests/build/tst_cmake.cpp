// SPDX-License-Identifier: Apache-2.0
//
// CMake builds with the distribution's real cross compiler.

#include "core/build/build.h"
#include "core/image/elfimage.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <fstream>

using namespace slipway;

class TestCMake : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_root;
    Progress m_progress;
    Target m_target;

    void write(const std::string &name, const std::string &text) const {
        fs::create_directories((m_root / name).parent_path());
        std::ofstream(m_root / name) << text;
    }

    [[nodiscard]] Result<BuildRequest> request(const std::optional<Sysroot> &sysroot = {}) const {
        auto project = TRY(Project::open(m_root / "project"));
        auto toolchain = TRY(findToolchain(project.build, m_target, sysroot));
        return BuildRequest{.project = project, .target = m_target, .toolchain = toolchain, .directory = m_root / "build dir",
                            .capability = Capability{.number = 87}, .runtimeInclude = fs::path(SLIPWAY_SOURCE_DIR) / "resources/runtime"};
    }

    [[nodiscard]] Result<std::vector<Artifact>> build(const std::optional<Sysroot> &sysroot = {}) {
        return buildProject(TRY(request(sysroot)), m_progress);
    }

    void writeHello() const {
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(hello C)\n"
                                        "add_executable(hello main.c)\nset_target_properties(hello PROPERTIES OUTPUT_NAME greet)\n");
        write("project/main.c", "int main(void) { return 7; }\n");
    }

private Q_SLOTS:
    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_root = fs::canonical(m_dir->path().toStdString());
        m_target = {};
        m_target.id = "jetson-orin-nano";
        m_target.name = "Jetson Orin Nano";
        m_target.triple = "aarch64-linux-gnu";
        m_target.arch = "aarch64";
        m_target.capability = Capability{.number = 87};
    }

    void aBinaryForTheTargetComesOutUnderTheNameThatCMakeGaveIt() {
        writeHello();
        const auto built = build();
        QVERIFY2(built, built ? "" : (built.error().message + "\n" + built.error().detail).c_str());
        QCOMPARE(built->size(), std::size_t(1));
        QCOMPARE(built->front().name, std::string("greet"));
        QCOMPARE(built->front().why, std::string("built"));
        QCOMPARE(readElfFile(built->front().file)->machine, std::string("aarch64"));
    }

    void aRebuildReplacesAndSaysWhatChanged() {
        writeHello();
        const auto first = build();
        QVERIFY(first);
        QCOMPARE(build()->front().why, std::string("unchanged"));
        write("project/main.c", "int main(void) { return 8; }\n");
        const auto second = build();
        QVERIFY(second);
        QCOMPARE(second->front().why, std::string("rebuilt"));
        QVERIFY(second->front().sha256 != first->front().sha256);
    }

    void theSamplesProgramBuilds() {
        auto wanted = request();
        const auto project = Project::open(fs::path(SLIPWAY_SOURCE_DIR) / "resources/samples/vector_add");
        QVERIFY(project);
        auto toolchain = findToolchain(project->build, m_target, {});
        QVERIFY(toolchain);
        const BuildRequest sample{.project = *project, .target = m_target, .toolchain = *toolchain, .directory = m_root / "b",
                                  .capability = Capability{.number = 87}, .runtimeInclude = fs::path(SLIPWAY_SOURCE_DIR) / "resources/runtime"};
        const auto built = buildProject(sample, m_progress);
        QVERIFY2(built, built ? "" : (built.error().message + "\n" + built.error().detail).c_str());
        QCOMPARE(built->front().name, std::string("vector_add"));
        const auto elf = readElfFile(built->front().file);
        QCOMPARE(elf->machine, std::string("aarch64"));
        QCOMPARE(elf->runpath, std::vector<std::string>{"$ORIGIN"});
    }

    void sharedLibrariesOfTheProjectAreShippedUnderTheirSonames() {
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(two C)\nadd_library(part SHARED part.c)\n"
                                        "set_target_properties(part PROPERTIES VERSION 1.2.3 SOVERSION 1)\nadd_executable(two main.c)\n"
                                        "target_link_libraries(two part)\nadd_library(unused SHARED part.c)\n");
        write("project/part.c", "int part(void) { return 1; }\n");
        write("project/main.c", "int part(void);\nint main(void) { return part(); }\n");
        const auto built = build();
        QVERIFY2(built, built ? "" : built.error().detail.c_str());
        QCOMPARE(built->size(), std::size_t(2));
        QCOMPARE((*built)[0].name, std::string("two"));
        QCOMPARE((*built)[1].name, std::string("libpart.so.1"));
    }

    void aCompilerErrorIsTheMessage() {
        writeHello();
        write("project/main.c", "int main(void) {\n    return missing;\n}\n");
        const auto built = build();
        QVERIFY(!built);
        const auto &message = built.error().message;
        QVERIFY2(message.starts_with("the build failed: ") && message.find("main.c:2:12: error:") != std::string::npos
                     && message.find("missing") != std::string::npos,
                 message.c_str());
        QCOMPARE(message.find('\n'), std::string::npos);
        QVERIFY(built.error().detail.find("command: ") != std::string::npos);
    }

    void aConfigureErrorIsTheMessage() {
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(x C)\nmessage(FATAL_ERROR \"no camera here\")\n");
        const auto built = build();
        QVERIFY(!built);
        QVERIFY2(built.error().message.find("cmake cannot configure x: CMake Error") == 0
                     && built.error().message.find("no camera here") != std::string::npos,
                 built.error().message.c_str());
    }

    void aTargetThatIsNotThereIsAnsweredWithThoseThatAre() {
        writeHello();
        write("project/slipway.json", "{\"name\": \"x\", \"build\": {\"kind\": \"cmake\", \"targets\": [\"helo\"]}}");
        const auto built = build();
        QVERIFY(!built);
        QCOMPARE(built.error().message, std::string("the CMake project has no target \"helo\" (its executables: hello)"));
        QCOMPARE(built.error().hint, std::string("did you mean hello?"));
    }

    void aBinaryForAnotherMachineIsRefused() {
        writeHello();
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nset(CMAKE_TOOLCHAIN_FILE \"\")\nproject(hello C)\n"
                                        "add_custom_target(t ALL)\nadd_executable(hello main.c)\n"
                                        "add_custom_command(TARGET hello POST_BUILD COMMAND /usr/bin/gcc ${CMAKE_CURRENT_SOURCE_DIR}/main.c "
                                        "-o $<TARGET_FILE:hello>)\n");
        const auto built = build();
        QVERIFY(!built);
        QCOMPARE(built.error().message, std::string("the build made hello for x86_64, needed aarch64"));
    }

    void theHostBuildIsNativeAndKeepsItsOwnTree() {
        writeHello();
        const auto project = Project::open(m_root / "project");
        const auto toolchain = hostToolchain(project->build);
        QVERIFY(toolchain);
        const BuildRequest host{.project = *project, .target = m_target, .toolchain = *toolchain, .directory = m_root / "host"};
        const auto built = buildProject(host, m_progress);
        QVERIFY2(built, built ? "" : built.error().detail.c_str());
        QCOMPARE(run({.program = built->front().file.string()}, m_progress)->exitCode, 7);
    }

    void aSysrootWithoutTheCLibrarysDevelopmentFilesIsSaid() {
        writeHello();
        fs::create_directories(m_root / "sysroot/usr/lib/aarch64-linux-gnu");
        const auto built = build(Sysroot{.path = m_root / "sysroot"});
        QVERIFY(!built);
        QVERIFY2(built.error().message.find("lacks the C library's development files") != std::string::npos, built.error().message.c_str());
        QVERIFY(built.error().hint.find("libc6-dev") != std::string::npos);
    }

    /// A made-up C library whose every symbol is GLIBC_2.17, and headers that say where they are from: a build that took
    /// anything from this machine's own cross C library would fail or need a newer version.
    void headersAndLibrariesComeFromTheSysroot() {
        const std::string script = R"(
            set -e
            lib=sysroot/usr/lib/aarch64-linux-gnu; mkdir -p $lib sysroot/usr/include
            echo 'GLIBC_2.17 { *; };' > map
            echo 'void __libc_start_main(void){} void puts(void){} void abort(void){}' > libc.c
            aarch64-linux-gnu-gcc -shared -nostdlib -fno-builtin -w -Wl,-soname,libc.so.6 -Wl,--version-script,map libc.c -o $lib/libc.so.6
            ln -s libc.so.6 $lib/libc.so
            for f in crt1.o Scrt1.o crti.o crtn.o; do cp /usr/aarch64-linux-gnu/lib/$f $lib/; done
            printf '#define FROM_SYSROOT 1\nint puts(const char*);\n' > sysroot/usr/include/stdio.h
        )";
        const auto made = run({.program = "sh", .arguments = {"-c", script}, .directory = m_root}, m_progress);
        QVERIFY2(made->exitCode == 0, made->errors.c_str());
        writeHello();
        write("project/main.c", "#include <stdio.h>\n#ifndef FROM_SYSROOT\n#error \"this machine's header\"\n#endif\n"
                                "int main(void) { puts(\"hello\"); return 0; }\n");
        const auto built = build(Sysroot{.path = m_root / "sysroot"});
        QVERIFY2(built, built ? "" : (built.error().message + built.error().detail).c_str());
        const auto elf = readElfFile(built->front().file);
        QVERIFY(elf);
        std::set<std::string> versions;
        for (const auto &version : elf->versions)
            versions.insert(version.version);
        QVERIFY2(versions == std::set<std::string>{"GLIBC_2.17"}, fmt::format("{}", fmt::join(versions, " ")).c_str());
    }

    void checkingBuildsNothingToShipAndClangTidySpeaksUp() {
        writeHello();
        auto wanted = request();
        QVERIFY(wanted);
        wanted->verb = BuildVerb::check;
        const auto checked = buildProject(*wanted, m_progress);
        QVERIFY2(checked, checked ? "" : checked.error().detail.c_str());
        QVERIFY(checked->empty());
        wanted->verb = BuildVerb::clippy;
        wanted->toolchain.clangTidy.clear();
        QVERIFY(buildProject(*wanted, m_progress).error().message.starts_with("clang-tidy is not installed here"));
    }

    void aLibraryOfThisMachineThatCMakeTookIsWarnedOf() {
        writeHello();
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(hello C)\nadd_executable(hello main.c)\n"
                                        "set(ZLIB_LIBRARY /usr/lib/x86_64-linux-gnu/libz.so CACHE FILEPATH \"\")\n");
        std::vector<std::string> warnings;
        Progress progress([&](const Event &e) { if (e.kind == Event::Kind::warning) warnings.push_back(e.text); }, {});
        const auto wanted = request();
        QVERIFY(wanted && buildProject(*wanted, progress));
        QCOMPARE(warnings, std::vector<std::string>{"CMake took /usr/lib/x86_64-linux-gnu/libz.so of this machine for the target (ZLIB_LIBRARY)"});
    }

    void aMissingCompilerNamesItsPackage() {
        writeHello();
        const auto project = Project::open(m_root / "project");
        m_target.arch = "riscv64";
        m_target.triple = "riscv64-none-gnu";
        const auto toolchain = findToolchain(project->build, m_target, {});
        QVERIFY(!toolchain);
        QCOMPARE(toolchain.error().message, std::string("riscv64-none-gnu-gcc is not installed here (needed to build for Jetson Orin Nano)"));
        QCOMPARE(toolchain.error().hint, std::string("install it: apt install gcc-riscv64-none-gnu"));
    }

    void prebuiltFilesNeedNoCompiler() {
        write("project/bin/tool", "#!/bin/sh\n");
        write("project/slipway.json", "{\"name\": \"x\", \"build\": {\"kind\": \"prebuilt\", \"files\": [\"bin/*\"]}}");
        m_target.triple = "riscv64-none-gnu";
        m_target.arch = "riscv64";
        const auto built = build();
        QVERIFY2(built, built ? "" : built.error().message.c_str());
        QCOMPARE(built->front().name, std::string("tool"));
        QCOMPARE(built->front().why, std::string("prebuilt"));
    }

    void cancellingEndsTheCompiler() {
        writeHello();
        write("project/CMakeLists.txt", "cmake_minimum_required(VERSION 3.22)\nproject(hello C)\nadd_executable(hello main.c)\n"
                                        "add_custom_command(TARGET hello POST_BUILD COMMAND sleep 60)\n");
        auto wanted = request();
        QVERIFY(wanted);
        std::stop_source stop;
        Progress progress([&](const Event &e) { if (e.kind == Event::Kind::begin && e.text == "compile") stop.request_stop(); }, stop.get_token());
        QElapsedTimer timer;
        timer.start();
        const auto built = buildProject(*wanted, progress);
        QVERIFY(!built);
        QCOMPARE(int(built.error().kind), int(ErrorKind::cancelled));
        QVERIFY(timer.elapsed() < 20000);
    }
};

QTEST_GUILESS_MAIN(TestCMake)
#include "tst_cmake.moc"
