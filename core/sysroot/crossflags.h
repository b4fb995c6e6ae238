// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/sysroot/sysroot.h"

namespace slipway {

/// What a GCC needs, besides `--sysroot`, to take everything of the C library from a sysroot.
///
/// Debian's and Ubuntu's cross compilers look into /usr/TRIPLE/lib and /usr/TRIPLE/include before the sysroot, so that
/// `--sysroot` alone silently links against this machine's glibc: found with `-Wl,--trace` and `-v` of 12.2.
struct CrossFlags {
    std::vector<std::string> c, cxx, link;
};
/// `multiarch` is the sysroot's own: "aarch64-linux-gnu". Asks the compilers for their folders; an empty `cxx` gives no C++
/// flags.
[[nodiscard]] Result<CrossFlags> crossFlags(const fs::path &sysroot, const std::string &multiarch, const fs::path &cc, const fs::path &cxx);

/// Makes `folder`/libstdc++.so lead to the sysroot's own libstdc++, whose development link lies in a folder that also holds
/// parts of the board's compiler. Returns the linker's option; none when the sysroot has no libstdc++.
[[nodiscard]] Result<std::vector<std::string>> linkSysrootCxx(const fs::path &sysroot, const std::string &multiarch, const fs::path &folder);

} // namespace slipway
