// SPDX-License-Identifier: Apache-2.0
//
// What a project may be called: its name becomes part of paths here and on boards.

#include "core/build/project.h"

namespace slipway {

bool isProjectName(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    return !text.empty() && text.size() <= 64 && text.front() != '.' && text.front() != '-'
           && text.find_first_not_of(letters) == std::string_view::npos;
}

std::string projectNameFrom(std::string_view text) {
    std::string name(text.substr(0, 64));
    for (auto &c : name) {
        if (!isProjectName(std::string{'a', c}))
            c = '_';
    }
    if (!name.empty() && (name.front() == '.' || name.front() == '-'))
        name.front() = '_';
    return name.empty() ? "project" : name;
}

} // namespace slipway
