// SPDX-License-Identifier: Apache-2.0
//
// Names of cache files, as teenygrad's runtime computes them.

#include "core/kernel/key.h"

#include "core/base/digest.h"

#include <algorithm>

namespace slipway {

std::string cacheKey(std::string_view id, std::string_view cpu, std::optional<PtxVersion> ptx) {
    std::string bytes(id);
    bytes += cpu;
    if (ptx) {
        const auto code = std::uint32_t(ptx->code());
        for (int shift = 0; shift < 32; shift += 8)
            bytes += char(code >> shift & 0xff);
    }
    return sha256(bytes);
}

std::string keyCpu(Capability capability, const std::vector<Capability> &all) {
    const auto keepsPlainName = [](Capability a, Capability b) { return a.flavour < b.flavour; };
    auto first = capability;
    for (const auto &other : all) {
        if (other.number == capability.number && keepsPlainName(other, first))
            first = other;
    }
    return first == capability ? capability.baseline().sm() : capability.sm();
}

CacheFileName parseCacheFileName(std::string_view fileName) {
    constexpr std::size_t hashLength = 64;
    CacheFileName parsed;
    // the hash has a fixed length, and names may hold dots and underscores: look for "_" + 64 digits + "." or the end
    for (auto at = fileName.find('_'); at != std::string_view::npos; at = fileName.find('_', at + 1)) {
        const auto hash = fileName.substr(at + 1, hashLength);
        const auto rest = fileName.substr(std::min(fileName.size(), at + 1 + hashLength));
        if (at > 0 && hash.size() == hashLength &&
            hash.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
            (rest.empty() || rest.front() == '.')) {
            return {
                .name = std::string(fileName.substr(0, at)), .hash = std::string(hash), .extension = std::string(rest)};
        }
    }
    const auto dot = fileName.rfind('.');
    const bool hasExtension = dot != std::string_view::npos && dot > 0;
    parsed.name = fileName.substr(0, hasExtension ? dot : fileName.size());
    parsed.extension = hasExtension ? fileName.substr(dot) : std::string_view();
    return parsed;
}

std::string sourceId(std::string_view source) {
    return sha256(source);
}

} // namespace slipway
