// SPDX-License-Identifier: Apache-2.0
//
// Two boards on one address, and one board flashed again, told apart. The serial number is the hardware's; the machine id is
// made when a system is installed, and is copied with an SD card's image.

#include "core/device/identity.h"

#include <fmt/format.h>

namespace slipway {

SeenAs seenAs(const Device &device, const BoardFacts &facts) {
    const bool serials = !device.serial.empty() && facts.serial;
    const bool ids = !device.machineId.empty() && facts.machineId;
    if (serials && device.serial != *facts.serial)
        return SeenAs::another;
    if (ids && device.machineId != *facts.machineId)
        return serials ? SeenAs::reflashed : SeenAs::unclear;
    return serials || ids ? SeenAs::same : SeenAs::first;
}

std::string seenText(SeenAs seen, const Device &device, const BoardFacts &facts) {
    switch (seen) {
    case SeenAs::reflashed:
        return fmt::format("{} was reflashed: the same board (serial number {}) with a new system", device.name, device.serial);
    case SeenAs::another:
        return fmt::format("another board answers as {}: serial number {}, the last time {}", device.name,
                           facts.serial.value_or("unknown"), device.serial);
    case SeenAs::unclear:
        return fmt::format("{} is another board, or was reflashed: its machine id is not that of the last time", device.name);
    case SeenAs::first:
    case SeenAs::same: break;
    }
    return {};
}

std::string seenFix(SeenAs seen, const Device &device) {
    if (seen == SeenAs::another)
        return fmt::format("check the address; to accept it: slipway device remove {}, then slipway device add", device.name);
    if (seen == SeenAs::reflashed || seen == SeenAs::unclear)
        return fmt::format("to accept it: slipway device trust {} --replace", device.name);
    return {};
}

} // namespace slipway
