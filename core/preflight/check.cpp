// SPDX-License-Identifier: Apache-2.0
//
// The table of checks, and what a verdict says about them: its JSON form and what stops a deploy.

#include "core/preflight/check.h"

#include "core/base/text.h"
#include "core/preflight/binarychecks.h"
#include "core/preflight/boardchecks.h"
#include "core/preflight/kernelchecks.h"
#include "core/preflight/modelchecks.h"
#include "core/preflight/passtexts.h"

#include <algorithm>

namespace slipway {

const char *statusName(Status status) {
    switch (status) {
    case Status::pass:
        return "pass";
    case Status::skipped:
        return "skipped";
    case Status::warn:
        return "warn";
    case Status::unknown:
        return "unknown";
    case Status::fail:
        return "fail";
    }
    return "unknown";
}

const std::vector<Check> &checks() {
    static const std::vector<Check> table{
        {"capability", "Kernels run on the board's GPU", checkCapability, passedCapability},
        {"ptx-version", "PTX version accepted by the driver", checkPtxVersion, passedPtxVersion},
        {"cache-present", "Kernel cache is complete", checkCachePresent, passedCachePresent},
        {"kernel-integrity", "Kernel images are whole", checkKernelIntegrity, passedKernelIntegrity},
        {"cache-keys", "The program finds its kernels", checkCacheKeys, passedCacheKeys},
        {"runtime-env", "Environment fits the cache", checkRuntimeEnv, passedRuntimeEnv},
        {"tuning", "Tuned for this board", checkTuning, passedTuning},
        {"dtype", "Models have the declared type", checkDtype, passedDtype},
        {"model-file", "Model files are whole", checkModelFile, passedModelFile},
        {"elf-arch", "Binaries are for this processor", checkElfArch, passedElfArch, false, true},
        {"package-files", "Files are what the manifest says", checkPackageFiles, passedPackageFiles},
        {"executable", "Programs and scripts can be started", checkExecutable, passedExecutable},
        {"glibc", "C library is new enough", checkGlibc, passedGlibc},
        {"libstdcxx", "C++ library is new enough", checkLibstdcxx, passedLibstdcxx},
        {"needed-libs", "Libraries are there", checkNeededLibs, passedNeededLibs},
        {"cuda-libs", "CUDA libraries fit the driver", checkCudaLibs, passedCudaLibs},
        {"rpath", "Library paths are the board's", checkRpath, passedRpath},
        {"board-identity", "It is the right board", checkBoardIdentity, passedBoardIdentity},
        {"disk-space", "Room on the board", checkDiskSpace, passedDiskSpace, true},
        {"dest-writable", "Destination can be written", checkDestWritable, passedDestWritable, true, true},
        {"noexec", "Programs may run there", checkNoexec, passedNoexec},
        {"clock", "Clock is right", checkClock, passedClock},
        {"remote-shell", "Login shell is quiet", checkRemoteShell, passedRemoteShell},
        {"remote-tools", "Tools on the board", checkRemoteTools, passedRemoteTools, false, true},
        {"load", "Kernels load in the driver", checkLoad, passedLoad},
        {"rehearsal", "Program starts under emulation", checkRehearsal, passedRehearsal},
    };
    return table;
}

Json Verdict::toJson() const {
    Json list = Json::array();
    for (const auto &finding : findings)
        list.push_back({{"id", finding.id},
                        {"status", statusName(finding.status)},
                        {"subject", finding.subject},
                        {"found", finding.found},
                        {"needed", finding.needed},
                        {"why", finding.why},
                        {"fix", finding.fix}});
    Json facts{{"source", factsSource}, {"read_at", nullptr}};
    if (factsReadAt)
        facts["read_at"] = *factsReadAt;
    return {{"verdict", statusName(status)}, {"facts", facts}, {"checks", list}};
}

Result<std::vector<std::string>> blockingChecks(const Verdict &verdict, const std::vector<std::string> &allow) {
    std::vector<std::string> ids;
    for (const auto &check : checks())
        ids.emplace_back(check.id);
    for (const auto &id : allow) {
        const auto check = std::find_if(checks().begin(), checks().end(), [&](const Check &c) { return c.id == id; });
        if (check == checks().end()) {
            const auto near = nearestWord(id, ids);
            return std::unexpected(Error{.kind = ErrorKind::usage,
                                         .message = fmt::format("there is no check \"{}\"", printable(id, 40)),
                                         .hint = near.empty() ? fmt::format("checks are {}", fmt::join(ids, ", "))
                                                              : fmt::format("did you mean {}?", near)});
        }
        if (check->hard)
            return std::unexpected(
                Error{.kind = ErrorKind::usage,
                      .message = fmt::format("{} cannot be allowed to fail: the program would not start", id),
                      .hint = "fix what the check names instead"});
    }
    std::vector<std::string> blocking;
    for (const auto &finding : verdict.findings) {
        const auto in = [&](const std::vector<std::string> &list) {
            return std::find(list.begin(), list.end(), finding.id) != list.end();
        };
        if (finding.status == Status::fail && !in(allow) && !in(blocking))
            blocking.push_back(finding.id);
    }
    return blocking;
}

Error stoppedBy(const Verdict &verdict, const std::vector<std::string> &blocking) {
    Error error{.kind = ErrorKind::stopped,
                .message = fmt::format("pre-flight stopped it: {}", fmt::join(blocking, ", "))};
    for (const auto &finding : verdict.findings) {
        if (finding.status != Status::fail || std::find(blocking.begin(), blocking.end(), finding.id) == blocking.end())
            continue;
        if (error.detail.empty()) {
            error.message += fmt::format(" ({}: found {}, needed {})", finding.subject, finding.found, finding.needed);
            error.hint = finding.fix;
        }
        error.detail += fmt::format("{}: {}: found {}, needed {}\n  {}\n  fix: {}\n", finding.id, finding.subject,
                                    finding.found, finding.needed, finding.why, finding.fix);
    }
    return error;
}

} // namespace slipway
