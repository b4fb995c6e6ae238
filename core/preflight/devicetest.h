// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/check.h"

namespace slipway {

/// What the test of a device says when no connection came about: reachable, host key and login, as far as it got.
[[nodiscard]] std::vector<Finding> connectionFindings(const Device &device, const Error &error);

/// Itemised: login, quiet shell, tools, room and write access, clock, driver. Every item runs, whatever the one before said.
[[nodiscard]] std::vector<Finding> testDevice(Session &session, const Device &device, const Catalog &catalog, const ProbePrograms &probes,
                                              Progress &progress);

} // namespace slipway
