// SPDX-License-Identifier: Apache-2.0
//
// The ahead-of-time contract that teenygrad's programs honour: run on the PC with a capability, the program writes
// its own kernels into the cache folder under the name that it will look up on the board.

#include "generator.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <slipway/images.h>

namespace {

constexpr const char *kernelId = "fill_generated__f32";

struct Target {
    std::string capability; ///< such as sm_87 or sm_90a
    std::optional<std::uint32_t> ptxVersion;
};

std::optional<std::uint32_t> numberOf(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The oldest PTX version (74 for 7.4) that knows the capability; none for one that this program does not know.
/// From NVIDIA's PTX ISA manual, release history.
std::optional<std::uint32_t> oldestPtx(std::string_view capability) {
    static constexpr struct {
        std::uint32_t number, version;
    } table[] = {{50, 40},  {52, 41},  {53, 42},  {60, 50},  {61, 50},  {62, 50}, {70, 60}, {72, 61},
                 {75, 63},  {80, 70},  {86, 71},  {87, 74},  {88, 90},  {89, 78}, {90, 78}, {100, 86},
                 {101, 86}, {103, 88}, {107, 94}, {110, 90}, {120, 87}, {121, 88}};
    if (capability.substr(0, 3) != "sm_")
        return std::nullopt;
    capability.remove_prefix(3);
    char suffix = 0;
    if (!capability.empty() && (capability.back() == 'a' || capability.back() == 'f')) {
        suffix = capability.back();
        capability.remove_suffix(1);
    }
    const std::optional<std::uint32_t> number = numberOf(capability);
    if (!number || (suffix == 'a' && *number < 90) || (suffix == 'f' && *number < 100))
        return std::nullopt;
    for (const auto &row : table)
        if (row.number == *number)
            return suffix == 'f' && row.version < 88 ? 88 : suffix == 'a' && row.number == 90 ? 80 : row.version;
    return std::nullopt;
}

void readOption(std::string_view key, std::string_view value, Target &target) {
    if (key == "capability") {
        target.capability = value;
    } else if (key == "ptx-version") {
        target.ptxVersion = numberOf(value);
        if (!target.ptxVersion || *target.ptxVersion < 40 || *target.ptxVersion > 999)
            throw std::runtime_error("option ptx-version is \"" + std::string(value) +
                                     "\", needed a number such as 82");
    } else if (key != "sm-count" && key != "opt-level" && key != "maxnreg") { // tuning that this kernel has no use for
        throw std::runtime_error("unknown option \"" + std::string(key) +
                                 "\", needed capability, ptx-version, sm-count, opt-level or maxnreg");
    }
}

Target readOptions(std::string_view options) {
    Target target;
    while (!options.empty()) {
        const std::size_t end = std::min(options.find(','), options.size());
        const std::string_view option = options.substr(0, end);
        options.remove_prefix(std::min(end + 1, options.size()));
        const std::size_t equals = option.find('=');
        if (equals == std::string_view::npos || equals + 1 == option.size())
            throw std::runtime_error("option \"" + std::string(option) + "\" has no value, needed key=value");
        readOption(option.substr(0, equals), option.substr(equals + 1), target);
    }
    if (target.capability.empty())
        throw std::runtime_error("--options names no capability, needed capability=sm_N");
    const std::optional<std::uint32_t> oldest = oldestPtx(target.capability);
    if (!oldest)
        throw std::runtime_error("unknown capability \"" + target.capability + "\", needed one such as sm_87");
    if (target.ptxVersion && *target.ptxVersion < *oldest)
        throw std::runtime_error("ptx-version=" + std::to_string(*target.ptxVersion) + " does not know " +
                                 target.capability + ", needed at least " + std::to_string(*oldest));
    return target;
}

std::string ptxText(const Target &target) {
    const std::uint32_t version = target.ptxVersion ? *target.ptxVersion : *oldestPtx(target.capability);
    std::string text = std::string("// meta:id=") + kernelId + "\n// meta:name=" + generatedKernel + "\n";
    text += ".version " + std::to_string(version / 10) + "." + std::to_string(version % 10) + "\n";
    text += ".target " + target.capability + "\n.address_size 64\n\n";
    text += std::string(".visible .entry ") + generatedKernel + R"((
    .param .u64 out,
    .param .f32 value,
    .param .u32 n
)
{
    .reg .pred %outside;
    .reg .f32 %value;
    .reg .b32 %i, %block, %width, %n;
    .reg .b64 %out, %offset;

    ld.param.u64 %out, [out];
    ld.param.f32 %value, [value];
    ld.param.u32 %n, [n];
    mov.u32 %block, %ctaid.x;
    mov.u32 %width, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.s32 %i, %block, %width, %i;
    setp.ge.u32 %outside, %i, %n;
    @%outside bra done;
    cvta.to.global.u64 %out, %out;
    mul.wide.u32 %offset, %i, 4;
    add.s64 %out, %out, %offset;
    st.global.f32 [%out], %value;
done:
    ret;
}
)";
    return text;
}

void makeFolder(const std::string &path) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
        ::mkdir(path.substr(0, slash).c_str(), 0777);
    if (::mkdir(path.c_str(), 0777) != 0 && !slipway::runtime::isFolder(path))
        throw std::runtime_error("cannot make the folder " + path + ": " + std::strerror(errno));
}

/// The file appears whole under its name or not at all.
void writeFile(const std::string &path, const std::string &text) {
    const std::string partial = path + ".tmp." + std::to_string(::getpid());
    std::FILE *file = std::fopen(partial.c_str(), "wb");
    if (!file)
        throw std::runtime_error("cannot write " + partial + ": " + std::strerror(errno));
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    if (!written || !closed || std::rename(partial.c_str(), path.c_str()) != 0) {
        const std::string reason = std::strerror(errno);
        std::remove(partial.c_str());
        throw std::runtime_error("cannot write " + path + ": " + reason);
    }
}

} // namespace

std::string generate(const Generation &request) {
    if (request.device != "cuda")
        throw std::runtime_error("unknown device \"" + request.device + "\", needed cuda");
    const Target target = readOptions(request.options);
    makeFolder(request.cache);
    // the board looks up by its plain capability, also where the PTX is for its "a" or "f" variant
    const std::string plain = target.capability.substr(0, target.capability.find_last_of("0123456789") + 1);
    const std::string path = request.cache + "/" + generatedKernel + "_" +
                             slipway::runtime::imageKey(kernelId, plain, target.ptxVersion) + ".o";
    if (!request.force && ::access(path.c_str(), F_OK) == 0)
        return "kept " + path + " (--force writes it again)";
    writeFile(path, ptxText(target));
    return "wrote " + path;
}
