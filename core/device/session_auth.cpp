// SPDX-License-Identifier: Apache-2.0
//
// Logging in: the configured key first, so that a full agent cannot use up the server's patience, then the agent, the
// usual keys, and a password. Never prompts: what is missing is an error of its kind.

#include "core/device/sessionparts.h"

#include "core/base/text.h"

#include <libssh/callbacks.h>
#include <libssh/libssh.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <thread>

namespace slipway {

using namespace std::chrono;

namespace {

constexpr auto answerTime = 30s; // PAM delays after a wrong password are a few seconds

struct KeyFree {
    void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyFree>;

/// One login in progress.
struct Attempt {
    Link &link;
    const Login &login;
    Progress &progress;
    std::vector<std::string> tried{};  ///< for the error: what was offered
    std::vector<std::string> locked{}; ///< keys that the server takes and that need a passphrase
    bool wrongPassphrase = false;

    [[nodiscard]] ssh_session session() const { return link.ssh.get(); }
    template <typename Call>
    Result<int> call(const Call &once) {
        const auto unlessGone = [&] {
            const int result = once();
            // After the server hung up the library would say "again" for ever.
            return result == SSH_AUTH_AGAIN && !ssh_is_connected(session()) ? int(SSH_AUTH_ERROR) : result;
        };
        return untilDone(link, SSH_AUTH_AGAIN, duration_cast<milliseconds>(answerTime), "login", progress, unlessGone);
    }
    [[nodiscard]] int methods() const { return ssh_userauth_list(session(), nullptr); }
};

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

/// What reading a private key asked for.
struct Passphrase {
    const Secret *secret = nullptr;
    bool wanted = false;

    static int give(const char *, char *buffer, std::size_t size, int, int, void *self) {
        auto *passphrase = static_cast<Passphrase *>(self);
        passphrase->wanted = true;
        const char *text = passphrase->secret ? passphrase->secret->reveal() : "";
        const auto length = std::strlen(text);
        if (length == 0 || length >= size)
            return -1;
        std::memcpy(buffer, text, length + 1);
        return 0;
    }
};

Key readPrivate(const Attempt &attempt, const fs::path &file, bool &locked) {
    Passphrase passphrase;
    const auto known = attempt.login.passphrases.find(file.string());
    if (known != attempt.login.passphrases.end())
        passphrase.secret = &known->second;
    ssh_key key = nullptr;
    ssh_pki_import_privkey_file(file.c_str(), nullptr, &Passphrase::give, &passphrase, &key);
    locked = !key && passphrase.wanted;
    return Key(key);
}

/// The public half: beside the file, or from the unencrypted part of an OpenSSH key.
Key readPublic(const fs::path &file) {
    ssh_key key = nullptr;
    const auto beside = file.string() + ".pub";
    if (ssh_pki_import_pubkey_file(beside.c_str(), &key) != SSH_OK || !key)
        ssh_pki_import_pubkey_file(file.c_str(), &key);
    return Key(key);
}

Result<int> tryLocked(Attempt &attempt, const fs::path &file) {
    const auto offered = readPublic(file);
    int result = SSH_AUTH_SUCCESS; // an old locked PEM file hides its public half: it may be the right one
    if (offered)
        result =
            TRY(attempt.call([&] { return ssh_userauth_try_publickey(attempt.session(), nullptr, offered.get()); }));
    if (result == SSH_AUTH_SUCCESS) {
        attempt.locked.push_back(file.string());
        attempt.wrongPassphrase = attempt.wrongPassphrase || attempt.login.passphrases.contains(file.string());
        return SSH_AUTH_DENIED;
    }
    return result;
}

Result<int> tryKeyFile(Attempt &attempt, const fs::path &file) {
    std::error_code error;
    if (!fs::exists(file, error)) {
        attempt.tried.push_back(fmt::format("{} (no such file)", file.string()));
        return SSH_AUTH_DENIED;
    }
    bool locked = false;
    const auto key = readPrivate(attempt, file, locked);
    if (locked) {
        attempt.tried.push_back(fmt::format("{} (locked)", file.string()));
        return tryLocked(attempt, file);
    }
    if (!key) {
        attempt.tried.push_back(fmt::format("{} (cannot be read as a private key)", file.string()));
        return SSH_AUTH_DENIED;
    }
    attempt.tried.push_back(file.string());
    return attempt.call([&] { return ssh_userauth_publickey(attempt.session(), nullptr, key.get()); });
}

/// The agent may wait for a person (confirmation, a token's button) and libssh waits with it: so in a thread of its
/// own, which is left behind with its share of the session when the user cancels here.
Result<int> tryAgent(Attempt &attempt) {
    struct Shared {
        std::mutex mutex;
        std::condition_variable ready;
        std::optional<int> result;
        std::stop_source stop;
    };
    if (!attempt.login.agentSocket.empty())
        ssh_options_set(attempt.session(), SSH_OPTIONS_IDENTITY_AGENT, attempt.login.agentSocket.c_str());
    const auto shared = std::make_shared<Shared>();
    std::thread([shared, link = attempt.link] {
        const NoSigPipe guard;
        int result = SSH_AUTH_AGAIN;
        while (result == SSH_AUTH_AGAIN && !shared->stop.stop_requested() && ssh_is_connected(link.ssh.get())) {
            result = ssh_userauth_agent(link.ssh.get(), nullptr);
            if (result == SSH_AUTH_AGAIN)
                link.wait({}, 100ms);
        }
        const std::lock_guard lock(shared->mutex);
        shared->result = result == SSH_AUTH_AGAIN ? int(SSH_AUTH_ERROR) : result;
        shared->ready.notify_all();
    }).detach();
    attempt.tried.emplace_back("the keys of the SSH agent");
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

fs::path configuredIdentity(const Attempt &attempt) {
    const auto home = homeOf(attempt.login);
    if (!attempt.login.device.identity.empty())
        return expandHome(attempt.login.device.identity, home);
    char *value = nullptr;
    if (ssh_options_get(attempt.session(), SSH_OPTIONS_IDENTITY, &value) != SSH_OK || !value)
        return {};
    const fs::path file = expandHome(value, home);
    ssh_string_free_char(value);
    return file;
}

/// Every key that may be offered, in order, the agent in between.
Result<int> tryKeys(Attempt &attempt, bool useAgent) {
    const auto home = homeOf(attempt.login);
    std::vector<fs::path> defaults;
    for (const char *name : {"id_ed25519", "id_ecdsa", "id_rsa"})
        defaults.push_back(home / ".ssh" / name);
    const auto first = configuredIdentity(attempt);
    const bool isDefault = std::find(defaults.begin(), defaults.end(), first) != defaults.end();
    int result = SSH_AUTH_DENIED;
    if (!first.empty() && !isDefault)
        result = TRY(tryKeyFile(attempt, first));
    if (result == SSH_AUTH_DENIED && useAgent)
        result = TRY(tryAgent(attempt));
    for (const auto &file : defaults) {
        std::error_code error;
        if (result == SSH_AUTH_DENIED && file != (isDefault ? fs::path() : first) && fs::exists(file, error))
            result = TRY(tryKeyFile(attempt, file));
    }
    return result;
}

/// Answers each hidden question with the password; a question that is to be seen (a one-time code) is beyond us.
Result<int> tryInteractive(Attempt &attempt) {
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
            ssh_userauth_kbdint_setanswer(attempt.session(), unsigned(i), attempt.login.password.reveal());
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
    return std::unexpected(Error{
        .message = fmt::format("{} let nobody in: it accepts {}; offered: {}", attempt.link.name(),
                               methodNames(methods), tried.empty() ? "no key was found" : tried),
        .hint = "name the right key with --identity, or put your public key into the board's ~/.ssh/authorized_keys"});
}

Result<int> tryPassword(Attempt &attempt, int methods) {
    const auto &link = attempt.link;
    const bool plain = methods & SSH_AUTH_METHOD_PASSWORD;
    if (!plain && !(methods & SSH_AUTH_METHOD_INTERACTIVE))
        return refused(attempt, methods);
    if (attempt.login.password.empty())
        return ask(ErrorKind::passwordNeeded, fmt::format("{} wants a password", link.name()), link.name(), {});
    int result = SSH_AUTH_DENIED;
    if (plain)
        result = TRY(attempt.call(
            [&] { return ssh_userauth_password(attempt.session(), nullptr, attempt.login.password.reveal()); }));
    else
        result = TRY(tryInteractive(attempt));
    if (result == SSH_AUTH_DENIED)
        return ask(ErrorKind::passwordNeeded, fmt::format("{} refused this password", link.name()), link.name(),
                   "check the keyboard layout and the user name");
    return result;
}

/// The keys, then what the server still wants; a partial success goes round again with what is left.
Result<int> tryAll(Attempt &attempt, bool useAgent) {
    int result = TRY(attempt.call([&] { return ssh_userauth_none(attempt.session(), nullptr); }));
    int methods = attempt.methods();
    for (int round = 0; round < 3 && (result == SSH_AUTH_DENIED || result == SSH_AUTH_PARTIAL); ++round) {
        const bool partial = result == SSH_AUTH_PARTIAL;
        result = SSH_AUTH_DENIED;
        if ((methods & SSH_AUTH_METHOD_PUBLICKEY) && (round == 0 || partial))
            result = TRY(tryKeys(attempt, useAgent));
        if (result == SSH_AUTH_DENIED && !attempt.locked.empty())
            return ask(ErrorKind::passphraseNeeded,
                       attempt.wrongPassphrase
                           ? fmt::format("this passphrase does not unlock {}", attempt.locked.front())
                           : fmt::format("the key {} is locked by a passphrase", attempt.locked.front()),
                       attempt.locked.front(), {});
        if (result == SSH_AUTH_DENIED)
            result = TRY(tryPassword(attempt, methods));
        methods = attempt.methods();
    }
    return result;
}

} // namespace

Result<Authenticated> authenticate(Link &link, const Login &login, bool useAgent, Progress &progress) {
    Attempt attempt{.link = link, .login = login, .progress = progress};
    const auto result = tryAll(attempt, useAgent);
    const bool connected = ssh_is_connected(link.ssh.get());
    if (result && *result == SSH_AUTH_SUCCESS)
        return Authenticated::yes;
    if (!result && result.error().kind == ErrorKind::cancelled)
        return std::unexpected(result.error());
    if (!connected || link.lastError().find("Too many auth") != std::string::npos) {
        if (useAgent)
            return Authenticated::cutOff;
        return failAs(ErrorKind::unreachable, "{} ended the connection during the login: {}", link.name(),
                      printable(link.lastError()));
    }
    if (!result)
        return std::unexpected(result.error());
    return fail("the login to {} failed: {}", link.name(), printable(link.lastError()));
}

} // namespace slipway
