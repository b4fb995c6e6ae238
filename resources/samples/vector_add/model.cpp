// SPDX-License-Identifier: Apache-2.0
//
// A safetensors reader for this sample's own model: a u64 header length, a JSON header with each tensor's dtype,
// shape and byte range, then the bytes. The file is taken for hostile: every length is checked before it is used.

#include "model.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace {

constexpr std::size_t largestFile = 64u << 20;

std::string readBytes(const std::string &path) {
    std::FILE *file = std::fopen(path.c_str(), "rb");
    if (!file)
        throw ModelError("cannot read " + path + ": " + std::strerror(errno));
    std::string bytes;
    char part[16384];
    while (const std::size_t count = std::fread(part, 1, sizeof part, file)) {
        bytes.append(part, count);
        if (bytes.size() > largestFile)
            break;
    }
    std::fclose(file);
    if (bytes.size() > largestFile)
        throw ModelError("cannot read " + path + ": it is larger than 64 MiB");
    return bytes;
}

struct Tensor {
    std::string dtype;
    std::uint64_t values = 1;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    bool hasOffsets = false;
};

/// Walks the header: objects, strings without escapes beyond the simple ones, and whole numbers are all it holds.
class Header {
public:
    Header(std::string_view text, std::string path)
        : m_text(text)
        , m_path(std::move(path)) {}

    std::map<std::string, Tensor> tensors() {
        std::map<std::string, Tensor> found;
        expect('{');
        if (!take('}')) {
            do {
                const std::string name = text();
                expect(':');
                if (name == "__metadata__")
                    metadata();
                else
                    found[name] = tensor();
            } while (take(','));
            expect('}');
        }
        return found;
    }

private:
    [[noreturn]] void fail(const std::string &needed) const {
        throw ModelError("cannot read " + m_path + ": header byte " + std::to_string(m_at) + " is not " + needed);
    }

    void skipSpace() {
        while (m_at < m_text.size() && std::strchr(" \t\r\n", m_text[m_at]) && m_text[m_at])
            ++m_at;
    }

    bool take(char wanted) {
        skipSpace();
        if (m_at >= m_text.size() || m_text[m_at] != wanted)
            return false;
        ++m_at;
        return true;
    }

    void expect(char wanted) {
        if (!take(wanted))
            fail(std::string("'") + wanted + "'");
    }

    std::string text() {
        expect('"');
        std::string result;
        while (m_at < m_text.size() && m_text[m_at] != '"') {
            if (m_text[m_at] == '\\' && ++m_at >= m_text.size())
                break;
            result += m_text[m_at++];
        }
        expect('"');
        return result;
    }

    std::uint64_t number() {
        skipSpace();
        std::uint64_t value = 0;
        const std::size_t first = m_at;
        for (; m_at < m_text.size() && m_text[m_at] >= '0' && m_text[m_at] <= '9'; ++m_at) {
            if (value > (UINT64_MAX - 9) / 10)
                fail("a number that fits 64 bits");
            value = value * 10 + std::uint64_t(m_text[m_at] - '0');
        }
        if (m_at == first)
            fail("a number");
        return value;
    }

    std::vector<std::uint64_t> numbers() {
        std::vector<std::uint64_t> values;
        expect('[');
        if (take(']'))
            return values;
        do
            values.push_back(number());
        while (take(','));
        expect(']');
        return values;
    }

    void metadata() {
        expect('{');
        if (take('}'))
            return;
        do {
            text();
            expect(':');
            text();
        } while (take(','));
        expect('}');
    }

    void readKey(const std::string &key, Tensor &tensor) {
        if (key == "dtype") {
            tensor.dtype = text();
        } else if (key == "shape") {
            for (const std::uint64_t extent : numbers()) {
                if (extent && tensor.values > largestFile / extent)
                    fail("a shape that fits the file");
                tensor.values *= extent;
            }
        } else if (key == "data_offsets") {
            const std::vector<std::uint64_t> range = numbers();
            if (range.size() != 2)
                fail("a pair of offsets");
            tensor.begin = range[0];
            tensor.end = range[1];
            tensor.hasOffsets = true;
        } else {
            fail("after dtype, shape or data_offsets");
        }
    }

    Tensor tensor() {
        Tensor result;
        expect('{');
        do {
            const std::string key = text();
            expect(':');
            readKey(key, result);
        } while (take(','));
        expect('}');
        if (!result.hasOffsets)
            fail("the end of a tensor with data_offsets");
        return result;
    }

    std::string_view m_text;
    std::string m_path;
    std::size_t m_at = 0;
};

} // namespace

float toFloat(Half value) {
    const std::uint32_t sign = std::uint32_t(value.bits & 0x8000) << 16;
    const std::uint32_t exponent = value.bits >> 10 & 0x1f;
    const std::uint32_t fraction = value.bits & 0x3ff;
    if (exponent == 0) { // zero and subnormals: fraction * 2^-24
        const float magnitude = float(fraction) * (1.0f / 16777216.0f);
        return sign ? -magnitude : magnitude;
    }
    const std::uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
    float result;
    std::memcpy(&result, &bits, sizeof result);
    return result;
}

Half toHalf(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint16_t sign = std::uint16_t(bits >> 16 & 0x8000);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return {std::uint16_t(sign | 0x7e00)};
    if (magnitude >= 0x477ff000) // rounds to 65536 or more
        return {std::uint16_t(sign | 0x7c00)};
    if (magnitude < 0x33000000) // below half of the smallest subnormal
        return {sign};
    const bool subnormal = magnitude < 0x38800000;
    const std::uint32_t shift = subnormal ? 126 - (magnitude >> 23) : 13;
    const std::uint32_t mantissa = subnormal ? (magnitude & 0x7fffff) | 0x800000 : magnitude - 0x38000000;
    const std::uint32_t kept = mantissa >> shift;
    const std::uint32_t rest = mantissa & ((1u << shift) - 1);
    const std::uint32_t half = 1u << (shift - 1);
    return {std::uint16_t(sign | (kept + (rest > half || (rest == half && (kept & 1)))))};
}

Model readModel(const std::string &path) {
    const std::string bytes = readBytes(path);
    std::uint64_t length = 0;
    if (bytes.size() < 8)
        throw ModelError("cannot read " + path + ": it has " + std::to_string(bytes.size()) +
                         " bytes, needed at least 8");
    for (unsigned i = 0; i < 8; ++i)
        length |= std::uint64_t(static_cast<unsigned char>(bytes[i])) << 8 * i;
    if (length > bytes.size() - 8)
        throw ModelError("cannot read " + path + ": its header claims " + std::to_string(length) +
                         " bytes, the file ends before");
    const std::string_view data = std::string_view(bytes).substr(8 + length);
    Model model;
    for (const auto &[name, tensor] : Header(std::string_view(bytes).substr(8, length), path).tensors()) {
        if (tensor.dtype != "F16")
            throw ModelError("cannot use " + path + ": tensor " + name + " is " + tensor.dtype + ", needed F16");
        if (tensor.begin > tensor.end || tensor.end > data.size() ||
            tensor.end - tensor.begin != tensor.values * sizeof(Half))
            throw ModelError("cannot use " + path + ": tensor " + name +
                             " lies outside the file or does not fit its shape");
        std::vector<Half> &values = model[name];
        values.resize(tensor.values);
        if (!values.empty())
            std::memcpy(values.data(), data.data() + tensor.begin, values.size() * sizeof(Half));
    }
    return model;
}
