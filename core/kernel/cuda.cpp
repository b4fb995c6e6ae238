// SPDX-License-Identifier: Apache-2.0
//
// CUDA C++ to PTX through clang, or nvcc where a project asks for it. Without a CUDA toolkit a small prelude of ours
// takes the place of its headers. Either is precompiled (cudaprelude.h), since it costs most of a run.

#include "core/kernel/diskroom.h"
#include "core/kernel/makerule.h"
#include "core/kernel/unit.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

/// Takes the place of a toolkit's headers.
fs::path ownPrelude(const KernelTools &tools) {
    return tools.resources / "cuda" / "slipway_cuda_prelude.h";
}

Command clangCommand(const CompileUnit &unit, const CompileContext &context) {
    const auto &tools = context.tools;
    Command command{.program = tools.clang.string(),
                    .arguments = {"-x", "cuda", "--cuda-device-only", "-S", "--cuda-gpu-arch=" + unit.capability.sm(),
                                  fmt::format("--cuda-feature=+ptx{}", unit.ptx.code()),
                                  fmt::format("-O{}", context.options.optLevel), "-Wno-unknown-cuda-version"},
                    .directory = projectRoot(unit.source)};
    auto &arguments = command.arguments;
    if (!tools.cudaRoot.empty()) {
        arguments.push_back("--cuda-path=" + tools.cudaRoot.string());
    } else {
        arguments.insert(arguments.end(), {"-nocudainc", "-nocudalib", "-include", ownPrelude(tools).string()});
        if (!tools.libdevice.empty())
            arguments.insert(arguments.end(),
                             {"-Xclang", "-mlink-builtin-bitcode", "-Xclang", tools.libdevice.string()});
    }
    return command;
}

Command nvccCommand(const CompileUnit &unit, const CompileContext &context) {
    return {.program = context.tools.nvcc.string(),
            .arguments = {"-x", "cu", "-ptx", "-arch=" + unit.capability.sm(),
                          fmt::format("-O{}", context.options.optLevel)},
            .directory = projectRoot(unit.source)};
}

/// The compiler's command without the files of this source.
Result<Command> commandFor(const CompileUnit &unit, const CompileContext &context) {
    const bool nvcc = unit.source.compiler == "nvcc";
    if (!nvcc && !unit.source.compiler.empty() && unit.source.compiler != "clang")
        return failAs(ErrorKind::usage, "there is no compiler \"{}\" for .cu files (needed clang or nvcc)",
                      printable(unit.source.compiler, 40));
    if (nvcc ? context.nvccTool.empty() : context.clangTool.empty())
        return std::unexpected(
            Error{.message = fmt::format("{} is not installed here, and .cu files need it", nvcc ? "nvcc" : "clang++"),
                  .hint = nvcc ? "install the CUDA toolkit, or use \"compiler\": \"clang\"" : "install clang-22"});
    auto command = nvcc ? nvccCommand(unit, context) : clangCommand(unit, context);
    auto &arguments = command.arguments;
    if (context.options.smCount)
        arguments.push_back(fmt::format("-DSLIPWAY_SM_COUNT={}", *context.options.smCount));
    arguments.insert(arguments.end(), unit.source.flags.begin(), unit.source.flags.end());
    return command;
}

/// The first "error:" of a compiler's output.
std::string firstError(std::string_view errors) {
    for (const auto line : lines(errors)) {
        if (const auto at = line.find("error: "); at != std::string_view::npos)
            return printable(line, 300);
    }
    return {};
}

/// Compiles from a precompiled prelude where there is one, else in the compiler's own way: the PTX is the same. What
/// fails is said by the compiler's own way.
Result<Finished> compile(const CompileUnit &unit, CompileContext &context, const CudaFiles &files, Progress &progress) {
    auto command = TRY(commandFor(unit, context));
    const bool isClang = unit.source.compiler != "nvcc";
    const auto fast = isClang ? context.preludes.faster(command, files, progress) : std::nullopt;
    if (fast) {
        auto finished = TRY(run(*fast, progress));
        if (finished.exitCode == 0)
            return finished;
    }
    command = files.addedTo(std::move(command), isClang);
    auto finished = TRY(run(command, progress));
    if (finished.exitCode == 0) {
        if (fast)
            CudaPreludes::distrust(*fast);
        return finished;
    }
    auto error = commandFailed(command, finished);
    if (const auto first = firstError(finished.errors); !first.empty())
        error.message = first;
    if (finished.errors.find("No space left on device") != std::string::npos) {
        error.message = fmt::format("no space left on the disk of {}", context.request.cacheDirectory.string());
        error.hint = roomHint;
    }
    return std::unexpected(std::move(error));
}

/// Headers of the compiler and the toolkit change with their versions, which the tool's text holds.
bool comesWithATool(const fs::path &file, const KernelTools &tools) {
    const auto path = file.lexically_normal().string();
    const auto inside = [&path](const fs::path &directory) {
        return !directory.empty() && path.starts_with(directory.lexically_normal().string() + "/");
    };
    std::error_code ignored;
    return inside(tools.cudaRoot) || inside(fs::weakly_canonical(tools.cudaRoot, ignored)) || inside("/usr/lib") ||
           inside("/usr/include") || inside("/usr/local/cuda") || inside(tools.preludes);
}

Result<void> noteInputs(CompileUnit &unit, const CudaFiles &files, CompileContext &context, Progress &progress) {
    const auto root = projectRoot(unit.source);
    if (unit.source.compiler != "nvcc" && context.tools.cudaRoot.empty()) // a precompiled prelude does not name it
        unit.only().inputs.push_back(TRY(context.contents.stamp(ownPrelude(context.tools), nullptr, progress)));
    for (auto file : dependenciesOf(TRY(readFile(files.dependencies)))) {
        file = (root / file).lexically_normal();
        const auto &inputs = unit.only().inputs;
        const bool known =
            std::any_of(inputs.begin(), inputs.end(), [&](const FileStamp &input) { return input.file == file; });
        if (!known && !comesWithATool(file, context.tools))
            unit.only().inputs.push_back(TRY(context.contents.stamp(file, nullptr, progress)));
    }
    return {};
}

/// `.maxnreg N` for each entry that sets no limit of its own; clang has no flag for it.
std::string limitRegisters(std::string_view ptx, int most) {
    std::string text;
    for (auto at = ptx.find(".entry "); at != std::string_view::npos; at = ptx.find(".entry ")) {
        const auto body = ptx.find("\n{", at);
        if (body == std::string_view::npos)
            break;
        text += ptx.substr(0, body);
        if (ptx.substr(at, body - at).find(".maxnreg") == std::string_view::npos)
            text += fmt::format("\n.maxnreg {}", most);
        ptx.remove_prefix(body);
    }
    return text + std::string(ptx);
}

} // namespace

Result<void> compileCuda(CompileUnit &unit, CompileContext &context, Progress &progress) {
    const auto &record = unit.only().record;
    const auto stem = fmt::format("{}_{}", record.name, record.hash);
    const CudaFiles files{.source = unit.source.file,
                          .ptx = context.scratch / (stem + ".ptx"),
                          .dependencies = context.scratch / (stem + ".d"),
                          .id = record.id.substr(0, 16)};
    TRY(compile(unit, context, files, progress));
    TRY(noteInputs(unit, files, context, progress));
    auto ptx = TRY(readFile(files.ptx));
    if (context.options.maxRegisters)
        ptx = limitRegisters(ptx, *context.options.maxRegisters);
    if (auto good = checkPtx(ptx, unit, record.tool, unit.only().record); !good)
        return std::unexpected(unit.source.compiler == "nvcc"
                                   ? std::move(good).error().hinted(
                                         "nvcc knows one PTX version: use \"compiler\": \"clang\" for this kernel")
                                   : std::move(good).error());
    unit.only().image = TRY(context.publish(stem + ".o", metaLines(record, ptx) + ptx));
    return {};
}

} // namespace slipway
