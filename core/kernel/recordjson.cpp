// SPDX-License-Identifier: Apache-2.0
//
// A kernel's record as JSON, for the cache's records file and for package manifests.

#include "core/kernel/cache.h"

namespace slipway {

Json toJson(const KernelRecord &record) {
    Json json = {{"name", record.name}, {"hash", record.hash},     {"id", record.id},
                 {"kind", record.kind}, {"source", record.source}, {"sourceHash", record.sourceHash}};
    if (record.target)
        json["target"] = record.target->sm();
    if (record.ptx)
        json["ptx"] = record.ptx->text();
    json["options"] = record.options;
    json["tool"] = record.tool;
    json["entries"] = record.entries;
    json["dtypes"] = record.dtypes;
    if (record.registers >= 0)
        json["registers"] = record.registers;
    if (record.sharedBytes >= 0)
        json["sharedBytes"] = record.sharedBytes;
    if (record.spillBytes >= 0)
        json["spillBytes"] = record.spillBytes;
    if (record.stackBytes >= 0)
        json["stackBytes"] = record.stackBytes;
    json["builtAt"] = std::uint64_t(record.builtAt);
    json["why"] = record.why;
    return json;
}

Result<KernelRecord> kernelRecordFromJson(const Json &json, std::string_view what) {
    KernelRecord record;
    record.name = TRY(required<std::string>(json, "name", what));
    record.hash = TRY(required<std::string>(json, "hash", what));
    record.id = TRY(member<std::string>(json, "id", {}, what));
    record.kind = TRY(member<std::string>(json, "kind", {}, what));
    record.source = TRY(member<std::string>(json, "source", {}, what));
    record.sourceHash = TRY(member<std::string>(json, "sourceHash", {}, what));
    if (const auto target = TRY(member<std::string>(json, "target", {}, what)); !target.empty())
        record.target = TRY_IN(Capability::parse(target), what);
    if (const auto ptx = TRY(member<std::string>(json, "ptx", {}, what)); !ptx.empty())
        record.ptx = TRY_IN(PtxVersion::parse(ptx), what);
    record.options = TRY(member<std::string>(json, "options", {}, what));
    record.tool = TRY(member<std::string>(json, "tool", {}, what));
    record.entries = TRY(member<std::vector<std::string>>(json, "entries", {}, what));
    record.dtypes = TRY(member<std::vector<std::string>>(json, "dtypes", {}, what));
    record.registers = TRY(member<int>(json, "registers", -1, what));
    record.sharedBytes = TRY(member<int>(json, "sharedBytes", -1, what));
    record.spillBytes = TRY(member<int>(json, "spillBytes", -1, what));
    record.stackBytes = TRY(member<int>(json, "stackBytes", -1, what));
    record.builtAt = long(TRY(member<std::uint64_t>(json, "builtAt", 0, what)));
    record.why = TRY(member<std::string>(json, "why", {}, what));
    return record;
}

} // namespace slipway
