// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/process.h"
#include "core/device/device.h"

#include <functional>
#include <memory>
#include <span>

namespace slipway {

/// A command on the board. `line` is for the board's POSIX shell: build it with shellJoin.
struct RemoteCommand {
    std::string line;
    std::string input; ///< sent to stdin
    /// When set, called for more stdin after `input`; fills the buffer and returns how much, 0 = end. Must not block
    /// for long. Its error ends the command and is returned.
    std::function<Result<std::size_t>(std::span<char>)> source;
    /// When set, stdin comes from / stdout goes to this descriptor as it becomes ready (rsync's bridge). Non-blocking.
    int inputDescriptor = -1;
    int outputDescriptor = -1;
    /// When set, stdout bytes go here instead of into the result.
    std::function<void(std::string_view)> output;
    std::function<void(std::string_view)> errors; ///< the same for stderr
    std::chrono::milliseconds timeout{0};         ///< without any progress; 0 = the session's keepalive decides
};

/// One open, authenticated connection to a board: one login, many commands. The one interface with a test double.
/// A Session may be used from one thread at a time.
class Session {
public:
    virtual ~Session() = default;

    /// Runs a command to its end. A non-zero exit is a value; errors are: connection lost, timed out, cancelled.
    [[nodiscard]] virtual Result<Finished> execute(const RemoteCommand &command, Progress &progress) = 0;

    /// "SHA256:…" of the host key.
    [[nodiscard]] virtual std::string fingerprint() const = 0;
    /// A second connection with the same, already unlocked credentials: asks nothing.
    [[nodiscard]] virtual Result<std::unique_ptr<Session>> again(Progress &progress) = 0;

    /// `execute` with a non-zero exit as an Error carrying command, status and stderr.
    [[nodiscard]] Result<Finished> check(const std::vector<std::string> &words, Progress &progress);
    /// `execute` of words, whatever the exit.
    [[nodiscard]] Result<Finished> run(const std::vector<std::string> &words, Progress &progress);
};

/// The fingerprint that the host presented, of an error of kind hostKeyUnknown or hostKeyChanged: what the user accepts
/// goes into Login::acceptFingerprint.
[[nodiscard]] std::string presentedFingerprint(const Error &error);

/// Opens a session with libssh. Unknown or changed host keys, wanted passwords and locked keys are errors of those
/// kinds.
[[nodiscard]] Result<std::unique_ptr<Session>> connect(const Login &login, Progress &progress);

} // namespace slipway
