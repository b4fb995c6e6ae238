// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/probe.h"
#include "core/package/package.h"
#include "core/target/target.h"

namespace slipway {

/// `unknown` = could not be checked: never counts as a pass.
enum class Status { pass, skipped, warn, unknown, fail };
[[nodiscard]] const char *statusName(Status status);

/// What one check found about one subject. All texts are for people; `fix` is a command or an action.
struct Finding {
    std::string id; ///< of the check: "ptx-version"
    Status status = Status::pass;
    std::string subject; ///< "cache/saxpy_….o", "bin/vector_add", "package"
    std::string found;
    std::string needed;
    std::string why; ///< the rule and where it comes from
    std::string fix;
};

/// Everything a check may look at. Absent = not available for this run.
struct Evidence {
    const Package &package;
    const Catalog &catalog;
    BoardFacts facts;                  ///< of a profile, a file or the live board
    std::optional<Target> target;
    std::string factsSource;           ///< "profile jetson-orin-nano", "facts.json (3 days old)", "virtual-orin, now"
    KernelCache cache;                 ///< of package/cache, read once
    fs::path ptxas;                    ///< empty = none here
    std::optional<Sysroot> sysroot;
    Session *session = nullptr;        ///< live board
    std::string dest;                  ///< where it would be deployed
    std::string expectedMachineId;     ///< of the device entry; empty = first time
    ProbePrograms probes;
};

/// A check: one row of the table in checks().
struct Check {
    const char *id;
    const char *title; ///< for people: "PTX version accepted by the driver"
    std::vector<Finding> (*run)(const Evidence &, Progress &);
};

/// The table of checks in the order in which they are shown.
[[nodiscard]] const std::vector<Check> &checks();

/// The outcome of all checks.
struct Verdict {
    Status status = Status::pass; ///< pass, warn, unknown or fail: the worst of the findings (skipped counts as pass)
    std::vector<Finding> findings; ///< at least one for each check
    std::string factsSource;
    [[nodiscard]] Json toJson() const;
};

/// Runs every check; one that finds nothing gives one `pass` or `skipped` finding, none hides another.
[[nodiscard]] Result<Verdict> preflight(const Evidence &evidence, Progress &progress);

} // namespace slipway
