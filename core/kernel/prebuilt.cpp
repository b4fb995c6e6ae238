// SPDX-License-Identifier: Apache-2.0
//
// Kernels made elsewhere: PTX, cubins, fatbins, or a cache directory of teenyc, Triton or nvcc. They are copied under
// the name that a process looks up, when they can run where they are meant to.

#include "core/kernel/unit.h"

#include "core/base/text.h"
#include "core/image/elfimage.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr int deepestCache = 2; // Triton keeps each kernel in a folder of its own

Error doesNotFit(std::string message, std::string hint) {
    return Error{.kind = ErrorKind::stopped, .message = std::move(message), .hint = std::move(hint)};
}

Result<void> checkPtxVersion(const KernelImage &image, const CompileUnit &unit, const CompileContext &context) {
    const auto version = *image.ptxVersion;
    if (const auto *known = context.isa.find(*image.target); known && version < known->minPtx)
        return std::unexpected(doesNotFit(fmt::format("its PTX {} is older than {} needs (needed {} or newer)",
                                                      version.text(), image.target->sm(), known->minPtx.text()),
                                          fmt::format("make it again as PTX {}", known->minPtx.text())));
    if (!context.request.driver)
        return {};
    const auto accepted = context.isa.newestForDriver(*context.request.driver);
    if (accepted && version > accepted->newest)
        return std::unexpected(
            doesNotFit(fmt::format("its PTX {} is newer than the board's driver accepts (at most {})", version.text(),
                                   accepted->newest.text()),
                       fmt::format("make it again as PTX {}", std::min(unit.ptx, accepted->newest).text())));
    return {};
}

/// HASH for the image: from its id where that is known, else what its file is called, else from its content.
void nameImage(KernelRecord &record, const KernelImage &image, std::string_view bytes, const CompileUnit &unit) {
    const auto named = parseCacheFileName(unit.source.file.filename().string());
    record.name = named.name;
    if (image.kind == ImageKind::cubin && named.hash.empty() && image.entries.size() == 1)
        record.name = image.entries.front().name; // a cubin carries no other mark of the kernel in it
    const auto id = image.meta.find("id");
    if (id != image.meta.end())
        record.id = id->second;
    else if (named.hash.empty())
        record.id = sourceId(bytes);
    record.hash = record.id.empty() ? named.hash : cacheKey(record.id, unit.cpu, unit.ptx);
}

/// A fatbin by itself, or a program or library of nvcc's.
bool holdsFatbins(std::string_view bytes) {
    if (!isElf(bytes)) {
        const auto image = readKernelImage(bytes);
        return image && image->kind == ImageKind::fatbin;
    }
    const auto elf = readElf(bytes);
    return elf && elf->hasFatbin;
}

Result<void> takeCompanions(const KernelRecord &record, const CompileUnit &unit, CompileContext &context) {
    for (const auto *extension : {".mlir", ".rs"}) {
        auto file = unit.source.file;
        if (const auto bytes = readFile(file.replace_extension(extension)))
            TRY(context.publish(fmt::format("{}_{}{}", record.name, record.hash, extension), *bytes));
    }
    return {};
}

} // namespace

Result<void> checkLoadable(const KernelImage &image, const CompileUnit &unit, const CompileContext &context) {
    if (!image.target)
        return fail("it does not say which GPU it is for");
    const bool isCubin = image.kind == ImageKind::cubin;
    const auto runs = isCubin ? context.isa.cubinRuns(*image.target, unit.capability.baseline())
                              : context.isa.ptxRuns(*image.target, unit.capability.baseline());
    if (!runs.yes)
        return std::unexpected(doesNotFit(
            fmt::format("it is for {} and cannot run on {}: {}", image.target->sm(), unit.capability.sm(), runs.why),
            fmt::format("make it again for {}", unit.capability.sm())));
    return isCubin || !image.ptxVersion ? Result<void>() : checkPtxVersion(image, unit, context);
}

Result<std::vector<KernelSource>> expandPrebuilt(const KernelSource &directory) {
    std::vector<KernelSource> sources;
    std::error_code error;
    fs::recursive_directory_iterator at(directory.file, error), end;
    for (; !error && at != end; at.increment(error)) {
        if (at.depth() >= deepestCache)
            at.disable_recursion_pending();
        const auto extension = at->path().extension();
        std::error_code ignored;
        if (!at->is_regular_file(ignored) ||
            (extension != ".o" && extension != ".ptx" && extension != ".cubin" && extension != ".fatbin"))
            continue;
        auto source = directory;
        source.file = at->path();
        source.name = parseCacheFileName(at->path().filename().string()).name;
        source.label = (fs::path(directory.label) / fs::relative(at->path(), directory.file)).string();
        sources.push_back(std::move(source));
    }
    if (error)
        return fail("cannot read {}: {}", printable(directory.file.string()), error.message());
    if (sources.empty())
        return std::unexpected(
            Error{.message = fmt::format("{} holds no kernel (needed .o, .ptx or .cubin files)", directory.label),
                  .hint = "name the directory that holds the images"});
    std::sort(sources.begin(), sources.end(), [](const auto &a, const auto &b) { return a.file < b.file; });
    return sources;
}

Result<void> takePrebuilt(CompileUnit &unit, CompileContext &context, Progress &progress) {
    TRY(progress.checkpoint());
    auto bytes = TRY(readFile(unit.source.file));
    if (holdsFatbins(bytes))
        return takeFatbins(bytes, unit, context);
    const auto image = TRY(readKernelImage(bytes));
    auto &stored = unit.only();
    auto &record = stored.record;
    for (const auto &entry : image.entries)
        record.entries.push_back(entry.name);
    if (!image.damage.empty())
        return fail("it cannot be used: {}", image.damage.front());
    TRY(checkLoadable(image, unit, context));
    nameImage(record, image, bytes, unit);
    const auto stem = fmt::format("{}_{}", record.name, record.hash);
    if (image.kind == ImageKind::cubin) {
        stored.cubin = TRY(context.publish(stem + ".cubin", bytes));
        stored.cubinTool = "prebuilt";
    } else {
        stored.image = TRY(context.publish(stem + ".o", metaLines(record, bytes) + bytes));
        TRY(takeCompanions(record, unit, context));
    }
    return {};
}

} // namespace slipway
