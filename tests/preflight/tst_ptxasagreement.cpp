// SPDX-License-Identifier: Apache-2.0
//
// Our verdict on PTX against ptxas, the compiler that is also in the board's driver: for every target of the table on every GPU
// that this ptxas compiles for, and for every version, `capability` and `ptx-version` fail exactly where ptxas refuses. Skipped
// where there is no CUDA toolkit; tst_drivermatrix has the answers of a real driver everywhere.

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/kernel/compile.h"
#include "core/kernel/parallel.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

#include <regex>
#include <set>

using namespace slipway;

namespace {

/// One PTX header for one GPU.
struct Case {
    std::string version;
    Capability target;
    Capability device;
    bool ptxasTakes = false;
    std::string said;
    bool weTake = false;
};

} // namespace

class TestPtxasAgreement : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        m_ptxas = findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources").ptxas.string();
        if (m_ptxas.empty())
            QSKIP("there is no ptxas here: it comes with the CUDA toolkit");
        const auto version = run({.program = m_ptxas, .arguments = {"--version"}}, m_progress);
        const auto help = run({.program = m_ptxas, .arguments = {"--help"}}, m_progress);
        QVERIFY(version && help);
        std::smatch match;
        QVERIFY(std::regex_search(version->output, match, std::regex(R"(release (\d+)\.(\d+))")));
        m_driver = std::stoi(match[1]) * 1000 + std::stoi(match[2]) * 10;
        m_newest = m_fixture.catalog.isa.newestForDriver(m_driver).value().newest;
        const std::regex word("'(sm_[0-9]+a?)'");
        for (std::sregex_iterator at(help->output.begin(), help->output.end(), word), end; at != end; ++at) {
            // A device runs what its own `a` target runs: only that one takes PTX of all flavours.
            const auto capability = Capability::parse((*at)[1].str()).value();
            auto &device = m_devices[capability.number];
            device = std::max(device.value_or(capability), capability, [](auto a, auto b) { return a.flavour < b.flavour; });
        }
        QVERIFY2(m_devices.size() >= 8, "ptxas --help lists its GPUs in another way now");
    }

    void everyTargetOnEveryGpu() {
        std::vector<Case> cases;
        for (const auto &target : m_fixture.catalog.isa.targets()) {
            for (const auto &[number, device] : m_devices)
                cases.push_back({m_newest.text(), target.capability, *device});
        }
        QVERIFY(cases.size() > 200);
        const auto text = disagreements(cases);
        QVERIFY2(text.empty(), text.c_str());
    }

    void everyVersionForEveryTarget() {
        std::vector<Case> cases;
        for (const auto &target : m_fixture.catalog.isa.targets()) {
            const auto device = m_devices.find(target.capability.number);
            // The manual knows sm_88 from PTX 9.0 on; ptxas 13.0 does not look, but no older driver has such a GPU.
            if (device == m_devices.end() || target.capability.number == 88)
                continue;
            for (const auto *version : {"6.2", "6.3", "6.4", "7.0", "7.1", "7.3", "7.4", "7.8", "7.9", "8.0", "8.4", "8.5", "8.6", "8.7", "8.8", "8.9", "9.0", "9.1", "9.9"})
                cases.push_back({version, target.capability, *device->second});
        }
        QVERIFY(cases.size() > 150);
        const auto text = disagreements(cases);
        QVERIFY2(text.empty(), text.c_str());
    }

private:
    void ask(Case &one) {
        QTemporaryDir directory;
        const auto file = directory.path().toStdString() + "/k.ptx";
        (void)writeFileAtomically(file, ptxText(one.version, one.target.sm(), "k"));
        const auto finished = run({.program = m_ptxas, .arguments = {"-arch=" + one.device.sm(), file, "--output-file", "/dev/null"}}, m_progress);
        one.ptxasTakes = finished && finished->exitCode == 0;
        one.said = finished ? finished->errors : finished.error().message;
        CheckFixture fixture;
        fixture.target.clear();
        fixture.facts.cudaDriver = m_driver;
        fixture.facts.gpus->front().capability = one.device.baseline();
        fixture.images("k", {fmt::format("ptx {} {}", one.version, one.target.sm())});
        one.weTake = !fixture.say("capability").starts_with("fail") && !fixture.say("ptx-version").starts_with("fail");
    }

    std::string disagreements(std::vector<Case> &cases) {
        inParallel(cases.size(), 0, m_progress, [&](std::size_t i) {
            ask(cases[i]);
            return true;
        });
        std::string text;
        std::size_t taken = 0;
        for (const auto &one : cases) {
            taken += one.ptxasTakes;
            if (one.ptxasTakes != one.weTake)
                text += fmt::format("PTX {} for {} on {}: ptxas {} it ({}), we {} it\n", one.version, one.target.sm(), one.device.sm(),
                                    one.ptxasTakes ? "takes" : "refuses", trimmed(one.said), one.weTake ? "take" : "refuse");
        }
        return taken == 0 || taken == cases.size() ? "ptxas gave one answer to everything\n" + text : text;
    }

    std::string m_ptxas;
    int m_driver = 0;
    PtxVersion m_newest;
    std::map<int, std::optional<Capability>> m_devices;
    CheckFixture m_fixture;
    Progress m_progress;
};

QTEST_APPLESS_MAIN(TestPtxasAgreement)
#include "tst_ptxasagreement.moc"
