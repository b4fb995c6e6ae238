// SPDX-License-Identifier: Apache-2.0
//
// The programs that compile kernels: where they are and what they call themselves.

#include "core/kernel/unit.h"

#include "core/base/text.h"

namespace slipway {

namespace {

constexpr std::chrono::seconds answerTime{30};

fs::path firstProgram(const std::vector<std::string> &names, const std::vector<fs::path> &also) {
    for (const auto &name : names) {
        if (const auto found = findProgram(name))
            return *found;
        for (const auto &directory : also) {
            std::error_code error;
            if (fs::is_regular_file(directory / name, error))
                return directory / name;
        }
    }
    return {};
}

fs::path firstToolkit(const fs::path &nvcc) {
    std::vector<fs::path> roots = {"/usr/local/cuda", "/opt/cuda"};
    std::error_code error;
    if (!nvcc.empty())
        roots.push_back(fs::weakly_canonical(nvcc, error).parent_path().parent_path());
    for (const auto &root : roots) {
        if (fs::exists(root / "include" / "cuda_runtime.h", error))
            return root;
    }
    return {};
}

std::string firstLineOf(const Command &command, Progress &progress) {
    const auto finished = run(command, progress);
    if (!finished || finished->exitCode != 0)
        return {};
    const auto shown = lines(finished->output);
    return shown.empty() ? std::string() : std::string(shown.front());
}

/// "13.0" of a toolkit, from CUDA_VERSION (13000) in its cuda.h.
std::string toolkitVersion(const fs::path &root) {
    const auto header = readFile(root / "include" / "cuda.h");
    if (!header)
        return "of an unknown version";
    constexpr std::string_view define = "#define CUDA_VERSION ";
    const auto at = header->find(define);
    if (at == std::string::npos)
        return "of an unknown version";
    const auto digits = std::string_view(*header).substr(at + define.size(), 5);
    const auto number = parseNumber(trimmed(digits)).value_or(0);
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

} // namespace

KernelTools findKernelTools(const fs::path &ownBinDirectory, const fs::path &resources, const fs::path &preludes) {
    const std::vector<fs::path> toolkits = {"/usr/local/cuda/bin", "/opt/cuda/bin"};
    KernelTools tools;
    tools.kernelc = ownBinDirectory / "slipway-kernelc";
    tools.clang = firstProgram({"clang++-22", "clang++-21", "clang++-20", "clang++-19", "clang++"}, {});
    tools.ptxas = firstProgram({"ptxas"}, toolkits);
    tools.nvcc = firstProgram({"nvcc"}, toolkits);
    tools.cudaRoot = firstToolkit(tools.nvcc);
    std::error_code error;
    if (const auto libdevice = tools.cudaRoot / "nvvm" / "libdevice" / "libdevice.10.bc"; fs::exists(libdevice, error))
        tools.libdevice = libdevice;
    tools.resources = resources;
    tools.preludes = preludes;
    return tools;
}

std::string clangText(const KernelTools &tools, Progress &progress) {
    if (tools.clang.empty())
        return {};
    const auto line =
        firstLineOf({.program = tools.clang.string(), .arguments = {"--version"}, .timeout = answerTime}, progress);
    constexpr std::string_view before = "clang version ";
    const auto at = line.find(before);
    if (at == std::string::npos)
        return {};
    const auto version = std::string_view(line).substr(at + before.size());
    const auto text = fmt::format("clang {}", version.substr(0, version.find(' ')));
    return tools.cudaRoot.empty() ? text + ", no CUDA"
                                  : fmt::format("{}, CUDA {}", text, toolkitVersion(tools.cudaRoot));
}

std::string nvidiaToolText(const fs::path &tool, Progress &progress) {
    if (tool.empty())
        return {};
    const auto finished = run({.program = tool.string(), .arguments = {"--version"}, .timeout = answerTime}, progress);
    if (!finished || finished->exitCode != 0)
        return {};
    const auto at = finished->output.find(", V"); // "Cuda compilation tools, release 13.0, V13.0.88"
    if (at == std::string::npos)
        return {};
    const auto version = std::string_view(finished->output).substr(at + 3);
    return fmt::format("{} {}", tool.filename().string(), version.substr(0, version.find_first_of("\r\n ")));
}

std::set<Capability> capabilitiesOfPtxas(const fs::path &ptxas, Progress &progress) {
    std::set<Capability> known;
    if (ptxas.empty())
        return known;
    const auto finished = run({.program = ptxas.string(), .arguments = {"--help"}, .timeout = answerTime}, progress);
    if (!finished)
        return known;
    for (const auto word : split(finished->output, '\'')) { // Allowed values for this option:  'compute_100', … 'sm_87'
        if (!word.starts_with("sm_"))
            continue;
        if (const auto capability = Capability::parse(word))
            known.insert(*capability);
    }
    return known;
}

} // namespace slipway
