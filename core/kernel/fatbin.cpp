// SPDX-License-Identifier: Apache-2.0
//
// Fatbins made elsewhere: a cache holds single images, so those that fit are taken out, PTX and machine code of one
// fatbin side by side under one name.

#include "core/kernel/unit.h"

#include <algorithm>
#include <tuple>

namespace slipway {

namespace {

/// What of one fatbin a board of the unit's capability would be given.
struct Choice {
    const FatbinMember *ptx = nullptr;
    const FatbinMember *cubin = nullptr;
    std::optional<Error> refused; ///< why the first image that does not fit does not
};

/// Whether `a` is nearer to the capability than `b`, both being able to run there.
bool isBetter(const FatbinMember &a, const FatbinMember *b) {
    if (!b)
        return true;
    const auto rank = [](const KernelImage &image) {
        return std::tuple(image.target->number, image.target->flavour, image.ptxVersion.value_or(PtxVersion{}));
    };
    return rank(a.image) > rank(b->image);
}

Choice choose(const std::vector<FatbinMember> &members, const CompileUnit &unit, const CompileContext &context) {
    Choice choice;
    for (const auto &member : members) {
        auto fits = member.image.damage.empty() ? checkLoadable(member.image, unit, context)
                                                : Result<void>(fail("{}", member.image.damage.front()));
        if (!fits) {
            if (!choice.refused)
                choice.refused = std::move(fits).error();
            continue;
        }
        auto &best = member.image.kind == ImageKind::cubin ? choice.cubin : choice.ptx;
        if (isBetter(member, best))
            best = &member;
    }
    return choice;
}

/// "PTX 8.2 for sm_80, a cubin for sm_90"
std::string listImages(const std::vector<FatbinMember> &members) {
    std::vector<std::string> texts;
    for (const auto &[image, bytes] : members) {
        const auto target = image.target ? image.target->sm() : std::string("an unknown GPU");
        texts.push_back(image.kind == ImageKind::cubin
                            ? "a cubin for " + target
                            : fmt::format("PTX {} for {}", image.ptxVersion ? image.ptxVersion->text() : "?", target));
    }
    return fmt::format("{}", fmt::join(texts, ", "));
}

/// Puts the chosen images of one fatbin into the cache.
Result<StoredRecord> publish(const Choice &choice, const StoredRecord &common, const CompileUnit &unit,
                             CompileContext &context) {
    auto stored = common;
    auto &record = stored.record;
    const auto &first = choice.ptx ? *choice.ptx : *choice.cubin;
    for (const auto &entry : first.image.entries)
        record.entries.push_back(entry.name);
    if (record.entries.size() == 1)
        record.name = record.entries.front();
    const auto id = first.image.meta.find("id");
    record.id = id == first.image.meta.end() ? sourceId(first.bytes) : id->second;
    record.hash = cacheKey(record.id, unit.cpu, unit.ptx);
    const auto stem = fmt::format("{}_{}", record.name, record.hash);
    if (choice.ptx)
        stored.image = TRY(context.publish(stem + ".o", metaLines(record, choice.ptx->bytes) + choice.ptx->bytes));
    if (choice.cubin) {
        stored.cubin = TRY(context.publish(stem + ".cubin", choice.cubin->bytes));
        stored.cubinTool = "prebuilt";
    }
    return stored;
}

} // namespace

Result<void> takeFatbins(std::string_view bytes, CompileUnit &unit, CompileContext &context) {
    const auto fatbins = unpackFatbins(bytes);
    std::vector<Choice> choices;
    for (const auto &members : fatbins) {
        auto choice = choose(members, unit, context);
        if (choice.ptx || choice.cubin) {
            choices.push_back(std::move(choice));
        } else if (choice.refused) {
            for (const auto &entry : members.front().image.entries)
                unit.only().record.entries.push_back(entry.name);
            auto refused = *std::move(choice.refused);
            refused.message =
                fmt::format("it holds {}, of which nothing fits: {}", listImages(members), refused.message);
            return std::unexpected(std::move(refused));
        }
    }
    if (choices.empty())
        return fail("it is a fatbin without any image that can be read");
    const auto common = unit.only();
    std::vector<StoredRecord> made;
    for (const auto &choice : choices)
        made.push_back(TRY(publish(choice, common, unit, context)));
    unit.made = std::move(made);
    return {};
}

} // namespace slipway
