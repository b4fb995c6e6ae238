// SPDX-License-Identifier: Apache-2.0
//
// The kernel runtime's look-up: which file of a cache a program on a board takes, and why.

#include <slipway/images.h>

#include <QCryptographicHash>
#include <QDateTime>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

namespace runtime = slipway::runtime;

namespace {

void write(const QTemporaryDir &dir, const std::string &name, const QByteArray &bytes) {
    QFile file(dir.filePath(QString::fromStdString(name)));
    QVERIFY(file.open(QIODevice::WriteOnly));
    QCOMPARE(file.write(bytes), bytes.size());
}

QByteArray ptx(const QByteArray &target, const QByteArray &id = "id") {
    return "// meta:id=" + id + "\n// meta:name=k_entry\n.version 8.2\n.target " + target +
           ", debug\n.visible .entry k_entry(){}\n";
}

/// An ELF header as ptxas 13 writes it: ABI version 8, the capability in bits 8 to 15 of the flags.
QByteArray cubin(int number) {
    QByteArray bytes(64, '\0');
    bytes.replace(0, 4,
                  "\x7f"
                  "ELF");
    bytes[8] = 8;
    bytes[18] = char(190);
    bytes[48] = 4;
    bytes[49] = char(number);
    bytes[51] = 6;
    return bytes;
}

std::string key(const std::string &capability, std::optional<std::uint32_t> ptxVersion = 82) {
    return runtime::imageKey("id", capability, ptxVersion);
}

const std::string otherHash(64, 'a');

} // namespace

class TestRuntime : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void sha256IsSha256() {
        QCOMPARE(runtime::sha256Hex(""),
                 std::string("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
        QCOMPARE(runtime::sha256Hex("abc"),
                 std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        QCOMPARE(runtime::sha256Hex(std::string(1000000, 'a')),
                 std::string("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
        for (const std::size_t length : {55u, 56u, 63u, 64u, 119u, 120u}) // where padding takes another block
            QCOMPARE(QString::fromStdString(runtime::sha256Hex(std::string(length, 'x'))),
                     QString::fromLatin1(
                         QCryptographicHash::hash(QByteArray(int(length), 'x'), QCryptographicHash::Sha256).toHex()));
    }

    void keysAreTeenygrads() {
        // sha256 of "fill_generated__f32" "sm_87" 52 00 00 00, by sha256sum
        QCOMPARE(runtime::imageKey("fill_generated__f32", "sm_87", 82),
                 std::string("0913911c68ad71d8554533b24ce74aeeefcde9e832f9355ff412430d86fda6d2"));
        QVERIFY(runtime::imageKey("id", "sm_87", 82) != runtime::imageKey("id", "sm_87", std::nullopt));
    }

    void theExactCubinComesFirstThenTheCapabilitysThenThePtx() {
        QTemporaryDir dir;
        write(dir, "k_" + key("sm_87") + ".o", ptx("sm_87"));
        write(dir, "k_" + key("sm_87") + ".cubin", cubin(87));
        write(dir, "k_" + otherHash + ".cubin", cubin(87));
        write(dir, "k_" + key("sm_80") + ".o", ptx("sm_80"));
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, 82);
        QCOMPARE(found.images.size(), std::size_t(4));
        QCOMPARE(found.images[0].path, dir.path().toStdString() + "/k_" + key("sm_87") + ".cubin");
        QVERIFY(found.images[0].exact);
        QCOMPARE(found.images[0].entry, std::string("k_entry")); // from the PTX beside it
        QCOMPARE(found.images[1].path, dir.path().toStdString() + "/k_" + otherHash + ".cubin");
        QVERIFY(!found.images[1].exact);
        QCOMPARE(found.images[1].entry, std::string("k"));
        QCOMPARE(found.images[2].target, std::string("sm_87"));
        QVERIFY(found.images[2].exact);
        QCOMPARE(found.images[3].target, std::string("sm_80"));
    }

    void withoutTheExactPtxTheHighestThatRunsIsTaken() {
        QTemporaryDir dir;
        for (const char *target : {"sm_53", "sm_80", "sm_86", "sm_89", "sm_90a"})
            write(dir, "k_" + key(target) + ".o", ptx(target));
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, std::nullopt);
        QCOMPARE(found.images.size(), std::size_t(3));
        QCOMPARE(found.images[0].target, std::string("sm_86"));
        QVERIFY(!found.images[0].exact);
        QCOMPARE(found.images[2].target, std::string("sm_53"));
        QCOMPARE(found.unusable.size(), std::size_t(2));
    }

    void theKeyDependsOnThePtxVersionOfTheEnvironment() {
        QTemporaryDir dir;
        write(dir, "k_" + key("sm_87", 82) + ".o", ptx("sm_87"));
        QVERIFY(runtime::lookUp(dir.path().toStdString(), "k", 87, 82).images.at(0).exact);
        QVERIFY(!runtime::lookUp(dir.path().toStdString(), "k", 87, 74).images.at(0).exact);
        QVERIFY(!runtime::lookUp(dir.path().toStdString(), "k", 87, std::nullopt).images.at(0).exact);
    }

    void ptxRunsByTheRulesOfItsSuffix_data() {
        QTest::addColumn<QString>("target");
        QTest::addColumn<int>("device");
        QTest::addColumn<bool>("runs");
        QTest::newRow("older") << "sm_80" << 87 << true;
        QTest::newRow("equal") << "sm_87" << 87 << true;
        QTest::newRow("newer") << "sm_89" << 87 << false;
        QTest::newRow("a exact") << "sm_90a" << 90 << true;
        QTest::newRow("a newer") << "sm_90a" << 100 << false;
        QTest::newRow("f family") << "sm_100f" << 103 << true;
        QTest::newRow("f other family") << "sm_100f" << 110 << false;
        QTest::newRow("f older member") << "sm_121f" << 120 << false;
        QTest::newRow("Thor's old name") << "sm_101a" << 110 << true;
        QTest::newRow("Thor reported as 10.1") << "sm_110f" << 101 << true;
        QTest::newRow("no target") << "" << 87 << false;
        QTest::newRow("nonsense") << "sm_" << 87 << false;
    }
    void ptxRunsByTheRulesOfItsSuffix() {
        QFETCH(QString, target);
        QFETCH(int, device);
        QTEST(runtime::detail::ptxRunsOn(target.toStdString(), device), "runs");
    }

    void aCubinOfAnotherCapabilityIsNoCandidate() {
        QTemporaryDir dir;
        write(dir, "k_" + key("sm_86") + ".cubin", cubin(86));
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, 82);
        QVERIFY(found.images.empty());
        QCOMPARE(found.unusable, std::vector<std::string>{"k_" + key("sm_86") + ".cubin (for sm_86)"});
    }

    void filesOfOtherKernelsAndLeftoversAreNotTaken() {
        QTemporaryDir dir;
        const auto hash = key("sm_87");
        for (const std::string &name :
             std::vector<std::string>{"kk_" + hash + ".o", "k_" + hash + ".o.tmp.12", "k_" + hash + ".mlir",
                                      "k_short.o", "k_" + std::string(64, 'G') + ".o", "k_b_" + hash + ".o"})
            write(dir, name, ptx("sm_87"));
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, 82);
        QVERIFY(found.images.empty());
        QVERIFY(found.unusable.empty());
        QVERIFY(std::count(found.names.begin(), found.names.end(), "k_b") == 1);
    }

    void ofTwoBuildsOfOneKernelTheYoungerIsTaken() {
        QTemporaryDir dir;
        const auto oldName = "k_" + runtime::imageKey("old", "sm_87", 82) + ".o";
        const auto newName = "k_" + runtime::imageKey("new", "sm_87", 82) + ".o";
        write(dir, oldName, ptx("sm_87", "old"));
        write(dir, newName, ptx("sm_87", "new"));
        QFile file(dir.filePath(QString::fromStdString(oldName)));
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.setFileTime(QDateTime::fromSecsSinceEpoch(1000000000), QFileDevice::FileModificationTime));
        QCOMPARE(runtime::lookUp(dir.path().toStdString(), "k", 87, 82).images.at(0).id, std::string("new"));
    }

    void textWithoutMetaLinesNamesItsEntryItself() {
        QTemporaryDir dir;
        write(dir, "k_" + otherHash + ".o",
              "// Generated by LLVM\r\n.version 7.4\r\n.target sm_87\r\n.visible .entry $name_1(\r\n){}");
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, std::nullopt);
        QCOMPARE(found.images.at(0).entry, std::string("$name_1"));
        QCOMPARE(found.images.at(0).target, std::string("sm_87"));
    }

    void anImageForTheDriverEndsInNulsAlsoWhenItCannotBeRead() {
        QTemporaryDir dir;
        write(dir, "three", "abc");
        const auto path = dir.filePath("three").toStdString();
        QCOMPARE(runtime::detail::readImageFile(path), "abc" + std::string(64, '\0'));
        QCOMPARE(runtime::detail::readFile(path, 2), std::string("ab"));
        QCOMPARE(runtime::detail::readImageFile(dir.filePath("none").toStdString()), std::string(64, '\0'));
    }

    void anEntryBehindALongHeadIsFound() {
        QTemporaryDir dir;
        const QByteArray comments = QByteArray("// nothing to see here\n").repeated(1000);
        write(dir, "k_" + otherHash + ".o",
              ".version 8.2\n.target sm_87\n" + comments + ".visible .entry far_away(){}\n");
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, std::nullopt);
        QCOMPARE(found.images.at(0).entry, std::string("far_away"));
    }

    void aFolderIsListedOnceAndAgainWhenItChanged() {
        QTemporaryDir dir;
        const auto setAge = [&dir] { // an old folder: a fresh one could change again unseen
            const timespec times[2] = {{1000000000, 0}, {1000000000, 0}};
            QCOMPARE(::utimensat(AT_FDCWD, dir.path().toStdString().c_str(), times, 0), 0);
        };
        write(dir, "a_" + otherHash + ".o", ptx("sm_87"));
        setAge();
        runtime::Folder folder(dir.path().toStdString());
        QCOMPARE(folder.lookUp("a", 87, 82).images.size(), std::size_t(1));
        write(dir, "b_" + otherHash + ".o", ptx("sm_87"));
        setAge();
        QCOMPARE(folder.lookUp("b", 87, 82).images.size(), std::size_t(0)); // the list was kept
        QCOMPARE(folder.lookUp("b", 87, 82).names, std::vector<std::string>{"a"});
        write(dir, "c_" + otherHash + ".o", ptx("sm_87"));
        QCOMPARE(folder.lookUp("b", 87, 82).images.size(), std::size_t(1));
        QCOMPARE(folder.lookUp("c", 87, 82).images.size(), std::size_t(1));
        write(dir, "d_" + otherHash + ".o", ptx("sm_87")); // at once, within the clock of the file system
        QCOMPARE(folder.lookUp("d", 87, 82).images.size(), std::size_t(1));
        QVERIFY(dir.remove());
        QVERIFY(!folder.lookUp("a", 87, 82).folderExists);
    }

    void emptyAndTruncatedFilesAreUnreadable() {
        QTemporaryDir dir;
        write(dir, "k_" + key("sm_87") + ".o", "");
        write(dir, "k_" + otherHash + ".cubin", cubin(87).left(50));
        const auto found = runtime::lookUp(dir.path().toStdString(), "k", 87, 82);
        QVERIFY(found.images.empty());
        QCOMPARE(found.unusable.size(), std::size_t(2));
        QVERIFY(!runtime::lookUp("/nonexistent", "k", 87, 82).folderExists);
    }

    void thePtxVersionOfTheEnvironmentIsANumberOrNothing_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("version");
        QTest::newRow("82") << QByteArray("82") << 82;
        QTest::newRow("dotted") << QByteArray("8.2") << 0;
        QTest::newRow("empty") << QByteArray("") << 0;
        QTest::newRow("huge") << QByteArray("99999999999") << 0;
    }
    void thePtxVersionOfTheEnvironmentIsANumberOrNothing() {
        QFETCH(QByteArray, text);
        QFETCH(int, version);
        qputenv("TEENYC_PTX_VERSION", text);
        const auto found = runtime::ptxVersionOfEnvironment();
        qunsetenv("TEENYC_PTX_VERSION");
        QCOMPARE(int(found.value_or(0)), version);
    }
};

QTEST_APPLESS_MAIN(TestRuntime)
#include "tst_runtime.moc"
