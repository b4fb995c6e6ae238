// SPDX-License-Identifier: Apache-2.0
//
// Keys in files: read, unlocked with what the user said, and offered, first with a certificate that belongs to them.

#include "core/device/sessionparts.h"

#include "core/base/files.h"

#include <libssh/libssh.h>

#include <cstring>

namespace slipway {

namespace {

struct KeyFree {
    void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyFree>;

constexpr std::uint64_t largestCertificate = 64 * 1024;

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

/// What follows the first `count` strings of an SSH blob (RFC 4251: a length of four bytes each); empty = it is too short.
std::string_view behindStrings(std::string_view blob, int count) {
    for (; count > 0; --count) {
        if (blob.size() < 4)
            return {};
        std::size_t length = 0;
        for (int i = 0; i < 4; ++i)
            length = length << 8 | static_cast<unsigned char>(blob[std::size_t(i)]);
        if (length > blob.size() - 4)
            return {};
        blob.remove_prefix(4 + length);
    }
    return blob;
}

/// Is the certificate in this text of this key? libssh 0.10 cannot compare the two for ed25519. A certificate is its type, a
/// nonce and the key's own numbers; a key is its type and its numbers (OpenSSH, PROTOCOL.certkeys).
bool isOfKey(std::string_view certificate, ssh_key key) {
    char *text = nullptr;
    if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK || !text)
        return false;
    const auto keyBlob = publicKeyBlob(fmt::format("ssh-key {}", text));
    ssh_string_free_char(text);
    const auto certificateBlob = publicKeyBlob(certificate);
    const auto numbers = behindStrings(keyBlob, 1);
    return !numbers.empty() && behindStrings(certificateBlob, 2).starts_with(numbers);
}

struct Certificate {
    fs::path file;
    Key key;
};

/// Certificates that may go with a key: beside it, as ssh finds them, then those of CertificateFile.
std::vector<Certificate> certificatesOf(const Attempt &attempt, const fs::path &file, ssh_key key) {
    std::vector<fs::path> files{file.string() + "-cert.pub"};
    const auto &configured = attempt.link.settings.certificates;
    files.insert(files.end(), configured.begin(), configured.end());
    std::vector<Certificate> certificates;
    std::error_code error;
    for (const auto &one : files) {
        ssh_key raw = nullptr;
        const auto text = fs::exists(one, error) ? readFile(one, largestCertificate).value_or("") : std::string();
        if (!isOfKey(text, key) || ssh_pki_import_cert_file(one.c_str(), &raw) != SSH_OK)
            continue;
        certificates.push_back({one, Key(raw)});
    }
    return certificates;
}

/// Offers one of the key's halves or certificates, and notes it by `name`.
Result<int> offerAs(Attempt &attempt, std::string name, ssh_key key, int (*how)(ssh_session, const char *, ssh_key)) {
    attempt.tried.push_back(std::move(name));
    return offerInTurn(attempt, ssh_key_type_to_char(ssh_key_type(key)), true,
                       [&] { return attempt.call([&] { return how(attempt.session(), nullptr, key); }); });
}

std::string nameOf(const Certificate &certificate) {
    return "the certificate " + certificate.file.string();
}

/// Asks whether the server would take the key, by its public half or a certificate, and notes that it must be unlocked.
Result<int> tryLocked(Attempt &attempt, const fs::path &file) {
    const auto offered = readPublic(file);
    const auto name = file.string() + " (locked)";
    int result = SSH_AUTH_DENIED;
    if (offered) {
        for (const auto &certificate : certificatesOf(attempt, file, offered.get()))
            if (result == SSH_AUTH_DENIED)
                result = TRY(offerAs(attempt, nameOf(certificate), certificate.key.get(), ssh_userauth_try_publickey));
        if (result == SSH_AUTH_DENIED)
            result = TRY(offerAs(attempt, name, offered.get(), ssh_userauth_try_publickey));
    } else {
        attempt.tried.push_back(name);
        result = SSH_AUTH_SUCCESS; // an old locked PEM file hides its public half: it may be the right one
    }
    if (result == SSH_AUTH_SUCCESS) {
        attempt.locked.push_back(file.string());
        attempt.wrongPassphrase = attempt.wrongPassphrase || attempt.login.passphrases.contains(file.string());
        return SSH_AUTH_DENIED;
    }
    return result;
}

/// A FIDO key: its file holds no secret that could sign, only the token does.
bool isSecurityKey(const fs::path &file) {
    const auto key = readPublic(file);
    const auto type = key ? std::string_view(ssh_key_type_to_char(ssh_key_type(key.get()))) : std::string_view();
    return type.starts_with("sk-");
}

} // namespace

Result<int> tryKeyFile(Attempt &attempt, const fs::path &file) {
    std::error_code error;
    if (fs::exists(file, error) && isSecurityKey(file)) {
        attempt.securityKey = true;
        attempt.tried.push_back(fmt::format("{} (a security key: only the SSH agent can use it)", file.string()));
        return SSH_AUTH_DENIED;
    }
    if (!fs::exists(file, error)) {
        attempt.tried.push_back(fmt::format("{} (no such file)", file.string()));
        return SSH_AUTH_DENIED;
    }
    bool locked = false;
    const auto key = readPrivate(attempt, file, locked);
    if (locked)
        return tryLocked(attempt, file);
    if (!key) {
        attempt.tried.push_back(fmt::format("{} (cannot be read as a private key)", file.string()));
        return SSH_AUTH_DENIED;
    }
    for (const auto &certificate : certificatesOf(attempt, file, key.get())) {
        const Key both(ssh_key_dup(key.get()));
        if (!both || ssh_pki_copy_cert_to_privkey(certificate.key.get(), both.get()) != SSH_OK)
            continue;
        if (const int result = TRY(offerAs(attempt, nameOf(certificate), both.get(), ssh_userauth_publickey)); result != SSH_AUTH_DENIED)
            return result;
    }
    return offerAs(attempt, file.string(), key.get(), ssh_userauth_publickey);
}

} // namespace slipway
