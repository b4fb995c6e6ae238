// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"

#include <cstdint>
#include <string>
#include <vector>

namespace slipway {

/// `value` as `bytes` little-endian bytes.
inline std::string little(std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i)
        text += char(value >> (8 * i) & 0xff);
    return text;
}

struct FakeTensor {
    std::string name, dtype;
    std::vector<std::uint64_t> shape;
};

/// A safetensors file of zeros.
inline std::string safetensorsOf(const std::vector<FakeTensor> &tensors, const std::string &quantisation = {}) {
    Json header = Json::object();
    if (!quantisation.empty())
        header["__metadata__"] = {{"quantization_config", quantisation}};
    std::uint64_t at = 0;
    for (const auto &tensor : tensors) {
        std::uint64_t size = tensor.dtype == "F16" || tensor.dtype == "BF16"  ? 2
                             : tensor.dtype == "F32" || tensor.dtype == "I32" ? 4
                             : tensor.dtype == "I64"                          ? 8
                                                                              : 1;
        for (const auto n : tensor.shape)
            size *= n;
        header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, at + size}}};
        at += size;
    }
    const auto text = header.dump();
    return little(text.size(), 8) + text + std::string(at, '\0');
}

/// A GGUF file (version 3) with one tensor of 64 elements of a type.
inline std::string ggufOf(std::uint32_t type, std::uint64_t bytes) {
    const std::string name = "blk.0.ffn_down_exps.weight";
    std::string text = "GGUF" + little(3, 4) + little(1, 8) + little(0, 8) + little(name.size(), 8) + name + little(1, 4) + little(64, 8) +
                       little(type, 4) + little(0, 8);
    text.resize((text.size() + 31) / 32 * 32, '\0');
    return text + std::string(bytes, '\0');
}

/// A protocol buffer field with bytes.
inline std::string field(int number, const std::string &bytes) {
    return std::string(1, char(number << 3 | 2)) + char(bytes.size()) + bytes;
}

/// An ONNX model with one initialiser whose data is in another file.
inline std::string onnxOf(const std::string &location, std::uint64_t length) {
    const auto pair = [](const std::string &key, const std::string &value) { return field(13, field(1, key) + field(2, value)); };
    const auto tensor = std::string("\x08\x04\x10\x01", 4) + field(8, "w") + pair("location", location) +
                        pair("length", std::to_string(length)) + std::string("\x70\x01", 2);
    return std::string("\x08\x08", 2) + field(7, field(5, tensor));
}

/// The header of a TensorRT plan of that version, as trtexec reads it, and zeros behind it.
inline std::string planOf(int major, int minor, int patch) {
    return "ftrt" + std::string(20, '\0') + char(major) + char(minor) + char(patch) + char(30) + std::string(64, '\0');
}

} // namespace slipway
