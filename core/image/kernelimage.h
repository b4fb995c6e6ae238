// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/files.h"
#include "core/target/capability.h"

#include <map>
#include <optional>
#include <vector>

namespace slipway {

/// What a GPU image is.
enum class ImageKind { ptx, cubin, fatbin };

/// One kernel that can be launched from an image.
struct KernelEntry {
    std::string name;
    std::vector<std::string> parameters; ///< PTX types in order: ".u64", ".f32"; empty for cubins
    std::optional<int> threads;          ///< .reqntid or .maxntid, product of the dimensions
};

/// What a reader found in one image: facts, no verdict. Problems that make the image unusable are in `damage`.
struct KernelImage {
    ImageKind kind = ImageKind::ptx;
    std::optional<Capability> target;     ///< PTX `.target`, cubin's SM
    std::optional<PtxVersion> ptxVersion; ///< PTX only
    int addressSize = 64;
    std::vector<KernelEntry> entries;
    std::vector<std::string> unresolved;      ///< `.extern .func` without a body, in PTX
    std::map<std::string, std::string> meta;  ///< `// meta:key=value` lines
    std::optional<std::uint64_t> sharedBytes; ///< static shared memory of the largest entry
    std::uint64_t bytes = 0;
    std::vector<std::string> damage;  ///< one line each: truncated, unbalanced, foreign …
    std::vector<KernelImage> members; ///< images inside a fatbin
    std::string tools;                ///< "Cuda compilation tools, release 13.0, V13.0.88" where it says so
};

/// "ptx", "cubin", "fatbin"
[[nodiscard]] const char *imageKindName(ImageKind kind);

/// Reads an image from bytes, deciding by content. Never fails on bad content: that is `damage`. Bytes that are none of
/// the three give an error that says what they look like.
[[nodiscard]] Result<KernelImage> readKernelImage(std::string_view bytes);
/// The readers for each kind.
[[nodiscard]] KernelImage readPtx(std::string_view text);
[[nodiscard]] KernelImage readCubin(std::string_view bytes);
[[nodiscard]] KernelImage readFatbin(std::string_view bytes);
/// All fatbins inside a host ELF's .nv_fatbin / __nv_relfatbin sections.
[[nodiscard]] std::vector<KernelImage> fatbinsInElf(std::string_view elf);
/// The same of a file, which is mapped: CUDA's own libraries have gigabytes.
[[nodiscard]] Result<std::vector<KernelImage>> fatbinsInElfFile(const fs::path &file);

/// One image of a fatbin, unpacked.
struct FatbinMember {
    KernelImage image;
    std::string bytes; ///< PTX text, or a cubin
};
/// The images of a fatbin, or of all fatbins inside a host ELF: a list for each fatbin. Damaged ones are among them, as
/// far as they can be unpacked. Altogether at most 256 MB; what comes behind is left out and is a `damage` of `read…`.
[[nodiscard]] std::vector<std::vector<FatbinMember>> unpackFatbins(std::string_view bytes);

/// Element types of the pointer arguments of `tt.func public @…` in a .mlir text: "f32", "f16", "i8", in order; scalars
/// too.
struct MlirFunction {
    std::string name;
    std::vector<std::string> pointers;
    std::vector<std::string> scalars;
};
[[nodiscard]] std::vector<MlirFunction> readMlirFunctions(std::string_view text);

} // namespace slipway
