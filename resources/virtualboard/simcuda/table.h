// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "basics.h"

namespace simcuda {

/// A PTX target and the oldest PTX that knows it. Rows are generated at build time from targets/ptxisa.json.
struct TargetRow {
    std::string_view name; ///< "sm_90a"
    int number;            ///< 90
    char suffix;           ///< 'a', 'f' or 0
    int minPtx;            ///< 80 for 8.0
};
/// The newest PTX that a driver takes.
struct DriverRow {
    int driver; ///< 12060
    int maxPtx; ///< 85
};
/// One member of a family target: `sm_100f` runs on capability 103.
struct FamilyRow {
    std::string_view target;
    int capability;
};
struct FixedAttribute {
    int attribute;
    int value;
};

/// Device attributes that are the same on every supported board (values as a driver 580 on an H200 reported them).
inline constexpr FixedAttribute fixedAttributes[] = {
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {9, 65536}, {10, 32}, {12, 65536},
    {14, 512}, {15, 1}, {17, 0}, {19, 1}, {20, 0}, {31, 1}, {33, 0}, {34, 0}, {35, 0}, {40, 1}, {41, 1}, {50, 0}, {82, 65536},
    {83, 1}, {88, 0}, {91, 1}, {95, 1}, {106, 16}, {115, 1},
};

/// The newest PTX, as 10 * major + minor, of the driver; an unknown newer driver counts as the newest known.
[[nodiscard]] int newestPtx(int driverCuda);
/// Whether this PTX version was ever published.
[[nodiscard]] bool ptxVersionExists(int code);
/// The row of a target as written in `.target`; `compute_75` is a synonym of `sm_75`. Null when unknown.
[[nodiscard]] const TargetRow *findTarget(std::string_view name);
/// Whether a family target runs on the capability.
[[nodiscard]] bool inFamily(std::string_view target, int capability);
/// Integrated parts take cubins made for exactly them, and none of theirs runs elsewhere.
[[nodiscard]] bool isTegra(int number);

} // namespace simcuda
