// SPDX-License-Identifier: Apache-2.0
//
// ONNX: protocol buffers without a magic number. Only what deployment needs is read: the initialisers of the main graph
// and which files hold their data (field numbers from onnx.proto).

#include "core/base/text.h"
#include "core/image/modelreaders.h"

#include <algorithm>
#include <array>

namespace slipway {

namespace {

/// One field of a message.
struct Field {
    std::uint64_t number = 0;
    std::uint64_t value = 0; ///< varint and fixed
    std::string_view bytes;  ///< length-delimited
};

/// Takes fields from a protocol buffer message. `broken` is set when it is none.
class Message {
public:
    explicit Message(std::string_view bytes)
        : m_rest(bytes) {}
    std::optional<Field> next();
    bool broken = false;

private:
    std::optional<std::uint64_t> varint();
    std::optional<std::string_view> take(std::uint64_t count);
    std::string_view m_rest;
};

std::optional<std::uint64_t> Message::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !m_rest.empty(); shift += 7) {
        const auto byte = static_cast<unsigned char>(m_rest.front());
        m_rest.remove_prefix(1);
        value |= std::uint64_t(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
    broken = true;
    return std::nullopt;
}

std::optional<std::string_view> Message::take(std::uint64_t count) {
    if (count > m_rest.size()) {
        broken = true;
        return std::nullopt;
    }
    const auto piece = m_rest.substr(0, std::size_t(count));
    m_rest.remove_prefix(std::size_t(count));
    return piece;
}

std::optional<Field> Message::next() {
    if (m_rest.empty() || broken)
        return std::nullopt;
    const auto key = varint();
    if (!key)
        return std::nullopt;
    Field field{.number = *key >> 3};
    switch (*key & 7) {
    case 0:
        field.value = varint().value_or(0);
        break;
    case 1:
        (void)take(8);
        break;
    case 2:
        field.bytes = take(varint().value_or(0)).value_or(std::string_view());
        break;
    case 5:
        (void)take(4);
        break;
    default:
        broken = true;
    }
    if (broken || field.number == 0) {
        broken = true;
        return std::nullopt;
    }
    return field;
}

const char *dtypeName(std::uint64_t type) {
    static constexpr std::array names = {"UNDEFINED",   "F32",     "U8",          "I8",   "U16",  "I16",
                                         "I32",         "I64",     "STRING",      "BOOL", "F16",  "F64",
                                         "U32",         "U64",     "C64",         "C128", "BF16", "F8_E4M3",
                                         "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "U4",   "I4",   "F4"};
    return type < names.size() ? names[type] : "unknown";
}

/// Packed dimensions: varints one behind the other, without keys.
void addDimensions(std::string_view packed, Tensor &tensor) {
    std::uint64_t value = 0;
    unsigned shift = 0;
    for (const char c : packed) {
        value |= shift < 64 ? std::uint64_t(c & 0x7f) << shift : 0;
        shift += 7;
        if (!(c & 0x80)) {
            tensor.shape.push_back(std::exchange(value, 0));
            shift = 0;
        }
    }
}

/// Where the data of a tensor is, when it is in another file (onnx.proto, external_data).
struct ExternalData {
    std::string location;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};

/// One entry of external_data (field 13: key 1, value 2).
void readExternal(std::string_view entry, ExternalData &data) {
    std::string_view key, value;
    Message message(entry);
    while (const auto field = message.next())
        (field->number == 1 ? key : value) = field->bytes;
    if (key == "location")
        data.location = printable(value, 1000);
    else if (key == "offset")
        data.offset = parseNumber(value).value_or(0);
    else if (key == "length")
        data.length = parseNumber(value).value_or(0);
}

bool readInitialiser(std::string_view bytes, ModelFile &model) {
    Tensor tensor;
    bool isExternal = false;
    ExternalData data;
    Message message(bytes);
    while (const auto field = message.next()) {
        switch (field->number) {
        case 1:
            field->bytes.empty() ? tensor.shape.push_back(field->value) : addDimensions(field->bytes, tensor);
            break;
        case 2:
            tensor.dtype = dtypeName(field->value);
            break;
        case 8:
            tensor.name = printable(field->bytes, 1024);
            break;
        case 9:
            tensor.bytes = field->bytes.size();
            break;
        case 13:
            readExternal(field->bytes, data);
            break;
        case 14:
            isExternal = field->value == 1;
            break;
        default:
            break;
        }
    }
    if (isExternal && !data.location.empty()) {
        auto &least = model.external[data.location];
        least = std::max(least, data.offset > UINT64_MAX - data.length ? UINT64_MAX : data.offset + data.length);
        tensor.bytes = data.length;
    }
    if (isExternal && data.location.empty())
        detail::addDamage(model, fmt::format("tensor {} is in another file, but does not say in which", tensor.name));
    detail::addTensor(model, std::move(tensor));
    return !message.broken;
}

} // namespace

ModelFile readOnnx(std::string_view bytes) {
    ModelFile model{.format = "onnx", .bytes = bytes.size()};
    Message message(bytes);
    bool hasGraph = false;
    bool whole = true;
    while (const auto field = message.next()) {
        if (field->number == 1)
            model.metadata["ir version"] = std::to_string(field->value);
        if (field->number == 2)
            model.metadata["producer"] = printable(field->bytes);
        if (field->number != 7)
            continue;
        hasGraph = true;
        Message graph(field->bytes);
        while (const auto part = graph.next()) {
            if (part->number == 5 && model.tensors.size() < 1'000'000)
                whole = readInitialiser(part->bytes, model) && whole;
        }
        whole = whole && !graph.broken;
    }
    if (message.broken || !whole)
        detail::addDamage(model, "it is truncated or damaged: a field does not fit");
    else if (!hasGraph)
        detail::addDamage(model, "it has no graph");
    return model;
}

} // namespace slipway
