// SPDX-License-Identifier: Apache-2.0
//
// What one compilation is, and whether its last result still holds. Content and options decide; paths and times never
// do.

#include "core/kernel/unit.h"

#include "core/base/digest.h"
#include "core/base/text.h"
#include "core/kernel/diskroom.h"

#include <algorithm>

namespace slipway {

namespace {

/// Everything but the source that changes the output.
std::string optionsOf(const CompileUnit &unit, const CompileContext &context) {
    switch (unit.source.kind) {
    case SourceKind::llvmIr:
        return context.options.canonical();
    case SourceKind::cuda: {
        auto text = context.options.canonical();
        for (const auto &flag : unit.source.flags)
            text += " " + flag;
        return text;
    }
    case SourceKind::program: {
        auto text = context.options.others;
        for (const auto &argument : unit.source.arguments)
            text += " " + argument;
        return text;
    }
    case SourceKind::prebuilt:
        break;
    }
    return {};
}

std::string toolOf(const CompileUnit &unit, const CompileContext &context) {
    switch (unit.source.kind) {
    case SourceKind::llvmIr: // "LLVM 22.1.8", and ours once it generates other text
        return context.llvm.revision <= 1 ? context.llvm.tool()
                                          : fmt::format("{}, generator {}", context.llvm.tool(), context.llvm.revision);
    case SourceKind::cuda:
        return unit.source.compiler == "nvcc" ? context.nvccTool : context.clangTool;
    case SourceKind::program:
        return unit.source.file.filename().string();
    case SourceKind::prebuilt:
        break;
    }
    return "copy";
}

/// What is different with an image of the cache, or nothing.
std::string imageTrouble(FileStamp &image, const fs::path &cache, Progress &progress) {
    if (image.file.empty())
        return {};
    const auto now = Contents::entry(cache / image.file, true);
    if (!now)
        return fmt::format("{} is missing", image.file.string());
    if (image.sameEntry(*now))
        return {};
    const auto hash = sha256OfFile(cache / image.file, progress);
    if (!hash || *hash != image.sha256)
        return fmt::format("{} was changed", image.file.string());
    const auto name = image.file;
    image = *now;
    image.file = name;
    image.sha256 = *hash;
    return {};
}

/// Which of the inputs has another content now, or nothing. Stamps are renewed.
Result<std::string> inputTrouble(StoredRecord &stored, CompileContext &context, Progress &progress) {
    for (std::size_t i = 0; i < stored.inputs.size(); ++i) {
        auto &input = stored.inputs[i];
        const auto now = context.contents.stamp(input.file, &input, progress);
        if (!now && now.error().kind == ErrorKind::cancelled)
            return std::unexpected(now.error());
        if (!now || now->sha256 != input.sha256)
            return i == 0 ? std::string("source changed") : fmt::format("{} changed", input.file.filename().string());
        input = *now;
    }
    return std::string();
}

std::string change(std::string_view what, std::string_view from, std::string_view to) {
    return fmt::format("{} {} -> {}", what, from.empty() ? "none" : from, to.empty() ? "none" : to);
}

/// The newest record of the same source for the same capability with another PTX version, if any.
const StoredRecord *otherVersion(const std::vector<const StoredRecord *> &sameSource, const CompileUnit &unit) {
    const StoredRecord *found = nullptr;
    for (const auto *stored : sameSource) {
        if (stored->record.target == unit.capability && stored->record.ptx && *stored->record.ptx != unit.ptx &&
            (!found || found->record.builtAt < stored->record.builtAt))
            found = stored;
    }
    return found;
}

/// Why the records `old` of a unit do not hold any more; empty when they do.
Result<std::string> whyStale(std::vector<StoredRecord> &old, CompileUnit &unit, CompileContext &context,
                             Progress &progress) {
    const auto &now = unit.only().record;
    for (auto &stored : old) {
        if (stored.inputs.empty() || stored.inputs.front().sha256 != unit.only().inputs.front().sha256)
            return std::string("source changed");
        if (stored.record.options != now.options)
            return change("options", stored.record.options, now.options);
        if (stored.record.tool != now.tool)
            return change("tool", stored.record.tool, now.tool);
        if (!now.hash.empty() && stored.record.hash != now.hash)
            return std::string("its name changed");
        stored.inputs.front() = unit.only().inputs.front();
        if (auto trouble = TRY(inputTrouble(stored, context, progress)); !trouble.empty())
            return trouble;
        if (auto trouble = imageTrouble(stored.image, context.request.cacheDirectory, progress); !trouble.empty())
            return trouble;
        if (auto trouble = imageTrouble(stored.cubin, context.request.cacheDirectory, progress); !trouble.empty()) {
            if (stored.image.file.empty())
                return trouble;
            stored.cubin = {}; // it is assembled again from the PTX
            stored.cubinTool.clear();
        }
    }
    return std::string();
}

} // namespace

void CompileContext::note(std::string text) {
    const std::lock_guard lock(m_mutex);
    m_notes.push_back(std::move(text));
}

std::vector<std::string> CompileContext::notes() {
    const std::lock_guard lock(m_mutex);
    return m_notes;
}

fs::path projectRoot(const KernelSource &source) {
    const auto file = source.file.string();
    if (file.size() > source.label.size() + 1 && file.ends_with("/" + source.label))
        return file.substr(0, file.size() - source.label.size() - 1);
    return source.file.parent_path();
}

std::string contentHash(const std::vector<FileStamp> &inputs) {
    if (inputs.size() == 1)
        return inputs.front().sha256;
    std::string all;
    for (const auto &input : inputs)
        all += input.sha256 + "\n";
    return sha256(all);
}

std::string CompileUnit::title() const {
    return fmt::format("{} for {}", source.label, capability.sm());
}

Result<FileStamp> CompileContext::publish(const std::string &fileName, std::string_view bytes) {
    const auto file = request.cacheDirectory / fileName;
    auto written = writeFileAtomically(file, bytes, 0644, Durable::no);
    if (!written && isDiskFull(written.error()))
        return std::unexpected(std::move(written).error().hinted(roomHint));
    auto stamp = written ? Contents::entry(file, true) : std::unexpected(std::move(written).error());
    if (!stamp) {
        abort(stamp.error());
        return stamp;
    }
    stamp->file = fileName;
    stamp->sha256 = sha256(bytes);
    return stamp;
}

void CompileContext::abort(Error error) {
    const std::lock_guard lock(m_mutex);
    if (!m_failure)
        m_failure = std::move(error);
}

std::optional<Error> CompileContext::aborted() {
    const std::lock_guard lock(m_mutex);
    return m_failure;
}

Result<void> prepareUnit(CompileUnit &unit, const std::vector<const StoredRecord *> &sameSource,
                         CompileContext &context, Progress &progress) {
    StoredRecord stored;
    const auto *known =
        sameSource.empty() || sameSource.front()->inputs.empty() ? nullptr : &sameSource.front()->inputs.front();
    const auto input = TRY(context.contents.stamp(unit.source.file, known, progress));
    stored.inputs = {input};
    auto &record = stored.record;
    record.name = unit.source.name;
    record.kind = sourceKindName(unit.source.kind);
    record.source = unit.source.label;
    record.sourceHash = input.sha256;
    record.target = unit.capability;
    record.ptx = unit.ptx;
    record.options = optionsOf(unit, context);
    record.tool = toolOf(unit, context);
    if (unit.source.kind == SourceKind::llvmIr || unit.source.kind == SourceKind::cuda) {
        record.id = input.sha256; // sourceId of the text, which is this digest
        record.hash = cacheKey(record.id, unit.cpu, unit.ptx);
    }
    unit.made = {std::move(stored)};
    return {};
}

Result<void> compareUnit(CompileUnit &unit, const std::vector<const StoredRecord *> &sameSource,
                         CompileContext &context, Progress &progress) {
    std::vector<StoredRecord> old;
    for (const auto *stored : sameSource) {
        if (stored->subject() == unit.only().subject())
            old.push_back(*stored);
    }
    if (context.request.force) {
        unit.why = "forced";
    } else if (old.empty()) {
        const auto *other = otherVersion(sameSource, unit);
        unit.why = other ? change("ptx version", other->record.ptx->text(), unit.ptx.text()) : "new";
    } else {
        unit.why = TRY(whyStale(old, unit, context, progress));
    }
    if (unit.why.empty()) {
        unit.made = std::move(old);
        for (auto &stored : unit.made)
            stored.record.why = fmt::format("up to date: source, options and {} are unchanged", stored.record.tool);
    }
    return {};
}

Result<void> checkPtx(std::string_view text, const CompileUnit &unit, std::string_view tool, KernelRecord &record) {
    const auto image = readPtx(text);
    if (!image.damage.empty())
        return fail("{} wrote PTX that cannot be used: {}", tool, image.damage.front());
    if (!image.ptxVersion || *image.ptxVersion != unit.ptx)
        return fail("{} labels the PTX {}, needed {}", tool,
                    image.ptxVersion ? image.ptxVersion->text() : "with no version", unit.ptx.text());
    if (!image.unresolved.empty())
        return std::unexpected(Error{
            .message = fmt::format("unresolved: {}", fmt::join(image.unresolved, ", ")),
            .hint = image.unresolved.front().starts_with("__nv_")
                        ? "functions that begin with __nv_ are in CUDA's libdevice.10.bc: install the CUDA toolkit"
                        : "define it in the same source"});
    record.entries.clear();
    for (const auto &entry : image.entries)
        record.entries.push_back(entry.name);
    if (record.entries.empty())
        return fail("it holds no kernel (needed a __global__ function)");
    return {};
}

std::string metaLines(const KernelRecord &record, std::string_view ptx) {
    std::string text;
    const auto head = ptx.substr(0, ptx.find(".version"));
    if (!record.id.empty() && head.find("// meta:id=") == std::string_view::npos)
        text += fmt::format("// meta:id={}\n", record.id);
    if (record.entries.size() == 1 && head.find("// meta:name=") == std::string_view::npos)
        text += fmt::format("// meta:name={}\n", record.entries.front());
    return text;
}

} // namespace slipway
