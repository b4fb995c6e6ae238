// SPDX-License-Identifier: Apache-2.0
//
// The lines that the engine and slipway-kernelc exchange, and what both say about a target that LLVM does not know.

#include "core/kernel/workerjob.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::string_view jobText = "job";
constexpr std::string_view resultText = "result of slipway-kernelc";
constexpr std::string_view descriptionText = "description of slipway-kernelc";

/// The LLVM release that first generates code for a capability (facts/domain.md section 1).
std::string llvmThatKnows(Capability capability) {
    if (capability.number <= 90 && capability.number != 88)
        return "LLVM 19";
    if (capability.number == 107)
        return "LLVM 23";
    return capability.number <= 121 ? "LLVM 22" : "a newer LLVM";
}

} // namespace

Json toJson(const WorkerJob &job) {
    Json json = {{"input", job.input.string()},
                 {"output", job.output.string()},
                 {"capability", job.capability.sm()},
                 {"ptx", job.ptx.code()},
                 {"opt", job.opt},
                 {"libdevice", job.libdevice.string()},
                 {"id", job.id},
                 {"name", job.name},
                 {"meta", job.meta}};
    if (job.maxRegisters)
        json["maxnreg"] = *job.maxRegisters;
    return json;
}

Result<WorkerJob> workerJobFromJson(const Json &json) {
    WorkerJob job;
    job.input = TRY(required<std::string>(json, "input", jobText));
    job.output = TRY(required<std::string>(json, "output", jobText));
    job.capability = TRY(Capability::parse(TRY(required<std::string>(json, "capability", jobText))));
    job.ptx = PtxVersion::fromCode(TRY(required<int>(json, "ptx", jobText)));
    job.opt = TRY(member<int>(json, "opt", 3, jobText));
    if (job.opt < 0 || job.opt > 3)
        return fail("job: \"opt\" is {}, needed 0 to 3", job.opt);
    job.libdevice = TRY(member<std::string>(json, "libdevice", {}, jobText));
    if (json.contains("maxnreg"))
        job.maxRegisters = TRY(required<int>(json, "maxnreg", jobText));
    job.id = TRY(member<std::string>(json, "id", {}, jobText));
    job.name = TRY(member<std::string>(json, "name", job.input.stem().string(), jobText));
    job.meta = TRY((member<std::map<std::string, std::string>>(json, "meta", {}, jobText)));
    return job;
}

Json toJson(const WorkerResult &result) {
    Json json = {
        {"input", result.input.string()}, {"output", result.output.string()}, {"status", result.ok ? "ok" : "failed"},
        {"error", result.error},          {"entries", result.entries},        {"unresolved", result.unresolved},
        {"ms", result.milliseconds}};
    if (!result.detail.empty())
        json["detail"] = result.detail;
    if (!result.hint.empty())
        json["hint"] = result.hint;
    if (result.outputFailed)
        json["outputFailed"] = true;
    if (result.last)
        json["last"] = true;
    if (result.usedLibdevice)
        json["libdevice"] = true;
    return json;
}

Result<WorkerResult> workerResultFromJson(const Json &json) {
    WorkerResult result;
    result.input = TRY(required<std::string>(json, "input", resultText));
    result.output = TRY(required<std::string>(json, "output", resultText));
    result.ok = TRY(required<std::string>(json, "status", resultText)) == "ok";
    result.error = TRY(member<std::string>(json, "error", {}, resultText));
    result.detail = TRY(member<std::string>(json, "detail", {}, resultText));
    result.hint = TRY(member<std::string>(json, "hint", {}, resultText));
    result.outputFailed = TRY(member<bool>(json, "outputFailed", false, resultText));
    result.usedLibdevice = TRY(member<bool>(json, "libdevice", false, resultText));
    result.last = TRY(member<bool>(json, "last", false, resultText));
    result.entries = TRY(member<std::vector<std::string>>(json, "entries", {}, resultText));
    result.unresolved = TRY(member<std::vector<std::string>>(json, "unresolved", {}, resultText));
    result.milliseconds = TRY(member<int>(json, "ms", 0, resultText));
    return result;
}

std::string WorkerDescription::tool() const {
    return fmt::format("LLVM {}", llvm);
}

bool WorkerDescription::knows(Capability capability) const {
    return std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end();
}

Result<void> WorkerDescription::check(Capability capability, PtxVersion ptx) const {
    if (!knows(capability))
        return std::unexpected(
            Error{.message = fmt::format("{} cannot generate code for {} (needed {})", tool(), capability.sm(),
                                         llvmThatKnows(capability)),
                  .hint = fmt::format("install {} and build Slipway against it", llvmThatKnows(capability))});
    if (std::find(ptxVersions.begin(), ptxVersions.end(), ptx) == ptxVersions.end())
        return std::unexpected(
            Error{.message = fmt::format("{} cannot generate PTX {} (the newest it knows is {})", tool(), ptx.text(),
                                         ptxVersions.empty() ? "none" : ptxVersions.back().text()),
                  .hint = "choose an older --ptx-version"});
    return {};
}

Json toJson(const WorkerDescription &description) {
    auto capabilities = Json::array();
    for (const auto &capability : description.capabilities)
        capabilities.push_back(capability.sm());
    auto versions = Json::array();
    for (const auto &version : description.ptxVersions)
        versions.push_back(version.code());
    return {{"llvm", description.llvm},
            {"revision", description.revision},
            {"cpus", std::move(capabilities)},
            {"ptx", std::move(versions)},
            {"maxPtx", description.ptxVersions.empty() ? 0 : description.ptxVersions.back().code()}};
}

Result<WorkerDescription> workerDescriptionFromJson(const Json &json) {
    WorkerDescription description;
    description.llvm = TRY(required<std::string>(json, "llvm", descriptionText));
    description.revision = TRY(required<int>(json, "revision", descriptionText));
    for (const auto &cpu : TRY(required<std::vector<std::string>>(json, "cpus", descriptionText)))
        description.capabilities.push_back(TRY(Capability::parse(cpu)));
    const auto versions = json.find("ptx");
    if (versions == json.end() || !versions->is_array())
        return fail("{}: \"ptx\" is missing (needed a list of numbers)", descriptionText);
    for (const auto &code : *versions) {
        if (!code.is_number_integer())
            return fail("{}: \"ptx\" holds {}, needed whole numbers", descriptionText, code.type_name());
        description.ptxVersions.push_back(PtxVersion::fromCode(code.get<int>()));
    }
    return description;
}

} // namespace slipway
