// SPDX-License-Identifier: Apache-2.0
//
// The real `slipway aot` when something ends it or its workers, and when the disk is full: what is left in the cache is
// sound, the next run completes it, and messages name the kernel.

#include "tests/app/commandline.h"

#include "core/base/text.h"
#include "core/kernel/cache.h"
#include "core/kernel/workfolder.h"

#include <QElapsedTimer>
#include <QTest>

#include <csignal>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace slipway;

namespace {

constexpr int kernelCount = 120;

/// Some milliseconds of LLVM's time: `steps` dependent operations.
std::string slowKernel(const std::string &name, int steps) {
    auto text =
        "define ptx_kernel void @" + name + "(ptr addrspace(1) %p) {\n  %v0 = load float, ptr addrspace(1) %p\n";
    for (int i = 1; i <= steps; ++i)
        text += fmt::format("  %v{} = fadd float %v{}, {}.5\n", i, i - 1, i);
    return text + fmt::format("  store float %v{}, ptr addrspace(1) %p\n  ret void\n}}\n", steps);
}

/// LLVM's NVPTX back end cannot select a sine in double precision and ends its process.
constexpr const char *fatalIr =
    "declare double @llvm.sin.f64(double)\ndefine ptx_kernel void @fatal(ptr %p) {\n  %v = load double, ptr %p\n"
    "  %r = call double @llvm.sin.f64(double %v)\n  store double %r, ptr %p\n  ret void\n}\n";

/// State and parent of a process, from "12 (name) S PARENT …"; nothing when there is none.
std::optional<std::pair<char, std::uint64_t>> stateAndParent(const fs::path &process) {
    const auto stat = readHead(process / "stat", 4096);
    const auto end = stat ? stat->rfind(") ") : std::string::npos;
    const auto words = end == std::string::npos ? std::vector<std::string_view>()
                                                : split(std::string_view(*stat).substr(end + 2), ' ');
    if (words.size() < 2)
        return std::nullopt;
    return std::pair(words[0].front(), parseNumber(words[1]).value_or(0));
}

std::vector<pid_t> childrenOf(qint64 parent) {
    std::vector<pid_t> children;
    std::error_code error;
    for (const auto &entry : fs::directory_iterator("/proc", error)) {
        const auto pid = parseNumber(entry.path().filename().string());
        const auto found = pid ? stateAndParent(entry.path()) : std::nullopt;
        if (found && found->second == std::uint64_t(parent))
            children.push_back(pid_t(*pid));
    }
    return children;
}

bool isAlive(pid_t process) {
    const auto found = stateAndParent(fs::path("/proc") / std::to_string(process));
    return found && found->first != 'Z';
}

} // namespace

class TestCrash : public QObject {
    Q_OBJECT
    std::unique_ptr<CommandLine> m_cli;

    [[nodiscard]] fs::path at(const std::string &name) const {
        return m_cli->path(QString::fromStdString(name)).toStdString();
    }
    [[nodiscard]] fs::path cache() const { return at("cache"); }

    void project(int count, int steps = 400) const {
        m_cli->write("p/main.sh", "#!/bin/sh\n");
        m_cli->write("p/slipway.json", R"({"name": "p", "build": {"kind": "prebuilt", "files": ["main.sh"]},
 "kernels": [{"kind": "llvm-ir", "files": ["*.ll"]}], "run": {"command": "bin/main.sh"}})");
        for (int i = 0; i < count; ++i) {
            const auto name = fmt::format("k{}", i);
            m_cli->write(QString::fromStdString("p/" + name + ".ll"),
                         QByteArray::fromStdString(slowKernel(name, steps)));
        }
    }
    [[nodiscard]] QStringList aot(const QString &cacheDirectory, const QStringList &more = {"--no-cubin"}) const {
        return QStringList{"aot",         m_cli->path("p"), "--target", "jetson-orin-nano", "--ptx-version", "82",
                           "--cache-dir", cacheDirectory,   "--json"} +
               more;
    }
    CommandLine::Outcome run() const { return m_cli->run(aot(m_cli->path("cache"))); }

    /// A run that goes on, started.
    std::unique_ptr<QProcess> start(const QStringList &more = {"--no-cubin"}) const {
        auto process = std::make_unique<QProcess>();
        process->setProcessEnvironment(m_cli->environment());
        process->start(CommandLine::program(), aot(m_cli->path("cache"), more));
        process->waitForStarted();
        return process;
    }
    /// Images in the cache now.
    [[nodiscard]] std::map<fs::path, ino_t> inodes(const std::string &extension) const {
        std::map<fs::path, ino_t> found;
        std::error_code error;
        for (const auto &entry : fs::directory_iterator(cache(), error)) {
            struct stat status = {};
            if (entry.path().extension() == extension && ::stat(entry.path().c_str(), &status) == 0)
                found[entry.path()] = status.st_ino;
        }
        return found;
    }
    /// Waits until that many images are there; the run must not be over by then.
    void waitForImages(std::size_t wanted, const QProcess &process, const std::string &extension = ".o",
                       std::size_t all = kernelCount) const {
        QElapsedTimer timer;
        timer.start();
        while (inodes(extension).size() < wanted && timer.elapsed() < 30000)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        QVERIFY2(inodes(extension).size() < all && process.state() == QProcess::Running, "the run was over too soon");
    }
    [[nodiscard]] std::vector<fs::path> workFolders() const {
        std::vector<fs::path> found;
        for (const auto &entry : fs::directory_iterator(cache())) {
            if (isWorkFolder(entry.path()))
                found.push_back(entry.path());
        }
        return found;
    }
    /// Every entry is a whole image for sm_87 with one kernel, and nothing looks wrong. Returns how many there are.
    [[nodiscard]] int soundEntries(const fs::path &directory) const {
        Progress progress;
        const auto read = KernelCache::read(directory, progress);
        if (!read)
            return -1;
        for (const auto &entry : read->entries) {
            if (!entry.facts || !entry.facts->damage.empty() || entry.facts->entries.size() != 1 ||
                entry.facts->entries.front().name != entry.name || entry.facts->target != Capability{87, {}} ||
                !entry.remarks.empty() || entry.hash.empty())
                return -2;
        }
        return int(read->entries.size());
    }
    static int built(const Json &report) {
        int count = 0;
        for (const auto &kernel : report["kernels"])
            count += kernel["built"].get<bool>();
        return count;
    }

private Q_SLOTS:
    void init() { m_cli = std::make_unique<CommandLine>(); }

    void aRunThatIsKilledLeavesASoundCacheThatTheNextRunCompletes() {
        project(kernelCount);
        const auto process = start();
        waitForImages(10, *process);
        const auto workers = childrenOf(process->processId());
        process->kill();
        QVERIFY(process->waitForFinished());
        QVERIFY(workers.size() >= 1);
        for (const auto worker : workers) // they end by themselves: their input is closed
            QTRY_VERIFY2(!isAlive(worker), "a worker outlives its run");
        const auto left = soundEntries(cache());
        QVERIFY2(left >= 10 && left < kernelCount, qPrintable(QString::number(left)));
        QCOMPARE(workFolders().size(), std::size_t(1));
        const auto again = run();
        QVERIFY2(again.code == 0, again.errors.constData());
        QCOMPARE(soundEntries(cache()), kernelCount);
        QCOMPARE(workFolders(), std::vector<fs::path>());
        // a worker may have finished one image more, of which the run did not hear
        const int anew = built(again.json());
        QVERIFY2(
            anew >= kernelCount - left && anew <= kernelCount - left + int(workers.size()),
            qPrintable(QStringLiteral("%1 of %2 were made again, %3 were left").arg(anew).arg(kernelCount).arg(left)));
        const auto said = QStringLiteral("%1 built, %2 up to date").arg(anew).arg(kernelCount - anew).toUtf8();
        QVERIFY2(again.errors.contains(said), again.errors.constData());
        QCOMPARE(built(run().json()), 0);
    }

    void cubinsOfAKilledRunAreNotAssembledAgain() {
        if (!fs::exists("/usr/local/cuda/bin/ptxas"))
            QSKIP("there is no ptxas here");
        project(30);
        QVERIFY(run().code == 0); // PTX only
        const auto process = start({});
        waitForImages(5, *process, ".cubin", 30);
        process->kill();
        QVERIFY(process->waitForFinished());
        const auto before = inodes(".cubin");
        QVERIFY(before.size() >= 5 && before.size() < 30);
        const auto again = m_cli->run(aot(m_cli->path("cache"), {}));
        QVERIFY2(again.code == 0, again.errors.constData());
        QCOMPARE(built(again.json()), 0);
        const auto after = inodes(".cubin");
        QCOMPARE(after.size(), std::size_t(30));
        std::size_t kept = 0;
        for (const auto &[file, inode] : before)
            kept += after.at(file) == inode;
        QVERIFY2(kept + 2 >= before.size(), qPrintable(QStringLiteral("%1 of %2 stayed").arg(kept).arg(before.size())));
    }

    void theFolderOfALivingRunStays() {
        project(1);
        const auto living = WorkFolder::in(cache());
        QVERIFY(living.has_value());
        const auto outcome = run();
        QVERIFY2(outcome.code == 0, outcome.errors.constData());
        QVERIFY(fs::exists(living->path()));
        const auto pruned = m_cli->run({"cache", "prune", m_cli->path("cache")});
        QCOMPARE(pruned.output, QByteArray("removed 0 leftovers\n"));
        QVERIFY(fs::exists(living->path()));
    }

    void workersThatAreKilledAreReplacedAndNoKernelIsLost() {
        project(kernelCount);
        const auto process = start();
        std::set<pid_t> killed;
        waitForImages(5, *process);
        for (const auto worker : childrenOf(process->processId())) {
            QCOMPARE(::kill(worker, SIGKILL), 0);
            killed.insert(worker);
        }
        QVERIFY(!killed.empty());
        QVERIFY(process->waitForFinished(120'000));
        const auto errors = process->readAllStandardError();
        QVERIFY2(process->exitCode() == 0, errors.constData());
        QCOMPARE(soundEntries(cache()), kernelCount);
    }

    void aKernelThatEndsLlvmIsNamedAndTheOthersAreMade() {
        project(8);
        m_cli->write("p/fatal.ll", fatalIr);
        const auto outcome = run();
        QCOMPARE(outcome.code, 1);
        int failed = 0;
        const auto report = outcome.json();
        for (const auto &kernel : report["kernels"]) {
            if (kernel["error"].is_null())
                continue;
            ++failed;
            QCOMPARE(kernel["name"].get<std::string>(), std::string("fatal"));
            QVERIFY2(
                kernel["error"].get<std::string>().starts_with("fatal.ll for sm_87: LLVM gave up: Cannot select: "),
                kernel["error"].get<std::string>().c_str());
        }
        QCOMPARE(failed, 1);
        QCOMPARE(soundEntries(cache()), 8);
    }

    void twoRunsIntoOneCacheBothSucceed() {
        project(40);
        const auto first = start();
        const auto second = start();
        QVERIFY(first->waitForFinished(120'000) && second->waitForFinished(120'000));
        QVERIFY2(first->exitCode() == 0, first->readAllStandardError().constData());
        QVERIFY2(second->exitCode() == 0, second->readAllStandardError().constData());
        QCOMPARE(soundEntries(cache()), 40);
        QCOMPARE(built(run().json()), 0);
    }

    /// On a real file system of its own, 320 kB large: some kernels fit and the rest does not.
    void onAFullDiskWhatFitsIsKeptAndTheOthersAreNamed() {
        project(60);
        const auto script = fmt::format(
            "mount -t tmpfs -o size=320k tmpfs '{0}' || exit 77\n\"$@\" --cache-dir '{0}' 2>'{1}.err' >'{1}'\n"
            "code=$?\ncp -a '{0}/.' '{2}' || exit 78\nexit $code\n",
            at("disk").string(), at("report").string(), cache().string());
        fs::create_directories(at("disk"));
        fs::create_directories(cache());
        QStringList arguments = {"--mount", "sh", "-c", QString::fromStdString(script), "sh", CommandLine::program()};
        if (::geteuid() != 0)
            arguments.prepend("--map-root-user");
        arguments += aot({});
        arguments.removeAt(arguments.indexOf("--cache-dir") + 1);
        arguments.removeAt(arguments.indexOf("--cache-dir"));
        QProcess process;
        process.setProcessEnvironment(m_cli->environment());
        process.setProcessChannelMode(QProcess::MergedChannels);
        process.start("unshare", arguments);
        QVERIFY(process.waitForFinished(120'000));
        const auto said =
            process.readAll() + QByteArray::fromStdString(readFile(at("report.err")).value_or("no errors"));
        if (process.exitCode() == 77 || said.contains("unshare failed"))
            QSKIP("no file system can be mounted here: neither root nor user namespaces are at hand");
        QVERIFY2(process.exitCode() == 1, said.constData());
        const auto made = soundEntries(cache());
        QVERIFY2(made > 0 && made < 60, qPrintable(QString::number(made)));
        const auto report = readJsonFile(at("report"));
        QVERIFY2(report.has_value(), said.constData());
        QCOMPARE(built(*report), made);
        for (const auto &kernel : (*report)["kernels"]) {
            if (kernel["built"].get<bool>())
                continue;
            const auto error = kernel["error"].get<std::string>();
            QVERIFY2(error.starts_with(kernel["name"].get<std::string>() + ".ll for sm_87: cannot write ") &&
                         error.ends_with(".o: No space left on device"),
                     error.c_str());
        }
        // with room again, only what is missing is made
        const auto again = run();
        QVERIFY2(again.code == 0, again.errors.constData());
        QCOMPARE(built(again.json()), 60 - made);
        QCOMPARE(soundEntries(cache()), 60);
    }
};

QTEST_GUILESS_MAIN(TestCrash)
#include "tst_crash.moc"
