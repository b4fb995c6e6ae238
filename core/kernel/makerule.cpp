// SPDX-License-Identifier: Apache-2.0
//
// The dependency files that compilers write for make.

#include "core/kernel/makerule.h"

#include <string>
#include <utility>

namespace slipway {

std::vector<fs::path> dependenciesOf(std::string_view rule) {
    std::vector<fs::path> files;
    std::string name;
    const auto colon = rule.find(": ");
    rule.remove_prefix(colon == std::string_view::npos ? rule.size() : colon + 2);
    const auto finish = [&] {
        if (!name.empty())
            files.emplace_back(std::exchange(name, {}));
    };
    for (std::size_t i = 0; i < rule.size(); ++i) {
        const char c = rule[i];
        const char next = i + 1 < rule.size() ? rule[i + 1] : '\0';
        if (c == '\\' && next == '\n') {
            finish();
            ++i;
        } else if ((c == '\\' && (next == ' ' || next == '#')) || (c == '$' && next == '$')) {
            name += next;
            ++i;
        } else if (c == ' ' || c == '\n') {
            finish();
        } else {
            name += c;
        }
    }
    finish();
    return files;
}

} // namespace slipway
