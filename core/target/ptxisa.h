// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/target/capability.h"

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace slipway {

/// What the tables know about one `.target` name.
struct PtxTarget {
    Capability capability;
    PtxVersion minPtx;        ///< the oldest `.version` that knows it
    std::string architecture; ///< "Ampere (Orin)"
    std::vector<std::string> products;
};

/// The newest PTX that a driver accepts.
struct DriverPtx {
    PtxVersion newest;
    bool extrapolated = false; ///< the table is older than the driver: say so
};

/// Does an image run on a device, and by which rule.
struct Loadable {
    bool yes = false;
    std::string why; ///< the rule that decided, for people
};

/// The PTX ISA table, driver-to-PTX and the compatibility rules (targets/ptxisa.json, from NVIDIA's PTX ISA manual;
/// sources are in that file). Immutable once read.
class PtxIsa {
public:
    [[nodiscard]] static Result<PtxIsa> fromJson(const Json &json);

    [[nodiscard]] const std::vector<PtxTarget> &targets() const { return m_targets; }
    [[nodiscard]] const PtxTarget *find(Capability target) const;
    /// Was there ever such a version (8.9 was not).
    [[nodiscard]] bool exists(PtxVersion version) const;
    /// The newest version in the table.
    [[nodiscard]] PtxVersion newest() const;
    /// The newest version not above `version` that exists.
    [[nodiscard]] std::optional<PtxVersion> atMost(PtxVersion version) const;
    /// `driver` as cuDriverGetVersion reports it: 12060. Unknown newer drivers are extrapolated.
    [[nodiscard]] std::optional<DriverPtx> newestForDriver(int driver) const;
    /// The CUDA release that introduced a version: "12.2".
    [[nodiscard]] std::string cudaOf(PtxVersion version) const;

    /// Integrated GPUs of Tegra chips: cubins must match exactly there (NVIDIA CUDA programming guide).
    [[nodiscard]] bool isTegra(Capability capability) const;
    /// The most bytes of shared memory that a block can have on a device; nothing = the table does not say.
    [[nodiscard]] std::optional<std::uint64_t> sharedPerBlock(Capability device) const;
    /// PTX `.target` on a device of capability `device`.
    [[nodiscard]] Loadable ptxRuns(Capability target, Capability device) const;
    /// A cubin on a device of capability `device`.
    [[nodiscard]] Loadable cubinRuns(Capability cubin, Capability device) const;

private:
    /// The number that a chip has today: 110 for 101.
    [[nodiscard]] int today(int number) const;
    [[nodiscard]] std::optional<Loadable> bySameChip(Capability image, Capability device, std::string_view what) const;

    std::vector<PtxTarget> m_targets;
    std::vector<std::pair<PtxVersion, std::string>> m_versions; ///< ascending, with their CUDA release
    std::map<int, PtxVersion> m_drivers;
    std::map<int, std::set<int>> m_families; ///< number of an `f` target -> numbers of its family
    std::map<int, int> m_renamed;            ///< old number -> new number of the same chip: 101 -> 110
    std::set<int> m_tegra;
    std::map<int, std::uint64_t> m_shared; ///< number -> bytes of shared memory for a block
};

} // namespace slipway
