// SPDX-License-Identifier: Apache-2.0
//
// Decides by content what a GPU image is; a file's name says nothing (caches keep PTX in files that end in ".o").

#include "core/image/kernelimage.h"

#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/elfimage.h"
#include "core/image/ptxlexer.h"

#include <algorithm>

namespace slipway {

namespace {

struct Signature {
    std::string_view start;
    const char *name;
};

constexpr Signature known[] = {
    {"BC\xC0\xDE", "LLVM bitcode"},
    {"\xDE\xC0\x17\x0B", "LLVM bitcode"},
    {"; ModuleID", "LLVM IR text"},
    {"source_filename", "LLVM IR text"},
    {"target datalayout", "LLVM IR text"},
    {"module ", "MLIR text"},
    {"#loc", "MLIR text"},
    {"!<arch>", "a static library"},
    {"PK\x03\x04", "a ZIP archive"},
    {"\x1F\x8B", "gzip data"},
    {"\x28\xB5\x2F\xFD", "zstd data"},
    {"<!DOCTYPE", "an HTML page"},
    {"<html", "an HTML page"},
    {"version https://git-lfs", "a Git LFS pointer: the real file was not fetched"},
    {"GGUF", "a GGUF model"},
    {"ftrt", "a TensorRT engine"},
    {"#!", "a script"},
    {"{", "JSON text"},
};

std::string looksLike(std::string_view bytes) {
    for (const auto &signature : known) {
        if (bytes.starts_with(signature.start))
            return signature.name;
    }
    const auto head = bytes.substr(0, 512);
    if (std::all_of(head.begin(), head.end(), [](char c) { return c == '\0'; }))
        return "zeros only";
    const bool isText = std::none_of(
        head.begin(), head.end(), [](char c) { return c != '\n' && c != '\r' && c != '\t' && std::uint8_t(c) < 0x20; });
    return isText ? fmt::format("text that begins with \"{}\"", printable(head, 40)) : "unknown binary data";
}

/// Text whose first token is a PTX directive, or that holds nothing but comments yet (cut off before its header).
bool looksLikePtx(std::string_view bytes) {
    const auto head = bytes.substr(0, 64 * 1024);
    PtxLexer lexer(head);
    const auto first = lexer.next();
    if (first.kind == PtxToken::Kind::end)
        return head.find("//") != std::string_view::npos;
    constexpr std::string_view directives[] = {".version", ".target", ".address_size", ".visible",
                                               ".extern",  ".entry",  ".func",         ".weak"};
    if (first.kind == PtxToken::Kind::directive)
        return std::find(std::begin(directives), std::end(directives), first.text) != std::end(directives) ||
               std::string_view(".version").starts_with(first.text);
    return false;
}

} // namespace

const char *imageKindName(ImageKind kind) {
    switch (kind) {
    case ImageKind::ptx:
        return "ptx";
    case ImageKind::cubin:
        return "cubin";
    case ImageKind::fatbin:
        return "fatbin";
    }
    return "ptx";
}

Result<KernelImage> readKernelImage(std::string_view bytes) {
    constexpr std::string_view needed = "needed PTX, a cubin or a fatbin";
    if (bytes.empty())
        return fail("it is empty ({})", needed);
    if (isElf(bytes)) {
        if (bytes.size() < 20 || (bytes[18] == '\xBE' && bytes[19] == '\0')) // e_machine 190, or cut off before it
            return readCubin(bytes);
        const auto elf = readElf(bytes);
        return fail("it is an ELF {} for {} ({})", elf ? elf->type : "file", elf ? elf->machine : "another machine",
                    needed);
    }
    if (ByteReader(bytes).number<std::uint32_t>() == 0xBA55ED50)
        return readFatbin(bytes);
    if (looksLikePtx(bytes))
        return readPtx(bytes);
    return fail("it is {} ({})", looksLike(bytes), needed);
}

} // namespace slipway
