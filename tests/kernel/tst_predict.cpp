// SPDX-License-Identifier: Apache-2.0
//
// The names that a board's process looks up, and what would turn a miss into a hit.

#include "aotfixture.h"
#include "core/kernel/predict.h"

using namespace slipway;

namespace {

constexpr PtxVersion ptx82{8, 2};

std::string ptx(const std::string &id = {}) {
    return (id.empty() ? "" : "// meta:id=" + id + "\n") +
           ".version 8.2\n.target sm_87\n.address_size 64\n.visible .entry k()\n{\n ret;\n}\n";
}

} // namespace

class TestPredict : public QObject, private AotFixture {
    Q_OBJECT

    std::vector<KernelPrediction> predicted(Capability device, std::optional<PtxVersion> version) {
        const auto read = KernelCache::read(cache(), m_progress);
        return read ? predictLookUps(*read, m_catalog.isa, device, version) : std::vector<KernelPrediction>();
    }
    /// "hit", "miss: FIX" or "unknown" of the only kernel.
    std::string said(Capability device, std::optional<PtxVersion> version) {
        const auto all = predicted(device, version);
        if (all.size() != 1)
            return fmt::format("{} kernels", all.size());
        return outcomeName(all[0].outcome) + (all[0].fix.empty() ? "" : ": " + all[0].fix);
    }
    void add(const std::string &id, const std::string &cpu, std::optional<PtxVersion> version,
             bool saysId = true) const {
        write(fmt::format("cache/k_{}.o", cacheKey(id, cpu, version)), ptx(saysId ? id : ""));
    }

private Q_SLOTS:
    void initTestCase() { loadCatalog(); }
    void init() { begin(); }

    void aMissSaysWhatWouldMakeItAHit() {
        add("id", "sm_87", ptx82);
        QCOMPARE(said(orin, ptx82), std::string("hit"));
        QCOMPARE(predicted(orin, ptx82)[0].lookUp, "k_" + cacheKey("id", "sm_87", ptx82) + ".o");
        QCOMPARE(said(orin, std::nullopt), std::string("miss: set TEENYC_PTX_VERSION=82 where the program runs"));
        QCOMPARE(said(orin, PtxVersion{8, 5}), std::string("miss: set TEENYC_PTX_VERSION=82 where the program runs"));
        QCOMPARE(said({110, {}}, PtxVersion{9, 0}),
                 std::string("miss: slipway aot --capability sm_110 --ptx-version 90"));
        QVERIFY(
            predicted({110, {}}, ptx82)[0].why.find("the cache has it for sm_87, TEENYC_PTX_VERSION=82; the process "
                                                    "asks for sm_110, TEENYC_PTX_VERSION=82") != std::string::npos);
    }

    void builtWithoutAVersionItMustRunWithoutOne() {
        add("id", "sm_87", std::nullopt);
        QCOMPARE(said(orin, std::nullopt), std::string("hit"));
        QCOMPARE(said(orin, ptx82), std::string("miss: run the program without TEENYC_PTX_VERSION"));
    }

    void oneOfSeveralVariantsIsEnough() {
        add("id", "sm_87", ptx82);
        add("id", "sm_90", ptx82);
        QCOMPARE(said(orin, ptx82), std::string("hit"));
        QCOMPARE(said({90, {}}, ptx82), std::string("hit"));
    }

    void theIdIsRecomputedFromTheSourceBesideIt() {
        const std::string source = "#[kernel]\nfn k() {}\n";
        const auto id = sourceId(source);
        const auto stem = fmt::format("cache/k_{}", cacheKey(id, "sm_87", ptx82));
        write(stem + ".o", ptx());
        write(stem + ".rs", "use teeny::prelude::*;\n\n" + source);
        QCOMPARE(said(orin, ptx82), std::string("hit"));
        QCOMPARE(said(orin, std::nullopt), std::string("miss: set TEENYC_PTX_VERSION=82 where the program runs"));
        write(stem + ".rs",
              "use teeny::prelude::*;\n\n" + source + "// edited\n"); // leads to another HASH: not believed
        QVERIFY(said(orin, ptx82).starts_with("unknown: "));
    }

    void aHitThatCannotBeLoadedSaysSo() {
        const auto name = fmt::format("cache/k_{}.o", cacheKey("id", "sm_87", ptx82));
        write(name, ptx("id").substr(0, ptx("id").size() - 4));
        const auto all = predicted(orin, ptx82);
        QCOMPARE(outcomeName(all.at(0).outcome), "hit");
        QVERIFY2(all[0].why.starts_with("but it cannot be loaded: "), all[0].why.c_str());
    }

    void ofOurOwnCachesTheVersionIsKnown() {
        write("a.ll", llvmIr("a"));
        write("b.ll", llvmIr("b"));
        const auto sources = {source(SourceKind::llvmIr, "a.ll"), source(SourceKind::llvmIr, "b.ll")};
        QVERIFY(compiled(request(sources, {orin, {90, {}}})).allGood());
        const auto read = KernelCache::read(cache(), m_progress);
        QVERIFY(builtPtxVersion(*read, orin) == ptx82);
        for (const auto &prediction : predicted(orin, builtPtxVersion(*read, orin)))
            QCOMPARE(outcomeName(prediction.outcome), "hit");
        QCOMPARE(predicted(orin, ptx82).size(), std::size_t(2)); // each kernel once, whatever it was made for
    }
};

QTEST_GUILESS_MAIN(TestPredict)
#include "tst_predict.moc"
