// SPDX-License-Identifier: Apache-2.0
//
// Look-ups in the tables that the build generates from targets/ptxisa.json.
#include "table.h"

#include "simcudatable.h"

namespace simcuda {

int newestPtx(int driverCuda) {
    int newest = 0;
    for (const DriverRow &row : generated::drivers) {
        if (row.driver <= driverCuda && row.maxPtx > newest)
            newest = row.maxPtx;
    }
    return newest;
}

bool ptxVersionExists(int code) {
    // Versions before 6.0 are not in the table; the manual ends them at 5.0, and ptxas takes 5.1.
    if (code >= 10 && code <= 51)
        return true;
    for (const int version : generated::versions) {
        if (version == code)
            return true;
    }
    return false;
}

const TargetRow *findTarget(std::string_view name) {
    constexpr std::string_view synonym = "compute_";
    char buffer[32];
    if (name.size() > synonym.size() && piece(name, 0, synonym.size()) == synonym) {
        const std::string_view number = piece(name, synonym.size());
        const int written = std::snprintf(buffer, sizeof buffer, "sm_%.*s", SIMCUDA_SV(piece(number, 0, 8)));
        name = {buffer, std::size_t(written)};
    }
    // A letter after the number that is neither a nor f is ignored by the real driver (measured: `sm_90x` loads on 9.0).
    if (name.size() > 4 && name.back() > '9' && name.back() != 'a' && name.back() != 'f')
        name.remove_suffix(1);
    for (const TargetRow &row : generated::targets) {
        if (row.name == name)
            return &row;
    }
    return nullptr;
}

bool inFamily(std::string_view target, int capability) {
    for (const FamilyRow &row : generated::families) {
        if (row.target == target && row.capability == capability)
            return true;
    }
    return false;
}

bool isTegra(int number) {
    for (const int tegra : generated::tegras) {
        if (tegra == number)
            return true;
    }
    return false;
}

} // namespace simcuda
