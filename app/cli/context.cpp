// SPDX-License-Identifier: Apache-2.0
//
// What the commands share: opening a board with the questions that this may need, and what the user's words mean.

#include "app/cli/context.h"

#include "core/base/text.h"

namespace slipway::cli {

void Context::print(const Json &document) const {
    std::fputs(jsonText(document).c_str(), stdout);
}

void addJson(CLI::App &command, Context &context) {
    command.add_flag("--json", context.json, "print one JSON document on stdout");
}

fs::path absolutePath(const std::string &typed) {
    return fs::absolute(typed.empty() ? fs::path(".") : fs::path(typed)).lexically_normal();
}

namespace {

/// Answers one question of `connect` in `login`; false = there is no answer.
bool answer(Context &context, const Error &question, Login &login, int attempt) {
    auto &terminal = context.terminal;
    const bool retry = attempt < 3;
    switch (question.kind) {
    case ErrorKind::hostKeyUnknown:
        login.acceptFingerprint = question.detail;
        return terminal.confirm(fmt::format("{}\nDoes the board show the same fingerprint, {}? Trust it from now on?", question.message, question.detail));
    case ErrorKind::passwordNeeded: {
        const auto secret = retry ? terminal.askSecret(fmt::format("Password for {}: ", question.subject)) : std::nullopt;
        login.passwords[question.subject] = secret.value_or(Secret());
        return secret.has_value();
    }
    case ErrorKind::passphraseNeeded: {
        const auto secret = retry ? terminal.askSecret(fmt::format("Passphrase for the key {}: ", question.subject)) : std::nullopt;
        login.passphrases[question.subject] = secret.value_or(Secret());
        return secret.has_value();
    }
    default: return false;
    }
}

} // namespace

Error withCommand(Error error, const std::string &name) {
    const auto fingerprint = presentedFingerprint(error);
    if (error.kind == ErrorKind::hostKeyUnknown)
        error.hint += fmt::format(": slipway device trust {} --fingerprint {}", name, fingerprint);
    else if (error.kind == ErrorKind::hostKeyChanged)
        error.hint += fmt::format(": slipway device trust {} --replace --fingerprint {}", name, fingerprint);
    else if (error.kind == ErrorKind::passwordNeeded && error.hint.empty())
        error.hint = fmt::format("install a key, asked for the password once: slipway device authorize {} (SSH_ASKPASS answers without a terminal)", name);
    return error;
}

Result<OpenBoard> openBoard(Context &context, const std::string &name, Progress &progress) {
    OpenBoard board{.device = TRY(findDevice(context.workspace, name)), .session = nullptr};
    Login login{.device = board.device};
    if (const auto facts = loadFacts(context.workspace, name))
        login.boardAes = facts->cpuAes;
    for (int attempt = 0;; ++attempt) {
        auto session = connect(login, progress);
        if (session) {
            board.session = std::move(*session);
            return board;
        }
        if (!answer(context, session.error(), login, attempt))
            return std::unexpected(withCommand(std::move(session).error(), name).in(name));
    }
}

Result<Target> targetFor(const Context &context, const Catalog &catalog, const std::string &id, const std::string &device) {
    if (!id.empty())
        return catalog.target(id);
    if (device.empty())
        return failAs(ErrorKind::usage, "no target: give --target T (see 'slipway targets') or --device D");
    const auto known = TRY(findDevice(context.workspace, device));
    if (known.target.empty())
        return std::unexpected(Error{.kind = ErrorKind::usage,
                                     .message = fmt::format("the target of {} is not known yet", device),
                                     .hint = fmt::format("run 'slipway device facts {}' once, or give --target", device)});
    return catalog.target(known.target);
}

} // namespace slipway::cli
