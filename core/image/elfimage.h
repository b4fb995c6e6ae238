// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"

#include <set>
#include <vector>

namespace slipway {

/// One version of one library that an ELF needs: (libc.so.6, GLIBC_2.34).
struct SymbolVersion {
    std::string library;
    std::string version;              ///< "GLIBC_2.34"
    std::vector<std::string> symbols; ///< symbols that need it: "__libc_start_main"
    bool weak = false;                ///< the loader only warns
};

/// What matters of an ELF file for running it elsewhere.
struct ElfImage {
    std::string machine; ///< "aarch64", "x86_64", "cuda", otherwise "machine N"
    int bits = 64;
    bool littleEndian = true;
    std::string type;        ///< "executable", "shared object", "relocatable", "core"
    std::string interpreter; ///< PT_INTERP; empty = static or a library
    std::string soname;
    std::vector<std::string> needed;
    std::vector<std::string> rpath; ///< DT_RPATH pieces
    std::vector<std::string> runpath;
    std::vector<SymbolVersion> versions; ///< .gnu.version_r
    std::set<std::string> defines;       ///< .gnu.version_d: versions that a library offers
    bool isStatic = false;
    bool hasFatbin = false; ///< has .nv_fatbin or __nv_relfatbin
    std::uint64_t bytes = 0;
    std::vector<std::string> damage;
};

[[nodiscard]] bool isElf(std::string_view bytes);
/// Reads through LLVM Object. Bytes that are no ELF at all are an error; a broken one has `damage`.
[[nodiscard]] Result<ElfImage> readElf(std::string_view bytes);
[[nodiscard]] Result<ElfImage> readElfFile(const fs::path &file);

} // namespace slipway
