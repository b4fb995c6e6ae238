// SPDX-License-Identifier: Apache-2.0
//
// Logging in: the configured key first, so that a full agent cannot use up the server's patience, then the agent, the
// usual keys, and a password. Never prompts: what is missing is an error of its kind.

#include "core/device/sessionparts.h"

#include "core/base/files.h"
#include "core/base/text.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <condition_variable>
#include <thread>

namespace slipway {

using namespace std::chrono;

namespace {

constexpr auto answerTime = 30s; // PAM delays after a wrong password are a few seconds

std::string methodNames(int methods) {
    std::string names;
    const auto add = [&](int bit, const char *name) {
        if (methods & bit)
            names += (names.empty() ? "" : ", ") + std::string(name);
    };
    add(SSH_AUTH_METHOD_PUBLICKEY, "publickey");
    add(SSH_AUTH_METHOD_PASSWORD, "password");
    add(SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive");
    add(SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi");
    add(SSH_AUTH_METHOD_HOSTBASED, "hostbased");
    return names.empty() ? "nothing" : names;
}

/// The agent may wait for a person (confirmation, a token's button) and libssh waits with it: so in a thread of its
/// own. It holds its share of the session, and ends when the view of the agent does.
Result<int> offerAgentKey(Attempt &attempt) {
    struct Shared {
        std::mutex mutex;
        std::condition_variable ready;
        std::optional<int> result;
        std::stop_source stop;
    };
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, link = attempt.link] {
        const NoSigPipe guard;
        int result = SSH_AUTH_AGAIN;
        while (result == SSH_AUTH_AGAIN && !shared->stop.stop_requested() && link.alive()) {
            result = ssh_userauth_agent(link.ssh.get(), nullptr);
            if (result == SSH_AUTH_AGAIN)
                link.wait({}, 100ms);
        }
        const std::lock_guard lock(shared->mutex);
        shared->result = result == SSH_AUTH_AGAIN ? int(SSH_AUTH_ERROR) : result;
        shared->ready.notify_all();
    }).detach();
    std::unique_lock lock(shared->mutex);
    while (!shared->result) {
        shared->ready.wait_for(lock, 100ms);
        if (attempt.progress.cancelled() && !shared->result) {
            shared->stop.request_stop();
            // The thread ends soon unless the agent holds it; only then is it left alone with the session.
            shared->ready.wait_for(lock, 300ms, [&] { return shared->result.has_value(); });
            return failAs(ErrorKind::cancelled, "cancelled during the login");
        }
    }
    return *shared->result;
}

fs::path agentSocket(const Attempt &attempt) {
    if (!attempt.login.agentSocket.empty())
        return attempt.login.agentSocket;
    const auto &configured = attempt.link.settings.agent;
    if (configured == "none")
        return {};
    const char *value = std::getenv(configured.starts_with('$') ? configured.c_str() + 1 : "SSH_AUTH_SOCK");
    if (configured.empty() || configured.starts_with('$'))
        return value ? value : "";
    return configured;
}

/// The keys that may be offered by file: the device's own, else those of ~/.ssh/config.
std::vector<fs::path> configuredIdentities(const Attempt &attempt) {
    const auto &own = attempt.login.device.identity;
    if (!own.empty() && !attempt.link.isHop)
        return {expandHome(own, homeOf(attempt.login))};
    return attempt.link.settings.identities;
}

/// Asks the agent what it has; those that belong to configured keys come first, as ssh does.
Result<void> meetAgent(Attempt &attempt) {
    auto &offers = attempt.offers;
    const auto socket = agentSocket(attempt);
    offers.useAgent = offers.useAgent && !socket.empty();
    if (!offers.useAgent || offers.agent)
        return {};
    auto view = AgentView::open(socket, attempt.progress);
    TRY(attempt.progress.checkpoint());
    if (!view) {
        attempt.tried.push_back(view.error().message);
        offers.useAgent = false;
        return {};
    }
    offers.agent = std::move(*view);
    std::vector<std::string> blobs;
    for (const auto &file : configuredIdentities(attempt))
        for (const auto &half : {file.string() + ".pub", file.string()})
            if (const auto text = readFile(half, 64 * 1024))
                if (auto blob = publicKeyBlob(*text); !blob.empty())
                    blobs.push_back(std::move(blob));
    offers.agent->prefer(blobs, attempt.link.settings.identitiesOnly);
    return {};
}

/// Offers the agent's keys, one at a time.
Result<int> tryAgent(Attempt &attempt) {
    TRY(meetAgent(attempt));
    auto &offers = attempt.offers;
    if (!offers.useAgent)
        return SSH_AUTH_DENIED;
    attempt.tried.push_back(fmt::format("the SSH agent ({} keys)", offers.agent->size()));
    const int library = offers.agent->conversation();
    if (library < 0 || ssh_set_agent_socket(attempt.session(), library) != SSH_OK)
        return SSH_AUTH_DENIED;
    for (; offers.from < offers.agent->size(); ++offers.from) {
        offers.agent->show(offers.from);
        const int result = TRY(offerInTurn(attempt, offers.agent->type(offers.from), false, [&] { return offerAgentKey(attempt); }));
        if (result != SSH_AUTH_DENIED || !attempt.link.alive())
            return result;
    }
    return SSH_AUTH_DENIED;
}

/// Every key that may be offered, in order, the agent in between.
Result<int> tryKeys(Attempt &attempt) {
    const auto home = homeOf(attempt.login);
    const auto configured = configuredIdentities(attempt);
    std::vector<fs::path> usual;
    for (const char *name : {"id_ed25519", "id_ecdsa", "id_rsa", "id_ed25519_sk", "id_ecdsa_sk"}) {
        std::error_code error;
        const auto file = home / ".ssh" / name;
        if (std::find(configured.begin(), configured.end(), file) == configured.end() && fs::exists(file, error) &&
            !attempt.link.settings.identitiesOnly)
            usual.push_back(file);
    }
    int result = SSH_AUTH_DENIED;
    for (const auto &file : configured)
        if (result == SSH_AUTH_DENIED && !attempt.offers.identitiesDone)
            result = TRY(tryKeyFile(attempt, file));
    attempt.offers.identitiesDone = attempt.offers.identitiesDone || (result == SSH_AUTH_DENIED && attempt.link.alive());
    if (result == SSH_AUTH_DENIED && attempt.offers.useAgent)
        result = TRY(tryAgent(attempt));
    for (const auto &file : usual)
        if (result == SSH_AUTH_DENIED)
            result = TRY(tryKeyFile(attempt, file));
    return result;
}

/// Answers each hidden question with the password; a question that is to be seen (a one-time code) is beyond us.
Result<int> tryInteractive(Attempt &attempt, const Secret &password) {
    for (int round = 0; round < 8; ++round) {
        const int result = TRY(attempt.call([&] { return ssh_userauth_kbdint(attempt.session(), nullptr, nullptr); }));
        if (result != SSH_AUTH_INFO)
            return result;
        const int prompts = ssh_userauth_kbdint_getnprompts(attempt.session());
        for (int i = 0; i < prompts; ++i) {
            char echo = 0;
            const char *prompt = ssh_userauth_kbdint_getprompt(attempt.session(), unsigned(i), &echo);
            if (echo)
                return fail("{} asks \"{}\", which Slipway cannot answer", attempt.link.name(),
                            printable(trimmed(prompt ? prompt : ""), 60));
            ssh_userauth_kbdint_setanswer(attempt.session(), unsigned(i), password.reveal());
        }
    }
    return SSH_AUTH_DENIED;
}

std::unexpected<Error> ask(ErrorKind kind, std::string message, std::string subject, std::string hint) {
    return std::unexpected(
        Error{.kind = kind, .message = std::move(message), .hint = std::move(hint), .subject = std::move(subject)});
}

std::unexpected<Error> refused(const Attempt &attempt, int methods) {
    std::string tried;
    for (const auto &one : attempt.tried)
        tried += (tried.empty() ? "" : ", ") + one;
    const auto *hint = "name the right key with --identity, or install yours on the board: slipway device authorize NAME";
    if (attempt.securityKey)
        hint = "a security key works through the SSH agent: ssh-add its file, or use another key with --identity";
    else if (attempt.sha1Only)
        hint = "use an ed25519 key (ssh-keygen -t ed25519), or update the board's SSH server; "
               "PubkeyAcceptedAlgorithms +ssh-rsa in ~/.ssh/config allows SHA-1";
    return std::unexpected(Error{.message = fmt::format("{} let nobody in: it accepts {}; offered: {}", attempt.link.name(),
                                                        methodNames(methods), tried.empty() ? "no key was found" : tried),
                                 .hint = hint});
}

Result<int> tryPassword(Attempt &attempt, int methods) {
    const auto &link = attempt.link;
    const bool plain = methods & SSH_AUTH_METHOD_PASSWORD;
    if (!plain && !(methods & SSH_AUTH_METHOD_INTERACTIVE))
        return refused(attempt, methods);
    const auto given = attempt.login.passwords.find(link.name());
    const Secret none;
    const auto &password = given != attempt.login.passwords.end() ? given->second : link.isHop ? none : attempt.login.password;
    if (password.empty())
        return ask(ErrorKind::passwordNeeded, fmt::format("{} wants a password", link.name()), link.name(), {});
    int result = SSH_AUTH_DENIED;
    if (plain)
        result = TRY(attempt.call(
            [&] { return ssh_userauth_password(attempt.session(), nullptr, password.reveal()); }));
    else
        result = TRY(tryInteractive(attempt, password));
    if (result == SSH_AUTH_DENIED)
        return ask(ErrorKind::passwordNeeded, fmt::format("{} refused this password", link.name()), link.name(),
                   "check the keyboard layout and the user name");
    return result;
}

/// The keys, then what the server still wants; a partial success goes round again with what is left.
Result<int> tryAll(Attempt &attempt) {
    int result = TRY(attempt.call([&] { return ssh_userauth_none(attempt.session(), nullptr); }));
    int methods = ssh_userauth_list(attempt.session(), nullptr);
    for (int round = 0; round < 3 && (result == SSH_AUTH_DENIED || result == SSH_AUTH_PARTIAL); ++round) {
        const bool partial = result == SSH_AUTH_PARTIAL;
        result = SSH_AUTH_DENIED;
        if ((methods & SSH_AUTH_METHOD_PUBLICKEY) && (round == 0 || partial))
            result = TRY(tryKeys(attempt));
        if (result == SSH_AUTH_DENIED && !attempt.locked.empty())
            return ask(ErrorKind::passphraseNeeded,
                       attempt.wrongPassphrase
                           ? fmt::format("this passphrase does not unlock {}", attempt.locked.front())
                           : fmt::format("the key {} is locked by a passphrase", attempt.locked.front()),
                       attempt.locked.front(), {});
        if (result == SSH_AUTH_DENIED)
            result = TRY(tryPassword(attempt, methods));
        methods = ssh_userauth_list(attempt.session(), nullptr);
    }
    return result;
}

/// After the server hung up: is there anything left to offer on another connection?
bool goesOn(Offers &offers) {
    if (!std::exchange(offers.identitiesDone, true))
        return true;
    if (!offers.useAgent)
        return false;
    if (offers.agent && offers.from < offers.agent->size())
        ++offers.from; // it was offered: the server hangs up when it has seen that it is wrong
    else
        offers.useAgent = false; // only the usual keys are left
    return true;
}

} // namespace

Result<int> Attempt::call(const std::function<int()> &once) const {
    const auto unlessGone = [&] {
        const int result = once();
        // After the server hung up or went mad the library would say "again" for ever.
        return result == SSH_AUTH_AGAIN && !link.alive() ? int(SSH_AUTH_ERROR) : result;
    };
    return untilDone(link, SSH_AUTH_AGAIN, duration_cast<milliseconds>(answerTime), "login", progress, unlessGone);
}

Result<Authenticated> authenticate(Link &link, const Login &login, Offers &offers, Progress &progress) {
    Attempt attempt{.link = link, .login = login, .offers = offers, .progress = progress};
    const auto result = tryAll(attempt);
    const bool alive = link.alive();
    if (result && *result == SSH_AUTH_SUCCESS)
        return Authenticated::yes;
    if (!result && result.error().kind == ErrorKind::cancelled)
        return std::unexpected(result.error());
    if (!alive)
        link.noteLoss();
    if (link.garbled)
        return link.lostError();
    if (!alive || link.lastError().find("Too many auth") != std::string::npos) {
        if (goesOn(offers))
            return Authenticated::cutOff;
        return failAs(ErrorKind::unreachable, "{} ended the connection during the login: {}", link.name(),
                      printable(link.lastError()));
    }
    if (!result)
        return std::unexpected(result.error());
    return fail("the login to {} failed: {}", link.name(), printable(link.lastError()));
}

} // namespace slipway
