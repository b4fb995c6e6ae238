// SPDX-License-Identifier: Apache-2.0
//
// slipway cache list|show|predict|compare|prune: what is in a directory of kernel images.

#include "app/cli/context.h"
#include "core/base/text.h"
#include "core/kernel/comparecaches.h"
#include "core/kernel/predict.h"

#include <algorithm>
#include <ctime>

namespace slipway::cli {

namespace {

Json toJson(const CacheEntry &entry) {
    Json json{{"name", entry.name}, {"hash", entry.hash}, {"image", entry.image.filename().string()},
              {"cubin", entry.cubin.filename().string()}, {"bytes", entry.bytes}, {"modified", entry.modified}, {"remarks", entry.remarks}};
    if (entry.facts) {
        json["kind"] = imageKindName(entry.facts->kind);
        json["target"] = entry.facts->target ? Json(entry.facts->target->sm()) : Json(nullptr);
        json["ptx_version"] = entry.facts->ptxVersion ? Json(entry.facts->ptxVersion->text()) : Json(nullptr);
        json["damage"] = entry.facts->damage;
        json["entries"] = Json::array();
        for (const auto &kernel : entry.facts->entries)
            json["entries"].push_back(kernel.name);
    }
    if (entry.record)
        json["record"] = slipway::toJson(*entry.record);
    return json;
}

std::string age(long modified) {
    const auto seconds = std::max(0L, long(std::time(nullptr)) - modified);
    return seconds < 3600 ? fmt::format("{} min", seconds / 60) : seconds < 86400 ? fmt::format("{} h", seconds / 3600)
                                                                                 : fmt::format("{} d", seconds / 86400);
}

std::string joined(const std::vector<std::string> &texts) {
    return fmt::format("{}", fmt::join(texts, "; "));
}

/// What ptxas said that a kernel costs.
std::string resources(const KernelRecord &record) {
    if (record.registers < 0)
        return "-";
    auto text = fmt::format("{} regs", record.registers);
    if (record.sharedBytes > 0)
        text += fmt::format(", {} B shared", record.sharedBytes);
    if (record.spillBytes > 0)
        text += fmt::format(", {} B spilled", record.spillBytes);
    if (record.stackBytes > 0)
        text += fmt::format(", {} B stack", record.stackBytes);
    return text;
}

Result<int> list(Context &context, const std::string &directory, Progress &progress) {
    const auto cache = TRY(KernelCache::read(absolutePath(directory), progress));
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows{{"KERNEL", "TARGET", "PTX", "CUBIN", "RESOURCES", "SIZE", "AGE", "SOURCE", "REMARKS"}};
    for (const auto &entry : cache.entries) {
        all.push_back(toJson(entry));
        auto remarks = entry.remarks;
        if (entry.facts)
            remarks.insert(remarks.end(), entry.facts->damage.begin(), entry.facts->damage.end());
        rows.push_back({entry.name, entry.facts && entry.facts->target ? entry.facts->target->sm() : "-",
                        entry.facts && entry.facts->ptxVersion ? entry.facts->ptxVersion->text() : "-", entry.cubin.empty() ? "no" : "yes",
                        entry.record ? resources(*entry.record) : "-", formatBytes(entry.bytes), age(entry.modified), entry.record ? entry.record->source : "-", joined(remarks)});
    }
    if (context.json)
        context.print({{"directory", cache.directory.string()}, {"entries", all}});
    else if (cache.entries.empty())
        std::fputs("the cache is empty; fill it with: slipway aot\n", stderr);
    else
        Terminal::table(rows);
    return 0;
}

/// Everything that explains one entry, a line each.
void explain(const CacheEntry &entry) {
    std::vector<std::vector<std::string>> rows;
    const auto row = [&rows](const char *what, const std::string &value) {
        if (!value.empty())
            rows.push_back({what, value});
    };
    row("kernel", entry.name);
    row("hash", entry.hash);
    row("image", entry.image.filename().string());
    row("cubin", entry.cubin.filename().string());
    for (const auto &companion : entry.companions)
        row("beside it", companion.filename().string());
    if (const auto &facts = entry.facts) {
        row("target", facts->target ? facts->target->sm() : "");
        row("PTX", facts->ptxVersion ? facts->ptxVersion->text() : "");
        for (const auto &kernel : facts->entries)
            row("entry", kernel.name + (kernel.threads ? fmt::format(", {} threads a block", *kernel.threads) : ""));
        for (const auto &damage : facts->damage)
            row("damage", damage);
    }
    if (const auto &record = entry.record) {
        row("source", record->source + " (" + record->kind + ")");
        row("source hash", record->sourceHash);
        row("id", record->id);
        row("options", record->options);
        row("tool", record->tool);
        row("dtypes", joined(record->dtypes));
        row("resources", resources(*record));
        row("why", record->why);
    } else {
        row("source", "not recorded: slipway aot did not make it here");
    }
    row("size", formatBytes(entry.bytes));
    row("age", age(entry.modified));
    for (const auto &remark : entry.remarks)
        row("remark", remark);
    Terminal::table(rows);
}

Result<int> show(Context &context, const std::string &directory, const std::string &kernel, Progress &progress) {
    const auto cache = TRY(KernelCache::read(absolutePath(directory), progress));
    Json all = Json::array();
    for (const auto &entry : cache.entries) {
        if (entry.name != kernel && (entry.hash.empty() || !entry.hash.starts_with(kernel)))
            continue;
        if (!context.json) {
            if (!all.empty())
                std::fputs("\n", stdout);
            explain(entry);
        }
        all.push_back(toJson(entry));
    }
    if (all.empty())
        return fail("there is no kernel {} in {} ({} others are there)", printable(kernel), cache.directory.string(), cache.entries.size());
    if (context.json)
        context.print({{"directory", cache.directory.string()}, {"entries", all}});
    return 0;
}

struct PredictOptions {
    std::string directory, target, capability, ptx;
};

/// The name that a board's process will look up for each kernel, and whether it is there.
Result<int> predict(Context &context, const PredictOptions &options, Progress &progress) {
    const auto catalog = TRY(context.workspace.catalog());
    std::optional<Capability> device;
    if (!options.capability.empty())
        device = TRY(Capability::parse(options.capability));
    else if (!options.target.empty())
        device = TRY(catalog.target(options.target)).capability;
    if (!device)
        return failAs(ErrorKind::usage, "no capability of the board (needed --capability sm_N, or a --target that has one)");
    const auto cache = TRY(KernelCache::read(absolutePath(options.directory), progress));
    const auto ptx = options.ptx == "none"    ? std::optional<PtxVersion>()
                     : options.ptx.empty() ? builtPtxVersion(cache, *device)
                                           : std::optional(TRY(PtxVersion::parse(options.ptx)));
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows{{"KERNEL", "LOOKS UP", "OUTCOME", "WHY", "FIX"}};
    bool missed = false;
    for (const auto &[name, lookUp, outcome, why, fix] : predictLookUps(cache, catalog.isa, *device, ptx)) {
        missed = missed || outcome == KernelPrediction::Outcome::miss;
        rows.push_back({name, lookUp.empty() ? "-" : lookUp, outcomeName(outcome), why, fix});
        all.push_back({{"name", name}, {"look_up", lookUp}, {"outcome", outcomeName(outcome)}, {"why", why}, {"fix", fix}});
    }
    if (context.json) {
        context.print({{"directory", cache.directory.string()}, {"capability", device->sm()},
                       {"ptx_version", ptx ? Json(ptx->code()) : Json(nullptr)}, {"kernels", all}});
    } else {
        std::fputs(fmt::format("for a process on {}\n", spokenKey(*device, ptx)).c_str(), stderr);
        Terminal::table(rows);
    }
    return missed ? 1 : 0;
}

/// An image as the other cache's user would tell it from theirs: "sm_87 PTX 8.2, cubin".
std::string shortText(const CacheEntry *entry) {
    if (!entry)
        return "missing";
    if (!entry->facts || !entry->facts->target)
        return "no image";
    auto text = entry->facts->target->sm();
    if (entry->facts->ptxVersion)
        text += " PTX " + entry->facts->ptxVersion->text();
    return entry->cubin.empty() ? text : text + ", cubin";
}

Result<int> compare(Context &context, const std::string &left, const std::string &right, Progress &progress) {
    const auto a = TRY(KernelCache::read(absolutePath(left), progress));
    const auto b = TRY(KernelCache::read(absolutePath(right), progress));
    Json all = Json::array();
    std::vector<std::vector<std::string>> rows{{"KERNEL", "LEFT", "RIGHT", "DIFFERENCE"}};
    for (const auto &[name, here, there, kind] : TRY(compareCaches(a, b, progress))) {
        rows.push_back({name, shortText(here), shortText(there), differenceName(kind)});
        all.push_back({{"name", name}, {"left", shortText(here)}, {"right", shortText(there)}, {"left_hash", here ? here->hash : ""},
                       {"right_hash", there ? there->hash : ""}, {"difference", differenceName(kind)}});
    }
    if (context.json)
        context.print({{"left", a.directory.string()}, {"right", b.directory.string()}, {"kernels", all}});
    else
        Terminal::table(rows);
    return 0;
}

/// Removes leftovers of interrupted runs; images stay.
Result<int> prune(Context &context, const std::string &directory, Progress &progress) {
    const auto removed = TRY(pruneCache(absolutePath(directory), progress));
    Json all = Json::array();
    for (const auto &file : removed)
        all.push_back(file.filename().string());
    if (context.json)
        context.print({{"removed", all}});
    else
        std::fputs(fmt::format("removed {} leftovers\n", removed.size()).c_str(), stdout);
    return 0;
}

} // namespace

void addCache(CLI::App &app, Context &context) {
    auto *group = app.add_subcommand("cache", "look into a directory of kernel images");
    group->require_subcommand(1);
    auto first = std::make_shared<std::string>();
    auto second = std::make_shared<std::string>();
    const auto command = [&](const char *verb, const char *help, Result<int> (*what)(Context &, const std::string &, Progress &)) {
        auto *sub = group->add_subcommand(verb, help);
        sub->add_option("DIR", *first)->required();
        addJson(*sub, context);
        sub->callback([&context, first, what] { context.action = [first, what](Context &c, Progress &p) { return what(c, *first, p); }; });
    };
    const auto two = [&](const char *verb, const char *help, const char *name,
                         Result<int> (*what)(Context &, const std::string &, const std::string &, Progress &)) {
        auto *sub = group->add_subcommand(verb, help);
        sub->add_option("DIR", *first)->required();
        sub->add_option(name, *second)->required();
        addJson(*sub, context);
        sub->callback([&context, first, second, what] {
            context.action = [first, second, what](Context &c, Progress &p) { return what(c, *first, *second, p); };
        });
    };
    command("list", "list the kernels", list);
    two("show", "everything known of one kernel (name or beginning of its hash)", "KERNEL", show);
    two("compare", "set two caches side by side", "OTHER", compare);
    auto asked = std::make_shared<PredictOptions>();
    auto *ahead = group->add_subcommand("predict", "what a board's process will look up, hit or miss");
    ahead->add_option("DIR", asked->directory)->required();
    ahead->add_option("--target", asked->target, "the board, for its capability");
    ahead->add_option("--capability", asked->capability, "sm_N instead of the target's");
    ahead->add_option("--ptx-version", asked->ptx, "TEENYC_PTX_VERSION of the process, or none (default: that of the cache's records)");
    addJson(*ahead, context);
    ahead->callback([&context, asked] { context.action = [asked](Context &c, Progress &p) { return predict(c, *asked, p); }; });
    command("prune", "remove what interrupted runs left behind", prune);
}

} // namespace slipway::cli
