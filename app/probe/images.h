// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text.h"

namespace slipway::probe {

/// Adds the path, or for a folder its *.o, *.cubin, *.ptx and *.fatbin in order of name.
void addImages(TextList &to, const char *path);

/// The file's bytes, with zeros behind them: PTX must end in NUL, and a driver that is given a truncated
/// cubin must not leave our memory. False with the reason when it cannot be read.
bool readImage(const char *path, Text &bytes, std::size_t &size, Text &reason);

/// The kernels that the image names: for PTX the `// meta:name=` line and every `.entry`, for a cubin its symbols,
/// nothing for a fatbin.
TextList namedEntries(std::string_view image);

/// The kernels in a cubin's symbol table; nothing for any other bytes.
TextList cubinEntries(std::string_view image);

} // namespace slipway::probe
