// SPDX-License-Identifier: Apache-2.0
//
// Syncing a sysroot from a real SSH server on this machine: a small tree stands for the board's root.

#include "tests/device/localsshd.h"

#include "core/base/files.h"
#include "core/sysroot/sysroot.h"

#include <QElapsedTimer>

#include <atomic>
#include <sys/stat.h>

using namespace slipway;

class TestSync : public QObject {
    Q_OBJECT

    std::unique_ptr<LocalSshd> m_sshd;
    std::unique_ptr<Session> m_session;
    std::string m_board; ///< where the board's tree is, on the board
    Progress m_quiet;

    SyncRequest request(std::vector<std::string> folders) const {
        SyncRequest request{.path = m_sshd->at("sysroot"),
                            .device = "nano",
                            .rsync = "rsync",
                            .rsh = fs::path(SLIPWAY_BIN_DIR) / "slipway-rsh"};
        request.target.id = "jetson-orin-nano";
        for (auto &folder : folders)
            request.target.sysrootFolders.push_back(m_board + folder);
        request.facts.l4t = "36.4.3";
        request.facts.machineId = "abc";
        return request;
    }
    fs::path copied(const std::string &path) const { return m_sshd->at("sysroot") / (m_board + path).substr(1); }
    void file(const std::string &path, const std::string &text) const {
        QVERIFY(writeFileAtomically(m_board + path, text));
    }

private Q_SLOTS:
    void init() {
        m_sshd = std::make_unique<LocalSshd>();
        auto session = slipway::connect(m_sshd->login(), m_quiet);
        QVERIFY(session);
        m_session = std::move(*session);
        m_board = fs::canonical(m_sshd->at("")).string() + "/board";
        file("/usr/lib/a/libz.so.1.2", "z");
        file("/usr/lib/a/with space.so", "s");
        file("/usr/include/z.h", "h");
        file("/usr/local/cuda-12.6/version.json", "{}");
        file("/usr/lib/modules/huge.ko", "m");
        fs::create_symlink("usr/lib", m_board + "/lib");
        fs::create_symlink(m_board + "/lib/a/libz.so.1.2", m_board + "/usr/lib/a/libz.so");
        fs::create_directories(m_board + "/etc/alternatives");
        fs::create_symlink(m_board + "/etc/alternatives/cuda", m_board + "/usr/local/cuda");
        fs::create_symlink(m_board + "/usr/local/cuda-12.6", m_board + "/etc/alternatives/cuda");
        fs::create_symlink(".", m_board + "/usr/lib/X11");
        ::mkfifo((m_board + "/usr/lib/fifo").c_str(), 0600);
    }
    void cleanup() {
        m_session.reset();
        m_sshd.reset();
    }

    void theTreeComesOverWithItsLinksMadeRelative() {
        const auto wanted = request({"/lib", "/usr/lib", "/usr/include", "/usr/local/cuda", "/opt/nvidia"});
        const auto sysroot = syncSysroot(*m_session, wanted, m_quiet);
        QVERIFY2(sysroot, sysroot ? "" : (sysroot.error().message + sysroot.error().detail).c_str());
        QVERIFY(fs::is_symlink(copied("/lib")));
        QCOMPARE(fs::read_symlink(copied("/lib")).string(), std::string("usr/lib"));
        QCOMPARE(readFile(copied("/usr/lib/a/with space.so")).value_or(""), std::string("s"));
        QVERIFY(fs::read_symlink(copied("/usr/lib/a/libz.so")).is_relative());
        QCOMPARE(readFile(copied("/usr/lib/a/libz.so")).value_or(""), std::string("z"));
        QCOMPARE(readFile(copied("/usr/local/cuda/version.json")).value_or(""), std::string("{}"));
        QCOMPARE(fs::read_symlink(copied("/usr/lib/X11")).string(), std::string("."));
        QVERIFY(!fs::exists(copied("/usr/lib/fifo")));
        const auto opened = openSysroot(m_sshd->at("sysroot"));
        QVERIFY2(opened, opened ? "" : opened.error().message.c_str());
        QCOMPARE(opened->l4t, std::string("36.4.3"));
        QCOMPARE(opened->device, std::string("nano"));
        QVERIFY(opened->files >= 4 && opened->bytes > 0 && opened->syncedAt > 0);
    }

    void aSecondSyncFollowsTheBoard() {
        const auto wanted = request({"/lib", "/usr/lib", "/usr/include"});
        QVERIFY(syncSysroot(*m_session, wanted, m_quiet));
        file("/usr/lib/a/new.so", "n");
        fs::remove(m_board + "/usr/include/z.h");
        const auto again = syncSysroot(*m_session, wanted, m_quiet);
        QVERIFY2(again, again ? "" : again.error().detail.c_str());
        QVERIFY(fs::exists(copied("/usr/lib/a/new.so")));
        QVERIFY(!fs::exists(copied("/usr/include/z.h")));
        QVERIFY(fs::read_symlink(copied("/usr/lib/a/libz.so")).is_relative());
    }

    void aBoardCannotWriteThroughALinkOfTheCopy() {
        const auto wanted = request({"/usr/lib"});
        QVERIFY(writeFileAtomically(m_sshd->at("private/keep"), "mine"));
        QVERIFY(syncSysroot(*m_session, wanted, m_quiet));
        fs::create_symlink(m_sshd->at("private"), copied("/usr/lib/evil"));
        file("/usr/lib/evil/keep", "theirs");
        QVERIFY(syncSysroot(*m_session, wanted, m_quiet));
        QCOMPARE(readFile(m_sshd->at("private/keep")).value_or(""), std::string("mine"));
        QCOMPARE(readFile(copied("/usr/lib/evil/keep")).value_or(""), std::string("theirs"));
    }

    void cancelLeavesNoStampAndTheNextRunGoesOn() {
        file("/usr/lib/a/big.so", std::string(32 << 20, 'b'));
        auto wanted = request({"/usr/lib"});
        const auto slow = m_sshd->at("slow-rsync");
        QVERIFY(writeFileAtomically(slow, "#!/bin/sh\nexec rsync --bwlimit=2000 \"$@\"\n", 0755));
        wanted.rsync = slow;
        std::stop_source stop;
        QElapsedTimer timer;
        Progress progress(
            [&](const Event &event) {
                if (event.kind == Event::Kind::advance && event.unit == Event::Unit::bytes && event.done > 0 &&
                    !timer.isValid()) {
                    timer.start();
                    stop.request_stop();
                }
            },
            stop.get_token());
        const auto cancelled = syncSysroot(*m_session, wanted, progress);
        QVERIFY(timer.isValid());
        QVERIFY2(timer.elapsed() < 1500, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(!cancelled);
        QCOMPARE(cancelled.error().kind, ErrorKind::cancelled);
        const auto opened = openSysroot(m_sshd->at("sysroot"));
        QVERIFY(!opened);
        QVERIFY2(opened.error().message.ends_with("was interrupted"), opened.error().message.c_str());
        wanted.rsync = "rsync";
        QVERIFY(syncSysroot(*m_session, wanted, m_quiet));
        QVERIFY(openSysroot(m_sshd->at("sysroot")));
        QCOMPARE(fs::file_size(copied("/usr/lib/a/big.so")), std::uintmax_t(32 << 20));
    }

    void aFolderWithOtherFilesIsNotTouched() {
        QVERIFY(writeFileAtomically(m_sshd->at("sysroot/usr/mine"), "x"));
        const auto refused = syncSysroot(*m_session, request({"/usr/lib"}), m_quiet);
        QVERIFY(!refused);
        QVERIFY2(refused.error().message.ends_with("holds files that are no sysroot of Slipway"),
                 refused.error().message.c_str());
        QVERIFY(fs::exists(m_sshd->at("sysroot/usr/mine")));
        QVERIFY(openSysroot(m_sshd->at("sysroot")).error().message.find("is not a sysroot") != std::string::npos);
    }

    void aBoardWithoutRsyncOrFoldersIsTold() {
        auto wanted = request({"/usr/lib"});
        wanted.facts.tools = std::map<std::string, std::string>{{"tar", "1.34"}};
        const auto noRsync = syncSysroot(*m_session, wanted, m_quiet);
        QVERIFY(!noRsync);
        QCOMPARE(noRsync.error().message, std::string("the board has no rsync, which copying its libraries needs"));
        const auto nothing = syncSysroot(*m_session, request({"/no/such"}), m_quiet);
        QVERIFY(!nothing);
        QVERIFY(nothing.error().message.find("has none of the folders") != std::string::npos);
        QVERIFY(!fs::exists(m_sshd->at("sysroot")));
    }
};

QTEST_GUILESS_MAIN(TestSync)
#include "tst_sync.moc"
