// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text.h"

namespace slipway::probe {

/// Exit codes of the program.
enum ExitCode { allOk = 0, someRefused = 1, usageError = 2, noDriver = 3 };

/// Prints `{"probe":1,"driver":{…},"gpus":[…]}` on one line. A driver that says nothing for `seconds` is "hung".
int facts(long seconds);

/// Loads each image (folders: their *.o, *.cubin, *.ptx and *.fatbin) and prints a JSON line for each, then a summary
/// line. One image that takes longer than `seconds` is "hung"; the next ones are tried in a new process.
int load(const char *const *paths, int count, long seconds);

} // namespace slipway::probe
