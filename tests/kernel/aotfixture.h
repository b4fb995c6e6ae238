// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/compile.h"
#include "core/kernel/records.h"

#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

namespace slipway {

inline const Capability orin{87, Capability::Flavour::baseline};

inline std::string llvmIr(const std::string &name, const std::string &operation = "fadd") {
    return "define ptx_kernel void @" + name +
           "(ptr addrspace(1) %p) {\n  %v = load float, ptr addrspace(1) %p\n  %r = " + operation +
           " float %v, 2.0\n  store float %r, ptr addrspace(1) %p\n  ret void\n}\n";
}

inline constexpr const char *cudaSource = "#include \"factor.h\"\n"
                                          "extern \"C\" __global__ void times(float *p, int n) {\n"
                                          "  __shared__ float tile[32];\n"
                                          "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                                          "  tile[threadIdx.x % 32] = p[i];\n  __syncthreads();\n"
                                          "  if (i < n) p[i] = tile[(threadIdx.x + 1) % 32] * FACTOR;\n}\n";

/// A project in a temporary directory and ahead-of-time runs over it, with the real LLVM and clang. No CUDA toolkit is
/// needed: where one is installed it is hidden.
struct AotFixture {
    std::unique_ptr<QTemporaryDir> m_dir;
    fs::path m_project;
    Catalog m_catalog;
    KernelTools m_tools;
    Progress m_progress;

    [[nodiscard]] fs::path at(const std::string &name) const { return m_project / name; }
    [[nodiscard]] fs::path cache() const { return at("cache"); }
    fs::path write(const std::string &name, std::string_view text, unsigned mode = 0644) const {
        [&] { QVERIFY(writeFileAtomically(at(name), text, mode).has_value()); }();
        return at(name);
    }
    KernelSource source(SourceKind kind, const std::string &label) const {
        return {.kind = kind, .name = fs::path(label).stem().string(), .file = at(label), .label = label};
    }
    AotRequest request(std::vector<KernelSource> sources, std::vector<Capability> capabilities = {orin}) const {
        return {.sources = std::move(sources),
                .capabilities = std::move(capabilities),
                .ptx = PtxVersion{8, 2},
                .cacheDirectory = cache(),
                .workers = 2};
    }
    Result<AotReport> compile(const AotRequest &asked) { return compileKernels(asked, m_tools, m_catalog, m_progress); }
    AotReport compiled(const AotRequest &asked) {
        auto report = compile(asked);
        [&] { QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str()); }();
        return report ? *report : AotReport{};
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto &entry : fs::directory_iterator(cache())) {
            if (entry.path().filename() != recordsFileName)
                names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    [[nodiscard]] std::string text(const KernelRecord &record) const {
        return readFile(cache() / (record.name + "_" + record.hash + ".o")).value_or("");
    }
    static std::string problem(const AotOutcome &outcome) { return outcome.error ? outcome.error->message : ""; }

    /// Once for a test program.
    void loadCatalog() {
        auto catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"});
        QVERIFY2(catalog.has_value(), catalog ? "" : catalog.error().message.c_str());
        m_catalog = *catalog;
    }

    /// Before each test.
    void begin() {
        m_dir = std::make_unique<QTemporaryDir>();
        m_project = m_dir->path().toStdString();
        m_tools = findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources");
        QVERIFY2(!m_tools.clang.empty(), "clang is in installer/debian-packages.txt");
        m_tools.cudaRoot.clear();
        m_tools.libdevice.clear();
        m_tools.ptxas.clear();
        m_tools.nvcc.clear();
    }
};

} // namespace slipway
