// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/preflight/evidence.h"

namespace slipway {

/// `unknown` = could not be checked: never counts as a pass. In the order of how bad they are.
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

/// A check: one row of the table in checks().
struct Check {
    const char *id;
    const char *title; ///< for people: "PTX version accepted by the driver"
    /// What is wrong, or what could not be checked; nothing (or one `pass` with its own text) = pass. `id` of the findings is
    /// filled in by preflight().
    std::vector<Finding> (*run)(const Evidence &, Progress &);
    /// What was found when nothing is wrong: "7 kernels for sm_87".
    std::string (*passed)(const Evidence &);
    bool live = false; ///< talks to the board: such checks run one after another, the others in parallel
    bool hard = false; ///< cannot be allowed to fail: the program would not even start
};

/// The table of checks in the order in which they are shown.
[[nodiscard]] const std::vector<Check> &checks();

/// The outcome of all checks.
struct Verdict {
    Status status = Status::pass;  ///< pass, warn, unknown or fail: the worst of the findings (skipped counts as pass)
    std::vector<Finding> findings; ///< at least one for each check
    std::string factsSource;
    std::optional<long> factsReadAt; ///< Unix time at which the facts were read from a board; absent = of a profile, or not known
    [[nodiscard]] Json toJson() const;
};

/// Runs every check; one that finds nothing gives one `pass` or `skipped` finding, none hides another. Errors:
/// cancelled.
[[nodiscard]] Result<Verdict> preflight(Evidence evidence, Progress &progress);

/// The checks that failed and that `allow` ("Deploy anyway", by id) does not cover, each once. Usage errors: an id that
/// is no check, and one that must never be allowed (`Check::hard`).
[[nodiscard]] Result<std::vector<std::string>> blockingChecks(const Verdict &verdict,
                                                              const std::vector<std::string> &allow);

/// The error of kind `stopped` for checks that block: names them, with what the first one found and needed.
[[nodiscard]] Error stoppedBy(const Verdict &verdict, const std::vector<std::string> &blocking);

} // namespace slipway
