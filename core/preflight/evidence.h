// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/probe.h"
#include "core/image/elfimage.h"
#include "core/package/package.h"
#include "core/target/target.h"

#include <memory>

namespace slipway {

/// One image file of the package's cache, read in full.
struct ShippedImage {
    std::string path;                 ///< relative to the package: "cache/saxpy_….o"
    std::optional<KernelImage> image; ///< absent = `unreadable` says why
    std::string unreadable;
};

/// One kernel of the cache with every image that the board may choose from.
struct ShippedKernel {
    CacheEntry entry;
    std::vector<ShippedImage> images;
};

/// One ELF file of the package, wherever it lies (but not the cubins of the cache).
struct ShippedElf {
    std::string path;
    ElfImage elf;
    std::vector<KernelImage> fatbins; ///< GPU code inside it
};

/// A file that is not what the manifest says: missing, no plain file, of another size.
struct UnsoundFile {
    std::string path;
    std::string found;
    std::string needed;
};

struct KernelGroup;
struct ShippedModel;

/// Everything a check may look at. Absent = not available for this run.
struct Evidence {
    Package package;
    const Catalog &catalog;
    BoardFacts facts; ///< of a profile, a file or the live board
    std::optional<Target> target;
    bool profileOnly =
        false; ///< the facts are those of a profile: there is no board whose disks, clock or identity could be checked
    std::string factsSource; ///< "profile jetson-orin-nano", "facts.json (3 days old)", "virtual-orin, now"
    fs::path ptxas;          ///< empty = none here
    std::optional<Sysroot> sysroot;
    Session *session = nullptr;    ///< live board
    std::string dest;              ///< where it would be deployed; empty = the package's own
    std::string expectedMachineId; ///< of the device entry; empty = first time
    std::string expectedSerial{};  ///< the same
    ProbePrograms probes;

    std::vector<ShippedKernel> kernels = {}; ///< read by preflight()
    std::vector<ShippedElf> elves = {};      ///< read by preflight()
    std::vector<UnsoundFile> unsound = {};   ///< found by preflight(), which shows `package` without them to the checks
    /// What several checks look at, made once by preflight() (kernelGroups(), readShippedModels()); null = not made yet. They
    /// point into `kernels` and `elves`.
    std::shared_ptr<const std::vector<KernelGroup>> groups = nullptr;
    std::shared_ptr<const std::vector<ShippedModel>> models = nullptr;

    /// The capability of the GPU that the package will run on: the board's own, else the profile's.
    [[nodiscard]] std::optional<Capability> capability() const;
    /// cuDriverGetVersion as the program will see it: of the cuda-compat folder that its LD_LIBRARY_PATH names, else of the
    /// board, else what its JetPack brings.
    [[nodiscard]] std::optional<int> driver() const;
    /// A variable as the program will see it: conf/env, which wins, else the board's own.
    [[nodiscard]] std::optional<std::string> variable(const std::string &name) const;
    /// The file system that holds a path of the board: the longest mount point that is a parent of it. Null = not known.
    [[nodiscard]] const DiskFacts *disk(const std::string &path) const;
    [[nodiscard]] std::string destination() const { return dest.empty() ? package.manifest.dest : dest; }
};

/// Reads every image of the package's cache, in parallel. A file that cannot be read is a kernel with an `unreadable`
/// image.
[[nodiscard]] Result<std::vector<ShippedKernel>> readShippedKernels(const Package &package, Progress &progress);
/// Files of the manifest that are not there, are links or special files, lead out of the package, or have another size. They
/// are removed from `package`, so that nothing reads them.
[[nodiscard]] std::vector<UnsoundFile> takeUnsoundFiles(Package &package);
/// Reads the ELF files among the files of the manifest, in parallel.
[[nodiscard]] Result<std::vector<ShippedElf>> readShippedElves(const Package &package, Progress &progress);

} // namespace slipway
