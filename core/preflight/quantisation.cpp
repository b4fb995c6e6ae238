// SPDX-License-Identifier: Apache-2.0
//
// Quantised weights and what they need to mean anything: scales, zero points, shapes. Sources: compressed-tensors'
// pack-quantized, int-quantized and float-quantized formats; teeny-quant's format.rs (two int4 in a byte, logical shapes in
// quantization_config); GPTQ and AWQ (qweight, scales); TensorRT-Model-Connect #1115 (FP8 cast without its scales).

#include "core/base/text.h"
#include "core/preflight/modelparts.h"

#include <algorithm>
#include <array>

namespace slipway {

namespace {

constexpr std::size_t mostConfig = std::size_t(16) << 20;

std::string text(const Json &json, const char *key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number(const Json &json, const char *key) {
    const auto found = json.is_object() ? json.find(key) : json.end();
    return found != json.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

void readWeights(const Json &config, Quantisation &scheme) {
    const auto groups = config.find("config_groups");
    if (groups == config.end() || !groups->is_object())
        return;
    for (const auto &[name, group] : groups->items()) {
        const auto weights = group.is_object() ? group.find("weights") : group.end();
        if (weights == group.end() || !weights->is_object())
            continue;
        scheme.bits = int(std::min<std::uint64_t>(64, number(*weights, "num_bits")));
        const auto symmetric = weights->find("symmetric");
        scheme.symmetric = symmetric == weights->end() || !symmetric->is_boolean() || symmetric->get<bool>();
        if (text(*weights, "strategy") == "group")
            scheme.groupSize = number(*weights, "group_size");
        if (groups->size() > 1) // several schemes: which tensor has which is not told by names
            scheme.symmetric = true, scheme.groupSize = 0, scheme.bits = 0;
    }
}

void readScheme(const Json &config, Quantisation &scheme) {
    scheme.known = true;
    scheme.format = text(config, "format");
    readWeights(config, scheme);
    if (const auto ignored = config.find("ignore"); ignored != config.end() && ignored->is_array()) {
        for (const auto &name : *ignored) {
            if (name.is_string())
                scheme.ignored.insert(name.get<std::string>());
        }
    }
    const auto packed = config.find("teenygrad_packed_int4");
    if (packed == config.end() || !packed->is_object())
        return;
    for (const auto &[name, info] : packed->items())
        scheme.packed[name] = number(info, "elements");
}

/// The tensors of a model by name, and what is found to be wrong with them.
struct Weights {
    std::map<std::string_view, const Tensor *> tensors;
    const Quantisation &scheme;
    std::vector<std::string> bare;     ///< without a scale
    std::vector<std::string> noZero;   ///< without a zero point, though the scheme is asymmetric
    std::vector<std::string> shapeless; ///< packed, without the shape that they had
    std::vector<std::string> wrong;    ///< of a size that contradicts the scheme

    [[nodiscard]] const Tensor *find(const std::string &name) const {
        const auto found = tensors.find(name);
        return found == tensors.end() ? nullptr : found->second;
    }
    [[nodiscard]] bool any(const std::vector<std::string> &names) const {
        return std::any_of(names.begin(), names.end(), [&](const auto &n) { return find(n); });
    }
};

/// "layer.0.weight" -> "layer.0."
std::string stemOf(const std::string &name) {
    const auto dot = name.rfind('.');
    return dot == std::string::npos ? std::string() : name.substr(0, dot + 1);
}

/// compressed-tensors: weight_packed [out, ceil(in * bits / 32)] of int32, weight_scale [out, groups], weight_shape.
void checkPacked(const Tensor &packed, Weights &weights) {
    const auto stem = packed.name.substr(0, packed.name.size() - std::string_view("_packed").size());
    const auto *scale = weights.find(stem + "_scale");
    if (!scale)
        return weights.bare.push_back(packed.name);
    if (!weights.find(stem + "_shape") && packed.dtype == "I32") // NVFP4 packs bytes, and needs none
        weights.shapeless.push_back(packed.name);
    if (weights.scheme.known && !weights.scheme.symmetric && !weights.find(stem + "_zero_point"))
        weights.noZero.push_back(packed.name);
    const auto bits = std::uint64_t(weights.scheme.bits);
    if (packed.dtype != "I32" || packed.shape.size() != 2 || scale->shape.size() != 2 || bits == 0 || bits > 8)
        return;
    const auto perWord = 32 / bits;
    const auto mostColumns = packed.shape[1] > UINT64_MAX / perWord ? UINT64_MAX : packed.shape[1] * perWord;
    const auto group = weights.scheme.groupSize;
    const bool rowsFit = scale->shape[0] == packed.shape[0];
    // The last word may be padded, so only a range of columns is known.
    const bool groupsFit = group == 0 || (scale->shape[1] >= (mostColumns - std::min(mostColumns, perWord) + group) / group &&
                                          scale->shape[1] <= mostColumns / group + (mostColumns % group != 0));
    if (!rowsFit || !groupsFit)
        weights.wrong.push_back(fmt::format("{} [{}, {}] with scales [{}, {}]", packed.name, packed.shape[0], packed.shape[1],
                                            scale->shape[0], scale->shape[1]));
}

/// teeny-quant: weight of bytes, two elements in each, weight_scale, and the element count in quantization_config.
void checkBytes(const Tensor &weight, Weights &weights) {
    const auto info = weights.scheme.packed.find(weight.name);
    if (info == weights.scheme.packed.end())
        return weights.shapeless.push_back(weight.name);
    const auto needed = info->second / 2 + info->second % 2;
    if (weight.bytes != needed)
        weights.wrong.push_back(fmt::format("{} has {} bytes, {} elements of 4 bits need {}", weight.name, weight.bytes, info->second, needed));
}

void checkWeight(const Tensor &tensor, Weights &weights) {
    const auto &name = tensor.name;
    const auto &scheme = weights.scheme;
    if (name.ends_with(".weight_packed"))
        return checkPacked(tensor, weights);
    const auto stem = stemOf(name);
    if (name.ends_with(".qweight")) { // GPTQ, AWQ
        if (!weights.any({stem + "scales"}))
            weights.bare.push_back(name);
        return;
    }
    const bool eight = tensor.dtype.starts_with("F8_") || (tensor.dtype == "I8" && name.ends_with("weight"));
    const bool four = tensor.dtype == "U8" && scheme.packed.contains(name);
    const bool teeny = tensor.dtype == "U8" && scheme.format == "pack-quantized" && name.ends_with("weight");
    if ((!eight && !four && !teeny) || isCompanion(name) || scheme.ignored.contains(name))
        return;
    const std::vector<std::string> scales{name + "_scale", name + "_scale_inv", name + ".scale", name + "_scales", name + ".absmax",
                                          stem + "scale",  stem + "scales",     stem + "weight_scale", stem + "scale_weight", stem + "SCB"};
    if (!weights.any(scales))
        return weights.bare.push_back(name);
    if (four || teeny)
        checkBytes(tensor, weights);
    if (scheme.known && !scheme.symmetric && !weights.any({name + "_zero_point", stem + "zero_point", stem + "weight_zero_point"}))
        weights.noZero.push_back(name);
}

void report(const std::string &path, const std::vector<std::string> &names, std::string_view lacks, std::string needed, std::string why,
            std::vector<Finding> &findings) {
    if (names.empty())
        return;
    findings.push_back({.status = Status::fail,
                        .subject = path,
                        .found = fmt::format("{} quantised tensor{} {} ({})", names.size(), names.size() == 1 ? "" : "s", lacks, names.front()),
                        .needed = std::move(needed),
                        .why = std::move(why),
                        .fix = "export the model with them (teeny-quant quantize, or the tool that made it)"});
}

} // namespace

bool isCompanion(std::string_view name) {
    constexpr std::array<std::string_view, 15> ends{"_scale",      "_scale_inv", ".scale",  ".scales", "_scales",  "_zero_point", ".zero_point", ".g_idx",
                                                    "_scale_2",    ".qzeros",    "_g_idx",  "_shape",  ".absmax",  ".quant_map",  ".scale_weight"};
    return std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); });
}

Quantisation readQuantisation(const ModelFile &model, const fs::path &file) {
    Quantisation scheme;
    Result<Json> json = fail("none");
    std::error_code ignored;
    if (!model.quantisation.empty()) {
        json = model.quantisation.size() > mostConfig ? fail("it is too large") : parseJson(model.quantisation, "quantization_config", 16);
    } else if (const auto beside = file.parent_path() / "config.json"; fs::is_regular_file(beside, ignored)) {
        const auto config = readFile(beside, mostConfig);
        auto whole = config ? parseJson(*config, "config.json", 32) : std::unexpected(config.error());
        const auto found = whole && whole->is_object() ? whole->find("quantization_config") : Json::iterator();
        if (!whole || !whole->is_object() || found == whole->end())
            return scheme;
        json = *found;
    } else {
        return scheme;
    }
    if (!json || !json->is_object())
        scheme.damage = json ? "its quantization_config is no object" : json.error().message;
    else
        readScheme(*json, scheme);
    return scheme;
}

void checkQuantised(const std::string &path, const ModelFile &model, const Quantisation &scheme, std::vector<Finding> &findings) {
    Weights weights{.tensors = {}, .scheme = scheme, .bare = {}, .noZero = {}, .shapeless = {}, .wrong = {}};
    for (const auto &tensor : model.tensors)
        weights.tensors.emplace(tensor.name, &tensor);
    for (const auto &tensor : model.tensors)
        checkWeight(tensor, weights);
    for (const auto &[name, elements] : scheme.packed) {
        if (!weights.find(name))
            weights.wrong.push_back(fmt::format("{} is listed in quantization_config, but not there", name));
    }
    const auto first = weights.bare.empty() ? std::string() : weights.bare.front();
    report(path, weights.bare, "without a scale", fmt::format("a tensor such as {}_scale beside each", first),
           "quantised weights mean nothing without their scales", findings);
    report(path, weights.noZero, "without a zero point",
           weights.noZero.empty() ? "" : fmt::format("{}_zero_point: the scheme is asymmetric", weights.noZero.front()),
           "without it each weight is off by the same amount: wrong numbers without any error", findings);
    report(path, weights.shapeless, "packed to 4 bits without a shape", "the shape before packing: weight_shape, or an entry of teenygrad_packed_int4",
           "the packed tensor's own shape does not tell rows from columns", findings);
    report(path, weights.wrong, "of the wrong size", "sizes that agree with quantization_config",
           "scales of other groups than the weights' give wrong numbers without any error", findings);
    if (!scheme.damage.empty())
        findings.push_back({.status = Status::fail, .subject = path, .found = printable(scheme.damage), .needed = "a quantization_config that can be read",
                            .why = "the program cannot tell how the weights are packed", .fix = "export the model again"});
}

} // namespace slipway
