// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text.h"

#include <sys/types.h>

namespace slipway::probe {

/// How a child stopped being of use.
enum class Ending { finished, crashed, hung };

/// The process that talks to the driver, so that a driver that hangs or crashes takes nobody with it.
/// It reports by lines; its stdin, stdout and stderr are /dev/null, lest a stuck one keep our caller's pipe open.
class Child {
public:
    /// Forks; the child runs `work` with the descriptor to write lines to, and exits. False when there is no process to
    /// be had.
    bool start(void (*work)(int descriptor, const void *input), const void *input);

    /// The child's next line into `line`; false when it ended or when nothing came within `microseconds`.
    bool nextLine(Text &line, std::uint64_t microseconds);

    /// Ends the child if it still runs and says how it went; `detail` gets words for people, meant for a child
    /// that was not through with its work.
    Ending end(Text &detail);

private:
    bool takeLine(Text &line);
    bool readMore();
    bool hasEnded();

    pid_t m_pid = -1;
    int m_descriptor = -1;
    int m_status = 0;
    bool m_ended = false;
    Text m_buffer;
};

} // namespace slipway::probe
