// SPDX-License-Identifier: Apache-2.0
//
// Modules and functions of the simulated driver: images are accepted or refused, never executed.
#include "driver.h"
#include "image.h"

#include <new>

struct SimFunction {
    SimModule *module;
    char name[1]; ///< longer than declared: allocated with the structure
};

struct SimModule {
    simcuda::Image image;
    simcuda::List<SimFunction *> functions;
};

namespace simcuda {
namespace {

constexpr long largestFile = 256L << 20;

/// The numbers of CUjit_option that the JIT's logs use.
enum : int { infoLog = 3, infoLogSize = 4, errorLog = 5, errorLogSize = 6 };

struct Modules {
    SpinLock lock;
    List<SimModule *> all;
};
Modules &modules() {
    static Modules instance;
    return instance;
}

/// The caller's log buffer: a pointer, and a size that is overwritten with what was used.
struct LogBuffer {
    char *text = nullptr;
    void **size = nullptr;

    void fill(const Log &log) const {
        if (!size)
            return;
        const std::size_t room = std::size_t(reinterpret_cast<std::uintptr_t>(*size) & 0xffffffffU); // an unsigned int in a pointer
        const std::size_t used = log.size() < room ? log.size() : (room ? room - 1 : 0);
        if (text && room) {
            std::memcpy(text, log.text(), used);
            text[used] = 0;
        }
        if (log.size() < room)
            *size = reinterpret_cast<void *>(std::uintptr_t(log.size())); // NOLINT(performance-no-int-to-ptr)
    }
};

void destroy(SimModule *module) {
    for (SimFunction *function : module->functions)
        std::free(function);
    module->~SimModule();
    std::free(module);
}

CUresult load(CUmodule *result, const ForeignBytes &bytes, Log &errors, Log &info) {
    void *memory = std::malloc(sizeof(SimModule));
    if (!memory)
        return outOfMemory;
    auto *module = ::new (memory) SimModule;
    const CUresult refused = acceptImage(driver().board, bytes, module->image, errors, info);
    const Locked held(modules().lock);
    if (refused || !modules().all.add(module)) {
        destroy(module);
        return refused ? refused : outOfMemory;
    }
    *result = module;
    return success;
}

bool isModule(CUmodule module) {
    for (const SimModule *known : modules().all) {
        if (known == module)
            return true;
    }
    return false;
}

SimFunction *makeFunction(SimModule *module, const char *name) {
    const std::size_t length = std::strlen(name);
    auto *function = static_cast<SimFunction *>(std::malloc(sizeof(SimFunction) + length));
    if (!function)
        return nullptr;
    function->module = module;
    std::memcpy(function->name, name, length + 1);
    if (module->functions.add(function))
        return function;
    std::free(function);
    return nullptr;
}

/// A whole file in memory that is freed by the caller; null when it cannot be read.
unsigned char *readWholeFile(const char *name, std::size_t &size) {
    std::FILE *file = std::fopen(name, "rbe");
    if (!file)
        return nullptr;
    unsigned char *bytes = nullptr;
    if (std::fseek(file, 0, SEEK_END) == 0) {
        const long length = std::ftell(file);
        std::rewind(file);
        if (length >= 0 && length <= largestFile)
            bytes = static_cast<unsigned char *>(std::malloc(std::size_t(length) + 1));
        size = bytes ? std::fread(bytes, 1, std::size_t(length), file) : 0;
    }
    std::fclose(file);
    return bytes;
}

} // namespace
} // namespace simcuda

using namespace simcuda; // the C interface below lives outside the namespace

extern "C" {

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    if (const CUresult bad = needContext())
        return bad;
    if (!module || !image || (count && (!options || !values)))
        return invalidValue;
    LogBuffer errorBuffer;
    LogBuffer infoBuffer;
    for (unsigned i = 0; i < count; ++i) {
        switch (options[i]) {
        case infoLog: infoBuffer.text = static_cast<char *>(values[i]); break;
        case infoLogSize: infoBuffer.size = &values[i]; break;
        case errorLog: errorBuffer.text = static_cast<char *>(values[i]); break;
        case errorLogSize: errorBuffer.size = &values[i]; break;
        default: break;
        }
    }
    Log errors;
    Log info;
    const CUresult result = load(module, ForeignBytes(image), errors, info);
    errorBuffer.fill(errors);
    infoBuffer.fill(info);
    return result;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) { return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr); }
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) { return cuModuleLoadData(module, image); }

CUresult cuModuleLoad(CUmodule *module, const char *name) {
    if (const CUresult bad = needContext())
        return bad;
    if (!module || !name)
        return invalidValue;
    std::size_t size = 0;
    unsigned char *bytes = readWholeFile(name, size);
    if (!bytes)
        return fileNotFound;
    Log errors;
    Log info;
    const CUresult result = load(module, ForeignBytes(bytes, size), errors, info);
    std::free(bytes);
    return result;
}

CUresult cuModuleUnload(CUmodule module) {
    if (const CUresult bad = needContext())
        return bad;
    const Locked held(modules().lock);
    for (std::size_t i = 0; i < modules().all.size(); ++i) {
        if (modules().all[i] != module)
            continue;
        modules().all.removeAt(i);
        destroy(module);
        return success;
    }
    return invalidHandle;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    if (const CUresult bad = needContext())
        return bad;
    if (!function || !name || !*name)
        return invalidValue;
    const Locked held(modules().lock);
    if (!isModule(module))
        return invalidHandle;
    if (!module->image.has(name))
        return notFound;
    *function = makeFunction(module, name);
    return *function ? success : outOfMemory;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *, std::size_t *, CUmodule, const char *) { return notSupported; }
CUresult cuFuncGetAttribute(int *, int, CUfunction) { return notSupported; }
CUresult cuFuncSetAttribute(CUfunction, int, int) { return notSupported; }
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, CUfunction, int, std::size_t) { return notSupported; }

/// Nothing runs on a simulated GPU, and a program must be able to tell.
CUresult cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **) {
    const CUresult bad = needContext();
    return bad ? bad : notSupported;
}
CUresult cuLaunchKernelEx(const void *, CUfunction, void **, void **) {
    const CUresult bad = needContext();
    return bad ? bad : notSupported;
}
}
