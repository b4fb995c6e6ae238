// SPDX-License-Identifier: Apache-2.0
//
// Two boards on one address, and one that was flashed again, end to end: virtual boards behind the command line, told apart by
// host key, machine id and serial number.

#include "tests/app/commandline.h"

#include "core/base/files.h"
#include "core/device/virtualboard.h"

#include <QTest>

using namespace slipway;

class TestSameAddress : public QObject {
    Q_OBJECT

    CommandLine m_cli;
    Progress m_quiet;
    VirtualBoard m_board;

    VirtualBoardOptions options() const {
        return {.resources = SLIPWAY_BINARY_DIR "/share/slipway/virtualboard", .state = m_cli.path("board").toStdString(),
                .cache = fs::path(SLIPWAY_BINARY_DIR) / "test-cache/slipway/debs"};
    }
    /// Changes files of the board while it is off; its address and host key stay.
    void become(const std::string &machineId, const std::string &serial) {
        QVERIFY(stopVirtualBoard(options(), m_quiet));
        fs::remove(m_board.root / "etc/machine-id");
        QVERIFY(writeFileAtomically(m_board.root / "etc/machine-id", machineId + "\n", 0444));
        QVERIFY(writeFileAtomically(m_board.root / "sys/firmware/devicetree/base/serial-number", serial + std::string(1, '\0')));
        const auto again = startVirtualBoard(options(), m_quiet);
        QVERIFY(again);
        QCOMPARE(again->port, m_board.port);
    }
    QByteArray warningOf(const QStringList &arguments) const {
        for (const auto &line : m_cli.run(arguments).errors.split('\n'))
            if (const auto at = line.indexOf("warning: "); at >= 0) // behind a sign and the depth of its step
                return line.mid(at + 9);
        return {};
    }
    std::string identityItem() const {
        const auto document = m_cli.run({"device", "test", "nano", "--json"}).json();
        for (const auto &item : document["items"])
            if (item["id"] == "identity")
                return item["status"].get<std::string>() + ": " + item["found"].get<std::string>();
        return "none";
    }

private Q_SLOTS:
    void initTestCase() {
        const auto board = startVirtualBoard(options(), m_quiet);
        QVERIFY2(board, board ? "" : (board.error().message + board.error().detail).c_str());
        m_board = *board;
        m_cli.setVariable("HOME", m_cli.path("home"));
        fs::create_directories(m_cli.path("home/.ssh").toStdString());
        QVERIFY(writeFileAtomically(m_cli.path("home/.ssh/known_hosts").toStdString(), m_board.knownHost + "\n", 0600));
        const auto address = QString("%1@127.0.0.1:%2").arg(QString::fromStdString(m_board.user)).arg(m_board.port);
        QCOMPARE(m_cli.run({"device", "add", "nano", address, "--identity", QString::fromStdString(m_board.identity.string())}).code, 0);
    }
    void cleanupTestCase() { (void)stopVirtualBoard(options(), m_quiet); }

    void boardsAreToldApartOnOneAddress() {
        become("11111111111111111111111111111111", "1424920000001");
        QCOMPARE(warningOf({"device", "facts", "nano"}), QByteArray());
        QVERIFY2(identityItem().starts_with("pass: "), identityItem().c_str());

        become("22222222222222222222222222222222", "1424920000001");
        QCOMPARE(warningOf({"device", "facts", "nano"}),
                 QByteArray("nano was reflashed: the same board (serial number 1424920000001) with a new system; to accept it: slipway device trust nano --replace"));
        QCOMPARE(identityItem(), std::string("warn: nano was reflashed: the same board (serial number 1424920000001) with a new system"));
        QCOMPARE(m_cli.run({"device", "trust", "nano", "--replace"}).code, 0);
        QCOMPARE(warningOf({"device", "facts", "nano"}), QByteArray());

        become("22222222222222222222222222222222", "1424920000002"); // the same SD card in another board
        QCOMPARE(warningOf({"device", "facts", "nano"}),
                 QByteArray("another board answers as nano: serial number 1424920000002, the last time 1424920000001; check the address; to accept it: "
                            "slipway device remove nano, then slipway device add"));
        QCOMPARE(identityItem(), std::string("warn: another board answers as nano: serial number 1424920000002, the last time 1424920000001"));
    }
};

QTEST_GUILESS_MAIN(TestSameAddress)
#include "tst_sameaddress.moc"
