// SPDX-License-Identifier: Apache-2.0
//
// Ahead-of-time compilation against nvcc, clang and llc; an unchanged run; listing a large cache.

#include "tests/bench/bench.h"

#include "core/kernel/compile.h"
#include "core/kernel/key.h"

#include <QTemporaryDir>

#include <thread>

using namespace slipway;
using namespace slipway::bench;

namespace {

constexpr Capability orin{87, Capability::Flavour::baseline};
constexpr PtxVersion ptx82{8, 2};

constexpr const char *cudaText = R"(extern "C" __global__ void @NAME@(const float *a, const float *b, float *c, int n) {
    __shared__ float tile[2][16][17];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = @NUMBER@.0f;
    for (int k = 0; k < n; k += 16) {
        tile[0][threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        tile[1][threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += tile[0][threadIdx.y][i] * tile[1][i][threadIdx.x];
        __syncthreads();
    }
    if (x < n && y < n)
        c[y * n + x] = sum > 0.0f ? sum : expm1f(sum);
}
)";

std::string replaced(std::string text, std::string_view what, const std::string &by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
    return text;
}

/// Directories with sources and the engine's inputs.
class Work {
public:
    Work()
        : m_root(m_dir.path().toStdString())
        , m_catalog(*Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"}))
        , m_tools(findKernelTools(SLIPWAY_BIN_DIR, fs::path(SLIPWAY_SOURCE_DIR) / "resources", m_root / "preludes")) {}

    [[nodiscard]] fs::path at(const std::string &name) const { return m_root / name; }
    [[nodiscard]] const KernelTools &tools() const { return m_tools; }
    void remove(const std::string &name) const { fs::remove_all(at(name)); }

    /// COUNT sources made from a text; `directory`/kN.`extension`.
    void write(const std::string &directory, const std::string &extension, int count, const std::string &text) const {
        for (int i = 0; i < count; ++i) {
            const auto name = fmt::format("k{}", i);
            const auto own = replaced(replaced(text, "@NAME@", name), "@NUMBER@", std::to_string(i));
            (void)writeFileAtomically(at(directory) / fmt::format("{}.{}", name, extension), own, 0644, Durable::no);
        }
    }

    /// Ours: one run over all sources of a directory.
    Result<void> compile(SourceKind kind, const std::string &directory, std::vector<Capability> capabilities) {
        AotRequest request{.sources = {}, .capabilities = std::move(capabilities), .ptx = ptx82};
        for (const auto &entry : fs::directory_iterator(at(directory)))
            request.sources.push_back({.kind = kind,
                                       .name = entry.path().stem().string(),
                                       .file = entry.path(),
                                       .label = directory + "/" + entry.path().filename().string()});
        request.cacheDirectory = at("cache");
        request.cubin = false;
        const auto report = TRY(compileKernels(request, m_tools, m_catalog, m_progress));
        for (const auto &outcome : report.outcomes) {
            if (outcome.error)
                return std::unexpected(*outcome.error);
        }
        return {};
    }

    /// A peer: one process for each file of a directory, on all cores. `@` in the words is the file.
    [[nodiscard]] Contender onAllCores(const std::string &name, const std::string &directory,
                                       const std::vector<std::string> &words) const {
        Command command{.program = "bash",
                        .arguments = {"-c", R"(cd "$1" && shift && ls | xargs -P "$1" -I@ "${@:2}")", "bash",
                                      at(directory).string(), std::to_string(std::thread::hardware_concurrency())}};
        command.arguments.insert(command.arguments.end(), words.begin(), words.end());
        return {.name = name, .work = bench::command(std::move(command)), .prepare = [this] { clean("peer"); }};
    }
    void clean(const std::string &name) const {
        remove(name);
        fs::create_directories(at(name));
    }
    Progress &progress() { return m_progress; }

private:
    QTemporaryDir m_dir;
    fs::path m_root;
    Catalog m_catalog;
    KernelTools m_tools;
    Progress m_progress;
};

std::vector<std::string> clangWords(const Work &work, std::initializer_list<std::string> more) {
    std::vector<std::string> words{work.tools().clang.string(),
                                   "-x",
                                   "cuda",
                                   "--cuda-device-only",
                                   "-O3",
                                   "--cuda-gpu-arch=sm_87",
                                   "-Wno-unknown-cuda-version",
                                   "--cuda-feature=+ptx82"};
    if (work.tools().cudaRoot.empty())
        words.insert(words.end(), {"-nocudainc", "-nocudalib", "-include",
                                   (work.tools().resources / "cuda/slipway_cuda_prelude.h").string()});
    else
        words.push_back("--cuda-path=" + work.tools().cudaRoot.string());
    words.insert(words.end(), more);
    return words;
}

void cudaRows(Bench &measured, Work &work) {
    const int count = measured.quick() ? 16 : 64;
    const int runs = measured.quick() ? 1 : 3;
    const auto title = fmt::format("{} .cu", count);
    work.write("cu", "cu", count, cudaText);
    const auto compile = [&] { return work.compile(SourceKind::cuda, "cu", {orin}); };
    const Contender warm{.name = title, .work = compile, .prepare = [&] { work.remove("cache"); }};
    const Contender cold{.name = title, .work = compile, .prepare = [&] {
                             work.remove("cache");
                             work.remove("preludes");
                         }};
    const auto clang =
        work.onAllCores("clang++", "cu", clangWords(work, {"-S", "-o", work.at("peer").string() + "/@.ptx", "@"}));
    std::optional<Contender> nvcc;
    if (!work.tools().nvcc.empty()) {
        const Command command{
            .program = "bash",
            .arguments = {"-c",
                          R"(cd "$1" && for f in *.cu; do "$2" -ptx -arch=sm_87 "$f" -o "$3/$f.ptx" || exit 1; done)",
                          "bash", work.at("cu").string(), work.tools().nvcc.string(), work.at("peer").string()}};
        nvcc = Contender{.name = "nvcc", .work = bench::command(command), .prepare = [&] { work.clean("peer"); }};
    }
    measured.compare(title + ", the first ever", 1.0 / 3, runs, cold, "clang++ on all cores", clang);
    measured.compare(title, 1.0 / 3, runs, warm, "clang++ on all cores", clang);
    measured.compare(title, 1.0 / 6, runs, warm, "nvcc -ptx, one after another", nvcc);
}

/// LLVM IR of the kernel above, as bitcode; the names are those of the files.
bool makeBitcode(Work &work, int count) {
    work.write("template", "cu", 1, replaced(cudaText, "k0", "@NAME@"));
    auto words =
        clangWords(work, {"-S", "-emit-llvm", "-o", work.at("k0.ll").string(), work.at("template/k0.cu").string()});
    const Command toIr{.program = words.front(), .arguments = {words.begin() + 1, words.end()}};
    if (!runChecked(toIr, work.progress()))
        return false;
    const auto text = replaced(readFile(work.at("k0.ll")).value_or(""), "@k0(", "@@NAME@(");
    work.write("ll", "ll", count, text);
    work.clean("bc");
    return work
        .onAllCores("", "ll",
                    {work.tools().clang.string(), "--target=nvptx64-nvidia-cuda", "-x", "ir", "-c", "-emit-llvm", "-Wno-override-module", "-o",
                     work.at("bc").string() + "/@.bc", "@"})
        .work()
        .has_value();
}

void bitcodeRows(Bench &measured, Work &work) {
    const int count = measured.quick() ? 16 : 64;
    const auto title = fmt::format("{} .bc x 3 capabilities", count);
    if (!makeBitcode(work, count)) {
        fmt::print(stderr, "clang cannot make bitcode here: no rows for llc\n");
        return;
    }
    const std::vector<Capability> three{orin, {80, {}}, {90, {}}};
    const Contender ours{.name = title,
                         .work = [&, three] { return work.compile(SourceKind::llvmIr, "bc", three); },
                         .prepare = [&] { work.remove("cache"); }};
    std::optional<Contender> llc;
    std::string name = "llc on all cores";
    for (const auto *program : {"llc-22", "llc-21", "llc-20", "llc-19"}) {
        if (!findProgram(program))
            continue;
        name = fmt::format("{} -O3 on all cores", program);
        const auto loop = fmt::format("for cpu in sm_87 sm_80 sm_90; do {} -O3 -mcpu=$cpu -mattr=+ptx82 \"$1\" -o "
                                      "\"$2/$1.$cpu\" || exit 255; done",
                                      program);
        llc = work.onAllCores(name, "bc", {"bash", "-c", loop, "bash", "@", work.at("peer").string()});
        break;
    }
    measured.compare(title, 1 / 1.5, measured.quick() ? 1 : 3, ours, name, llc);
}

void unchangedRows(Bench &measured, Work &work) {
    const int count = measured.quick() ? 200 : 1000;
    const auto text = replaced(readFile(work.at("k0.ll")).value_or(""), "@k0(", "@@NAME@(");
    if (text.empty())
        return;
    work.write("many", "ll", count, text);
    const auto compile = [&] { return work.compile(SourceKind::llvmIr, "many", {orin}); };
    // the peer's turn comes second: its prepare makes the cache new, and the run after it finds everything done
    if (!compile())
        return;
    const Contender again{.name = "", .work = compile};
    const Contender first{.name = "", .work = compile, .prepare = [&] { work.remove("cache"); }};
    measured.compare(fmt::format("unchanged run of {} kernels", count), 0.05, measured.quick() ? 1 : 3, again,
                     "our own first run", first);
}

void listRows(Bench &measured, Work &work) {
    const int count = measured.quick() ? 2000 : 10000;
    std::string ptx;
    for (const auto &entry : fs::directory_iterator(work.at("cache"))) {
        if (entry.path().extension() == ".o" && ptx.empty())
            ptx = readFile(entry.path()).value_or("");
    }
    work.clean("large");
    for (int i = 0; i < count; ++i) {
        const auto id = sourceId(std::to_string(i));
        (void)writeFileAtomically(work.at("large") / fmt::format("k{}_{}.o", i, cacheKey(id, "sm_87", ptx82)),
                                  fmt::format("// meta:id={}\n{}", id, ptx), 0644, Durable::no);
    }
    const Contender ours{.name = "", .work = [&]() -> Result<void> {
                             const auto cache = TRY(KernelCache::read(work.at("large"), work.progress()));
                             return cache.entries.size() == std::size_t(count)
                                        ? Result<void>()
                                        : fail("{} entries", cache.entries.size());
                         }};
    const Command cat{
        .program = "bash",
        .arguments = {"-c", R"(cd "$1" && ls | xargs cat >/dev/null)", "bash", work.at("large").string()}};
    measured.compare(fmt::format("{} entries of {} bytes listed", count, ptx.size()), 2, measured.quick() ? 3 : 5, ours,
                     "cat", Contender{.name = "cat", .work = bench::command(cat)});
}

} // namespace

int main(int argc, char **argv) {
    Bench measured("kernels", argc, argv);
    Work work;
    if (!work.tools().clang.empty())
        cudaRows(measured, work);
    bitcodeRows(measured, work);
    unchangedRows(measured, work);
    listRows(measured, work);
    return measured.finish();
}
