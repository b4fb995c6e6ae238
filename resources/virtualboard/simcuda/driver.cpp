// SPDX-License-Identifier: Apache-2.0
//
// Initialisation, the device's properties, and contexts of the simulated driver.
#include "driver.h"

namespace simcuda {
namespace {

constexpr unsigned contextMagic = 0x53434354;
thread_local SimContext *current = nullptr;

int hexDigit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
}

CUresult needDevice(CUdevice device) {
    if (!driver().initialized)
        return notInitialized;
    return device == 0 ? success : invalidDevice;
}

CUresult makeContext(CUcontext *context, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!context)
        return invalidValue;
    auto *made = static_cast<SimContext *>(std::calloc(1, sizeof(SimContext)));
    if (!made)
        return outOfMemory;
    made->magic = contextMagic;
    const Locked held(driver().lock);
    if (!driver().contexts.add(made)) {
        std::free(made);
        return outOfMemory;
    }
    *context = current = made;
    return success;
}

/// Whether the handle is one of ours that is alive.
bool isContext(CUcontext context) {
    const Locked held(driver().lock);
    if (context == &driver().primary)
        return driver().primary.references > 0;
    for (const SimContext *known : driver().contexts) {
        if (known == context)
            return true;
    }
    return false;
}

} // namespace

Driver &driver() {
    static Driver instance;
    return instance;
}

SimContext *currentContext() { return current; }

CUresult needContext() {
    if (!driver().initialized)
        return notInitialized;
    return current && isContext(current) ? success : invalidContext;
}

} // namespace simcuda

using namespace simcuda; // the C interface below lives outside the namespace

extern "C" {

CUresult cuInit(unsigned flags) {
    if (flags != 0)
        return invalidValue;
    const Locked held(driver().lock);
    if (driver().initialized)
        return success;
    if (!readBoard(driver().board))
        return noDevice;
    driver().initialized = true;
    return success;
}

CUresult cuDriverGetVersion(int *version) {
    if (!version)
        return invalidValue;
    Board board; // the real call works before cuInit too
    *version = readBoard(board) ? board.driverCuda : 0;
    return success;
}

CUresult cuDeviceGetCount(int *count) {
    if (!driver().initialized)
        return notInitialized;
    if (!count)
        return invalidValue;
    *count = 1;
    return success;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    if (!device)
        return invalidValue;
    if (const CUresult bad = needDevice(ordinal))
        return bad;
    *device = 0;
    return success;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!name || room <= 0)
        return invalidValue;
    std::snprintf(name, std::size_t(room), "%s", driver().board.gpuName);
    return success;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    return value && boardAttribute(driver().board, attribute, *value) ? success : invalidValue;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!major || !minor)
        return invalidValue;
    *major = driver().board.capability / 10;
    *minor = driver().board.capability % 10;
    return success;
}

CUresult cuDeviceTotalMem_v2(std::size_t *bytes, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!bytes)
        return invalidValue;
    *bytes = driver().board.memoryBytes;
    return success;
}

/// The interface of before CUDA 3.2, with 32-bit sizes.
CUresult cuDeviceTotalMem(unsigned *bytes, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!bytes)
        return invalidValue;
    const std::uint64_t size = driver().board.memoryBytes;
    *bytes = size > 0xffffffffU ? 0xffffffffU : unsigned(size);
    return success;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!uuid)
        return invalidValue;
    for (int i = 0; i < 16; ++i) {
        const char *digits = driver().board.uuid + std::size_t(2 * i);
        uuid->bytes[i] = static_cast<unsigned char>(hexDigit(digits[0]) * 16 + hexDigit(digits[1]));
    }
    return success;
}
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDeviceGetPCIBusId(char *, int, CUdevice device) {
    const CUresult bad = needDevice(device);
    return bad ? bad : notSupported;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned, CUdevice device) { return makeContext(context, device); }
CUresult cuCtxCreate(CUcontext *context, unsigned, CUdevice device) { return makeContext(context, device); }
CUresult cuCtxCreate_v3(CUcontext *context, void *, int, unsigned, CUdevice device) { return makeContext(context, device); }
CUresult cuCtxCreate_v4(CUcontext *context, void *, unsigned, CUdevice device) { return makeContext(context, device); }

CUresult cuCtxDestroy_v2(CUcontext context) {
    if (!driver().initialized)
        return notInitialized;
    const Locked held(driver().lock);
    List<SimContext *> &contexts = driver().contexts;
    for (std::size_t i = 0; i < contexts.size(); ++i) {
        if (contexts[i] != context)
            continue;
        contexts.removeAt(i);
        if (current == context)
            current = nullptr;
        std::free(context);
        return success;
    }
    return invalidContext;
}
CUresult cuCtxDestroy(CUcontext context) { return cuCtxDestroy_v2(context); }

CUresult cuCtxSetCurrent(CUcontext context) {
    if (!driver().initialized)
        return notInitialized;
    if (context && !isContext(context))
        return invalidContext;
    current = context;
    return success;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) { return context ? cuCtxSetCurrent(context) : invalidValue; }
CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    if (const CUresult bad = needContext())
        return bad;
    if (context)
        *context = current;
    current = nullptr;
    return success;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
    if (!driver().initialized)
        return notInitialized;
    if (!context)
        return invalidValue;
    *context = current;
    return success;
}

CUresult cuCtxGetDevice(CUdevice *device) {
    if (const CUresult bad = needContext())
        return bad;
    if (!device)
        return invalidValue;
    *device = 0;
    return success;
}

CUresult cuCtxSynchronize() { return needContext(); }

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    if (!context)
        return invalidValue;
    const Locked held(driver().lock);
    driver().primary.magic = contextMagic;
    ++driver().primary.references;
    *context = &driver().primary;
    return success;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    if (const CUresult bad = needDevice(device))
        return bad;
    const Locked held(driver().lock);
    if (driver().primary.references == 0)
        return invalidContext;
    --driver().primary.references;
    return success;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return cuDevicePrimaryCtxRelease_v2(device); }
}
