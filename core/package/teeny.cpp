// SPDX-License-Identifier: Apache-2.0
//
// Packages of `cargo teeny package`: the marker that both tools write and read.

#include "core/package/teeny.h"

#include "core/base/text.h"
#include "core/package/contents.h"

namespace slipway {

namespace {

/// capability and ptx-version of an options text "capability=sm_87,ptx-version=82"; others are the program's own.
Result<void> readOptions(std::string_view options, Manifest &manifest) {
    for (const auto option : split(options, ',')) {
        const auto equals = option.find('=');
        if (equals == std::string_view::npos)
            continue;
        const auto key = trimmed(option.substr(0, equals));
        const auto value = trimmed(option.substr(equals + 1));
        if (key == "capability")
            manifest.capability = TRY_IN(Capability::parse(value), "conf/.cargo-teeny-package: OPTIONS");
        else if (key == "ptx-version")
            manifest.ptx = TRY_IN(PtxVersion::parse(value), "conf/.cargo-teeny-package: OPTIONS");
    }
    return {};
}

} // namespace

Result<TeenyMarker> parseTeenyMarker(std::string_view text) {
    const auto all = lines(text);
    if (all.empty() || trimmed(all[0]) != "1")
        return fail("conf/.cargo-teeny-package: the first line is \"{}\", needed the version 1",
                    all.empty() ? "" : printable(all[0], 40));
    TeenyMarker marker;
    for (const auto line : all) {
        const auto equals = line.find('=');
        if (equals == std::string_view::npos)
            continue;
        const auto key = line.substr(0, equals);
        const std::string value(trimmed(line.substr(equals + 1)));
        if (key == "TARGET") {
            marker.target = value;
        } else if (key == "BIN" || key == "EXAMPLE") {
            marker.isExample = key == "EXAMPLE";
            for (const auto name : split(value, ','))
                marker.names.emplace_back(name);
        } else if (key == "DEVICE") {
            marker.device = value;
        } else if (key == "OPTIONS") {
            marker.options = value;
        } else if (key == "BUILD_UNIX_TIME") {
            marker.time = long(std::min<std::uint64_t>(parseNumber(value).value_or(0), std::uint64_t(1) << 40));
        } else if (key == "SOURCE_COMMIT") {
            marker.commit = value == "unknown" ? "" : value;
        }
    }
    for (const auto &name : marker.names) {
        if (!isInsidePath(name) || name.find('/') != std::string::npos)
            return fail("conf/.cargo-teeny-package: \"{}\" is no name of a program", printable(name));
    }
    if (marker.names.empty())
        return fail("conf/.cargo-teeny-package: found neither BIN= nor EXAMPLE=");
    return marker;
}

std::string teenyMarkerText(const TeenyMarker &marker) {
    return fmt::format("1\nTARGET={}\n{}={}\nDEVICE={}\nOPTIONS={}\nBUILD_UNIX_TIME={}\nSOURCE_COMMIT={}\n", marker.target,
                       marker.isExample ? "EXAMPLE" : "BIN", fmt::join(marker.names, ","), marker.device, marker.options,
                       marker.time, marker.commit.empty() ? "unknown" : marker.commit);
}

std::map<std::string, std::string> cacheEnv(std::optional<PtxVersion> ptx) {
    std::map<std::string, std::string> env{
        {"TEENYC_CACHE_DIR", "$RELEASE/cache"},
        {"TEENYC_PATH", "no-compiler-on-this-board"},
        {"CUDA_CACHE_PATH", "$RELEASE/../../.slipway/cuda"},
    };
    if (ptx)
        env["TEENYC_PTX_VERSION"] = std::to_string(ptx->code());
    return env;
}

Result<Package> openTeenyPackage(const fs::path &directory, Progress &progress) {
    const auto text = TRY(readFile(directory / "conf/.cargo-teeny-package", 1 << 16));
    const auto marker = TRY(parseTeenyMarker(text));
    Package package;
    package.directory = directory;
    package.fromTeeny = true;
    auto &manifest = package.manifest;
    manifest.name = projectNameFrom(marker.names.front());
    manifest.target = marker.target.empty() ? "unknown" : marker.target;
    manifest.options = marker.options;
    manifest.commit = marker.commit;
    manifest.builtAt = marker.time;
    manifest.run = "bin/" + shellQuote(marker.names.front());
    manifest.dest = "/opt/" + manifest.name;
    TRY(readOptions(marker.options, manifest));
    package.env = cacheEnv(manifest.ptx);
    manifest.files = TRY(hashedContents(directory, progress));
    return package;
}

} // namespace slipway
