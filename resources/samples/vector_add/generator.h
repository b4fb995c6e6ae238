// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// The kernel that the program writes itself: `out[i] = value`.
inline constexpr const char *generatedKernel = "fill_generated";

/// What the ahead-of-time run asks for.
struct Generation {
    std::string device;  ///< "cuda"
    std::string options; ///< such as "capability=sm_87,ptx-version=82"
    std::string cache;   ///< folder to write to
    bool force = false;  ///< write also what is there already
};

/// Writes the kernel as NAME_HASH.o and returns one line that says what was done.
/// Throws std::runtime_error, one line, for options it cannot honour.
std::string generate(const Generation &request);
