// SPDX-License-Identifier: Apache-2.0
//
// safetensors: eight bytes of length, a JSON header, then the data. The rules are those of the format's own reader: a
// header of at most 100 MB, offsets that cover the data exactly, sizes that agree with dtype and shape.

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/modelreaders.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::uint64_t mostHeader = 100'000'000; // the reference reader's limit
constexpr std::size_t mostTensors = 1'000'000;

/// Bits of one element; 0 for an unknown dtype.
unsigned bitsOf(const std::string &dtype) {
    static const std::map<std::string, unsigned> bits = {
        {"BOOL", 8},        {"U8", 8},          {"I8", 8},    {"F8_E4M3", 8}, {"F8_E5M2", 8}, {"F8_E8M0", 8},
        {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}, {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U16", 16},
        {"I16", 16},        {"F16", 16},        {"BF16", 16}, {"U32", 32},    {"I32", 32},    {"F32", 32},
        {"U64", 64},        {"I64", 64},        {"F64", 64},  {"C64", 64}};
    const auto found = bits.find(dtype);
    return found == bits.end() ? 0 : found->second;
}

struct Span {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::string name;
};

Result<std::vector<std::uint64_t>> numbers(const Json &json, const char *key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (found == json.end() || !found->is_array() || found->size() > 64)
        return fail("its \"{}\" is not a list of numbers", key);
    std::vector<std::uint64_t> values;
    for (const auto &value : *found) {
        if (!value.is_number_unsigned())
            return fail("its \"{}\" is not a list of numbers", key);
        values.push_back(value.get<std::uint64_t>());
    }
    return values;
}

Result<Span> readTensor(const std::string &name, const Json &json, ModelFile &model) {
    Tensor tensor{.name = printable(name, 1024)};
    tensor.dtype = TRY(required<std::string>(json, "dtype", "its entry"));
    tensor.shape = TRY(numbers(json, "shape"));
    const auto offsets = TRY(numbers(json, "data_offsets"));
    if (offsets.size() != 2 || offsets[0] > offsets[1])
        return fail("its \"data_offsets\" are not a begin and an end");
    tensor.bytes = offsets[1] - offsets[0];
    const auto count = detail::elements(tensor.shape);
    const auto bits = bitsOf(tensor.dtype);
    Span span{offsets[0], offsets[1], tensor.name};
    const auto dtype = printable(tensor.dtype, 40);
    if (bits == 0)
        detail::addDamage(model, fmt::format("tensor {}: the dtype {} is unknown", tensor.name, dtype));
    else if (!count || *count > UINT64_MAX / bits)
        return fail("its shape overflows");
    else if (*count * bits != tensor.bytes * 8 || tensor.bytes > UINT64_MAX / 8)
        detail::addDamage(model, fmt::format("tensor {}: it has {} bytes, but {} elements of {} need {}", tensor.name,
                                             tensor.bytes, *count, dtype, (*count * bits + 7) / 8));
    detail::addTensor(model, std::move(tensor));
    return span;
}

void readMetadata(const Json &json, ModelFile &model) {
    if (!json.is_object())
        return detail::addDamage(model, "its \"__metadata__\" is not an object");
    for (const auto &[key, value] : json.items()) {
        if (value.is_string())
            model.metadata[printable(key)] = printable(value.get<std::string>(), 1000);
        if (value.is_string() && key == "quantization_config")
            model.quantisation = value.get<std::string>();
    }
}

/// Data must be covered from 0 to its end, each byte once.
void checkCover(std::vector<Span> spans, std::uint64_t dataBytes, ModelFile &model) {
    std::sort(spans.begin(), spans.end(),
              [](const Span &a, const Span &b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    std::uint64_t at = 0;
    for (const auto &span : spans) {
        if (span.begin > at)
            detail::addDamage(model,
                              fmt::format("{} bytes before tensor {} belong to none", span.begin - at, span.name));
        else if (span.begin < at)
            detail::addDamage(model, fmt::format("tensor {} overlaps the one before it", span.name));
        if (span.end > dataBytes)
            detail::addDamage(model, fmt::format("tensor {} ends at byte {} of {}: the file is truncated", span.name,
                                                 span.end, dataBytes));
        at = std::max(at, span.end);
    }
    if (at < dataBytes)
        detail::addDamage(model, fmt::format("{} bytes behind the last tensor belong to none", dataBytes - at));
}

std::vector<Span> readTensors(const Json &header, ModelFile &model) {
    std::vector<Span> spans;
    for (const auto &[name, entry] : header.items()) {
        if (name == "__metadata__") {
            readMetadata(entry, model);
            continue;
        }
        if (spans.size() == mostTensors) {
            detail::addDamage(model, fmt::format("it has more than {} tensors", mostTensors));
            break;
        }
        auto span = readTensor(name, entry, model);
        if (span)
            spans.push_back(std::move(*span));
        else
            detail::addDamage(model, fmt::format("tensor {}: {}", printable(name), span.error().message));
    }
    return spans;
}

} // namespace

ModelFile readSafetensors(std::string_view bytes) {
    ModelFile model{.format = "safetensors", .bytes = bytes.size()};
    ByteReader reader(bytes);
    const auto length = reader.number<std::uint64_t>();
    if (!length) {
        detail::addDamage(model, "it ends inside its first eight bytes: it is truncated");
        return model;
    }
    if (*length > mostHeader) {
        detail::addDamage(
            model, fmt::format("its header says that it has {} bytes (the format allows {})", *length, mostHeader));
        return model;
    }
    const auto text = reader.take(*length);
    if (!text) {
        detail::addDamage(model,
                          fmt::format("its header has {} bytes, but the file ends before: it is truncated", *length));
        return model;
    }
    const auto json = parseJson(*text, "its header", 8);
    if (!json || !json->is_object()) {
        detail::addDamage(model, json ? std::string("its header is not an object") : json.error().message);
        return model;
    }
    checkCover(readTensors(*json, model), reader.left(), model);
    return model;
}

} // namespace slipway
