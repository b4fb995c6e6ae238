// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/target/capability.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

/// One line on the standard input of `slipway-kernelc`: generate PTX from one source for one capability.
struct WorkerJob {
    fs::path input;  ///< .ll or .bc
    fs::path output; ///< PTX text; appears whole, by rename
    Capability capability;
    PtxVersion ptx;
    int opt = 3;        ///< 0 to 3
    fs::path libdevice; ///< empty = `__nv_` functions stay unresolved, which is an error
    std::optional<int> maxRegisters;
    std::string id;                          ///< becomes `// meta:id=`; empty = no such line
    std::string name;                        ///< of the image, for messages
    std::map<std::string, std::string> meta; ///< further `// meta:key=value` lines
};
[[nodiscard]] Json toJson(const WorkerJob &job);
[[nodiscard]] Result<WorkerJob> workerJobFromJson(const Json &json);

/// One line on its standard output: what became of a job.
struct WorkerResult {
    fs::path input;
    fs::path output;
    bool ok = false;
    std::string error;  ///< one line
    std::string detail; ///< what LLVM said in full
    std::string hint;
    bool outputFailed = false; ///< the output could not be written, and not for want of room: so it will be with all
    std::vector<std::string> entries;
    std::vector<std::string> unresolved;
    bool usedLibdevice = false;
    bool last = false; ///< the process ends after this answer: LLVM gave it up
    int milliseconds = 0;
};
[[nodiscard]] Json toJson(const WorkerResult &result);
[[nodiscard]] Result<WorkerResult> workerResultFromJson(const Json &json);

/// What `slipway-kernelc --describe` prints: what its LLVM can generate.
struct WorkerDescription {
    std::string llvm; ///< "22.1.8"
    int revision = 0; ///< rises when slipway-kernelc itself generates other text from the same source
    std::vector<Capability> capabilities;
    std::vector<PtxVersion> ptxVersions; ///< ascending

    /// "LLVM 22.1.8": the tool that records and manifests name.
    [[nodiscard]] std::string tool() const;
    [[nodiscard]] bool knows(Capability capability) const;
    /// An error that names what is missing and the LLVM that has it.
    [[nodiscard]] Result<void> check(Capability capability, PtxVersion ptx) const;
};
[[nodiscard]] Json toJson(const WorkerDescription &description);
[[nodiscard]] Result<WorkerDescription> workerDescriptionFromJson(const Json &json);

} // namespace slipway
