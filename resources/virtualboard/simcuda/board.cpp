// SPDX-License-Identifier: Apache-2.0
//
// Which board the simulated driver plays, and the device attributes that follow from it.
#include "board.h"

#include "table.h"

#include <cstdio>

namespace simcuda {
namespace {

constexpr char nameSuffix[] = " (simulated by Slipway)";

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9' || value > (~std::uint64_t(0) - 9) / 10)
            return value;
        value = value * 10 + std::uint64_t(c - '0');
    }
    return value;
}

/// "8.7" -> 87, "11.0" -> 110.
int capabilityNumber(std::string_view text) {
    const auto dot = text.find('.');
    if (dot == std::string_view::npos)
        return 0;
    return int(number(piece(text, 0, dot))) * 10 + int(number(piece(text, dot + 1)));
}

template <std::size_t N> void copyText(char (&to)[N], std::string_view from) {
    const std::size_t count = from.size() < N - 1 ? from.size() : N - 1;
    std::memcpy(to, from.data(), count);
    to[count] = 0;
}

void setGpuName(Board &board, std::string_view value) {
    // The suffix is added here and nowhere else: no board file can make the driver pass for hardware.
    const std::size_t most = sizeof board.gpuName - sizeof nameSuffix;
    const std::string_view name = piece(value, 0, most);
    copyText(board.gpuName, name);
    std::memcpy(board.gpuName + name.size(), nameSuffix, sizeof nameSuffix);
}

void setKey(Board &board, std::string_view key, std::string_view value) {
    if (key == "profile")
        copyText(board.profile, value);
    else if (key == "gpu_name")
        setGpuName(board, value);
    else if (key == "uuid")
        copyText(board.uuid, value);
    else if (key == "capability")
        board.capability = capabilityNumber(value);
    else if (key == "sm_count")
        board.smCount = int(number(value));
    else if (key == "driver_cuda")
        board.driverCuda = int(number(value));
    else if (key == "memory_bytes")
        board.memoryBytes = number(value);
    else if (key == "tegra")
        board.tegra = value == "1";
    else if (key == "clock_khz")
        board.clockKhz = int(number(value));
    else if (key == "l2_bytes")
        board.l2Bytes = int(number(value));
    else if (key == "shared_per_sm")
        board.sharedPerSm = int(number(value));
    else if (key == "shared_optin")
        board.sharedOptin = int(number(value));
    else if (key == "threads_per_sm")
        board.threadsPerSm = int(number(value));
}

/// "/usr/local/cuda-12.8/compat/libcuda.so.1" among this process's mappings -> 12080: a copy in such a folder plays the driver
/// of NVIDIA's cuda-compat package. 0 = it is the board's own.
int compatDriver() {
    std::FILE *stream = std::fopen("/proc/self/maps", "re");
    if (!stream)
        return 0;
    char buffer[512];
    int driver = 0;
    while (!driver && std::fgets(buffer, sizeof buffer, stream)) {
        const char *folder = std::strstr(buffer, "/cuda-");
        const char *file = folder ? std::strstr(folder, "/compat/libcuda.so.1") : nullptr;
        const auto version = file ? std::string_view(folder + 6, std::size_t(file - folder - 6)) : std::string_view();
        const auto dot = version.find('.');
        if (dot != std::string_view::npos)
            driver = int(number(piece(version, 0, dot))) * 1000 + int(number(piece(version, dot + 1))) * 10;
    }
    std::fclose(stream);
    return driver;
}

} // namespace

bool readBoard(Board &board) {
    const char *file = std::getenv("SLIPWAY_SIMCUDA_BOARD");
    std::FILE *stream = std::fopen(file ? file : "/etc/slipway-virtual-board", "re");
    if (!stream)
        return false;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, stream)) {
        std::string_view line = buffer;
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r'))
            line.remove_suffix(1);
        const auto equals = line.find('=');
        if (equals != std::string_view::npos)
            setKey(board, piece(line, 0, equals), piece(line, equals + 1));
    }
    std::fclose(stream);
    if (!board.gpuName[0])
        setGpuName(board, "GPU");
    if (const int compat = compatDriver())
        board.driverCuda = compat;
    return board.capability > 0 && board.driverCuda > 0;
}

bool boardAttribute(const Board &board, int attribute, int &value) {
    switch (attribute) { // numbers of CUdevice_attribute
    case 8: value = 49152; return true;                       // shared memory per block
    case 13: value = board.clockKhz; return true;
    case 16: value = board.smCount; return true;
    case 18: value = board.tegra; return true;                // integrated
    case 38: value = board.l2Bytes; return true;
    case 39: value = board.threadsPerSm; return true;
    case 75: value = board.capability / 10; return true;
    case 76: value = board.capability % 10; return true;
    case 81: value = board.sharedPerSm; return true;
    case 89: value = !board.tegra; return true;               // concurrent managed access
    case 97: value = board.sharedOptin; return true;
    case 120: value = board.capability >= 90; return true;    // cluster launch
    case 127: value = board.capability >= 90; return true;    // tensor maps
    default: break;
    }
    for (const FixedAttribute &row : fixedAttributes) {
        if (row.attribute == attribute) {
            value = row.value;
            return true;
        }
    }
    return false;
}

} // namespace simcuda
