// SPDX-License-Identifier: Apache-2.0
//
// The facts script and the real probe on the virtual boards of all profiles: the document is complete and right to the last
// field (tests/data/facts/PROFILE.json), nothing is left on the board, and how long it takes, there and on a native server.

#include "tests/device/boardhome.h"
#include "tests/device/localsshd.h"

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/device/probe.h"
#include "core/workspace/boards.h"

#include <QElapsedTimer>

#include <thread>

using namespace slipway;

namespace {

/// What differs from machine to machine is checked and replaced by what the file has.
void mask(Json &facts) {
    const auto replace = [&facts](const char *key, bool good, const char *by) {
        if (good)
            facts[key] = by;
    };
    const auto id = facts.value("machine_id", std::string());
    replace("machine_id", id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string::npos, "32 hexadecimal digits");
    replace("memory_bytes", facts.value("memory_bytes", std::uint64_t(0)) > 1'000'000'000, "of this machine");
    replace("clock_skew_s", std::abs(facts.value("clock_skew_s", 99L)) <= 30, "under 30: emulation is slow");
    replace("read_at", std::abs(facts.value("read_at", 0L) - long(std::time(nullptr))) < 120, "now");
    replace("cpu_aes", facts.contains("cpu_aes") && facts["cpu_aes"].is_boolean(), "of this machine"); // its /proc/cpuinfo
    for (auto &disk : facts["disks"]) {
        if (disk.value("free_bytes", std::uint64_t(0)) > 0)
            disk["free_bytes"] = "some";
        if (const auto type = disk.value("type", std::string()); !type.empty() && type != "tmpfs")
            disk["type"] = "of this machine";
    }
}

/// The lines that only one of two texts has.
std::string difference(const std::string &is, const std::string &wanted) {
    const auto have = lines(is);
    const auto want = lines(wanted);
    std::string text;
    for (const auto line : have)
        if (std::ranges::find(want, line) == want.end())
            text += fmt::format("\n+ {}", line);
    for (const auto line : want)
        if (std::ranges::find(have, line) == have.end())
            text += fmt::format("\n- {}", line);
    return text.empty() && is != wanted ? "\nthe order" : text;
}

} // namespace

class TestFactsOnBoards : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;
    Catalog m_catalog;
    Progress m_quiet;

    static ProbePrograms probes() { return {fs::path(SLIPWAY_BIN_DIR) / "probe"}; }
    VirtualBoardOptions options(const std::string &profile) const {
        return {.resources = boardResources, .state = fs::path(m_directory.path().toStdString()) / profile, .cache = packageCache(), .profile = profile};
    }
    /// A started board and a session on it; null when either failed.
    std::unique_ptr<Session> open(const std::string &profile, VirtualBoard &board) {
        const auto started = startVirtualBoard(options(profile), m_quiet);
        if (!started) {
            qWarning("%s: %s", started.error().message.c_str(), started.error().detail.c_str());
            return nullptr;
        }
        board = *started;
        return reopen(board);
    }
    std::unique_ptr<Session> reopen(const VirtualBoard &board) {
        auto session = slipway::connect({.device = virtualDevice("board", board), .home = m_directory.path().toStdString(), .useAgent = false}, m_quiet);
        if (!session)
            qWarning("%s", session.error().message.c_str());
        return session ? std::move(*session) : nullptr;
    }
    /// Every file of the board with its mode, size and time of change; of a folder, which any temporary file touches, the mode.
    std::string filesOf(Session &session) {
        const auto listed = session.execute({.line = "find / \\( -path /proc -o -path /sys -o -path /dev/pts \\) -prune -o -type d -printf '%p %m\\n' -o -printf '%p %m %s %T@\\n' | sort"}, m_quiet);
        return listed ? listed->output : std::string();
    }

private Q_SLOTS:
    void initTestCase() {
        const auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(catalog, catalog ? "" : catalog.error().message.c_str());
        m_catalog = *catalog;
    }
    void cleanupTestCase() {
        for (const auto &profile : virtualBoardProfiles(boardResources))
            (void)stopVirtualBoard(options(profile), m_quiet);
    }

    void theDocumentIsCompleteAndRightToTheLastField_data() {
        QTest::addColumn<QString>("target");
        QTest::newRow("orin-nano-jp62") << "jetson-orin-nano";
        QTest::newRow("orin-jp51") << "jetson-agx-orin";
        QTest::newRow("thor-jp70") << "jetson-agx-thor";
    }
    void theDocumentIsCompleteAndRightToTheLastField() {
        QFETCH(QString, target);
        const std::string profile = QTest::currentDataTag();
        VirtualBoard board;
        const auto session = open(profile, board);
        QVERIFY(session);
        const auto before = filesOf(*session);
        QVERIFY2(before.find("/etc/nv_tegra_release 644 ") != std::string::npos, "the board's files are listed");
        QElapsedTimer timer;
        timer.start();
        const auto facts = readFacts(*session, m_catalog, probes(), m_quiet);
        qInfo("facts of the emulated board in %lld ms", timer.elapsed());
        QVERIFY2(facts, facts ? "" : facts.error().message.c_str());
        const auto left = difference(filesOf(*session), before);
        QVERIFY2(left.empty(), left.c_str());
        QCOMPARE(QString::fromStdString(m_catalog.recognise(*facts)->id), target);
        auto json = facts->toJson();
        mask(json);
        const auto wanted = readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/facts" / (profile + ".json")).value_or("");
        const auto diff = difference(jsonText(json), wanted);
        if (!diff.empty())
            (void)writeFileAtomically(fs::path(SLIPWAY_BINARY_DIR) / (profile + ".facts.json"), jsonText(json));
        QVERIFY2(diff.empty(), diff.c_str());
    }

    void aCompatPackageOnTheBoardIsFoundThroughItsLinks() {
        VirtualBoard board;
        auto session = open("orin-nano-jp62", board);
        QVERIFY(session);
        const auto folder = board.root / "usr/local/cuda-12.8/compat";
        fs::create_directories(folder);
        fs::copy_file(boardResources / "libcuda.so.1", folder / "libcuda.so.1");
        const auto facts = readFacts(*session, m_catalog, probes(), m_quiet);
        fs::remove_all(folder.parent_path());
        QVERIFY2(facts, facts ? "" : facts.error().message.c_str());
        QCOMPARE(facts->cudaDriver, std::optional<int>(12060));
        QCOMPARE(facts->toJson()["cuda_compat"].dump(), std::string(R"([{"path":"/usr/local/cuda-12.8/compat","status":"ok","driver":12080}])"));
        QCOMPARE(facts->driverWith("/usr/local/cuda-12.8/compat"), std::optional<int>(12080));
    }

    void aNativeServerAnswersWithinTwoSecondsAndKeepsNothing() {
        QTemporaryDir directory; // the script looks for room in TMPDIR first
        const fs::path room = directory.path().toStdString();
        LocalSshd server({"SetEnv TMPDIR=" + room.string()});
        const auto session = slipway::connect(server.login(), m_quiet);
        QVERIFY(session);
        std::vector<qint64> times;
        for (int run = 0; run < 5; ++run) {
            QElapsedTimer timer;
            timer.start();
            const auto facts = readFacts(**session, m_catalog, probes(), m_quiet);
            times.push_back(timer.elapsed());
            QVERIFY2(facts, facts ? "" : facts.error().message.c_str());
            QVERIFY2(facts->cudaDriverStatus, "the probe ran");
            QVERIFY(fs::is_empty(room));
        }
        std::ranges::sort(times);
        qInfo("facts over a native server: median %lld ms, slowest %lld ms", times[2], times.back());
        QVERIFY2(times[2] < 2000, "the promise is 2 s on a LAN");
    }

    void aCancelledReadingLeavesNothingEither() {
        QTemporaryDir directory;
        const fs::path room = directory.path().toStdString();
        LocalSshd server({"SetEnv TMPDIR=" + room.string()});
        const auto session = slipway::connect(server.login(), m_quiet);
        QVERIFY(session);
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        std::jthread canceller([&] {
            while (fs::is_empty(room) && !stop.stop_requested())
                std::this_thread::yield(); // until the probe lies there
            stop.request_stop();
        });
        const auto facts = readFacts(**session, m_catalog, probes(), progress);
        stop.request_stop();
        QVERIFY(!facts || fs::is_empty(room)); // it may have been quicker
        QTRY_VERIFY_WITH_TIMEOUT(fs::is_empty(room), 20000);
    }
};

QTEST_GUILESS_MAIN(TestFactsOnBoards)
#include "tst_factsonboards.moc"
