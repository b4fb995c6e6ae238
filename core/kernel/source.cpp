// SPDX-License-Identifier: Apache-2.0
//
// The kinds of kernel sources and their names in slipway.json.

#include "core/kernel/source.h"

#include "core/base/text.h"

namespace slipway {

const char *sourceKindName(SourceKind kind) {
    switch (kind) {
    case SourceKind::llvmIr:
        return "llvm-ir";
    case SourceKind::cuda:
        return "cuda";
    case SourceKind::program:
        return "program";
    case SourceKind::prebuilt:
        return "prebuilt";
    }
    return "";
}

Result<SourceKind> parseSourceKind(std::string_view text) {
    for (const auto kind : {SourceKind::llvmIr, SourceKind::cuda, SourceKind::program, SourceKind::prebuilt}) {
        if (text == sourceKindName(kind))
            return kind;
    }
    return failAs(ErrorKind::usage, "there is no kind of kernels \"{}\" (needed llvm-ir, cuda, program or prebuilt)",
                  printable(text, 40));
}

bool driverProvides(std::string_view function) {
    return function == "vprintf" || function == "malloc" || function == "free" || function == "__assertfail";
}

} // namespace slipway
