// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

/// A half-precision number as its bits, which is how the GPU takes it.
struct Half {
    std::uint16_t bits = 0;
};

float toFloat(Half value);
/// Rounds to nearest, ties to even; too large becomes infinity.
Half toHalf(float value);

/// A file that is not what it should be; the text says what was found and what was needed.
class ModelError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The F16 tensors of a safetensors file by name, every offset checked against the file.
using Model = std::map<std::string, std::vector<Half>>;

/// Throws ModelError for a file that is missing, truncated or holds another dtype.
Model readModel(const std::string &path);
