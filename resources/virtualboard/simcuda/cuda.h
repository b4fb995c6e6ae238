// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// The part of the CUDA driver interface that is simulated. Values are those of NVIDIA's interface (facts: CUresult numbers
/// and attribute numbers as a real driver 580 answered them).
extern "C" {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;
using CUcontext = struct SimContext *;
using CUmodule = struct SimModule *;
using CUfunction = struct SimFunction *;
using CUstream = void *;
struct CUuuid {
    unsigned char bytes[16];
};
}

namespace simcuda {

enum : CUresult {
    success = 0,
    invalidValue = 1,
    outOfMemory = 2,
    notInitialized = 3,
    noDevice = 100,
    invalidDevice = 101,
    invalidImage = 200,
    invalidContext = 201,
    noBinaryForGpu = 209,
    invalidPtx = 218,
    unsupportedPtxVersion = 222,
    fileNotFound = 301,
    invalidHandle = 400,
    notFound = 500,
    notSupported = 801,
};

} // namespace simcuda
