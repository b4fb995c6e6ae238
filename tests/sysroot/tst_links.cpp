// SPDX-License-Identifier: Apache-2.0
//
// Links and linker scripts of a copied board, and the proof that a copy links.

#include "core/base/files.h"
#include "core/base/process.h"
#include "core/sysroot/links.h"
#include "core/sysroot/sysroot.h"

#include <QTemporaryDir>
#include <QTest>

using namespace slipway;

class TestLinks : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    Progress m_quiet;

    [[nodiscard]] fs::path root() const { return fs::path(m_dir->path().toStdString()); }
    void file(const std::string &path, const std::string &text = "x") const {
        QVERIFY(writeFileAtomically(root() / path, text));
    }
    void link(const std::string &path, const std::string &target) const {
        fs::create_directories((root() / path).parent_path());
        fs::create_symlink(target, root() / path);
    }
    [[nodiscard]] std::string targetOf(const std::string &path) const {
        return fs::read_symlink(root() / path).string();
    }

private Q_SLOTS:
    void init() { m_dir = std::make_unique<QTemporaryDir>(); }

    void absoluteLinksLeadIntoTheCopy() {
        file("usr/lib/aarch64-linux-gnu/libz.so.1.2.13");
        link("lib", "usr/lib");
        link("usr/lib/aarch64-linux-gnu/libz.so", "/lib/aarch64-linux-gnu/libz.so.1.2.13");
        link("usr/lib/aarch64-linux-gnu/libz.so.1", "libz.so.1.2.13");
        link("usr/local/cuda", "/etc/alternatives/cuda");
        link("etc/alternatives/cuda", "/usr/local/cuda-12.6");
        file("usr/local/cuda-12.6/version.json");
        link("top", "/");
        QCOMPARE(*makeLinksRelative(root(), m_quiet), std::uint64_t(4));
        QCOMPARE(targetOf("usr/lib/aarch64-linux-gnu/libz.so"),
                 std::string("../../../lib/aarch64-linux-gnu/libz.so.1.2.13"));
        QCOMPARE(targetOf("usr/lib/aarch64-linux-gnu/libz.so.1"), std::string("libz.so.1.2.13"));
        QVERIFY(fs::exists(root() / "usr/lib/aarch64-linux-gnu/libz.so"));
        QVERIFY(fs::exists(root() / "usr/local/cuda/version.json"));
        QVERIFY(fs::equivalent(root() / "top", root()));
        QCOMPARE(*makeLinksRelative(root(), m_quiet), std::uint64_t(0));
    }

    void linksThatClimbOutAreHeldAtTheRoot() {
        file("etc/passwd");
        link("usr/lib/climber", "../../../../../../../../etc/passwd");
        QCOMPARE(*makeLinksRelative(root(), m_quiet), std::uint64_t(1));
        QCOMPARE(targetOf("usr/lib/climber"), std::string("../../etc/passwd"));
    }

    void resolvingFollowsTheBoardsLinksOnly() {
        file("usr/lib/real.so.1");
        link("lib", "usr/lib");
        link("usr/lib/a.so", "/lib/real.so.1");
        link("usr/lib/dangling.so", "nowhere.so");
        link("usr/lib/loop.so", "loop.so");
        link("usr/lib/out.so", "../../../../../../../../../../etc/hostname");
        QCOMPARE(resolveInside(root(), "/lib/a.so"), std::optional(root() / "usr/lib/real.so.1"));
        QVERIFY(!resolveInside(root(), "/lib/dangling.so"));
        QVERIFY(!resolveInside(root(), "/lib/loop.so"));
        QVERIFY(!resolveInside(root(), "/lib/out.so"));
        QVERIFY(!resolveInside(root(), "/../etc/hostname"));
    }

    void linkerScriptsPointToWhatIsThere() {
        const std::string text = "/* GNU ld script\n   GROUP of nothing */\nOUTPUT_FORMAT(elf64-littleaarch64)\n"
                                 "GROUP ( /lib64/libm.so.6  AS_NEEDED ( /lib/aarch64-linux-gnu/libmvec.so.1 ) )\n";
        file("usr/lib/aarch64-linux-gnu/libm.so", text);
        file("usr/lib/aarch64-linux-gnu/libm.so.6");
        file("usr/lib/aarch64-linux-gnu/libmvec.so.1");
        link("lib", "usr/lib");
        QVERIFY(isLinkerScript(text));
        QVERIFY(!isLinkerScript(std::string("\x7f"
                                            "ELF GROUP")));
        QCOMPARE(filesOfScript(text),
                 (std::vector<std::string>{"/lib64/libm.so.6", "/lib/aarch64-linux-gnu/libmvec.so.1"}));
        QCOMPARE(*repairLinkerScripts(root(), m_quiet), std::uint64_t(1));
        const auto now = readFile(root() / "usr/lib/aarch64-linux-gnu/libm.so").value_or("");
        QVERIFY2(
            now.find(
                "GROUP ( /usr/lib/aarch64-linux-gnu/libm.so.6  AS_NEEDED ( /lib/aarch64-linux-gnu/libmvec.so.1 ) )") !=
                std::string::npos,
            now.c_str());
        QCOMPARE(*repairLinkerScripts(root(), m_quiet), std::uint64_t(0));
    }

    void verifyNamesWhatIsWrong() {
        const Target target{.id = "t", .name = "T", .triple = "aarch64-linux-gnu", .arch = "aarch64"};
        file("usr/lib/aarch64-linux-gnu/libm.so", "GROUP ( /nowhere/libm.so.6 )");
        link("usr/lib/aarch64-linux-gnu/libfoo.so", "libfoo.so.1");
        file("usr/lib/aarch64-linux-gnu/libfoo.a");
        fs::copy_file("/proc/self/exe", root() / "usr/lib/aarch64-linux-gnu/libhost.so.1");
        const auto findings = verifySysroot({.path = root()}, target, m_quiet);
        QVERIFY2(findings, findings ? "" : findings.error().message.c_str());
        const auto said = [&](const std::string &subject, const std::string &text) {
            return std::any_of(findings->begin(), findings->end(), [&](const auto &finding) {
                return !finding.good && finding.subject == subject && finding.text.find(text) != std::string::npos;
            });
        };
        QVERIFY(said("/usr/lib/aarch64-linux-gnu/libfoo.so", "leads to libfoo.so.1, which is not in the copy"));
        QVERIFY(said("/usr/lib/aarch64-linux-gnu/libm.so", "names /nowhere/libm.so.6, which is not in the copy"));
        QVERIFY(said("/usr/lib/aarch64-linux-gnu/libhost.so.1", "is for ELF machine 62, needed 183 (aarch64)"));
        QVERIFY(said("start files", "libc6-dev"));
    }

    void aCopyOfThisMachineLinks() {
        const std::string copy =
            "cd / && cp -a --parents usr/lib/x86_64-linux-gnu/*crt*.o "
            "usr/lib/x86_64-linux-gnu/lib{c,m,mvec,pthread,dl,stdc++}.* "
            "usr/lib/x86_64-linux-gnu/lib{c,m,mvec,pthread,dl}[.-]*.so* "
            "usr/lib/x86_64-linux-gnu/libgcc_s.so* usr/lib/x86_64-linux-gnu/ld-linux* "
            "usr/lib/x86_64-linux-gnu/libc_nonshared.a usr/lib64 usr/include/*.h "
            "usr/include/x86_64-linux-gnu/{bits,sys,gnu,asm} "
            "usr/lib/linux/uapi " // where Debian 13's asm headers are links to
            "usr/include/linux usr/include/asm-generic usr/include/c++ usr/include/x86_64-linux-gnu/c++ " +
            root().string() + " 2>/dev/null; ln -s usr/lib usr/lib64 " + root().string() + " 2>/dev/null; true";
        QVERIFY(runChecked({.program = "bash", .arguments = {"-c", copy}}, m_quiet));
        QVERIFY(makeLinksRelative(root(), m_quiet));
        const Target target{.id = "t", .name = "T", .triple = "x86_64-linux-gnu", .arch = "x86_64"};
        const auto findings = verifySysroot({.path = root()}, target, m_quiet);
        QVERIFY(findings);
        for (const auto &finding : *findings)
            QVERIFY2(finding.good || finding.subject.starts_with("/"), (finding.subject + ": " + finding.text).c_str());
    }
};

QTEST_GUILESS_MAIN(TestLinks)
#include "tst_links.moc"
