// SPDX-License-Identifier: Apache-2.0
//
// A virtual board from start to stop: logins over the real ssh, rsync and sftp, what makes it a Jetson, and its faults.
// The packages come from the machine's cache (downloaded once), the boards live in a temporary directory.

#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/device/virtualboard.h"
#include "tests/device/boardhome.h"

#include <QDeadlineTimer>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>

using namespace slipway;

namespace {

std::vector<std::string> sshOptions(const VirtualBoard &board) {
    return {"-q", "-F", "none", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + board.knownHosts.string(), "-i", board.identity.string()};
}

/// A command on the board through the system's ssh.
Finished ssh(const VirtualBoard &board, const std::string &line, const std::string &input = {}) {
    Command command{.program = "ssh", .arguments = sshOptions(board), .input = input};
    command.arguments.insert(command.arguments.end(), {"-p", fmt::to_string(board.port), board.user + "@" + board.host, line});
    Progress progress;
    const auto finished = run(command, progress);
    return finished ? *finished : Finished{.exitCode = -1, .errors = finished.error().message};
}

Finished rsync(const VirtualBoard &board, const fs::path &from, const std::string &to) {
    std::string remote = "ssh";
    for (const auto &word : sshOptions(board))
        remote += " " + word;
    Progress progress;
    const auto finished = run({.program = "rsync",
                               .arguments = {"-a", "-e", fmt::format("{} -p {}", remote, board.port), from.string(),
                                             fmt::format("{}@{}:{}", board.user, board.host, to)}},
                              progress);
    return finished ? *finished : Finished{.exitCode = -1, .errors = finished.error().message};
}

Finished sftp(const VirtualBoard &board, const std::string &batch) {
    Command command{.program = "sftp", .arguments = sshOptions(board), .input = batch};
    command.arguments.insert(command.arguments.end(), {"-P", fmt::to_string(board.port), "-b", "-", board.user + "@" + board.host});
    Progress progress;
    const auto finished = run(command, progress);
    return finished ? *finished : Finished{.exitCode = -1, .errors = finished.error().message};
}

/// Processes of this machine whose command line or working root mentions the state folder.
int processesOf(const fs::path &state) {
    int count = 0;
    for (const auto &entry : fs::directory_iterator("/proc")) {
        const auto line = readFile(entry.path() / "cmdline");
        if (parseNumber(entry.path().filename().string()) && line && line->find(state.string()) != std::string::npos)
            ++count;
    }
    return count;
}

} // namespace

class TestVirtualBoard : public QObject {
    Q_OBJECT

    QTemporaryDir m_directory;
    VirtualBoard m_board;

    VirtualBoardOptions options(const std::string &profile = "orin-nano-jp62") {
        return {.resources = boardResources, .state = fs::path(m_directory.path().toStdString()) / profile, .cache = packageCache(), .profile = profile};
    }
    /// Stops the board and starts it with the options.
    VirtualBoard restarted(const VirtualBoardOptions &wanted) {
        Progress progress;
        (void)stopVirtualBoard(wanted, progress);
        auto board = startVirtualBoard(wanted, progress);
        if (!board)
            qWarning("%s (%s) %s", board.error().message.c_str(), board.error().hint.c_str(), board.error().detail.c_str());
        return board ? *board : VirtualBoard{};
    }

private Q_SLOTS:
    void initTestCase() {
        m_board = restarted(options());
        QVERIFY(m_board.running);
    }
    void cleanupTestCase() {
        Progress progress;
        QVERIFY(stopVirtualBoard(options(), progress));
    }

    void profilesAreListed() {
        QCOMPARE(virtualBoardProfiles(boardResources), (std::vector<std::string>{"orin-jp51", "orin-nano-jp62", "thor-jp70"}));
        QVERIFY(virtualBoardProfiles("/nonexistent").empty());
    }

    void aLoginIsAnArm64UserOfAJetson() {
        QCOMPARE(ssh(m_board, "uname -m; whoami; pwd").output, std::string("aarch64\nnvidia\n/home/nvidia\n"));
        QVERIFY(ssh(m_board, "cat /etc/nv_tegra_release").output.starts_with("# R36 (release), REVISION: 4.3, GCID: 38968081"));
        QCOMPARE(ssh(m_board, "tr '\\0' , </sys/firmware/devicetree/base/compatible").output,
                 std::string("nvidia,p3768-0000+p3767-0005-super,nvidia,p3767-0005,nvidia,tegra234,"));
        QCOMPARE(ssh(m_board, "dpkg-query --showformat='${Version}' --show nvidia-l4t-core").output, std::string("36.4.3-20250107174145"));
        QVERIFY(ssh(m_board, "cat /etc/nv_boot_control.conf").output.starts_with("TNSPEC 3767-300-0005-"));
        QVERIFY(ssh(m_board, "/sbin/ldconfig -p").output.find("libcuda.so.1 (libc6,AArch64) => /usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1") !=
                std::string::npos);
    }

    void nobodyCanMistakeItForHardware() {
        QVERIFY(m_board.model.ends_with("(simulated by Slipway)"));
        QVERIFY(ssh(m_board, "cat /sys/firmware/devicetree/base/model").output.find("simulated by Slipway") != std::string::npos);
        QCOMPARE(ssh(m_board, "hostname").output, std::string("slipway-virtual-jetson\n"));
        QVERIFY(ssh(m_board, "nvidia-smi").output.starts_with("simulated by Slipway"));
        QVERIFY(ssh(m_board, "uname -r").output.find("simulated") != std::string::npos);
        QVERIFY(ssh(m_board, "cat /etc/motd").output.find("not hardware") != std::string::npos);
        QCOMPARE(ssh(m_board, "test -f /etc/slipway-virtual-board").exitCode, 0);
    }

    void exitStatusAndBytesPassUnchanged() {
        QCOMPARE(ssh(m_board, "exit 37").exitCode, 37);
        std::string bytes;
        for (int i = 0; i < 300000; ++i)
            bytes.push_back(char(i * 7 + i / 256));
        const Finished back = ssh(m_board, "cat", bytes);
        QCOMPARE(back.exitCode, 0);
        QVERIFY(back.output == bytes);
        QCOMPARE(ssh(m_board, "echo out; echo err >&2").errors, std::string("err\n"));
    }

    void rsyncAndSftpWork() {
        QTemporaryDir source;
        const fs::path file = fs::path(source.path().toStdString()) / "a file";
        QVERIFY(writeFileAtomically(file, "hello board\n"));
        QCOMPARE(rsync(m_board, file, "/opt/").exitCode, 0);
        QCOMPARE(ssh(m_board, "cat '/opt/a file'").output, std::string("hello board\n"));
        const fs::path back = file.parent_path() / "back";
        QCOMPARE(sftp(m_board, fmt::format("get \"/opt/a file\" \"{}\"\n", back.string())).exitCode, 0);
        QCOMPARE(*readFile(back), std::string("hello board\n"));
    }

    void theSystemIsReadOnlyAndOptIsWritable() {
        QVERIFY(ssh(m_board, "mkdir /usr/x").exitCode != 0);
        QCOMPARE(ssh(m_board, "mkdir /opt/x && rmdir /opt/x").exitCode, 0);
    }

    void whatRunsInTheBackgroundIsSeenByTheNextLogin() {
        QCOMPARE(ssh(m_board, "nohup sleep 321 >/dev/null 2>&1 & echo $!").exitCode, 0);
        QCOMPARE(ssh(m_board, "pgrep -c -f 'sleep 321'").output, std::string("1\n"));
        QCOMPARE(ssh(m_board, "pkill -f 'sleep 321'").exitCode, 0);
    }

    void aCommandEndsWithItsConnection() {
        Command command{.program = "ssh", .arguments = sshOptions(m_board)};
        command.arguments.insert(command.arguments.end(), {"-p", fmt::to_string(m_board.port), m_board.user + "@" + m_board.host, "echo up; exec sleep 322"});
        std::stop_source stop;
        Progress progress({}, stop.get_token());
        (void)run(command, progress, [&](std::string_view) { stop.request_stop(); });
        QTRY_COMPARE_WITH_TIMEOUT(ssh(m_board, "pgrep -c -f 'sleep 322'").output, std::string("0\n"), 5000);
    }

    void startingAgainKeepsTheRunningBoard() {
        Progress progress;
        const auto again = startVirtualBoard(options(), progress);
        QVERIFY(again);
        QCOMPARE(again->process, m_board.process);
        QCOMPARE(again->port, m_board.port);
        VirtualBoardOptions other = options();
        other.profile = "thor-jp70";
        const auto refused = startVirtualBoard(other, progress);
        QVERIFY(!refused);
        QCOMPARE(refused.error().kind, ErrorKind::usage);
        QVERIFY(refused.error().message.find("is orin-nano-jp62, not thor-jp70") != std::string::npos);
    }

    void stopLeavesNoProcessAndTheNextStartIsQuick() {
        Progress progress;
        QCOMPARE(ssh(m_board, "nohup sleep 323 >/dev/null 2>&1 &").exitCode, 0);
        QVERIFY(processesOf(options().state) > 0);
        QVERIFY(stopVirtualBoard(options(), progress));
        QTRY_COMPARE_WITH_TIMEOUT(processesOf(options().state), 0, 2000);
        QVERIFY(::kill(pid_t(m_board.process), 0) != 0);
        const auto stopped = virtualBoardStatus(options(), progress);
        QVERIFY(stopped && !stopped->running);
        QVERIFY(stopVirtualBoard(options(), progress));

        const QDeadlineTimer deadline(2000);
        const VirtualBoard again = restarted(options());
        QVERIFY(again.running);
        QVERIFY(!deadline.hasExpired());
        QCOMPARE(again.port, m_board.port);
        QCOMPARE(again.knownHost, m_board.knownHost);
        m_board = again;
    }

    void twoBoardsRunSideBySide() {
        VirtualBoardOptions second = options();
        second.state += "-second";
        const VirtualBoard other = restarted(second);
        QVERIFY(other.running);
        QVERIFY(other.port != m_board.port);
        QCOMPARE(ssh(other, "echo two >/opt/which; cat /opt/which").output, std::string("two\n"));
        QVERIFY(ssh(m_board, "cat /opt/which").exitCode != 0);
        Progress progress;
        QVERIFY(stopVirtualBoard(second, progress));
        QCOMPARE(ssh(m_board, "echo still here").output, std::string("still here\n"));
    }

    void faultsCanBeAskedFor() {
        VirtualBoardOptions bad = options();
        bad.noRsync = bad.noSftp = bad.chattyShell = true;
        bad.diskMegabytes = 3;
        m_board = restarted(bad);
        QVERIFY(m_board.running);
        QVERIFY(ssh(m_board, "echo text").output.ends_with("You have mail.\ntext\n"));
        QCOMPARE(ssh(m_board, "rsync --version").exitCode, 127);
        QVERIFY(sftp(m_board, "ls /\n").exitCode != 0);
        const Finished full = ssh(m_board, "head -c 4000000 /dev/zero >/opt/big");
        QVERIFY(full.errors.find("No space left on device") != std::string::npos);

        VirtualBoardOptions readOnly = options();
        readOnly.readOnlyHome = true;
        m_board = restarted(readOnly);
        QVERIFY(ssh(m_board, "touch ~/x").exitCode != 0);
        QVERIFY(ssh(m_board, "touch /opt/x").exitCode != 0);

        m_board = restarted(options());
        QCOMPARE(ssh(m_board, "echo text").output, std::string("text\n"));
        QCOMPARE(ssh(m_board, "rsync --version").exitCode, 0);
    }

    void unknownProfilesAndAbsentBoardsAreOneLine() {
        Progress progress;
        const auto unknown = startVirtualBoard(options("nintendo"), progress);
        QVERIFY(!unknown);
        QCOMPARE(unknown.error().kind, ErrorKind::usage);
        QCOMPARE(unknown.error().message, std::string("unknown profile nintendo: there are orin-jp51 orin-nano-jp62 thor-jp70"));
        const auto absent = virtualBoardStatus(options("absent"), progress);
        QVERIFY(!absent);
        QVERIFY(absent.error().message.starts_with("there is no board in "));
        VirtualBoardOptions nowhere = options();
        nowhere.resources = "/nonexistent";
        QVERIFY(!startVirtualBoard(nowhere, progress));
    }
};

QTEST_GUILESS_MAIN(TestVirtualBoard)
#include "tst_virtualboard.moc"
