// SPDX-License-Identifier: Apache-2.0
//
// cuGetProcAddress: names without a version give the current interface, as the real driver does for CUDA 3.2 and newer.
#include "cuda.h"

#include <cstring>

// Only addresses are taken here, so the parameters do not matter.
#define SIMCUDA_EXPORTS(X)                                                                                                             \
    X(cuInit) X(cuDriverGetVersion) X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute)                      \
    X(cuDeviceComputeCapability) X(cuDeviceTotalMem_v2) X(cuDeviceGetUuid_v2) X(cuDeviceGetPCIBusId) X(cuCtxCreate_v2)                 \
    X(cuCtxCreate_v3) X(cuCtxCreate_v4) X(cuCtxDestroy_v2) X(cuCtxSetCurrent) X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2)             \
    X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxSynchronize) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)               \
    X(cuModuleLoadDataEx) X(cuModuleLoadData) X(cuModuleLoadFatBinary) X(cuModuleLoad) X(cuModuleUnload) X(cuModuleGetFunction)        \
    X(cuModuleGetGlobal_v2) X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                 \
    X(cuLaunchKernel) X(cuLaunchKernelEx) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemcpyHtoD_v2) X(cuMemcpyDtoH_v2) X(cuMemsetD8_v2)      \
    X(cuMemGetInfo_v2) X(cuMemcpyHtoDAsync_v2) X(cuMemcpyDtoHAsync_v2) X(cuStreamCreate) X(cuStreamSynchronize)                        \
    X(cuStreamDestroy_v2) X(cuGetErrorName) X(cuGetErrorString)

extern "C" {
#define SIMCUDA_DECLARE(name) void name();
namespace simcuda::addresses {
SIMCUDA_EXPORTS(SIMCUDA_DECLARE)
}
}

namespace simcuda {
namespace {

struct Export {
    const char *name;
    void (*function)();
};
#define SIMCUDA_ROW(name) {#name, addresses::name},
constexpr Export exports[] = {SIMCUDA_EXPORTS(SIMCUDA_ROW)};

/// "cuMemAlloc" finds cuMemAlloc_v2.
bool isCalled(const char *exported, const char *asked) {
    const std::size_t length = std::strlen(asked);
    if (std::strncmp(exported, asked, length) != 0)
        return false;
    return exported[length] == 0 || std::strcmp(exported + length, "_v2") == 0;
}

} // namespace
} // namespace simcuda

extern "C" {

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int, std::uint64_t, int *status) {
    if (!symbol || !function)
        return simcuda::invalidValue;
    *function = nullptr;
    if (status)
        *status = 0;
    if (simcuda::isCalled("cuGetProcAddress_v2", symbol)) {
        *function = reinterpret_cast<void *>(&cuGetProcAddress_v2);
        return simcuda::success;
    }
    for (const simcuda::Export &row : simcuda::exports) {
        if (!simcuda::isCalled(row.name, symbol))
            continue;
        *function = reinterpret_cast<void *>(row.function);
        return simcuda::success;
    }
    if (status)
        *status = 1; // CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
    return simcuda::notFound;
}

CUresult cuGetProcAddress(const char *symbol, void **function, int version, std::uint64_t flags) {
    return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
}
