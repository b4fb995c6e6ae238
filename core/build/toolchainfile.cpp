// SPDX-License-Identifier: Apache-2.0
//
// The CMake toolchain file: everything of the target comes from its root, programs come from this machine.

#include "core/build/buildparts.h"

namespace slipway {

namespace {

/// A CMake bracket argument: nothing in it is special but its own end.
std::string quoted(const std::string &text) {
    std::string equals;
    while (text.find("]" + equals + "]") != std::string::npos)
        equals += '=';
    return fmt::format("[{0}[{1}]{0}]", equals, text);
}

/// Options as one string that CMake's generators split like a shell does.
std::string joined(const std::vector<std::string> &options) {
    std::string text;
    for (const auto &option : options)
        text += (text.empty() ? "" : " ") + (option.find(' ') == std::string::npos ? option : "\"" + option + "\"");
    return text;
}

void set(std::string &text, const char *name, const std::string &value) { text += fmt::format("set({} {})\n", name, quoted(value)); }

} // namespace

Result<std::string> toolchainFileText(const BuildRequest &request) {
    const auto &toolchain = request.toolchain;
    std::string text = "# Written by Slipway for each build: changes here are lost.\n";
    if (!toolchain.isNative()) {
        set(text, "CMAKE_SYSTEM_NAME", "Linux");
        set(text, "CMAKE_SYSTEM_PROCESSOR", request.target.arch);
        set(text, "CMAKE_LIBRARY_ARCHITECTURE", toolchain.triple);
    }
    set(text, "CMAKE_C_COMPILER", toolchain.cc.string());
    set(text, "CMAKE_CXX_COMPILER", toolchain.cxx.string());
    if (!toolchain.isForThisMachine()) {
        set(text, "CMAKE_CUDA_HOST_COMPILER", toolchain.cxx.string());
        if (request.capability)
            set(text, "CMAKE_CUDA_ARCHITECTURES", fmt::format("{0}-real;{0}-virtual", request.capability->number));
        // the build tree's own paths must not be in what is shipped; libraries lie beside the program
        text += "set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)\n";
        set(text, "CMAKE_INSTALL_RPATH", "$ORIGIN");
    }
    if (toolchain.sysroot) {
        set(text, "CMAKE_SYSROOT", toolchain.sysroot->path.string());
        const auto flags = joined(TRY(linkOptions(request)));
        if (request.verb != BuildVerb::clippy) { // clang-tidy has its own compiler headers: GCC's would only confuse it
            set(text, "CMAKE_C_FLAGS_INIT", joined(toolchain.flags.c));
            set(text, "CMAKE_CXX_FLAGS_INIT", joined(toolchain.flags.cxx));
        }
        for (const char *name : {"CMAKE_EXE_LINKER_FLAGS_INIT", "CMAKE_SHARED_LINKER_FLAGS_INIT", "CMAKE_MODULE_LINKER_FLAGS_INIT"})
            set(text, name, flags);
    }
    if (!toolchain.isNative() || toolchain.sysroot) {
        set(text, "CMAKE_FIND_ROOT_PATH", toolchain.sysroot ? toolchain.sysroot->path.string() : "/usr/" + toolchain.triple);
        text += "set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\n";
        for (const char *mode : {"LIBRARY", "INCLUDE", "PACKAGE"})
            text += fmt::format("set(CMAKE_FIND_ROOT_PATH_MODE_{} ONLY)\n", mode);
    }
    if (!toolchain.cudaRoot.empty())
        set(text, "CUDAToolkit_ROOT", toolchain.cudaRoot.string());
    return text;
}

} // namespace slipway
