// SPDX-License-Identifier: Apache-2.0
//
// Boards at their worst, on real OpenSSH servers on loopback: each fault gets its own sentence, and none hangs. The file systems
// of a board (full, read-only, without sftp) are mounts that only its commands see.

#include "tests/device/frozenserver.h"
#include "tests/device/peers.h"

#include "core/base/files.h"
#include "core/preflight/devicetest.h"

#include <QElapsedTimer>

#include <netinet/tcp.h>

using namespace slipway;
using namespace std::chrono;

namespace {

constexpr const char *notSshHint = "something on the way changes the bytes (cable, Wi-Fi, a proxy), or the board's SSH server is broken: "
                                   "try again, then over another link";

/// Passes bytes between a client and the server at `port`; once `spoilFrom` is 0 or more, the server's are noise from there on.
void relay(int client, int port, const std::atomic<int> &spoilFrom, const std::stop_token &stop) {
    const int server = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(std::uint16_t(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    (void)::connect(server, reinterpret_cast<sockaddr *>(&address), sizeof(address));
    std::array<char, 65536> block{};
    bool open = true;
    while (open && !stop.stop_requested()) {
        std::array<pollfd, 2> ends{{{.fd = client, .events = POLLIN, .revents = 0}, {.fd = server, .events = POLLIN, .revents = 0}}};
        ::poll(ends.data(), ends.size(), 50);
        for (int i = 0; i < 2; ++i) {
            if (!(ends[std::size_t(i)].revents & (POLLIN | POLLHUP)))
                continue;
            const auto count = ::recv(ends[std::size_t(i)].fd, block.data(), block.size(), 0);
            open = open && count > 0;
            if (i == 1 && spoilFrom >= 0)
                std::fill(block.begin() + spoilFrom, block.end(), '#');
            if (count > 0)
                (void)::send(i == 0 ? server : client, block.data(), std::size_t(count), MSG_NOSIGNAL);
        }
    }
    ::close(server);
}

} // namespace

class TestFaults : public QObject {
    Q_OBJECT

    Catalog m_catalog;
    Progress m_quiet;

    std::unique_ptr<Session> open(const Login &login) {
        auto session = slipway::connect(login, m_quiet);
        if (!session)
            qWarning("%s", session.error().message.c_str());
        return session ? std::move(*session) : nullptr;
    }

    /// A server whose commands run after `prepare` (sh, as root of a mount namespace of their own, $1 is an empty folder).
    struct Board {
        QTemporaryDir directory;
        std::unique_ptr<LocalSshd> sshd;

        explicit Board(const std::string &prepare) {
            const fs::path at = directory.path().toStdString();
            fs::create_directories(at / "home");
            const auto script = fmt::format("#!/bin/sh\n[ \"$(id -u)\" = 0 ] && as=-m || as=-rm\n"
                                            "exec unshare $as sh -c '{}\nexec sh -c \"$SSH_ORIGINAL_COMMAND\"' sh {}\n",
                                            prepare, (at / "home").string());
            (void)writeFileAtomically(at / "run", script, 0755);
            sshd = std::make_unique<LocalSshd>(std::vector<std::string>{"ForceCommand " + (at / "run").string()});
        }
    };

    /// "STATUS: found (fix)" of one item of `slipway device test`.
    std::string item(const Board &board, const std::string &id) {
        const auto session = open(board.sshd->login());
        if (!session)
            return "no session";
        for (const auto &finding : testDevice(*session, board.sshd->login().device, m_catalog, {fs::path(SLIPWAY_BIN_DIR) / "probe"}, {}, m_quiet))
            if (finding.id == id)
                return fmt::format("{}: {}{}", statusName(finding.status), finding.found, finding.fix.empty() ? "" : " (" + finding.fix + ")");
        return "no such item";
    }

private Q_SLOTS:
    void initTestCase() {
        const auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY(catalog);
        m_catalog = *catalog;
    }

    void whatIsWrongWithABoardIsSaidByItsTest_data() {
        QTest::addColumn<QString>("prepare");
        QTest::addColumn<QString>("id");
        QTest::addColumn<QString>("text");
        const auto row = [](const char *name, const char *prepare, const char *id, const char *text) { QTest::newRow(name) << prepare << id << text; };
        row("a full disk", "mount -t tmpfs -o size=16k tmpfs \"$1\" && export HOME=\"$1\" && head -c 100000 /dev/zero >\"$1/fill\" 2>/dev/null", "write access",
            "fail: the home directory cannot be written: its disk is full (remove old files on the board)");
        row("a read-only home", "mount -t tmpfs -o ro tmpfs \"$1\" && export HOME=\"$1\"", "write access",
            "fail: the home directory cannot be written: its file system is read-only (remount it: sudo mount -o remount,rw …, or log in as another user)");
        row("no home", "export HOME=\"$1/none\"", "write access", "fail: there is no home directory (make one on the board, or log in as another user)");
        row("a home that can be written", "export HOME=\"$1\"; mount -t tmpfs tmpfs /opt", "write access", "pass: the home directory and /opt can be written");
        row("prints in .bashrc", "echo You have mail.", "quiet shell",
            "warn: a login prints something before the command runs: rsync and scp break on that "
            "(print only in interactive shells: put [ -t 1 ] around it in the board's .bashrc or .profile)");
        row("no rsync", "mkdir \"$1/bin\"; ln -s /usr/bin/* \"$1/bin\"; rm \"$1/bin/rsync\"; export PATH=\"$1/bin\"", "file transfer",
            "warn: rsync is missing: deploys work, a sysroot cannot be synced (on the board: sudo apt-get install rsync)");
        row("no sftp", "mount -t tmpfs tmpfs /usr/lib/openssh", "file transfer", "pass: rsync is there; sftp is not, and Slipway does not need it");
        row("no tar", "mkdir \"$1/bin\"; ln -s /usr/bin/* \"$1/bin\"; rm \"$1/bin/tar\"; export PATH=\"$1/bin\"", "tools",
            "fail: tar is missing: a deploy needs it (on the board: sudo apt-get install tar)");
    }
    void whatIsWrongWithABoardIsSaidByItsTest() {
        QFETCH(QString, prepare);
        QFETCH(QString, id);
        QFETCH(QString, text);
        const Board board(prepare.toStdString());
        QElapsedTimer timer;
        timer.start();
        QCOMPARE(QString::fromStdString(item(board, id.toStdString())), text);
        QVERIFY(timer.elapsed() < 15000);
    }

    void aServerThatFreezesIsGivenUpWithinFifteenSeconds_data() {
        QTest::addColumn<QString>("line");
        QTest::newRow("idle") << "exec sleep 600";
        QTest::newRow("sending") << "exec cat >/dev/null";
        QTest::newRow("receiving") << "exec cat /dev/zero";
    }
    void aServerThatFreezesIsGivenUpWithinFifteenSeconds() {
        QFETCH(QString, line);
        FrozenServer server;
        const auto session = open(server.sshd().login());
        QVERIFY(session);
        const auto finished = server.execute(*session, line.toStdString(), m_quiet);
        QVERIFY(server.elapsed() < 15500);
        QVERIFY(!finished);
        QCOMPARE(finished.error().kind, ErrorKind::unreachable);
        QCOMPARE(finished.error().message, fmt::format("the connection to 127.0.0.1:{} was lost: it has not answered for 15 s", server.sshd().port()));
        QCOMPARE(finished.error().hint, std::string("check that the board is on and reachable, then try again"));
    }

    void noiseInTheMiddleOfASessionIsNoticedAtOnce_data() {
        QTest::addColumn<int>("from"); ///< the first byte of what arrives at once that is noise
        QTest::addColumn<bool>("aes");
        QTest::addColumn<bool>("idle");
        QTest::newRow("all is noise, AES-GCM") << 0 << true << false;
        QTest::newRow("all is noise, ChaCha20") << 0 << false << false;
        QTest::newRow("a packet with other bytes, AES-GCM") << 4 << true << false;
        QTest::newRow("a packet with other bytes, ChaCha20") << 4 << false << false;
        QTest::newRow("between two commands") << 0 << true << true;
    }
    void noiseInTheMiddleOfASessionIsNoticedAtOnce() {
        QFETCH(int, from);
        QFETCH(bool, aes);
        QFETCH(bool, idle);
        LocalSshd sshd;
        std::atomic<int> spoilFrom = -1;
        Peer peer([&](int client, const std::stop_token &stop) { relay(client, sshd.port(), spoilFrom, stop); });
        auto login = sshd.login();
        login.device.port = peer.port();
        login.boardAes = aes;
        const auto session = open(login);
        QVERIFY(session);
        QElapsedTimer timer;
        const auto spoil = [&](std::string_view) {
            if (spoilFrom < 0)
                timer.start();
            spoilFrom = from;
        };
        if (idle)
            spoil({});
        const auto finished = session->execute({.line = "echo up; sleep 0.2; seq 10000", .output = spoil}, m_quiet);
        const auto elapsed = timer.elapsed();
        QVERIFY(!finished);
        QVERIFY2(elapsed < 3000, fmt::format("{} ms: {}", elapsed, finished.error().message).c_str());
        QCOMPARE(finished.error().kind, ErrorKind::unreachable);
        QCOMPARE(finished.error().message, fmt::format("the connection to 127.0.0.1:{} was lost: it sent something that is not SSH", peer.port()));
        QCOMPARE(finished.error().hint, std::string(notSshHint));
        QCOMPARE(session->run({"true"}, m_quiet).error().message, finished.error().message);
    }

    void noiseDuringTheLoginIsNoticedAtOnce() {
        LocalSshd keys;
        PasswordServer server(keys.at("host_ed25519"));
        server.goesMad = true;
        Peer peer([&](int descriptor, const std::stop_token &stop) { server.talk(descriptor, stop); });
        auto login = keys.login();
        login.device.port = peer.port();
        QElapsedTimer timer;
        timer.start();
        const auto session = slipway::connect(login, m_quiet);
        QVERIFY(timer.elapsed() < 3000);
        QVERIFY(!session);
        QCOMPARE(session.error().kind, ErrorKind::unreachable);
        QCOMPARE(session.error().message, fmt::format("the connection to 127.0.0.1:{} was lost: it sent something that is not SSH", peer.port()));
        QCOMPARE(session.error().hint, std::string(notSshHint));
    }

    void aServerThatClosesBetweenTwoCommandsIsNoticedByTheNext() {
        LocalSshd sshd;
        const auto session = open(sshd.login());
        QVERIFY(session);
        (void)session->execute({.line = "kill -9 $PPID"}, m_quiet);
        QElapsedTimer timer;
        timer.start();
        const auto next = session->run({"true"}, m_quiet);
        QVERIFY(!next);
        QVERIFY(timer.elapsed() < 1000);
        QVERIFY2(next.error().message.starts_with(fmt::format("the connection to 127.0.0.1:{} was lost: ", sshd.port())), next.error().message.c_str());
    }

    void anAccountWithoutAShellIsSaidSo() {
        LocalSshd sshd({"ForceCommand echo This account is currently not available.; exit 1"});
        const auto session = open(sshd.login());
        QVERIFY(session);
        const auto facts = readFacts(*session, m_catalog, {}, m_quiet);
        QVERIFY(!facts);
        QCOMPARE(facts.error().message,
                 std::string("the board's shell did not run our script; it printed \"This account is currently not available.\""));
        QCOMPARE(facts.error().hint, std::string("Slipway needs a POSIX shell named sh on the board"));
    }
};

QTEST_GUILESS_MAIN(TestFaults)
#include "tst_faults.moc"
