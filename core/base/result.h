// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace slipway {

/// What a front end must tell apart. Questions to the user (host key, secret) are errors too: the front end asks,
/// changes the input and starts again.
enum class ErrorKind {
    failed,           ///< the operation did not work; exit code 1
    usage,            ///< the request itself was wrong; exit code 2
    stopped,          ///< pre-flight found a reason not to ship; exit code 3
    rolledBack,       ///< deployed, unhealthy, and the former release is live again; exit code 4
    cancelled,        ///< the user stopped it; exit code 130
    unreachable,      ///< no answer from the host, or the connection dropped
    hostKeyUnknown,   ///< first contact: subject = host, detail = fingerprint
    hostKeyChanged,   ///< the host presents another key than known_hosts has; detail = both fingerprints
    passwordNeeded,   ///< the server wants a password; subject = user@host
    passphraseNeeded, ///< a key file is locked; subject = the file
};

/// Why something did not work, for a person. `message` is one line, lower case, without a full stop: what was found,
/// what was needed, on which side. `hint` says what to do. `detail` holds evidence (command, exit status, tail of stderr).
struct Error {
    ErrorKind kind = ErrorKind::failed;
    std::string message;
    std::string hint;
    std::string detail;
    std::string subject; ///< what the question of the `…Needed` and `hostKey…` kinds is about

    /// The same error seen from one level up: "context: message".
    [[nodiscard]] Error in(std::string_view context) && {
        message = fmt::format("{}: {}", context, message);
        return std::move(*this);
    }
    [[nodiscard]] Error hinted(std::string text) && {
        hint = std::move(text);
        return std::move(*this);
    }
};

template <typename T> using Result = std::expected<T, Error>;

/// `return fail("cannot read {}: {}", path, why);`
template <typename... Args> [[nodiscard]] std::unexpected<Error> fail(fmt::format_string<Args...> text, Args &&...args) {
    return std::unexpected(Error{.message = fmt::format(text, std::forward<Args>(args)...)});
}

/// The same with a kind: `return failAs(ErrorKind::usage, "unknown target {}", id);`
template <typename... Args>
[[nodiscard]] std::unexpected<Error> failAs(ErrorKind kind, fmt::format_string<Args...> text, Args &&...args) {
    return std::unexpected(Error{.kind = kind, .message = fmt::format(text, std::forward<Args>(args)...)});
}

/// The exit code of DESIGN section 8 for an error.
[[nodiscard]] constexpr int exitCode(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::stopped: return 3;
    case ErrorKind::rolledBack: return 4;
    case ErrorKind::cancelled: return 130;
    default: return 1;
    }
}

} // namespace slipway

/// Yields the value of a Result, or returns its error from the enclosing function: `auto bytes = TRY(readFile(p));`
#define TRY(expression)                                                                                                \
    __extension__({                                                                                                    \
        auto try_result_ = (expression);                                                                               \
        if (!try_result_)                                                                                              \
            return std::unexpected(std::move(try_result_).error());                                                    \
        *std::move(try_result_);                                                                                       \
    })

/// TRY that adds what was being done: `TRY_IN(parse(text), "conf/manifest.json")`.
#define TRY_IN(expression, context)                                                                                    \
    __extension__({                                                                                                    \
        auto try_result_ = (expression);                                                                               \
        if (!try_result_)                                                                                              \
            return std::unexpected(std::move(try_result_).error().in(context));                                        \
        *std::move(try_result_);                                                                                       \
    })
