// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"

#include <functional>
#include <optional>

namespace slipway::bench {

/// One thing to time. `prepare` is not timed; both are called for each run.
struct Contender {
    std::string name;
    std::function<Result<void>()> work;
    std::function<void()> prepare = {};
};

/// A benchmark program: `[--quick] [--json FILE]`, a table for people on stdout, a file for programs (DESIGN section
/// 9).
class Bench {
public:
    Bench(std::string name, int argc, char **argv);

    [[nodiscard]] bool quick() const { return m_quick; }
    /// Runs ours and the peer in turn (A B A B …), `runs` times each, and notes the medians. `goal` is the most that
    /// ours / peer may be. No peer: it is not installed here, and its name says what was looked for.
    void compare(const std::string &title, double goal, int runs, const Contender &ours, const std::string &peerName,
                 const std::optional<Contender> &peer);
    /// Prints and writes what was measured; the program's exit status.
    [[nodiscard]] int finish() const;

private:
    struct Row {
        std::string title;
        double ours = 0;
        std::string peer;
        std::optional<double> peerSeconds;
        double goal = 0;
        int runs = 0;
    };
    void require(const Result<void> &result, const std::string &what);

    std::string m_name;
    bool m_quick = false;
    std::string m_json;
    std::vector<Row> m_rows;
    bool m_failed = false;
};

/// A program for `Contender::work`.
[[nodiscard]] std::function<Result<void>()> command(Command command);

} // namespace slipway::bench
