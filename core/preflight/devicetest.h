// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// What the test of a device says when no connection came about: reachable, host key and login, as far as it got.
[[nodiscard]] std::vector<Finding> connectionFindings(const Device &device, const Error &error);

/// Gets each finding as soon as it is known.
using FindingSink = std::function<void(const Finding &)>;

/// Itemised: reachable, host key, login, write access, identity, quiet shell, tools, file transfer, space, clock, driver. Every item runs, whatever the one before said.
[[nodiscard]] std::vector<Finding> testDevice(Session &session, const Device &device, const Catalog &catalog, const ProbePrograms &probes,
                                              const FindingSink &found, Progress &progress);

} // namespace slipway
