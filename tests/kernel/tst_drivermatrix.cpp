// SPDX-License-Identifier: Apache-2.0
//
// Our verdict against a real driver's: an NVIDIA H200 (capability 9.0, driver 580.159.04, CUDA 13.0) loaded each image
// of tests/data/h200-driver-matrix.txt. What the pre-flight calls loadable must have loaded there, what it refuses must
// have been refused; where that is not so, the reason stands here beside the driver's own words.

#include "driverimages.h"

#include "core/base/text.h"
#include "core/kernel/compile.h"
#include "tests/preflight/checkfixture.h"

#include <QTest>

#include <set>

using namespace slipway;

namespace {

/// A line of the matrix.
struct Row {
    std::string file;
    int code = 0;
    std::string log;  ///< of errors
    std::string info; ///< what its compiler noted of what it compiled
    bool hasKernel = false; ///< cuModuleGetFunction("k") found it
};

/// Refused by the driver's compiler, which reads every instruction. We say so too where there is a ptxas; without one
/// the `load` check on the board finds it.
struct OnlyACompilerSees {
    const char *file;
    const char *words;
};
constexpr OnlyACompilerSees forACompiler[] = {
    {"bad_instr.ptx", "Not a name of any known instruction: 'frobnicate'"},
    {"undefined_reg.ptx", "Unknown symbol '%r9'"},
    {"needs_newer.ptx", "Arguments mismatch for instruction 'mbarrier.try_wait'"},
    {"dup_entry.ptx", "Duplicate definition of function 'k'"},
    {"v8.0_sm_70+debug.ptx", "Debug information not found in presence of .target debug"},
};

/// Loads on the driver (CUDA_SUCCESS, and cuModuleGetFunction finds the kernel), and yet we refuse it. `words` is what
/// the driver's compiler said of it; a cubin is not compiled.
struct Stricter {
    const char *file;
    const char *words;
    const char *why;
};
constexpr Stricter stricter[] = {
    {"ct_03384.cubin", "",
     "cut off by a segment header: the driver is told no length and reads what follows in memory"},
    {"ct_03439.cubin", "", "cut off by a byte: the same"},
    {"v8.8_sm_88.ptx", "Compiling entry function 'k' for 'sm_90a'",
     "NVIDIA's manual introduces sm_88 with PTX 9.0; this driver's compiler takes it in older texts too"},
};

Row parse(std::string_view line) {
    const auto parts = split(line, '|');
    Row row{.file = std::string(trimmed(parts[0]))};
    row.code = int(parseNumber(trimmed(trimmed(parts[1]).substr(3))).value_or(9999));
    row.log = trimmed(parts[3]);
    row.info = trimmed(parts[4]);
    row.hasKernel = parts.size() > 6 && trimmed(parts[6]).starts_with("k 0");
    return row;
}

std::vector<Row> rows() {
    std::vector<Row> all;
    const auto text = readFile(fs::path(SLIPWAY_SOURCE_DIR) / "tests/data/h200-driver-matrix.txt").value_or("");
    for (const auto line : lines(text)) {
        if (!line.starts_with('#') && !line.empty())
            all.push_back(parse(line));
    }
    return all;
}

/// An H200 in a PC.
void makeHopper(CheckFixture &fixture) {
    fixture.facts.gpus->front() = {.name = "NVIDIA H200", .capability = {90, {}}, .smCount = 132, .integrated = false};
    fixture.facts.cudaDriver = 13000;
    fixture.facts.l4t.reset();
    fixture.facts.jetpack.reset();
    fixture.target = "generic-x86_64";
}

/// What the checks of kernels say of a package with this one image; empty = they call it loadable.
std::string refusal(const std::string &file, const std::string &bytes, const fs::path &ptxas) {
    CheckFixture fixture;
    makeHopper(fixture);
    const bool isBinary = file.ends_with(".cubin") || file.ends_with(".fatbin");
    fixture.file("cache/" + (isBinary ? file : fs::path(file).stem().string() + ".ptx"), bytes);
    auto kernels = readShippedKernels(fixture.package, fixture.progress);
    if (!kernels)
        return kernels.error().message;
    fixture.kernels = *std::move(kernels);
    auto evidence = fixture.evidence();
    evidence.ptxas = ptxas;
    for (const auto &check : checks()) {
        const std::set<std::string_view> ofImages = {"capability", "ptx-version", "kernel-integrity"};
        if (!ofImages.contains(check.id))
            continue;
        for (const auto &finding : check.run(evidence, fixture.progress)) {
            if (finding.status == Status::fail)
                return fmt::format("{}: found {}, needed {}", check.id, finding.found, finding.needed);
        }
    }
    return {};
}

} // namespace

class TestDriverMatrix : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theMatrixIsBroad() {
        std::set<std::string> versions, targets;
        std::size_t made = 0;
        for (const auto &row : rows()) {
            const auto bytes = DriverImages::make(row.file);
            if (row.file == "v8.6_sm_90x.ptx") // what it held was not kept
                continue;
            QVERIFY2(!bytes.empty() || row.file == "zero.bin", row.file.c_str());
            ++made;
            if (const auto image = readKernelImage(bytes); image && image->target) {
                targets.insert(image->target->sm());
                if (image->ptxVersion)
                    versions.insert(image->ptxVersion->text());
            }
        }
        QVERIFY2(made >= 100, std::to_string(made).c_str());
        QVERIFY2(versions.size() >= 12 && versions.contains("6.0") && versions.contains("9.1"),
                 fmt::format("{}", fmt::join(versions, " ")).c_str());
        QVERIFY2(targets.size() >= 18 && targets.contains("sm_50") && targets.contains("sm_120a") &&
                     targets.contains("sm_100f"),
                 fmt::format("{}", fmt::join(targets, " ")).c_str());
    }

    void ourVerdictIsTheDrivers_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<bool>("loads");
        QTest::addColumn<QString>("log");
        QTest::addColumn<QString>("info");
        for (const auto &row : rows()) {
            if (row.file == "v8.6_sm_90x.ptx")
                continue;
            // an image without its kernel loads, but is no use to anyone
            QTest::newRow(row.file.c_str()) << QString::fromStdString(row.file) << (row.code == 0 && row.hasKernel)
                                            << QString::fromStdString(row.log) << QString::fromStdString(row.info);
        }
    }

    void ourVerdictIsTheDrivers() {
        QFETCH(QString, file);
        QFETCH(bool, loads);
        QFETCH(QString, log);
        QFETCH(QString, info);
        const auto name = file.toStdString();
        const auto said = refusal(name, DriverImages::make(name), {});
        for (const auto &[exception, words, why] : stricter) {
            if (name == exception) {
                QVERIFY2(loads && !said.empty() && log.isEmpty() && info.contains(words), why);
                QCOMPARE(info.isEmpty(), *words == '\0');
                return;
            }
        }
        for (const auto &[exception, words] : forACompiler) {
            if (name == exception) {
                QVERIFY2(!loads && said.empty() && log.contains(words), said.c_str());
                return;
            }
        }
        QVERIFY2(said.empty() == loads, fmt::format("{}; the driver: {}", said, log.toStdString()).c_str());
    }

    void everyDisagreementIsOneOfTheseEight() {
        std::set<std::string> files;
        for (const auto &row : rows())
            files.insert(row.file);
        int explained = 0;
        for (const auto &exception : stricter)
            explained += int(files.count(exception.file));
        for (const auto &exception : forACompiler)
            explained += int(files.count(exception.file));
        QCOMPARE(explained, 8);
    }

    void aPtxasSeesTheRest() {
        const auto ptxas = findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources").ptxas;
        if (ptxas.empty())
            return; // no distribution package
        for (const auto &[file, words] : forACompiler) {
            const auto said = refusal(file, DriverImages::make(file), ptxas);
            QVERIFY2(said.starts_with("kernel-integrity: found "), fmt::format("{}: {}", file, said).c_str());
        }
        QCOMPARE(refusal("good.ptx", DriverImages::ptx("8.2", "sm_90"), ptxas), std::string());
    }
};

QTEST_GUILESS_MAIN(TestDriverMatrix)
#include "tst_drivermatrix.moc"
