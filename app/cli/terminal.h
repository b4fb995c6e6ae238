// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/base/secret.h"

#include <optional>
#include <string>
#include <vector>

namespace slipway::cli {

/// What people see: progress and errors on stderr, colours and a live line only on a terminal (and never with NO_COLOR).
class Terminal {
public:
    Terminal();

    /// Shows an event; safe from any thread, one call at a time (Progress sees to that).
    void show(const Event &event);
    /// "error: message", then the hint and, for `verbose`, the detail.
    void show(const Error &error);
    void setVerbose(bool verbose) { m_verbose = verbose; }
    void setQuiet(bool quiet) { m_quiet = quiet; }

    /// Can a person answer.
    [[nodiscard]] bool interactive() const;
    /// A yes/no question; no terminal = no.
    [[nodiscard]] bool confirm(const std::string &question);
    /// A secret typed without echo, or from SSH_ASKPASS where there is no terminal; nothing when neither is there.
    [[nodiscard]] std::optional<Secret> askSecret(const std::string &prompt);

    /// Rows in aligned columns on stdout; the first is the head.
    static void table(const std::vector<std::vector<std::string>> &rows);

private:
    void clearLive();
    void line(const std::string &mark, const char *colour, const Event &event, const std::string &text);
    [[nodiscard]] std::string painted(const char *colour, const std::string &text) const;

    bool m_isTerminal;
    bool m_colours;
    bool m_verbose = false;
    bool m_quiet = false;
    bool m_liveShown = false;
    std::vector<std::string> m_titles; ///< by step number
};

} // namespace slipway::cli
