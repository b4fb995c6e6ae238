// SPDX-License-Identifier: Apache-2.0
//
// A remote command that a signal ended says so by name; people and shells know the number.

#include "core/device/exitsignal.h"

#include <array>
#include <utility>

namespace slipway {

int signalNumber(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, int>, 13> numbers{{{"HUP", 1},
                                                                        {"INT", 2},
                                                                        {"QUIT", 3},
                                                                        {"ILL", 4},
                                                                        {"ABRT", 6},
                                                                        {"FPE", 8},
                                                                        {"KILL", 9},
                                                                        {"USR1", 10},
                                                                        {"SEGV", 11},
                                                                        {"USR2", 12},
                                                                        {"PIPE", 13},
                                                                        {"ALRM", 14},
                                                                        {"TERM", 15}}};
    for (const auto &[known, number] : numbers)
        if (known == name)
            return number;
    return name.starts_with("BUS") ? 7 : 15;
}

} // namespace slipway
