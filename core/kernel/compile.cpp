// SPDX-License-Identifier: Apache-2.0
//
// The ahead-of-time run: plan, see what is up to date, compile the rest by kind, assemble, record. What fails is
// reported and does not stop the others, unless the cache itself cannot be written.

#include "core/kernel/aotplan.h"
#include "core/kernel/diskroom.h"
#include "core/kernel/parallel.h"
#include "core/kernel/unit.h"
#include "core/kernel/worker.h"
#include "core/kernel/workfolder.h"

#include "core/base/text.h"

#include <algorithm>
#include <ctime>

namespace slipway {

namespace {

using Units = std::vector<CompileUnit>;
using UnitPointers = std::vector<CompileUnit *>;

bool hasKind(const AotRequest &request, SourceKind kind) {
    return std::any_of(request.sources.begin(), request.sources.end(),
                       [kind](const KernelSource &source) { return source.kind == kind; });
}

void describeTools(CompileContext &context, Progress &progress) {
    if (hasKind(context.request, SourceKind::cuda)) {
        context.clangTool = clangText(context.tools, progress);
        context.nvccTool = nvidiaToolText(context.tools.nvcc, progress);
    }
    if (!context.request.cubin)
        return;
    context.ptxasTool = nvidiaToolText(context.tools.ptxas, progress);
    if (context.ptxasTool.empty())
        context.note("no ptxas here: the board compiles the PTX at the first load, which takes some 0.2 s a kernel");
    else
        context.ptxasKnows = capabilitiesOfPtxas(context.tools.ptxas, progress);
}

Result<Units> unitsOf(const AotRequest &request, const AotTargets &targets) {
    Units units;
    std::vector<Capability> all;
    for (const auto &[capability, ptx] : targets)
        all.push_back(capability);
    for (const auto &source : request.sources) {
        std::error_code error;
        const bool whole = source.kind == SourceKind::prebuilt && fs::is_directory(source.file, error);
        for (const auto &one : whole ? TRY(expandPrebuilt(source)) : std::vector{source}) {
            for (const auto &[capability, ptx] : targets)
                units.push_back({.source = one, .capability = capability, .ptx = ptx, .cpu = keyCpu(capability, all)});
        }
    }
    return units;
}

/// Keys have no place for the a and f of a capability (teenygrad's do not), so what is made for sm_90 by one run takes
/// the name of what another made for sm_90a.
void noteReplaced(const Units &units, const std::vector<StoredRecord> &records, CompileContext &context) {
    std::map<std::pair<std::string, std::string>, Capability> owners;
    for (const auto &[record, inputs, image, cubin, cubinTool] : records) {
        if (record.target && !record.hash.empty())
            owners[{record.name, record.hash}] = *record.target;
    }
    std::set<std::pair<Capability, Capability>> said;
    for (const auto &unit : units) {
        if (unit.error || unit.why.empty() || unit.made.empty())
            continue;
        const auto owner = owners.find({unit.made.front().record.name, unit.made.front().record.hash});
        if (owner == owners.end() || owner->second == unit.capability ||
            !said.insert({owner->second, unit.capability}).second)
            continue;
        context.note(
            fmt::format("the cache's kernels for {0} are looked up under the same names as those for {1}, which "
                        "take their place: compile both in one run (--capability {0},{1}), or each into a "
                        "cache of its own",
                        owner->second.sm(), unit.capability.sm()));
    }
}

/// Prepares every unit and compares it with the cache's records.
Result<void> compareAll(Units &units, CompileContext &context, Progress &progress) {
    std::string remark;
    const auto records = readStoredRecords(context.request.cacheDirectory, &remark);
    if (!remark.empty())
        context.note(remark);
    std::map<std::pair<std::string, std::string>, std::vector<const StoredRecord *>> bySource;
    for (const auto &stored : records)
        bySource[{stored.record.kind, stored.record.source}].push_back(&stored);
    inParallel(units.size(), context.request.workers, progress, [&](std::size_t index) {
        auto &unit = units[index];
        const auto found = bySource.find({sourceKindName(unit.source.kind), unit.source.label});
        const auto same = found == bySource.end() ? std::vector<const StoredRecord *>() : found->second;
        auto compared = prepareUnit(unit, same, context, progress);
        if (compared)
            compared = compareUnit(unit, same, context, progress);
        if (!compared)
            unit.error = std::move(compared).error();
        return true;
    });
    noteReplaced(units, records, context);
    return progress.checkpoint();
}

/// A cubin of an image that is about to be replaced would be preferred to it.
void removeOldCubin(const CompileUnit &unit, const CompileContext &context) {
    std::error_code ignored;
    const auto &record = unit.made.front().record;
    if (!record.hash.empty())
        fs::remove(context.request.cacheDirectory / fmt::format("{}_{}.cubin", record.name, record.hash), ignored);
}

Result<void> compileOne(CompileUnit &unit, CompileContext &context, Progress &progress) {
    switch (unit.source.kind) {
    case SourceKind::cuda:
        return compileCuda(unit, context, progress);
    case SourceKind::program:
        return runKernelProgram(unit, context, progress);
    default:
        return takePrebuilt(unit, context, progress);
    }
}

/// Whether a unit has an image that a record can speak of.
bool isMade(const StoredRecord &stored) {
    return !stored.image.file.empty() || !stored.cubin.file.empty();
}

/// Completes the records of what has just been built, and puts them where they outlive this process.
void finish(CompileUnit &unit, const CompileContext &context) {
    if (unit.error)
        return;
    for (auto &stored : unit.made) {
        stored.record.sourceHash = contentHash(stored.inputs);
        stored.record.builtAt = long(std::time(nullptr));
        stored.record.why = unit.why;
    }
    if (std::ranges::all_of(unit.made, isMade))
        context.journal.add(unit.made);
}

/// Runs what must be built: LLVM IR in its workers, everything else on threads of ours.
Result<void> compileAll(const UnitPointers &stale, CompileContext &context, Progress::Step &step, Progress &progress) {
    UnitPointers llvmIr, others;
    for (auto *unit : stale) {
        removeOldCubin(*unit, context);
        (unit->source.kind == SourceKind::llvmIr ? llvmIr : others).push_back(unit);
    }
    const auto done = [&](CompileUnit &unit) {
        finish(unit, context);
        step.advance();
    };
    if (!llvmIr.empty())
        TRY(compileLlvmIr(llvmIr, context, done, progress));
    inParallel(others.size(), context.request.workers, progress, [&](std::size_t index) {
        auto &unit = *others[index];
        if (auto compiled = compileOne(unit, context, progress); !compiled)
            unit.error = std::move(compiled).error();
        done(unit);
        return !context.aborted();
    });
    if (auto failure = context.aborted())
        return std::unexpected(*std::move(failure));
    return progress.checkpoint();
}

struct CubinJob {
    CompileUnit *unit;
    StoredRecord *stored;
};

bool needsCubin(const StoredRecord &stored, Capability capability, const CompileContext &context) {
    if (stored.image.file.empty() || !context.ptxasKnows.contains(capability))
        return false;
    std::error_code error;
    return stored.cubin.file.empty() || (stored.cubinTool != context.ptxasTool && !stored.cubinTool.empty()) ||
           !fs::exists(context.request.cacheDirectory / stored.cubin.file, error);
}

/// Adds what ptxas has to say. PTX newer than this ptxas is not the kernel's fault.
void assemble(const CubinJob &job, CompileContext &context, std::mutex &mutex, Progress &progress) {
    const auto made = makeCubin(*job.stored, job.unit->capability, context, progress);
    if (made)
        return context.journal.add({*job.stored});
    const std::lock_guard lock(mutex); // a program's images share its unit
    if (made.error().detail.find("Unsupported .version") != std::string::npos)
        context.note(fmt::format("{} does not know PTX {}: no cubin for {}", context.ptxasTool, job.unit->ptx.text(),
                                 job.unit->title()));
    else
        job.unit->error = Error(made.error()).in(job.stored->record.name);
}

/// Cubins for everything good that has none yet, also for what was up to date.
Result<void> assembleAll(Units &units, CompileContext &context, Progress &progress) {
    std::vector<CubinJob> jobs;
    std::set<fs::path> brought; // prebuilt cubins stay
    for (const auto &unit : units) {
        for (const auto &stored : unit.made) {
            if (stored.cubinTool == "prebuilt")
                brought.insert(stored.cubin.file.stem());
        }
    }
    for (auto &unit : units) {
        const auto before = jobs.size();
        for (auto &stored : unit.made) {
            if (!unit.error && needsCubin(stored, unit.capability, context) &&
                !brought.contains(stored.image.file.stem()))
                jobs.push_back({&unit, &stored});
        }
        if (jobs.size() > before && unit.why.empty())
            context.journal.add(unit.made); // those that get no cubin belong to it too
    }
    if (jobs.empty())
        return {};
    auto step = progress.step("assemble with ptxas", jobs.size(), Event::Unit::kernels);
    std::mutex mutex;
    inParallel(jobs.size(), context.request.workers, progress, [&](std::size_t index) {
        assemble(jobs[index], context, mutex, progress);
        step.advance();
        return !context.aborted();
    });
    if (auto failure = context.aborted())
        return std::unexpected(*std::move(failure));
    TRY(progress.checkpoint());
    step.done();
    return {};
}

/// `--no-cubin`: one from an earlier run must not be shipped or preferred.
void dropCubins(Units &units, const CompileContext &context) {
    std::error_code ignored;
    for (auto &unit : units) {
        for (auto &stored : unit.made) {
            if (stored.image.file.empty() || stored.cubin.file.empty())
                continue;
            fs::remove(context.request.cacheDirectory / stored.cubin.file, ignored);
            stored.cubin = {};
            stored.cubinTool.clear();
        }
    }
}

/// Into the cache's records file, which takes the place of the journal; where both find no room, the journal goes
/// first.
Result<void> record(const Units &units, CompileContext &context) {
    std::vector<StoredRecord> made;
    for (const auto &unit : units) {
        if (!unit.error)
            std::copy_if(unit.made.begin(), unit.made.end(), std::back_inserter(made), isMade);
    }
    if (made.empty())
        return {};
    Progress quiet; // recording must not be cancelled: it is what keeps the work
    auto recorded = mergeRecords(context.request.cacheDirectory, made, quiet);
    if (recorded || !isDiskFull(recorded.error()))
        return recorded;
    context.journal.remove();
    return mergeRecords(context.request.cacheDirectory, made, quiet);
}

/// An image made for other boards is no failure where the same kernel came for this one too.
bool servedByAnother(const CompileUnit &unit, const Units &units) {
    if (unit.source.kind != SourceKind::prebuilt || !unit.error || unit.error->kind != ErrorKind::stopped)
        return false;
    return std::any_of(units.begin(), units.end(), [&](const CompileUnit &other) {
        return !other.error && other.capability == unit.capability && !other.made.empty() &&
               other.made.front().record.entries == unit.made.front().record.entries;
    });
}

AotReport reportOn(const Units &units, const AotTargets &targets, CompileContext &context) {
    AotReport report{.outcomes = {}, .ptx = targets, .notes = {}};
    for (const auto &unit : units) {
        if (servedByAnother(unit, units)) {
            context.note(
                fmt::format("{} is left out for {}: {}", unit.source.label, unit.capability.sm(), unit.error->message));
            continue;
        }
        if (!unit.error) {
            for (const auto &stored : unit.made)
                report.outcomes.push_back({.record = stored.record, .built = !unit.why.empty(), .error = {}});
            continue;
        }
        KernelRecord record = unit.made.empty() ? KernelRecord{} : unit.made.front().record;
        record.name = unit.source.name;
        record.kind = sourceKindName(unit.source.kind);
        record.source = unit.source.label;
        record.target = unit.capability;
        record.ptx = unit.ptx;
        record.why = unit.why;
        report.outcomes.push_back(
            {.record = std::move(record), .built = false, .error = Error(*unit.error).in(unit.title())});
    }
    report.notes = context.notes();
    return report;
}

std::string summary(const Units &units, std::size_t stale) {
    const auto failed =
        std::count_if(units.begin(), units.end(), [](const CompileUnit &unit) { return unit.error.has_value(); });
    return failed > 0 ? fmt::format("{} built, {} up to date, {} failed", stale - std::size_t(failed),
                                    units.size() - stale, failed)
                      : fmt::format("{} built, {} up to date", stale, units.size() - stale);
}

/// Everything between a plan and its records. What is good is recorded also when the run ends early.
Result<void> work(Units &units, CompileContext &context, Progress &progress) {
    auto step = progress.step("compile kernels", units.size(), Event::Unit::kernels);
    TRY(compareAll(units, context, progress));
    UnitPointers stale;
    for (auto &unit : units) {
        if (unit.error || !unit.why.empty())
            stale.push_back(&unit);
        else
            step.advance();
    }
    const auto count = stale.size();
    std::erase_if(stale, [](const CompileUnit *unit) { return unit->error.has_value(); });
    const auto room = stale.empty() ? 0 : roomForRecords(context.request.cacheDirectory, stale.size());
    context.journal = TRY_IN(RunJournal::in(context.scratch, room), "the kernel cache cannot be written");
    auto compiled = compileAll(stale, context, step, progress);
    if (compiled && context.request.cubin)
        compiled = assembleAll(units, context, progress);
    if (!context.request.cubin)
        dropCubins(units, context);
    auto recorded = record(units, context);
    TRY(std::move(compiled));
    TRY(std::move(recorded));
    if (count == 0)
        step.skip(fmt::format("all {} kernels are up to date", units.size()));
    else if (std::none_of(units.begin(), units.end(), [](const CompileUnit &unit) { return unit.error.has_value(); }))
        step.done(summary(units, count));
    else
        progress.warn(summary(units, count));
    return {};
}

} // namespace

bool AotReport::allGood() const {
    return std::none_of(outcomes.begin(), outcomes.end(),
                        [](const AotOutcome &outcome) { return outcome.error.has_value(); });
}

Result<AotReport> compileKernels(const AotRequest &request, const KernelTools &tools, const Catalog &catalog,
                                 Progress &progress) {
    const auto options = TRY(parseAotOptions(request.options));
    if (!options.unknown.empty() && !hasKind(request, SourceKind::program))
        return std::unexpected(unknownOptions(options));
    const auto llvm = TRY(describeWorker(tools.kernelc, progress));
    const auto targets = TRY(chooseTargets(request, options, catalog, llvm));
    auto units = TRY(unitsOf(request, targets));
    const auto scratch = TRY_IN(WorkFolder::in(request.cacheDirectory), "the kernel cache cannot be written");
    CompileContext context(request, tools, catalog.isa);
    if (const auto taken = takeOverAbandoned(request.cacheDirectory, progress); !taken)
        context.note(fmt::format("what a run that was killed had finished is made again: {}", taken.error().message));
    context.options = options;
    context.llvm = llvm;
    context.scratch = scratch.path();
    describeTools(context, progress);
    TRY(work(units, context, progress));
    return reportOn(units, targets, context);
}

} // namespace slipway
