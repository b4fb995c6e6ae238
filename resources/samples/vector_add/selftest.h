// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model.h"

#include <slipway/runtime.h>

/// Starts every kernel of the sample, compares with the CPU and prints one line each.
/// On a simulated driver the kernels are loaded only, and the lines say so. Returns the process's exit code.
int selfTest(const slipway::runtime::Gpu &gpu, const Model &model);
