// SPDX-License-Identifier: Apache-2.0
//
// Reading and pruning cache directories: ours, teenyc's, loose files, and what interrupted runs leave.

#include "core/kernel/comparecaches.h"
#include "core/kernel/journal.h"
#include "core/kernel/workfolder.h"

#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

using namespace slipway;

namespace {

const std::string hashA(64, 'a');
const std::string hashB(64, 'b');

std::string ptx(const std::string &entry, const std::string &target = "sm_87") {
    return ".version 8.2\n.target " + target + "\n.address_size 64\n\n.visible .entry " + entry +
           "(\n    .param .u64 p\n)\n{\n    ret;\n}\n";
}

} // namespace

class TestCache : public QObject {
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_dir;
    Progress m_progress;
    [[nodiscard]] fs::path dir() const { return m_dir->path().toStdString(); }
    void write(const std::string &name, std::string_view text) const {
        [&] { QVERIFY(writeFileAtomically(dir() / name, text).has_value()); }();
    }
    KernelCache read() {
        auto cache = KernelCache::read(dir(), m_progress);
        [&] { QVERIFY2(cache.has_value(), cache ? "" : cache.error().message.c_str()); }();
        return cache ? *cache : KernelCache{};
    }
    [[nodiscard]] std::string remarks(const CacheEntry &entry) const {
        return fmt::format("{}", fmt::join(entry.remarks, "; "));
    }

private Q_SLOTS:
    void init() { m_dir = std::make_unique<QTemporaryDir>(); }

    void anEmptyDirectoryHasNoEntries() { QCOMPARE(read().entries.size(), std::size_t(0)); }

    void aMissingDirectoryIsAnError() {
        const auto cache = KernelCache::read(dir() / "none", m_progress);
        QVERIFY(!cache.has_value());
        QVERIFY(cache.error().message.ends_with("/none is not a directory (needed a kernel cache)"));
    }

    void filesOfOneKernelAreOneEntry() {
        write("relu_" + hashA + ".o", ptx("relu_entry_point"));
        write("relu_" + hashA + ".mlir", "module {}");
        write("relu_" + hashA + ".rs", "fn main() {}");
        write("relu_" + hashA + ".lock", "");
        const auto cache = read();
        QCOMPARE(cache.entries.size(), std::size_t(1));
        const auto &entry = cache.entries[0];
        QCOMPARE(entry.name, std::string("relu"));
        QCOMPARE(entry.hash, hashA);
        QCOMPARE(entry.companions.size(), std::size_t(3));
        QCOMPARE(entry.bytes, std::uint64_t(ptx("relu_entry_point").size() + 9 + 12));
        QCOMPARE(entry.facts->target->sm(), std::string("sm_87"));
        QCOMPARE(entry.facts->entries.at(0).name, std::string("relu_entry_point"));
        QCOMPARE(remarks(entry), std::string());
    }

    void entriesAreSortedByNameThenHash() {
        write("b_" + hashA + ".o", ptx("b"));
        write("a_" + hashB + ".o", ptx("a"));
        write("a_" + hashA + ".o", ptx("a", "sm_90"));
        const auto cache = read();
        QCOMPARE(cache.entries[0].hash, hashA);
        QCOMPARE(cache.entries[1].hash, hashB);
        QCOMPARE(cache.entries[2].name, std::string("b"));
    }

    void looseFilesAreEntriesToo() {
        write("soft.ptx", ptx("soft"));
        write("README.md", "not a kernel");
        const auto cache = read();
        QCOMPARE(cache.entries.size(), std::size_t(1));
        QCOMPARE(cache.entries[0].name, std::string("soft"));
        QCOMPARE(cache.entries[0].hash, std::string());
    }

    void whatLooksWrongIsRemarked() {
        write("a_" + hashA + ".o", ptx("a"));
        write("a_" + hashB + ".o", ptx("a"));
        write("empty_" + hashA + ".o", "");
        write("half_" + hashA + ".o.tmp.1", "x");
        write("lone_" + hashA + ".mlir", "module {}");
        const auto cache = read();
        QCOMPARE(remarks(cache.entries.at(0)), std::string());
        QCOMPARE(remarks(cache.entries.at(1)), "duplicate of a_" + hashA + ".o");
        QCOMPARE(remarks(cache.entries.at(2)), std::string("the image is empty"));
        QCOMPARE(remarks(cache.entries.at(3)), "leftover of an interrupted run: half_" + hashA + ".o.tmp.1");
        QCOMPARE(remarks(cache.entries.at(4)), std::string("no image"));
    }

    void recordsAreAttachedAndOrphansNamed() {
        write("a_" + hashA + ".o", ptx("a"));
        StoredRecord stored;
        stored.record = {.name = "a", .hash = hashA, .kind = "llvm-ir", .source = "kernels/a.ll", .why = "new"};
        stored.inputs = {{.file = dir() / "kernels" / "a.ll"}};
        stored.image.file = "a_" + hashA + ".o";
        QVERIFY(mergeRecords(dir(), {stored}, m_progress).has_value());
        const auto cache = read();
        QCOMPARE(cache.entries.size(), std::size_t(1));
        QCOMPARE(cache.entries[0].record->source, std::string("kernels/a.ll"));
        QCOMPARE(remarks(cache.entries[0]), std::string("orphan: its source kernels/a.ll is gone"));
    }

    void recordsSurviveTheirFile() {
        KernelRecord record{
            .name = "a", .hash = hashA, .id = "id", .kind = "cuda", .source = "a.cu", .sourceHash = hashB};
        record.target = Capability{90, Capability::Flavour::architecture};
        record.ptx = PtxVersion{8, 2};
        record.entries = {"a", "b"};
        record.registers = 17;
        record.spillBytes = 0;
        record.builtAt = 1764430000;
        const auto again = kernelRecordFromJson(toJson(record), "test");
        QVERIFY(again.has_value());
        QCOMPARE(again->target->sm(), std::string("sm_90a"));
        QCOMPARE(again->ptx->text(), std::string("8.2"));
        QCOMPARE(again->entries, record.entries);
        QCOMPARE(again->registers, 17);
        QCOMPARE(again->sharedBytes, -1);
        QCOMPARE(again->spillBytes, 0);
        QCOMPARE(again->builtAt, 1764430000L);
    }

    void aBrokenRecordsFileCountsAsNone_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::newRow("no json") << QByteArray("{");
        QTest::newRow("format") << QByteArray(R"({"format": 99, "kernels": []})");
        QTest::newRow("no list") << QByteArray(R"({"format": 1, "kernels": {}})");
        QTest::newRow("outside") << QByteArray(
            R"({"format": 1, "kernels": [{"name": "a", "hash": "", "image": {"file": "../victim", "size": 1, "mtime": 1, "inode": 1, "sha256": ""}}]})");
    }
    void aBrokenRecordsFileCountsAsNone() {
        QFETCH(QByteArray, text);
        write(recordsFileName, text.toStdString());
        std::string remark;
        QVERIFY(readStoredRecords(dir(), &remark).empty());
        QVERIFY2(remark.ends_with("what is in the cache is made again"), remark.c_str());
        QVERIFY(!readKernelRecords(dir()).has_value());
    }

    void aMergeRemovesOnlyWhatNothingRefersTo() {
        const auto stored = [](const std::string &source, const std::string &image) {
            StoredRecord made;
            made.record = {.name = "k", .hash = hashA, .kind = "llvm-ir", .source = source};
            made.image.file = image;
            return made;
        };
        for (const auto *name : {"old.o", "shared.o", "new.o"})
            write(name, ptx("k"));
        QVERIFY(
            mergeRecords(dir(), {stored("a", "old.o"), stored("b", "shared.o"), stored("c", "shared.o")}, m_progress)
                .has_value());
        QVERIFY(mergeRecords(dir(), {stored("a", "new.o"), stored("b", "new.o")}, m_progress).has_value());
        QVERIFY(!fs::exists(dir() / "old.o"));
        QVERIFY(fs::exists(dir() / "shared.o"));
        QVERIFY(fs::exists(dir() / "new.o"));
    }

    void cachesAreComparedByKernelAndGpu() {
        const auto put = [&](const std::string &cache, const std::string &name, const std::string &text) {
            write(cache + "/" + name, text);
        };
        put("a", "same_" + hashA + ".o", ptx("same"));
        put("b", "same_" + hashA + ".o", ptx("same"));
        put("a", "renamed_" + hashA + ".o", ptx("renamed"));
        put("b", "renamed_" + hashB + ".o", ptx("renamed"));
        put("a", "changed_" + hashA + ".o", ptx("changed"));
        put("b", "changed_" + hashA + ".o", ptx("changed") + "// more\n");
        put("a", "fast_" + hashA + ".o", ptx("fast"));
        put("b", "fast_" + hashA + ".o", ptx("fast"));
        put("b", "fast_" + hashA + ".cubin", "code");
        put("a", "two_" + hashA + ".o", ptx("two", "sm_87"));
        put("a", "two_" + hashB + ".o", ptx("two", "sm_90"));
        put("b", "two_" + hashB + ".o", ptx("two", "sm_90"));
        put("b", "late_" + hashA + ".o", ptx("late"));
        const auto a = KernelCache::read(dir() / "a", m_progress);
        const auto b = KernelCache::read(dir() / "b", m_progress);
        const auto differences = compareCaches(*a, *b, m_progress);
        QVERIFY(differences.has_value());
        std::vector<std::string> texts;
        for (const auto &difference : *differences) {
            const auto *entry = difference.left ? difference.left : difference.right;
            texts.push_back(fmt::format("{} {}: {}", difference.name, entry->facts->target->sm(),
                                        differenceName(difference.kind)));
        }
        const std::vector<std::string> wanted = {
            "changed sm_87: other content", "fast sm_87: other cubin",   "late sm_87: only right", "renamed sm_87: other name",
            "same sm_87: same",             "two sm_87: only left",      "two sm_90: same"};
        QVERIFY2(texts == wanted, fmt::format("{}", fmt::join(texts, ", ")).c_str());
    }

    /// A folder such as a run that was killed leaves: no process holds its lock.
    fs::path abandonedFolder(const std::vector<std::string> &kernels) {
        auto folder = WorkFolder::in(dir());
        auto journal = RunJournal::in(folder->path(), 4096);
        for (const auto &kernel : kernels) {
            write(kernel + "_" + hashA + ".o", ptx(kernel));
            StoredRecord stored;
            stored.record = {.name = kernel, .hash = hashA, .kind = "llvm-ir", .source = kernel + ".ll"};
            stored.image = *Contents::entry(dir() / (kernel + "_" + hashA + ".o"), true);
            stored.image.file = kernel + "_" + hashA + ".o";
            journal->add({stored});
        }
        const auto path = dir() / ".slipway-killed";
        fs::copy(folder->path(), path, fs::copy_options::recursive);
        return path;
    }
    [[nodiscard]] std::string recordedNames() const {
        std::vector<std::string> names;
        for (const auto &stored : readStoredRecords(dir()))
            names.push_back(stored.record.name);
        std::sort(names.begin(), names.end());
        return fmt::format("{}", fmt::join(names, " "));
    }

    void whatAKilledRunFinishedIsTakenOverAndItsFolderGoes() {
        const auto folder = abandonedFolder({"a", "b"});
        const auto removed = takeOverAbandoned(dir(), m_progress);
        QVERIFY(removed.has_value());
        QCOMPARE(*removed, std::vector<fs::path>{folder});
        QVERIFY(!fs::exists(folder));
        QCOMPARE(recordedNames(), std::string("a b"));
    }

    void aLineThatWasNotFinishedIsLeftOut() {
        const auto folder = abandonedFolder({"a", "b"});
        auto text = *readFile(folder / "finished-kernels");
        write(".slipway-killed/finished-kernels", text.substr(0, text.size() - 20));
        QVERIFY(takeOverAbandoned(dir(), m_progress).has_value());
        QCOMPARE(recordedNames(), std::string("a"));
    }

    void anImageThatAnotherRunMadeAnewIsNotTakenOver() {
        abandonedFolder({"a", "b"});
        write("b_" + hashA + ".o", ptx("b") + "// newer\n");
        QVERIFY(takeOverAbandoned(dir(), m_progress).has_value());
        QCOMPARE(recordedNames(), std::string("a"));
    }

    void aJournalFromOutsideCannotNameFilesElsewhere() {
        const auto folder = abandonedFolder({"a"});
        auto text = *readFile(folder / "finished-kernels");
        const auto name = "a_" + hashA + ".o";
        text.replace(text.find("\"" + name), name.size() + 1, "\"../" + name);
        write(".slipway-killed/finished-kernels", text);
        QVERIFY(takeOverAbandoned(dir(), m_progress).has_value());
        QCOMPARE(recordedNames(), std::string());
    }

    void pruningTakesOverWhatAKilledRunFinished() {
        const auto folder = abandonedFolder({"a"});
        const auto removed = pruneCache(dir(), m_progress);
        QVERIFY(removed.has_value());
        QCOMPARE(*removed, std::vector<fs::path>{folder});
        QCOMPARE(recordedNames(), std::string("a"));
    }

    void pruningTakesLeftoversOnly() {
        QProcess dead;
        dead.start("true", QStringList());
        const auto pid = dead.processId();
        QVERIFY(dead.waitForFinished());
        const std::string deadTemporary = "a_" + hashA + ".o.tmp." + std::to_string(pid);
        const std::string liveTemporary = "a_" + hashA + ".o.tmp." + std::to_string(::getpid());
        const auto keep = {"k_" + hashA + ".o", "k_" + hashA + ".lock", "held_" + hashB + ".lock", liveTemporary,
                           std::string("notes.txt")};
        for (const auto &name : keep)
            write(name, "x");
        write(deadTemporary, "x");
        write("free_" + hashB + ".lock", "");
        const int held = ::open((dir() / ("held_" + hashB + ".lock")).c_str(), O_RDONLY | O_CLOEXEC);
        QCOMPARE(::flock(held, LOCK_EX), 0);
        const auto removed = pruneCache(dir(), m_progress);
        ::close(held);
        QVERIFY(removed.has_value());
        QCOMPARE(*removed, (std::vector<fs::path>{dir() / deadTemporary, dir() / ("free_" + hashB + ".lock")}));
        for (const auto &name : keep)
            QVERIFY2(fs::exists(dir() / name), name.c_str());
    }
};

QTEST_GUILESS_MAIN(TestCache)
#include "tst_cache.moc"
