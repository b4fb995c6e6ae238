// SPDX-License-Identifier: Apache-2.0
//
// GGUF (llama.cpp's model format), versions 2 and 3: key-value metadata, then a table of tensors, then aligned data.
// Block sizes are those of ggml's type table.

#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/modelreaders.h"

namespace slipway {

namespace {

/// A ggml type: `elements` of a row are packed into `bytes`; 0 = of a type whose sizes are not known here.
struct BlockType {
    const char *name;
    unsigned elements;
    unsigned bytes;
};

std::optional<BlockType> blockType(std::uint32_t type) {
    static const std::map<std::uint32_t, BlockType> types = {
        {0, {"F32", 1, 4}},         {1, {"F16", 1, 2}},         {2, {"Q4_0", 32, 18}},      {3, {"Q4_1", 32, 20}},
        {6, {"Q5_0", 32, 22}},      {7, {"Q5_1", 32, 24}},      {8, {"Q8_0", 32, 34}},      {9, {"Q8_1", 32, 36}},
        {10, {"Q2_K", 256, 84}},    {11, {"Q3_K", 256, 110}},   {12, {"Q4_K", 256, 144}},   {13, {"Q5_K", 256, 176}},
        {14, {"Q6_K", 256, 210}},   {15, {"Q8_K", 256, 292}},   {16, {"IQ2_XXS", 256, 66}}, {17, {"IQ2_XS", 256, 74}},
        {18, {"IQ3_XXS", 256, 98}}, {19, {"IQ1_S", 256, 50}},   {20, {"IQ4_NL", 32, 18}},   {21, {"IQ3_S", 256, 110}},
        {22, {"IQ2_S", 256, 82}},   {23, {"IQ4_XS", 256, 136}}, {24, {"I8", 1, 1}},         {25, {"I16", 1, 2}},
        {26, {"I32", 1, 4}},        {27, {"I64", 1, 8}},        {28, {"F64", 1, 8}},        {29, {"IQ1_M", 256, 56}},
        {30, {"BF16", 1, 2}},       {34, {"TQ1_0", 256, 54}},   {35, {"TQ2_0", 256, 66}},   {39, {"MXFP4", 32, 17}},
        {40, {"NVFP4", 64, 36}},    {41, {"Q1_0", 0, 0}},       {42, {"Q2_0", 0, 0}}};
    const auto found = types.find(type);
    return found == types.end() ? std::nullopt : std::optional(found->second);
}

/// Why a type number is none: ggml.h keeps the numbers of removed types free, and forks add their own behind the end
/// (llama.cpp #11975: 42, long before ggml had that many).
std::string whyUnknown(std::uint32_t type) {
    constexpr std::uint32_t newest = 42;
    if (type == 4 || type == 5 || (type >= 31 && type <= 33) || (type >= 36 && type <= 38))
        return fmt::format("was removed from ggml: no runtime of today reads type {}", type);
    return type > newest ? fmt::format("does not exist: ggml's newest type is {}, so it comes from a fork or the file is damaged", newest)
                         : std::string("is unknown");
}

constexpr std::uint32_t textType = 8, arrayType = 9;
constexpr std::uint64_t mostTensors = 1'000'000;

/// Bytes of a scalar metadata value; 0 for texts, arrays and unknown types.
unsigned scalarBytes(std::uint32_t type) {
    constexpr unsigned sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < std::size(sizes) ? sizes[type] : 0;
}

class GgufReader {
public:
    explicit GgufReader(std::string_view bytes)
        : m_reader(bytes)
        , m_model{.format = "gguf", .bytes = bytes.size()} {}
    ModelFile read();

private:
    bool ended() {
        detail::addDamage(m_model, "it ends inside its header: it is truncated");
        return false;
    }
    std::optional<std::string_view> text() {
        const auto length = m_reader.number<std::uint64_t>();
        return length ? m_reader.take(*length) : std::nullopt;
    }
    bool readPair();
    bool skipArray();
    bool readTensor();
    void checkEnd(std::uint64_t offset, const Tensor &tensor);

    ByteReader m_reader;
    ModelFile m_model;
    std::uint64_t m_alignment = 32;
    std::uint64_t m_dataEnd = 0; ///< behind the last tensor, counted from the beginning of the data
};

bool GgufReader::skipArray() {
    const auto type = m_reader.number<std::uint32_t>();
    const auto count = m_reader.number<std::uint64_t>();
    if (!type || !count)
        return ended();
    if (const auto size = scalarBytes(*type))
        return (*count <= m_reader.left() / size && m_reader.take(*count * size)) || ended();
    if (*type != textType) {
        detail::addDamage(m_model,
                          fmt::format("a list in its metadata has elements of type {}, which is not supported", *type));
        return false;
    }
    for (std::uint64_t i = 0; i < *count; ++i) {
        if (!text())
            return ended();
    }
    return true;
}

bool GgufReader::readPair() {
    const auto key = text();
    const auto type = key ? m_reader.number<std::uint32_t>() : std::nullopt;
    if (!type)
        return ended();
    const auto name = printable(*key, 100);
    if (*type == arrayType)
        return skipArray();
    if (*type == textType) {
        const auto value = text();
        if (!value)
            return ended();
        m_model.metadata[name] = printable(*value, 1000);
        return true;
    }
    const auto size = scalarBytes(*type);
    const auto value = size ? m_reader.take(size) : std::nullopt;
    if (!value) {
        if (size)
            return ended();
        detail::addDamage(m_model, fmt::format("the metadata {} has the unknown type {}", name, *type));
        return false;
    }
    const bool isFraction = *type == 6 || *type == 12; // f32, f64: nothing here needs them
    if (!isFraction) {
        std::uint64_t number = 0;
        for (unsigned i = 0; i < size; ++i)
            number |= std::uint64_t(std::uint8_t((*value)[i])) << (8 * i);
        m_model.metadata[name] = std::to_string(number);
        if (*key == "general.alignment" && number > 0 && number <= 65536)
            m_alignment = number;
    }
    return true;
}

void GgufReader::checkEnd(std::uint64_t offset, const Tensor &tensor) {
    if (offset > UINT64_MAX - tensor.bytes)
        detail::addDamage(m_model, fmt::format("tensor {}: its offset overflows", tensor.name));
    else
        m_dataEnd = std::max(m_dataEnd, offset + tensor.bytes);
    if (offset % m_alignment != 0)
        detail::addDamage(
            m_model, fmt::format("tensor {}: its offset {} is not a multiple of {}", tensor.name, offset, m_alignment));
}

bool GgufReader::readTensor() {
    const auto name = text();
    const auto dimensions = name ? m_reader.number<std::uint32_t>() : std::nullopt;
    if (!dimensions)
        return ended();
    Tensor tensor{.name = printable(*name, 1024)};
    if (*dimensions > 8) {
        detail::addDamage(m_model, fmt::format("tensor {} has {} dimensions", tensor.name, *dimensions));
        return false;
    }
    for (std::uint32_t i = 0; i < *dimensions; ++i)
        tensor.shape.push_back(m_reader.number<std::uint64_t>().value_or(0));
    const auto type = m_reader.number<std::uint32_t>();
    const auto offset = m_reader.number<std::uint64_t>();
    if (!type || !offset)
        return ended();
    const auto block = blockType(*type);
    const auto count = detail::elements(tensor.shape);
    tensor.dtype = block ? block->name : fmt::format("type {}", *type);
    if (!block)
        detail::addDamage(m_model, fmt::format("tensor {}: the dtype {} {}", tensor.name, *type, whyUnknown(*type)));
    else if (block->elements == 0)
        tensor.bytes = 0;
    else if (!count || *count / block->elements > UINT64_MAX / block->bytes)
        detail::addDamage(m_model, fmt::format("tensor {}: its shape overflows", tensor.name));
    else
        tensor.bytes = *count / block->elements * block->bytes;
    checkEnd(*offset, tensor);
    detail::addTensor(m_model, std::move(tensor));
    return true;
}

ModelFile GgufReader::read() {
    (void)m_reader.take(4); // "GGUF"
    const auto version = m_reader.number<std::uint32_t>();
    const auto tensors = m_reader.number<std::uint64_t>();
    const auto pairs = m_reader.number<std::uint64_t>();
    if (!version || !tensors || !pairs) {
        ended();
        return std::move(m_model);
    }
    m_model.metadata["version"] = std::to_string(*version);
    if (*version != 2 && *version != 3) {
        detail::addDamage(m_model, fmt::format("its format version is {} (known are 2 and 3)", *version));
        return std::move(m_model);
    }
    if (*tensors > mostTensors)
        detail::addDamage(m_model, fmt::format("it says that it has {} tensors", *tensors));
    bool good = *tensors <= mostTensors;
    for (std::uint64_t i = 0; good && i < *pairs; ++i)
        good = readPair();
    for (std::uint64_t i = 0; good && i < *tensors; ++i)
        good = readTensor();
    if (!good)
        return std::move(m_model);
    const auto start = (m_reader.position() + m_alignment - 1) / m_alignment * m_alignment;
    if (m_dataEnd > 0 && (start > m_model.bytes || m_dataEnd > m_model.bytes - start))
        detail::addDamage(m_model, fmt::format("its tensors end at byte {}, the file at {}: it is truncated",
                                               m_dataEnd + start, m_model.bytes));
    return std::move(m_model);
}

} // namespace

ModelFile readGguf(std::string_view bytes) {
    return GgufReader(bytes).read();
}

} // namespace slipway
