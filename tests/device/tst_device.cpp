// SPDX-License-Identifier: Apache-2.0
//
// Saved boards: addresses as people type them, and the JSON form.

#include "core/device/ciphers.h"
#include "core/device/device.h"

#include <QTest>

using namespace slipway;

class TestDevice : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void addresses_data() {
        QTest::addColumn<QString>("address");
        QTest::addColumn<QString>("user");
        QTest::addColumn<QString>("host");
        QTest::addColumn<int>("port");
        QTest::newRow("all") << "nvidia@orin.local:2222"
                             << "nvidia"
                             << "orin.local" << 2222;
        QTest::newRow("host") << "orin"
                              << ""
                              << "orin" << 0;
        QTest::newRow("user") << "nvidia@192.168.55.1"
                              << "nvidia"
                              << "192.168.55.1" << 0;
        QTest::newRow("port") << "orin:22"
                              << ""
                              << "orin" << 22;
        QTest::newRow("IPv6 with port") << "[::1]:2222"
                                        << ""
                                        << "::1" << 2222;
        QTest::newRow("IPv6 in brackets") << "nvidia@[fe80::1%usb0]"
                                          << "nvidia"
                                          << "fe80::1%usb0" << 0;
        QTest::newRow("bare IPv6") << "nvidia@fe80::1"
                                   << "nvidia"
                                   << "fe80::1" << 0;
        QTest::newRow("domain user") << "me@corp.example@orin"
                                     << "me@corp.example"
                                     << "orin" << 0;
    }
    void addresses() {
        QFETCH(QString, address);
        QFETCH(QString, user);
        QFETCH(QString, host);
        QFETCH(int, port);
        const auto device = Device::fromAddress("nano", address.toStdString());
        QVERIFY2(device, device ? "" : device.error().message.c_str());
        QCOMPARE(QString::fromStdString(device->user), user);
        QCOMPARE(QString::fromStdString(device->host), host);
        QCOMPARE(device->port, port);
        QCOMPARE(device->name, std::string("nano"));
    }

    void wrongAddressesAreRefusedAsUsage_data() {
        QTest::addColumn<QString>("address");
        QTest::addColumn<QString>("text");
        QTest::newRow("empty") << ""
                               << "is not an address";
        QTest::newRow("no host") << "nvidia@"
                                 << "is not an address";
        QTest::newRow("no user") << "@orin"
                                 << "has no usable user name";
        QTest::newRow("port 0") << "orin:0"
                                << "needed a number from 1 to 65535";
        QTest::newRow("port text") << "orin:ssh"
                                   << "has the port \"ssh\"";
        QTest::newRow("port too large") << "orin:65536"
                                        << "needed a number from 1 to 65535";
        QTest::newRow("open bracket") << "[::1"
                                      << "lacks the closing ]";
        QTest::newRow("after bracket") << "[::1]x"
                                       << "is not an address";
        QTest::newRow("an option") << "-oProxyCommand=x"
                                   << "is not an address";
        QTest::newRow("a user that is an option") << "-l@orin"
                                                  << "has no usable user name";
        QTest::newRow("shell") << "orin;reboot"
                               << "is not an address";
        QTest::newRow("path") << "orin/etc"
                              << "is not an address";
        QTest::newRow("newline") << "orin\nx"
                                 << "is not an address";
    }
    void wrongAddressesAreRefusedAsUsage() {
        QFETCH(QString, address);
        QFETCH(QString, text);
        const auto device = Device::fromAddress("nano", address.toStdString());
        QVERIFY(!device);
        QCOMPARE(device.error().kind, ErrorKind::usage);
        QVERIFY2(device.error().message.find(text.toStdString()) != std::string::npos, device.error().message.c_str());
    }

    void namesAreSafeForFiles() {
        for (const char *name : {"", ".", "../x", "-x", "a b", "a/b"})
            QVERIFY2(!Device::fromAddress(name, "orin"), name);
        for (const char *name : {"nano", "Orin-2", "lab_3.left"})
            QVERIFY2(Device::fromAddress(name, "orin"), name);
    }

    void jsonKeepsEverythingAndNoSecret() {
        const Device device{.name = "nano",
                            .host = "orin",
                            .port = 2222,
                            .user = "nvidia",
                            .identity = "~/.ssh/board",
                            .target = "jetson-orin-nano",
                            .machineId = "abc",
                            .knownHosts = "/k",
                            .isVirtual = true,
                            .lastSeen = "2026-11-29T16:00:00Z"};
        const auto read = Device::fromJson(device.toJson(), "devices.json");
        QVERIFY(read);
        QCOMPARE(jsonText(read->toJson()), jsonText(device.toJson()));
        QCOMPARE(jsonText(Device{.name = "a", .host = "b"}.toJson()),
                 std::string("{\n  \"name\": \"a\",\n  \"host\": \"b\"\n}\n"));
    }

    void brokenEntriesNameTheirKey_data() {
        QTest::addColumn<QString>("json");
        QTest::addColumn<QString>("text");
        QTest::newRow("no host") << R"({"name":"a"})"
                                 << "\"host\" is missing";
        QTest::newRow("port text") << R"({"name":"a","host":"b","port":"22"})"
                                   << "\"port\" is string";
        QTest::newRow("port range") << R"({"name":"a","host":"b","port":70000})"
                                    << "\"port\" is 70000";
        QTest::newRow("bad host") << R"({"name":"a","host":"-oX"})"
                                  << "\"host\" is \"-oX\"";
        QTest::newRow("list") << "[]"
                              << "needed an object";
    }
    void brokenEntriesNameTheirKey() {
        QFETCH(QString, json);
        QFETCH(QString, text);
        const auto device = Device::fromJson(*parseJson(json.toStdString(), "t"), "devices.json");
        QVERIFY(!device);
        QVERIFY2(device.error().message.find(text.toStdString()) != std::string::npos, device.error().message.c_str());
    }

    void theFasterCipherIsAskedForFirst_data() {
        QTest::addColumn<bool>("here");
        QTest::addColumn<bool>("there");
        QTest::addColumn<QString>("up");
        QTest::addColumn<QString>("down");
        QTest::newRow("AES on both sides") << true << true << "aes128-gcm@openssh.com" << "aes128-gcm@openssh.com";
        QTest::newRow("not on the board") << true << false << "chacha20-poly1305@openssh.com" << "chacha20-poly1305@openssh.com";
        QTest::newRow("not here") << false << true << "chacha20-poly1305@openssh.com" << "chacha20-poly1305@openssh.com";
    }
    void theFasterCipherIsAskedForFirst() {
        QFETCH(bool, here);
        QFETCH(bool, there);
        QFETCH(QString, up);
        QFETCH(QString, down);
        const auto order = cipherOrder(here, there);
        QCOMPARE(QString::fromStdString(order.up).section(',', 0, 0), up);
        QCOMPARE(QString::fromStdString(order.down).section(',', 0, 0), down);
        for (const char *other : {"aes128-gcm@openssh.com", "chacha20-poly1305@openssh.com", "aes128-ctr"})
            QVERIFY2(order.up.find(other) != std::string::npos && order.down.find(other) != std::string::npos, other);
    }

    void secretsCopyButDoNotPrint() {
        const Secret secret("open sesame");
        const Secret copy = secret;
        QCOMPARE(std::string(copy.reveal()), std::string("open sesame"));
        QVERIFY(!copy.empty());
        QVERIFY(Secret().empty() && Secret("").empty());
        QCOMPARE(std::string(Secret().reveal()), std::string());
    }
};

QTEST_APPLESS_MAIN(TestDevice)
#include "tst_device.moc"
