// SPDX-License-Identifier: Apache-2.0
//
// Replays the inputs in tests/fuzz/corpus, among them every one that a fuzzer ever broke something with, in each build: also
// where there is no clang, and under GCC's sanitizers.

#include "core/base/files.h"

#include <QTest>

#include <algorithm>

// Each fuzz_NAME.cpp is compiled in with its entry under this name (tests/CMakeLists.txt).
#define SLIPWAY_FUZZER(name) extern "C" int fuzz_##name(const unsigned char *data, std::size_t size);
#include "fuzz_names.inc"
#undef SLIPWAY_FUZZER

using namespace slipway;

namespace {

struct Fuzzer {
    const char *name;
    int (*run)(const unsigned char *, std::size_t);
};

const std::vector<Fuzzer> fuzzers{
#define SLIPWAY_FUZZER(name) {#name, fuzz_##name},
#include "fuzz_names.inc"
#undef SLIPWAY_FUZZER
};

} // namespace

class TestCorpus : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyInputIsReadWithoutACrash_data() {
        QTest::addColumn<int>("fuzzer");
        for (std::size_t i = 0; i < fuzzers.size(); ++i)
            QTest::newRow(fuzzers[i].name) << int(i);
    }

    void everyInputIsReadWithoutACrash() {
        QFETCH(int, fuzzer);
        const auto &[name, run] = fuzzers[std::size_t(fuzzer)];
        int count = 0;
        for (const auto &file : fs::directory_iterator(fs::path(SLIPWAY_SOURCE_DIR) / "tests/fuzz/corpus" / name)) {
            const auto bytes = readFile(file.path());
            QVERIFY2(bytes, file.path().c_str());
            qInfo("%s", file.path().filename().c_str()); // the last line before a crash
            QCOMPARE(run(reinterpret_cast<const unsigned char *>(bytes->data()), bytes->size()), 0);
            ++count;
        }
        QVERIFY2(count > 0, "the corpus of this fuzzer is empty");
    }
};

QTEST_GUILESS_MAIN(TestCorpus)
#include "tst_corpus.moc"
