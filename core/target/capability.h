// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <compare>
#include <string>
#include <string_view>

namespace slipway {

/// A GPU's compute capability, or the `.target` of an image: number and flavour.
struct Capability {
    /// `a` = runs on exactly this capability, `f` = on its family, none = also on what comes after
    /// (PTX ISA manual, `.target`).
    enum class Flavour { baseline, architecture, family };

    int number = 0; ///< 10 * major + minor: 87, 110
    Flavour flavour = Flavour::baseline;

    [[nodiscard]] int major() const { return number / 10; }
    [[nodiscard]] int minor() const { return number % 10; }
    /// "sm_90a"
    [[nodiscard]] std::string sm() const;
    /// "9.0": what a driver reports; the flavour is not part of it
    [[nodiscard]] std::string dotted() const;
    /// Same number, no flavour.
    [[nodiscard]] Capability baseline() const { return {number, Flavour::baseline}; }

    /// Reads "sm_87", "sm_90a", "compute_87" or "8.7". Says what was found and what is needed otherwise.
    [[nodiscard]] static Result<Capability> parse(std::string_view text);

    auto operator<=>(const Capability &) const = default;
};

/// A PTX ISA version: 8.2.
struct PtxVersion {
    int major = 0;
    int minor = 0;

    /// 82: the form of TEENYC_PTX_VERSION, of `--ptx-version` and of LLVM's `+ptx82`.
    [[nodiscard]] int code() const { return major * 10 + minor; }
    /// "8.2"
    [[nodiscard]] std::string text() const;
    /// Reads "8.2" or "82".
    [[nodiscard]] static Result<PtxVersion> parse(std::string_view text);
    [[nodiscard]] static PtxVersion fromCode(int code) { return {code / 10, code % 10}; }

    auto operator<=>(const PtxVersion &) const = default;
};

} // namespace slipway
