// SPDX-License-Identifier: Apache-2.0
//
// Runs the table: evidence is read once, pure checks run in parallel, checks that talk to the board one after another.

#include "core/preflight/check.h"

#include "core/preflight/kernelgroups.h"
#include "core/preflight/modelparts.h"

#include <algorithm>
#include <future>

namespace slipway {

namespace {

/// One check with its id filled in, and a `pass` when it had nothing to say.
std::vector<Finding> runCheck(const Check &check, const Evidence &evidence, Progress &progress) {
    auto findings = check.run(evidence, progress);
    if (findings.empty())
        findings.push_back({.status = Status::pass, .subject = "package", .found = check.passed(evidence)});
    for (auto &finding : findings)
        finding.id = check.id;
    return findings;
}

/// Reads every file that checks look at, each once.
Result<void> readEvidence(Evidence &evidence, Progress &progress) {
    evidence.unsound = takeUnsoundFiles(evidence.package);
    evidence.kernels = TRY(readShippedKernels(evidence.package, progress));
    evidence.elves = TRY(readShippedElves(evidence.package, progress));
    evidence.groups = kernelGroups(evidence);
    evidence.models = readShippedModels(evidence, progress);
    return progress.checkpoint();
}

} // namespace

Result<Verdict> preflight(Evidence evidence, Progress &progress) {
    auto step = progress.step("pre-flight", checks().size(), Event::Unit::checks);
    TRY(readEvidence(evidence, progress));

    std::vector<std::future<std::vector<Finding>>> running(checks().size());
    for (std::size_t i = 0; i < checks().size(); ++i) {
        const auto policy = checks()[i].live ? std::launch::deferred : std::launch::async;
        running[i] = std::async(policy, [&, i] { return runCheck(checks()[i], evidence, progress); });
    }
    Verdict verdict{.factsSource = evidence.factsSource, .factsReadAt = evidence.profileOnly ? std::nullopt : evidence.facts.readAt};
    for (auto &check : running) {
        for (auto &finding : check.get()) {
            verdict.status =
                std::max(verdict.status, finding.status == Status::skipped ? Status::pass : finding.status);
            verdict.findings.push_back(std::move(finding));
        }
        step.advance();
    }
    TRY(progress.checkpoint());
    step.done(statusName(verdict.status));
    return verdict;
}

} // namespace slipway
