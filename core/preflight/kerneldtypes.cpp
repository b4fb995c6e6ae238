// SPDX-License-Identifier: Apache-2.0
//
// Which element types the package's kernels take, where anything says so.

#include "core/base/text.h"
#include "core/preflight/modelparts.h"

#include <algorithm>

namespace slipway {

namespace {

/// Reads the parameter types of a mangled name (Itanium C++ ABI, 5.1.5). Only what CUDA kernels have: builtin types and
/// plain class names behind P and K; anything else ends the reading.
class Mangled {
public:
    explicit Mangled(std::string_view text)
        : m_rest(text) {}

    std::set<std::string> pointers() {
        std::set<std::string> found;
        if (!skip("_Z") || !name())
            return {};
        while (!m_rest.empty()) {
            const auto type = this->type(0);
            if (!type)
                return {};
            if (type->starts_with('*'))
                found.insert(type->substr(1));
        }
        return found;
    }

private:
    bool skip(std::string_view what) {
        if (!m_rest.starts_with(what))
            return false;
        m_rest.remove_prefix(what.size());
        return true;
    }

    /// "6__half"
    std::optional<std::string> name() {
        const auto digits = m_rest.substr(0, m_rest.find_first_not_of("0123456789"));
        const auto length = digits.size() < 5 ? parseNumber(digits) : std::nullopt;
        if (!length || *length == 0 || *length > m_rest.size() - digits.size())
            return std::nullopt;
        const std::string text(m_rest.substr(digits.size(), std::size_t(*length)));
        m_rest.remove_prefix(digits.size() + std::size_t(*length));
        return text;
    }

    static std::string elementOf(const std::string &name) {
        static const std::map<std::string, std::string> known{{"__half", "f16"},         {"__nv_bfloat16", "bf16"}, {"__nv_fp8_e4m3", "f8E4M3FN"},
                                                              {"__nv_fp8_e5m2", "f8E5M2"}, {"__half2", "f16"},        {"__nv_bfloat162", "bf16"},
                                                              {"float2", "f32"},           {"float4", "f32"}};
        const auto found = known.find(name);
        return found == known.end() ? "?" + name : found->second;
    }

    std::optional<std::string> builtin() {
        static const std::map<std::string_view, const char *> types{
            {"DF16_", "f16"}, {"DF16b", "bf16"}, {"f", "f32"}, {"d", "f64"}, {"i", "i32"}, {"j", "i32"}, {"l", "i64"}, {"m", "i64"}, {"x", "i64"},
            {"y", "i64"},     {"s", "i16"},      {"t", "i16"}, {"a", "i8"},  {"c", "i8"},  {"h", "i8"},  {"b", "i1"},  {"v", "?void"}};
        for (const auto &[code, type] : types) {
            if (skip(code))
                return type;
        }
        return std::nullopt;
    }

    std::optional<std::string> substitution() {
        const auto end = m_rest.find('_');
        if (end == std::string_view::npos || end > 2)
            return std::nullopt;
        const auto index = end == 0 ? std::optional<std::uint64_t>(0) : parseNumber(m_rest.substr(0, end)).transform([](auto n) { return n + 1; });
        m_rest.remove_prefix(end + 1);
        return index && *index < m_seen.size() ? std::optional(m_seen[std::size_t(*index)]) : std::nullopt;
    }

    std::optional<std::string> type(int depth) {
        if (depth > 8)
            return std::nullopt;
        if (skip("S"))
            return substitution();
        if (skip("P") || skip("R")) {
            const auto inner = type(depth + 1);
            return inner ? std::optional(remember("*" + *inner)) : std::nullopt;
        }
        if (skip("K") || skip("V") || skip("r")) {
            const auto inner = type(depth + 1);
            return inner ? std::optional(remember(*inner)) : std::nullopt;
        }
        if (auto plain = builtin())
            return plain;
        const auto own = name();
        return own ? std::optional(remember(elementOf(*own))) : std::nullopt;
    }

    std::string remember(std::string type) {
        m_seen.push_back(type);
        return type;
    }

    std::string_view m_rest;
    std::vector<std::string> m_seen; ///< what S_, S0_ … stand for
};

std::set<std::string> fromMlir(const CacheEntry &entry) {
    std::set<std::string> types;
    for (const auto &companion : entry.companions) {
        const auto text = companion.extension() == ".mlir" ? readFile(companion, 16U << 20) : fail("another kind");
        for (const auto &function : text ? readMlirFunctions(*text) : std::vector<MlirFunction>())
            types.insert(function.pointers.begin(), function.pointers.end());
    }
    return types;
}

std::set<std::string> typesOf(const ShippedKernel &kernel) {
    const auto &record = kernel.entry.record;
    if (record && !record->dtypes.empty())
        return {record->dtypes.begin(), record->dtypes.end()};
    auto types = fromMlir(kernel.entry);
    for (const auto &shipped : kernel.images) {
        for (const auto &entry : shipped.image ? shipped.image->entries : std::vector<KernelEntry>()) {
            if (types.empty())
                types = mangledPointers(entry.name);
        }
    }
    return types;
}

} // namespace

std::set<std::string> mangledPointers(std::string_view name) {
    auto types = Mangled(name).pointers();
    const bool opaque = std::any_of(types.begin(), types.end(), [](const auto &t) { return t.starts_with('?') || t.starts_with('*'); });
    return opaque ? std::set<std::string>() : types;
}

std::map<std::string, std::set<std::string>> kernelDtypes(const Evidence &evidence) {
    std::map<std::string, std::set<std::string>> all;
    for (const auto &record : evidence.package.manifest.kernels) {
        if (!record.dtypes.empty())
            all[record.name].insert(record.dtypes.begin(), record.dtypes.end());
    }
    for (const auto &kernel : evidence.kernels) {
        if (auto types = typesOf(kernel); !types.empty())
            all[kernel.entry.name].merge(types);
    }
    return all;
}

} // namespace slipway
