// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/target/facts.h"
#include "core/target/jetpack.h"
#include "core/target/ptxisa.h"

#include <map>

namespace slipway {

/// A kind of board: one file in targets/.
struct Target {
    std::string id;                       ///< "jetson-orin-nano"
    std::string name;                     ///< "Jetson Orin Nano"
    std::string triple;                   ///< "aarch64-linux-gnu"
    std::string arch;                     ///< "aarch64" or "x86_64"
    std::optional<Capability> capability; ///< absent for the generic ones: the device is asked
    std::map<std::string, int> smCountByPowerMode;
    std::optional<int> smCountMax;
    std::string jetpackFirst; ///< "5.1.1"; empty = no JetPack
    std::string jetpackLast;
    std::string jetpackAssumed; ///< the release that checks without a board assume: "6.2"
    std::string cudaTargetDir;  ///< "aarch64-linux" or "sbsa-linux"
    std::vector<std::string> sysrootFolders;
    std::vector<std::string> compatible; ///< device-tree keys that name it, most telling first: "nvidia,p3767-0005"
    std::vector<std::string> modules;    ///< module numbers in TNSPEC: "3767-0005"
    std::vector<std::string> models;     ///< beginnings of device-tree model texts
    std::vector<std::string> gpuNames;   ///< names a driver gives, for machines without a device tree: "NVIDIA GB10"

    [[nodiscard]] static Result<Target> fromJson(const Json &json, std::string_view what);
    [[nodiscard]] Json toJson() const;
    [[nodiscard]] bool isGeneric() const { return !capability; }
};

/// Everything in targets/: immutable, read once at the start of a program.
struct Catalog {
    std::vector<Target> targets; ///< sorted by id
    PtxIsa isa;
    JetPacks jetpacks;

    /// Reads `directories` in order; a file in a later one replaces the same name in an earlier one, so that a user's
    /// $XDG_CONFIG_HOME/slipway/targets/ overrides what is installed. A broken file is an error that names it.
    [[nodiscard]] static Result<Catalog> load(const std::vector<fs::path> &directories);

    [[nodiscard]] const Target *find(std::string_view id) const;
    /// `find` with an error that lists what exists and what comes near.
    [[nodiscard]] Result<Target> target(std::string_view id) const;
    /// The target that facts point to: compatible, then TNSPEC, then model, then the GPU's name, else generic by
    /// architecture. Null when not even that is known.
    [[nodiscard]] const Target *recognise(const BoardFacts &facts) const;
    /// The facts that a profile alone gives, for checks without a board: capability, and what the JetPack release that
    /// the profile assumes brings (driver, glibc …). A warning says which one that was.
    [[nodiscard]] BoardFacts profileFacts(const Target &target) const;

    /// The newest PTX that the board's driver accepts, if it is new enough for the `capability`; otherwise an error
    /// with the values of both ends. Without a known driver: what the capability needs at least.
    [[nodiscard]] Result<PtxVersion> choosePtx(Capability capability, std::optional<int> driver) const;
};

} // namespace slipway
