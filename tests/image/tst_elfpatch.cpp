// SPDX-License-Identifier: Apache-2.0
//
// Library paths are removed from real programs, which then still run.

#include "core/base/process.h"
#include "core/image/elfimage.h"
#include "core/image/elfpatch.h"

#include <QTemporaryDir>
#include <QTest>

using namespace slipway;

class TestElfPatch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void onlyTheWantedPiecesStayAndTheProgramRuns_data() {
        QTest::addColumn<QString>("path");
        QTest::addColumn<QString>("tags");
        QTest::addColumn<QString>("left");
        QTest::newRow("nothing stays") << "/home/dev/build" << "-Wl,--enable-new-dtags" << "";
        QTest::newRow("the end stays") << "/home/dev/build:$ORIGIN/../lib" << "-Wl,--enable-new-dtags" << "$ORIGIN/../lib";
        QTest::newRow("the beginning stays") << "$ORIGIN/lib:/home/dev/build" << "-Wl,--disable-new-dtags" << "$ORIGIN/lib";
        QTest::newRow("the middle goes") << "$ORIGIN:/home/dev/a:$ORIGIN/b" << "-Wl,--enable-new-dtags" << "$ORIGIN:$ORIGIN/b";
        QTest::newRow("all stay") << "$ORIGIN" << "-Wl,--disable-new-dtags" << "$ORIGIN";
    }
    void onlyTheWantedPiecesStayAndTheProgramRuns() {
        QFETCH(QString, path);
        QFETCH(QString, tags);
        QFETCH(QString, left);
        const auto before = build(path, tags);
        const auto after = withRpath(before, [](std::string_view piece) { return piece.starts_with("$ORIGIN"); });
        QVERIFY2(after, after ? "" : after.error().message.c_str());
        QCOMPARE(after->size(), before.size());
        const auto elf = readElf(*after);
        QVERIFY(elf && elf->damage.empty());
        auto pieces = elf->rpath;
        pieces.insert(pieces.end(), elf->runpath.begin(), elf->runpath.end());
        QCOMPARE(QString::fromStdString(fmt::format("{}", fmt::join(pieces, ":"))), left);
        QCOMPARE(elf->needed, readElf(before)->needed);
        const auto program = fs::path(m_dir.path().toStdString()) / "patched";
        QVERIFY(writeFileAtomically(program, *after, 0755));
        const auto finished = run({.program = program.string()}, m_progress);
        QVERIFY(finished);
        QCOMPARE(finished->exitCode, 7);
    }

    void damagedFilesAreErrors() {
        const auto whole = build("/home/dev/build:$ORIGIN", "-Wl,--enable-new-dtags");
        const auto keep = [](std::string_view) { return false; };
        QVERIFY(!withRpath("", keep));
        QVERIFY(!withRpath("text", keep));
        for (std::size_t length = 1; length < whole.size(); length += whole.size() / 97 + 1)
            (void)withRpath(whole.substr(0, length), keep);
        for (std::size_t at = 0; at < 64 + 13 * 56; ++at) { // header and segments
            auto broken = whole;
            broken[at] = char(0xff);
            (void)withRpath(std::move(broken), keep);
        }
    }

private:
    std::string build(const QString &path, const QString &tags) {
        const fs::path dir(m_dir.path().toStdString());
        (void)writeFileAtomically(dir / "m.c", "int main(void) { return 7; }\n");
        const auto finished = run({.program = "cc", .arguments = {(dir / "m.c").string(), "-o", (dir / "m").string(), tags.toStdString(), "-Wl,-rpath," + path.toStdString()}}, m_progress);
        return finished && finished->exitCode == 0 ? readFile(dir / "m").value() : std::string();
    }

    QTemporaryDir m_dir;
    Progress m_progress;
};

QTEST_APPLESS_MAIN(TestElfPatch)
#include "tst_elfpatch.moc"
