// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/compile.h"
#include "core/kernel/cudaprelude.h"
#include "core/kernel/journal.h"
#include "core/kernel/options.h"
#include "core/kernel/records.h"
#include "core/kernel/workerjob.h"

#include <set>

namespace slipway {

/// What all compilations of one run share: values, but for what is guarded.
struct CompileContext {
    CompileContext(const AotRequest &askedFor, const KernelTools &found, const PtxIsa &table)
        : request(askedFor)
        , tools(found)
        , isa(table)
        , preludes(found) {}

    const AotRequest &request;
    const KernelTools &tools;
    const PtxIsa &isa;
    AotOptions options;
    WorkerDescription llvm;
    std::string clangTool; ///< "clang 22.1.8, CUDA 13.0"; empty = no clang
    std::string nvccTool;
    std::string ptxasTool;
    std::set<Capability> ptxasKnows;
    fs::path scratch; ///< in the cache's file system, gone after the run
    Contents contents;
    CudaPreludes preludes;
    RunJournal journal;

    /// Puts a finished image under its name. A full disk is this image's error alone; any other is the run's own, since
    /// every other image would fail the same way.
    [[nodiscard]] Result<FileStamp> publish(const std::string &fileName, std::string_view bytes);
    /// The run cannot go on, and why.
    void abort(Error error);
    [[nodiscard]] std::optional<Error> aborted();
    /// A line for the report.
    void note(std::string text);
    [[nodiscard]] std::vector<std::string> notes();

private:
    std::mutex m_mutex;
    std::optional<Error> m_failure;
    std::vector<std::string> m_notes;
};

/// One source for one capability: an image to make, or a program to run.
struct CompileUnit {
    KernelSource source;
    Capability capability;
    PtxVersion ptx;
    std::string cpu;                ///< keyCpu
    std::string why;                ///< why it must be built; empty = `made` still holds
    std::vector<StoredRecord> made; ///< one; of programs any number
    std::optional<Error> error;

    [[nodiscard]] StoredRecord &only() { return made.front(); }
    /// "kernels/a.ll for sm_87"
    [[nodiscard]] std::string title() const;
};

/// The project's root as far as a source tells: its path without the project's name for it. Flags and scripts are
/// relative to it.
[[nodiscard]] fs::path projectRoot(const KernelSource &source);
/// Digest of a source and what it includes.
[[nodiscard]] std::string contentHash(const std::vector<FileStamp> &inputs);
/// Fills `made` with what is known before compiling: id, name, options, tool, inputs. `sameSource` are the cache's
/// records of the same kind and source: an untouched file is not read again.
[[nodiscard]] Result<void> prepareUnit(CompileUnit &unit, const std::vector<const StoredRecord *> &sameSource,
                                       CompileContext &context, Progress &progress);
/// Decides whether the records of a prepared unit still hold: then takes them over with fresh stamps. Otherwise `why`
/// says what changed.
[[nodiscard]] Result<void> compareUnit(CompileUnit &unit, const std::vector<const StoredRecord *> &sameSource,
                                       CompileContext &context, Progress &progress);

/// What is read from a finished PTX text: entries, and the errors that make it unusable (wrong label, unresolved
/// functions).
[[nodiscard]] Result<void> checkPtx(std::string_view text, const CompileUnit &unit, std::string_view tool,
                                    KernelRecord &record);
/// The `// meta:` lines that stand before PTX text, those already there left out.
[[nodiscard]] std::string metaLines(const KernelRecord &record, std::string_view ptx);

// The four kinds. An error is this unit's alone.
/// Compiles LLVM IR in slipway-kernelc processes; `done` is called for each unit, one at a time.
[[nodiscard]] Result<void> compileLlvmIr(const std::vector<CompileUnit *> &units, CompileContext &context,
                                         const std::function<void(CompileUnit &)> &done, Progress &progress);
[[nodiscard]] Result<void> compileCuda(CompileUnit &unit, CompileContext &context, Progress &progress);
[[nodiscard]] Result<void> runKernelProgram(CompileUnit &unit, CompileContext &context, Progress &progress);
[[nodiscard]] Result<void> takePrebuilt(CompileUnit &unit, CompileContext &context, Progress &progress);
/// Whether PTX or a cubin of those facts can be loaded by a board of the unit's capability; an error of kind `stopped`
/// says why not.
[[nodiscard]] Result<void> checkLoadable(const KernelImage &image, const CompileUnit &unit,
                                         const CompileContext &context);
/// The images of a fatbin, or of the fatbins in a program, that fit the unit's capability: one record for each fatbin.
[[nodiscard]] Result<void> takeFatbins(std::string_view bytes, CompileUnit &unit, CompileContext &context);
/// A whole cache directory as one source for each image in it.
[[nodiscard]] Result<std::vector<KernelSource>> expandPrebuilt(const KernelSource &directory);

/// Assembles the PTX of a record with ptxas: NAME_HASH.cubin beside it, with its registers, shared memory and spills.
[[nodiscard]] Result<void> makeCubin(StoredRecord &stored, Capability capability, CompileContext &context,
                                     Progress &progress);

/// "clang 22.1.8, CUDA 13.0", "nvcc 13.0.88", "ptxas 13.0.88"; empty when the tool is missing or does not answer.
[[nodiscard]] std::string clangText(const KernelTools &tools, Progress &progress);
[[nodiscard]] std::string nvidiaToolText(const fs::path &tool, Progress &progress);
/// The capabilities that a ptxas assembles for.
[[nodiscard]] std::set<Capability> capabilitiesOfPtxas(const fs::path &ptxas, Progress &progress);

} // namespace slipway
