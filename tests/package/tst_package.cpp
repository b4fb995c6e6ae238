// SPDX-License-Identifier: Apache-2.0
//
// Packages: what goes in, that the same inputs give the same bytes, and that nothing is believed unchecked.

#include "core/package/package.h"

#include "core/base/digest.h"
#include "core/base/text.h"

#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <sys/stat.h>

using namespace slipway;

namespace {

void write(const fs::path &file, const std::string &text) {
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

/// Every path below a directory with mode, time and content: equal texts are equal trees.
std::string fingerprint(const fs::path &directory) {
    std::vector<std::string> entries;
    for (const auto &entry : fs::recursive_directory_iterator(directory)) {
        struct stat status {};
        ::lstat(entry.path().c_str(), &status);
        entries.push_back(fmt::format("{} {:o} {} {}", fs::relative(entry.path(), directory).string(), status.st_mode,
                                      long(status.st_mtime), entry.is_regular_file() ? sha256(*readFile(entry.path())) : ""));
    }
    std::ranges::sort(entries);
    std::string all;
    for (const auto &entry : entries)
        all += entry + "\n";
    return all;
}

} // namespace

class TestPackage : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_root;
    Progress m_progress;
    PackageRequest m_request;

    [[nodiscard]] fs::path package() const { return m_root / "out/package"; }

private Q_SLOTS:
    void init() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_root = fs::canonical(m_dir->path().toStdString());
        const auto project = m_root / "project";
        write(project / "data/model.safetensors", "weights");
        write(project / "data/run.sh", "#!/bin/sh\n");
        write(project / "assets/labels.txt", "cat\ndog\n");
        write(m_root / "build/vector_add", "\x7f" "ELF and so on");
        for (const char *name : {"add_aa.o", "add_aa.cubin", "add_aa.mlir", "add_aa.rs", "add_aa.lock", "add_bb.o", "add_aa.o.tmp.7"})
            write(m_root / "cache" / name, name);
        m_request = {};
        m_request.project.root = project;
        m_request.project.name = "vector_add";
        m_request.project.data = {"data", "assets"};
        m_request.project.models = {{.file = "data/model.safetensors", .dtype = "F16"}};
        m_request.project.runCommand = "bin/vector_add";
        m_request.project.healthCommand = "bin/vector_add --self-test";
        m_request.project.dest = "/opt/vector_add";
        m_request.project.env = {{"GREETING", "it's me"}};
        m_request.target.id = "jetson-orin-nano";
        m_request.capability = {.number = 87};
        m_request.ptx = PtxVersion{8, 2};
        m_request.artifacts = {{.name = "vector_add", .file = m_root / "build/vector_add"}};
        m_request.cacheDirectory = m_root / "cache";
        KernelRecord record;
        record.name = "add";
        record.hash = "aa";
        record.kind = "llvm-ir";
        record.builtAt = 1234;
        record.why = "new";
        m_request.kernels = {record};
        m_request.source = {.commit = "abc", .dirty = true, .time = 1'700'000'000};
        m_request.destination = package();
    }

    void aPackageHoldsTheImagesOfTheListedKernelsAndNothingElseOfTheCache() {
        const auto made = makePackage(m_request, m_progress);
        QVERIFY2(made, made ? "" : made.error().message.c_str());
        std::vector<std::string> paths;
        for (const auto &file : made->manifest.files)
            paths.push_back(fmt::format("{:o} {}", file.mode, file.path));
        QCOMPARE(paths, (std::vector<std::string>{"755 bin/vector_add", "644 cache/add_aa.cubin", "644 cache/add_aa.o",
                                                  "644 conf/.cargo-teeny-package", "644 conf/env", "644 data/assets/labels.txt",
                                                  "644 data/model.safetensors", "755 data/run.sh"}));
        QCOMPARE(made->manifest.models[0].path, std::string("data/model.safetensors"));
        const auto verified = verifyPackage(*made, m_progress);
        QVERIFY2(verified, verified ? "" : verified.error().message.c_str());
    }

    void itsEnvironmentMakesTheCacheHitAndAShellReadsIt() {
        QVERIFY(makePackage(m_request, m_progress));
        const auto finished = run({.program = "sh",
                                   .arguments = {"-c", "RELEASE='/opt/a b/r1'; set -a; . \"$0\"; env", (package() / "conf/env").string()}},
                                  m_progress);
        QVERIFY(finished);
        const std::string seen = "\n" + finished->output;
        for (const char *line : {"\nTEENYC_CACHE_DIR=/opt/a b/r1/cache\n", "\nTEENYC_PTX_VERSION=82\n", "\nTEENYC_PATH=no-compiler-on-this-board\n",
                                 "\nCUDA_CACHE_PATH=/opt/a b/r1/../../.slipway/cuda\n", "\nGREETING=it's me\n"})
            QVERIFY2(seen.find(line) != std::string::npos, seen.c_str());
        const auto opened = Package::open(package(), m_progress);
        QVERIFY(opened);
        QCOMPARE(resolvedEnv(opened->env, "/r").at("TEENYC_CACHE_DIR"), std::string("/r/cache"));
        QCOMPARE(opened->env.at("GREETING"), std::string("it's me"));
    }

    void theSameInputsGiveTheSameBytesAndTheSameRelease() {
        const auto first = makePackage(m_request, m_progress);
        QVERIFY(first);
        const auto before = fingerprint(package());
        m_request.kernels[0].builtAt = 99; // compiled again, same image
        m_request.kernels[0].why = "forced";
        QTest::qWait(1100);                // another second on the clock
        write(m_root / "build/vector_add", "\x7f" "ELF and so on");
        const auto second = makePackage(m_request, m_progress);
        QVERIFY(second);
        QCOMPARE(fingerprint(package()), before);
        QCOMPARE(second->manifest.releaseId(), first->manifest.releaseId());
        QVERIFY(first->manifest.releaseId().starts_with("vector_add-"));
        QCOMPARE(first->manifest.releaseId().size(), std::string("vector_add-").size() + 12);
        write(m_root / "build/vector_add", "\x7f" "ELF rebuilt");
        QVERIFY(makePackage(m_request, m_progress)->manifest.releaseId() != first->manifest.releaseId());
    }

    void openingReadsBackWhatWasMade() {
        const auto made = makePackage(m_request, m_progress);
        const auto opened = Package::open(package(), m_progress);
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        QCOMPARE(jsonText(opened->manifest.toJson()), jsonText(made->manifest.toJson()));
        QCOMPARE(opened->manifest.releaseId(), made->manifest.releaseId());
        QCOMPARE(opened->manifest.capability->sm(), std::string("sm_87"));
        QCOMPARE(opened->manifest.ptx->code(), 82);
        QVERIFY(!opened->fromTeeny);
    }

    void whatWasChangedAfterPackingIsNamed_data() {
        QTest::addColumn<QString>("change");
        QTest::addColumn<QString>("message");
        QTest::newRow("content") << "printf 'Weights' > data/model.safetensors" << "data/model.safetensors was changed after packing";
        QTest::newRow("size") << "echo >> bin/vector_add" << "bin/vector_add has 15 bytes, the manifest says 14";
        QTest::newRow("missing") << "rm cache/add_aa.o" << "cache/add_aa.o is missing";
        QTest::newRow("extra") << "touch data/extra" << "data/extra is not in the manifest";
        QTest::newRow("link") << "ln -sf /etc/passwd bin/vector_add" << "bin/vector_add is no plain file";
        QTest::newRow("fifo") << "mkfifo data/pipe" << "data/pipe is no plain file";
    }

    void whatWasChangedAfterPackingIsNamed() {
        QFETCH(QString, change);
        QFETCH(QString, message);
        const auto made = makePackage(m_request, m_progress);
        QVERIFY(run({.program = "sh", .arguments = {"-c", change.toStdString()}, .directory = package()}, m_progress));
        const auto verified = verifyPackage(*made, m_progress);
        QVERIFY(!verified);
        QVERIFY2(verified.error().message.find(message.toStdString()) != std::string::npos, verified.error().message.c_str());
    }

    void onlyAPackageOrNothingIsReplaced() {
        write(package() / "thesis.txt", "years of work");
        const auto refused = makePackage(m_request, m_progress);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("exists and is no package") != std::string::npos, refused.error().message.c_str());
        QCOMPARE(*readFile(package() / "thesis.txt"), std::string("years of work"));
        fs::remove(package() / "thesis.txt");
        QVERIFY(makePackage(m_request, m_progress));
        QVERIFY(makePackage(m_request, m_progress));
        QCOMPARE(std::distance(fs::directory_iterator(m_root / "out"), fs::directory_iterator()), 1);
    }

    void aFailedPackingLeavesTheFormerPackage() {
        QVERIFY(makePackage(m_request, m_progress));
        const auto before = fingerprint(package());
        m_request.project.data.push_back("absent");
        const auto failed = makePackage(m_request, m_progress);
        QVERIFY(!failed);
        QVERIFY2(failed.error().message.starts_with("data: there is no absent in"), failed.error().message.c_str());
        QCOMPARE(fingerprint(package()), before);
        QCOMPARE(std::distance(fs::directory_iterator(m_root / "out"), fs::directory_iterator()), 1);
    }

    void cancellingLeavesNothing() {
        std::stop_source stop;
        stop.request_stop();
        Progress cancelled({}, stop.get_token());
        const auto made = makePackage(m_request, cancelled);
        QVERIFY(!made);
        QCOMPARE(int(made.error().kind), int(ErrorKind::cancelled));
        QVERIFY(fs::is_empty(m_root / "out"));
    }

    void linksAreFollowedInsideTheProjectAndRefusedWhenTheyLeaveIt() {
        const auto data = m_root / "project/data";
        fs::create_symlink("../assets/labels.txt", data / "labels.txt");
        const auto made = makePackage(m_request, m_progress);
        QVERIFY2(made, made ? "" : made.error().message.c_str());
        QVERIFY(fs::is_regular_file(fs::symlink_status(package() / "data/labels.txt")));
        QCOMPARE(*readFile(package() / "data/labels.txt"), std::string("cat\ndog\n"));
        fs::create_symlink("/etc/hostname", data / "host");
        const auto refused = makePackage(m_request, m_progress);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.find("data/host is a link that leaves the project") != std::string::npos, refused.error().message.c_str());
        fs::remove(data / "host");
        fs::create_symlink("..", data / "up");
        QVERIFY(makePackage(m_request, m_progress).error().message.find("nested deeper") != std::string::npos);
    }

    void twoFilesForOnePlaceAreAnError() {
        write(m_root / "project/data/assets/labels.txt", "another");
        const auto made = makePackage(m_request, m_progress);
        QVERIFY(!made);
        QVERIFY2(made.error().message.starts_with("data: two files would be data/assets/labels.txt"), made.error().message.c_str());
    }

    void aKernelWithoutAnImageIsAWarningAndStaysListed() {
        std::vector<std::string> warnings;
        Progress progress([&](const Event &e) { if (e.kind == Event::Kind::warning) warnings.push_back(e.text); }, {});
        m_request.kernels[0].hash = "cc";
        const auto made = makePackage(m_request, progress);
        QVERIFY(made);
        QCOMPARE(warnings, std::vector<std::string>{"the kernel add_cc has no image in " + (m_root / "cache").string()});
        QCOMPARE(made->manifest.kernels.size(), std::size_t(1));
    }

    void manifestsFromElsewhereAreChecked_data() {
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("message");
        QTest::newRow("way out") << "\"path\": \"bin/vector_add\"" << "\"path\": \"bin/../../etc/x\"" << "is no path of a package";
        QTest::newRow("other folder") << "\"path\": \"bin/vector_add\"" << "\"path\": \"lib/x\"" << "is no path of a package";
        QTest::newRow("setuid") << "\"0755\"" << "\"4755\"" << "needed 0644 or 0755";
        QTest::newRow("twice") << "cache/add_aa.cubin" << "cache/add_aa.o" << "is listed twice";
        QTest::newRow("size") << "\"size\": 14" << "\"size\": -14" << "\"size\" is number, needed a whole number from 0";
        QTest::newRow("newer") << "\"format\": 1" << "\"format\": 2" << "format 2 is not known here";
        QTest::newRow("name") << "\"name\": \"vector_add\"" << "\"name\": \"a/b\"" << "is no name";
        QTest::newRow("capability") << "\"sm_87\"" << "\"sm_x\"" << "sm_x";
    }

    void manifestsFromElsewhereAreChecked() {
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, message);
        QVERIFY(makePackage(m_request, m_progress));
        const auto file = package() / "conf/manifest.json";
        auto text = QString::fromStdString(*readFile(file));
        QVERIFY(text.contains(from));
        write(file, text.replace(text.indexOf(from), from.size(), to).toStdString());
        const auto opened = Package::open(package(), m_progress);
        QVERIFY(!opened);
        QVERIFY2(QString::fromStdString(opened.error().message).contains(message), opened.error().message.c_str());
    }

    void aPackageOfCargoTeenyIsAccepted() {
        const auto directory = m_root / "teeny";
        write(directory / "bin/yolo26", "\x7f" "ELF");
        write(directory / "cache/add_aa.o", "// ptx");
        write(directory / "cache/add_aa.mlir", "");
        write(directory / "conf/.cargo-teeny-package", "1\nTARGET=jetson-orin-nano\nEXAMPLE=yolo26\nDEVICE=cuda\n"
                                                       "OPTIONS=capability=sm_87,ptx-version=82\nBUILD_UNIX_TIME=1700000000\nSOURCE_COMMIT=unknown\n");
        const auto opened = Package::open(directory, m_progress);
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        QVERIFY(opened->fromTeeny);
        QCOMPARE(opened->manifest.name, std::string("yolo26"));
        QCOMPARE(opened->manifest.capability->sm(), std::string("sm_87"));
        QCOMPARE(opened->manifest.commit, std::string());
        QCOMPARE(opened->manifest.run, std::string("bin/yolo26"));
        QCOMPARE(opened->env.at("TEENYC_PTX_VERSION"), std::string("82"));
        QCOMPARE(opened->manifest.files.size(), std::size_t(3)); // not the .mlir
        QVERIFY(verifyPackage(*opened, m_progress));
    }

    void ourMarkerIsWhatCargoTeenyDeployLooksFor() {
        QVERIFY(makePackage(m_request, m_progress));
        QCOMPARE(*readFile(package() / "conf/.cargo-teeny-package"),
                 std::string("1\nTARGET=jetson-orin-nano\nBIN=vector_add\nDEVICE=cuda\nOPTIONS=capability=sm_87,ptx-version=82\n"
                             "BUILD_UNIX_TIME=1700000000\nSOURCE_COMMIT=abc\n"));
    }

    void aDirectoryThatIsNoPackageIsAUsageError() {
        const auto opened = Package::open(m_root, m_progress);
        QVERIFY(!opened);
        QCOMPARE(exitCode(opened.error().kind), 2);
    }

    void environmentFilesThatAreNoListOfVariablesAreRefused() {
        QVERIFY(parseEnvFile("# comment\n\nexport A='x y'\nB=\"$RELEASE\"/cache\n"));
        QCOMPARE(parseEnvFile("B=\"$RELEASE\"/cache\n")->at("B"), std::string("$RELEASE/cache"));
        QCOMPARE(parseEnvFile("A=it\\'s'a b'\n")->at("A"), std::string("it'sa b"));
        QCOMPARE(parseEnvFile("A='x\n").error().message, std::string("conf/env: line 1: a quote is not closed"));
        QVERIFY(!parseEnvFile("A=x; rm -rf /\n"));
        QVERIFY(!parseEnvFile("1A=x\n"));
        QVERIFY(!parseEnvFile("rm -rf /\n"));
    }

    void sourcesAreNamedByTheirCommit() {
        const auto root = m_root / "project";
        const auto script = "git init -q . && git -c user.name=a -c user.email=a@b add -A && "
                            "GIT_COMMITTER_DATE='1600000000 +0000' git -c user.name=a -c user.email=a@b commit -q -m x";
        QCOMPARE(readSourceState(root, m_progress)->commit, std::string());
        QCOMPARE(run({.program = "sh", .arguments = {"-c", script}, .directory = root}, m_progress)->exitCode, 0);
        const auto clean = readSourceState(root, m_progress);
        QCOMPARE(clean->commit.size(), std::size_t(40));
        QCOMPARE(clean->time, 1'600'000'000L);
        QVERIFY(!clean->dirty);
        write(root / "new.txt", "x");
        QVERIFY(readSourceState(root, m_progress)->dirty);
        qputenv("SOURCE_DATE_EPOCH", "1500000000");
        QCOMPARE(readSourceState(root, m_progress)->time, 1'500'000'000L);
        qunsetenv("SOURCE_DATE_EPOCH");
    }
};

QTEST_GUILESS_MAIN(TestPackage)
#include "tst_package.moc"
