// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "basics.h"

namespace simcuda {

/// The board that is played, read from a file of `key=value` lines.
struct Board {
    char profile[64] = {};
    char gpuName[128] = {};
    char uuid[33] = {};          ///< 32 hex digits
    int capability = 0;          ///< 87 for 8.7, 110 for 11.0
    int smCount = 0;
    int driverCuda = 0;          ///< as cuDriverGetVersion reports it, 12060
    std::uint64_t memoryBytes = 0;
    bool tegra = false;          ///< cubins must fit exactly, and memory is shared with the CPU
    int clockKhz = 0;
    int l2Bytes = 0;
    int sharedPerSm = 0;
    int sharedOptin = 0;
    int threadsPerSm = 0;
};

/// Reads the board file: `SLIPWAY_SIMCUDA_BOARD`, else /etc/slipway-virtual-board. False when there is none, or it names no
/// capability and driver: the machine then has no device (CUDA_ERROR_NO_DEVICE).
[[nodiscard]] bool readBoard(Board &board);

/// cuDeviceGetAttribute's answer; false for an attribute that is not known.
[[nodiscard]] bool boardAttribute(const Board &board, int attribute, int &value);

} // namespace simcuda
