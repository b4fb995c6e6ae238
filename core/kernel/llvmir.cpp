// SPDX-License-Identifier: Apache-2.0
//
// LLVM IR: jobs for slipway-kernelc, and what its answers mean for the records.

#include "core/kernel/unit.h"
#include "core/kernel/worker.h"

#include "core/base/digest.h"

namespace slipway {

namespace {

WorkerJob jobFor(const CompileUnit &unit, const CompileContext &context) {
    const auto &record = unit.made.front().record;
    return {.input = unit.source.file,
            .output = context.request.cacheDirectory / fmt::format("{}_{}.o", record.name, record.hash),
            .capability = unit.capability,
            .ptx = unit.ptx,
            .opt = context.options.optLevel,
            .libdevice = context.tools.libdevice,
            .maxRegisters = context.options.maxRegisters,
            .id = record.id,
            .name = record.name,
            .meta = {}};
}

/// Stamps the image and what went into it.
Result<void> accept(CompileUnit &unit, const WorkerResult &result, CompileContext &context, Progress &progress) {
    auto &stored = unit.only();
    stored.record.entries = result.entries;
    if (result.usedLibdevice)
        stored.inputs.push_back(TRY(context.contents.stamp(context.tools.libdevice, nullptr, progress)));
    stored.image = TRY(Contents::entry(result.output, true));
    stored.image.sha256 = sha256(TRY(readFile(result.output)));
    stored.image.file = result.output.filename();
    return {};
}

} // namespace

Result<void> compileLlvmIr(const std::vector<CompileUnit *> &units, CompileContext &context,
                           const std::function<void(CompileUnit &)> &done, Progress &progress) {
    std::vector<WorkerJob> jobs;
    for (const auto *unit : units)
        jobs.push_back(jobFor(*unit, context));
    const auto sink = [&](std::size_t index, const WorkerResult &result) {
        auto &unit = *units[index];
        Error error{.message = result.error, .hint = result.hint, .detail = result.detail};
        if (result.outputFailed) {
            context.abort(std::move(error));
            return false;
        }
        if (!result.ok)
            unit.error = std::move(error);
        else if (auto accepted = accept(unit, result, context, progress); !accepted)
            unit.error = std::move(accepted).error();
        done(unit);
        return true;
    };
    return runWorkers(context.tools.kernelc, jobs, context.request.workers, sink, progress);
}

} // namespace slipway
