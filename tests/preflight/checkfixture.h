// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/digest.h"
#include "core/preflight/check.h"

#include <QTemporaryDir>

#include <algorithm>

namespace slipway {

/// An Orin Nano with JetPack 6.2, as DESIGN section 7 shows its facts.
inline BoardFacts orinFacts() {
    const auto json = parseJson(
        R"({"model": "NVIDIA Jetson Orin Nano Developer Kit", "compatible": ["nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"],
 "l4t": "36.4.3", "jetpack": "6.2", "os": "Ubuntu 22.04", "arch": "aarch64", "kernel": "5.15.148-tegra",
 "glibc": "2.35", "glibcxx": "3.4.30", "cxxabi": "1.3.13", "cuda_driver": 12060, "cuda_toolkit": "12.6",
 "gpus": [{"name": "Orin", "capability": "8.7", "sm_count": 8, "integrated": true}],
 "memory_bytes": 7990000000, "machine_id": "0123456789abcdef", "power_mode": "15W",
 "disks": [{"mount": "/", "free_bytes": 20000000000, "read_only": false, "noexec": false}],
 "tools": {"rsync": "3.2.7", "tar": "1.34", "sha256sum": true, "sftp": true}, "libraries": ["libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"],
 "clock_skew_s": 0, "shell_quiet": true, "env": {}})",
        "facts");
    return BoardFacts::fromJson(*json, "facts").value();
}

/// PTX text of one kernel.
inline std::string ptxText(const std::string &version, const std::string &target, const std::string &entry = "saxpy",
                           const std::string &extra = {}) {
    return fmt::format("//\n{3}.version {0}\n.target {1}\n.address_size 64\n\n.visible .entry {2}(\n\t.param .u64 "
                       "{2}_param_0\n)\n{{\n\tret;\n}}\n",
                       version, target, entry, extra);
}

/// A package in a temporary directory and the evidence about it.
class CheckFixture {
public:
    Package package;
    BoardFacts facts = orinFacts();
    Catalog catalog = Catalog::load({fs::path(SLIPWAY_SOURCE_DIR) / "targets"}).value();
    std::string target = "jetson-orin-nano";
    std::vector<ShippedKernel> kernels;
    std::vector<ShippedElf> elves;
    Progress progress;

    CheckFixture() {
        package.directory = m_dir.path().toStdString();
        package.manifest.name = "app";
        package.manifest.target = target;
        package.manifest.dest = "/opt/app";
    }

    [[nodiscard]] Evidence evidence() const {
        return {.package = package,
                .catalog = catalog,
                .facts = facts,
                .target = target.empty() ? std::nullopt : std::optional(*catalog.find(target)),
                .kernels = kernels,
                .elves = elves};
    }
    [[nodiscard]] std::vector<Finding> run(std::string_view id) {
        for (const auto &check : checks()) {
            if (check.id == id)
                return check.run(evidence(), progress);
        }
        return {};
    }
    /// "" = pass, else "STATUS: found FOUND, needed NEEDED" of the first finding.
    [[nodiscard]] std::string say(std::string_view id) {
        const auto findings = run(id);
        if (findings.empty() || findings[0].status == Status::pass)
            return {};
        if (findings[0].status == Status::skipped)
            return "skipped: " + findings[0].why;
        return fmt::format("{}: found {}, needed {}", statusName(findings[0].status), findings[0].found,
                           findings[0].needed);
    }

    /// Adds a file to the package and its manifest.
    void file(const std::string &path, const std::string &bytes) {
        (void)writeFileAtomically(package.directory / path, bytes);
        package.manifest.files.push_back({.path = path, .size = bytes.size(), .sha256 = sha256(bytes)});
    }
    /// Adds a kernel with these images: "ptx 8.5 sm_87", "cubin sm_87".
    void images(const std::string &name, const std::vector<std::string> &specs, const std::string &hash = {}) {
        ShippedKernel kernel;
        kernel.entry.name = name;
        kernel.entry.hash = hash;
        for (const auto &spec : specs) {
            KernelImage image{.kind = spec.starts_with("ptx") ? ImageKind::ptx : ImageKind::cubin,
                              .entries = {{.name = name}}};
            if (image.kind == ImageKind::ptx)
                image.ptxVersion = PtxVersion::parse(spec.substr(4, 3)).value();
            image.target = Capability::parse(spec.substr(spec.find("sm_"))).value();
            kernel.images.push_back({.path = fmt::format("cache/{}{}{}{}", name, hash.empty() ? "" : "_", hash,
                                                         image.kind == ImageKind::ptx ? ".o" : ".cubin"),
                                     .image = image});
        }
        kernels.push_back(std::move(kernel));
    }
    /// Adds a kernel with the id that the key is made of.
    void keyed(const std::string &name, const std::string &id, const std::string &cpu, std::optional<PtxVersion> ptx) {
        images(name, {"ptx 8.5 sm_87"}, cacheKey(id, cpu, ptx));
        kernels.back().entry.record = KernelRecord{.name = name, .hash = kernels.back().entry.hash, .id = id};
    }

private:
    QTemporaryDir m_dir;
};

} // namespace slipway
