// SPDX-License-Identifier: Apache-2.0
//
// ONNX: protocol buffers without a magic number. Only what deployment needs is read: the initialisers of the main graph
// and which files hold their data (field numbers from onnx.proto).

#include "core/base/text.h"
#include "core/image/modelreaders.h"

#include <array>
#include <set>

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

/// The value of "location" in an external_data entry (field 13: key 1, value 2).
std::string locationIn(std::string_view entry) {
    std::string_view key, value;
    Message message(entry);
    while (const auto field = message.next())
        (field->number == 1 ? key : value) = field->bytes;
    return key == "location" ? std::string(value) : std::string();
}

bool readInitialiser(std::string_view bytes, ModelFile &model, std::set<std::string> &external) {
    Tensor tensor;
    bool isExternal = false;
    std::string location;
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
            if (auto found = locationIn(field->bytes); !found.empty())
                location = std::move(found);
            break;
        case 14:
            isExternal = field->value == 1;
            break;
        default:
            break;
        }
    }
    if (isExternal && !location.empty())
        external.insert(printable(location, 1000));
    if (isExternal && location.empty())
        detail::addDamage(model, fmt::format("tensor {} is in another file, but does not say in which", tensor.name));
    detail::addTensor(model, std::move(tensor));
    return !message.broken;
}

} // namespace

ModelFile readOnnx(std::string_view bytes) {
    ModelFile model{.format = "onnx", .bytes = bytes.size()};
    std::set<std::string> external;
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
                whole = readInitialiser(part->bytes, model, external) && whole;
        }
        whole = whole && !graph.broken;
    }
    if (message.broken || !whole)
        detail::addDamage(model, "it is truncated or damaged: a field does not fit");
    else if (!hasGraph)
        detail::addDamage(model, "it has no graph");
    if (!external.empty())
        model.metadata["external data"] = fmt::format("{}", fmt::join(external, "\n"));
    return model;
}

} // namespace slipway
