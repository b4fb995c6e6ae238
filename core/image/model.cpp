// SPDX-License-Identifier: Apache-2.0
//
// Model files: which format it is, what a Git LFS pointer stands for, and NumPy arrays. The larger formats have files
// of their own.

#include "core/base/text.h"
#include "core/image/bytes.h"
#include "core/image/modelreaders.h"

#include <QFile>

#include <algorithm>

namespace slipway {

namespace detail {

std::optional<std::uint64_t> elements(const std::vector<std::uint64_t> &shape) {
    std::uint64_t count = 1;
    for (const auto size : shape) {
        if (size != 0 && count > UINT64_MAX / size)
            return std::nullopt;
        count *= size;
    }
    return count;
}

void addDamage(ModelFile &model, std::string text) {
    if (model.damage.size() < 20)
        model.damage.push_back(std::move(text));
}

void addTensor(ModelFile &model, Tensor tensor) {
    ++model.dtypes[printable(tensor.dtype, 40)];
    model.tensors.push_back(std::move(tensor));
}

} // namespace detail

namespace {

constexpr std::string_view lfsStart = "version https://git-lfs.github.com/spec/";
constexpr std::string_view numpyStart = "\x93NUMPY";

/// Lines of "key value" (Git LFS specification).
ModelFile readLfsPointer(std::string_view bytes) {
    ModelFile model{.format = "git-lfs pointer", .bytes = bytes.size()};
    for (const auto line : lines(bytes.substr(0, 1024))) {
        const auto space = line.find(' ');
        if (space != std::string_view::npos)
            model.metadata[printable(line.substr(0, space))] = printable(line.substr(space + 1));
    }
    const auto size = parseNumber(model.metadata["size"]);
    detail::addDamage(
        model,
        size ? fmt::format("it is a Git LFS pointer: the real file of {} bytes was not fetched (git lfs pull)", *size)
             : std::string("it is a Git LFS pointer: the real file was not fetched (git lfs pull)"));
    return model;
}

/// The text between the quotes, or up to the closing mark, behind `key` in NumPy's header (a Python dict).
std::string_view numpyValue(std::string_view header, std::string_view key, char close) {
    const auto at = header.find(key);
    if (at == std::string_view::npos)
        return {};
    auto rest = header.substr(at + key.size());
    rest = rest.substr(std::min(
        rest.size(), rest.find_first_of("'(") == std::string_view::npos ? rest.size() : rest.find_first_of("'(") + 1));
    return rest.substr(0, rest.find(close));
}

/// "<f4" to "F32": the names that safetensors uses.
std::string numpyDtype(std::string_view descr) {
    static const std::map<std::string_view, const char *> names = {
        {"f2", "F16"}, {"f4", "F32"}, {"f8", "F64"}, {"i1", "I8"},  {"i2", "I16"}, {"i4", "I32"},
        {"i8", "I64"}, {"u1", "U8"},  {"u2", "U16"}, {"u4", "U32"}, {"u8", "U64"}, {"b1", "BOOL"}};
    const auto found = descr.size() == 3 ? names.find(descr.substr(1)) : names.end();
    return found == names.end() ? printable(descr, 40) : found->second;
}

/// A plan's header: "ftrt", a serialisation version, and for version 0 TensorRT's own version in bytes 24 to 27 (as
/// trtexec --getPlanVersionOnly reads it).
ModelFile readPlan(std::string_view bytes) {
    ModelFile model{.format = "tensorrt", .bytes = bytes.size()};
    ByteReader reader(bytes);
    (void)reader.take(4);
    const auto layout = reader.number<std::uint32_t>();
    const auto version = reader.take(16) ? reader.take(4) : std::nullopt;
    if (!version)
        detail::addDamage(model, "it ends inside its header: it is truncated");
    else if (layout == 0 && bytes[0] == 'f')
        model.metadata["tensorrt"] = fmt::format("{}.{}.{}", int(std::uint8_t((*version)[0])),
                                                 int(std::uint8_t((*version)[1])), int(std::uint8_t((*version)[2])));
    return model;
}

bool looksLikeOnnx(std::string_view bytes) {
    // Field 1 (ir_version, a small number), then producer, versions, domain, graph or operator set.
    return bytes.size() > 3 && bytes[0] == 0x08 && bytes[1] > 0 && bytes[1] < 0x20 &&
           std::string_view("\x12\x1a\x22\x28\x32\x3a\x42").find(bytes[2]) != std::string_view::npos;
}

bool looksLikeSafetensors(std::string_view bytes) {
    const auto length = ByteReader(bytes).number<std::uint64_t>();
    return length && *length < (std::uint64_t(1) << 32) && bytes.size() > 8 && bytes[8] == '{';
}

} // namespace

ModelFile readNumpy(std::string_view bytes) {
    ModelFile model{.format = "numpy", .bytes = bytes.size()};
    ByteReader reader(bytes);
    (void)reader.take(numpyStart.size());
    const auto major = reader.number<std::uint8_t>();
    (void)reader.take(1);
    const auto length = major == 1 ? reader.number<std::uint16_t>().transform([](auto n) { return std::uint32_t(n); })
                                   : reader.number<std::uint32_t>();
    const auto header = length ? reader.take(*length) : std::nullopt;
    if (!header) {
        detail::addDamage(model, "it ends inside its header: it is truncated");
        return model;
    }
    Tensor tensor;
    const auto descr = numpyValue(*header, "'descr':", '\'');
    tensor.dtype = numpyDtype(descr);
    for (const auto piece : split(numpyValue(*header, "'shape':", ')'), ',')) {
        if (const auto size = parseNumber(trimmed(piece)))
            tensor.shape.push_back(*size);
    }
    const auto size = descr.size() == 3 ? parseNumber(descr.substr(2)) : std::nullopt;
    const auto count = detail::elements(tensor.shape);
    if (!size || !count || *count > UINT64_MAX / std::max<std::uint64_t>(*size, 1))
        detail::addDamage(model, fmt::format("its header does not tell dtype and shape ({})", printable(*header, 100)));
    else if (tensor.bytes = *size * *count; tensor.bytes > reader.left())
        detail::addDamage(
            model, fmt::format("it has {} bytes of data (needed {}): it is truncated", reader.left(), tensor.bytes));
    detail::addTensor(model, std::move(tensor));
    return model;
}

ModelFile readModel(std::string_view bytes, bool isNamedOnnx) {
    if (bytes.starts_with(lfsStart))
        return readLfsPointer(bytes);
    if (bytes.starts_with("GGUF"))
        return readGguf(bytes);
    if (bytes.starts_with(numpyStart))
        return readNumpy(bytes);
    if (bytes.starts_with("ftrt") || bytes.starts_with("ptrt")) // TensorRT's magic number, as its loader checks it
        return readPlan(bytes);
    if (looksLikeSafetensors(bytes))
        return readSafetensors(bytes);
    if (isNamedOnnx || looksLikeOnnx(bytes))
        return readOnnx(bytes);
    return {.format = "unknown", .bytes = bytes.size()};
}

Result<ModelFile> readModelFile(const fs::path &path) {
    QFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::ReadOnly))
        return fail("cannot read {}: {}", path.string(), file.errorString().toStdString());
    ModelFile empty{.format = "unknown", .damage = {"it is empty"}};
    if (file.size() == 0)
        return empty;
    // Mapped, not read: models have gigabytes, of which the header matters.
    const auto *start = file.map(0, file.size());
    if (!start)
        return fail("cannot read {}: {}", path.string(), file.errorString().toStdString());
    const std::string_view bytes(reinterpret_cast<const char *>(start), std::size_t(file.size()));
    auto model = readModel(bytes, path.extension() == ".onnx");
    if (model.format == "unknown" && path.extension() == ".safetensors")
        model = readSafetensors(bytes);
    return model;
}

} // namespace slipway
