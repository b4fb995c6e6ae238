// SPDX-License-Identifier: Apache-2.0
//
// Is this the board that we think it is? The user's own known_hosts decides; nothing is accepted that the user did not
// accept, and a changed key replaces this host's entries only.

#include "core/device/sessionparts.h"

#include "core/base/files.h"
#include "core/base/text.h"

#include <libssh/libssh.h>

#include <set>
#include <sys/stat.h>

namespace slipway {

namespace {

struct KeyFree {
    void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyFree>;

std::string fingerprintOf(ssh_key key) {
    unsigned char *hash = nullptr;
    std::size_t size = 0;
    if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &size) != SSH_OK)
        return {};
    char *text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, size);
    std::string fingerprint = text ? text : "";
    ssh_string_free_char(text);
    ssh_clean_pubkey_hash(&hash);
    return fingerprint;
}

fs::path knownHostsFile(const Link &link, const Login &login) {
    char *value = nullptr;
    fs::path file = homeOf(login) / ".ssh/known_hosts";
    if (ssh_options_get(link.ssh.get(), SSH_OPTIONS_KNOWNHOSTS, &value) == SSH_OK && value)
        file = expandHome(value, homeOf(login));
    if (value)
        ssh_string_free_char(value);
    return file;
}

/// The name under which known_hosts has a host: "[host]:port" unless it is port 22.
std::string entryName(const Link &link) {
    if (!link.settings.hostKeyAlias.empty())
        return link.settings.hostKeyAlias;
    return link.port == 22 ? link.host : fmt::format("[{}]:{}", link.host, link.port);
}

/// What a line of known_hosts says about `name`; nothing when it is about others.
Key keyOfLine(const std::string &name, std::string_view line) {
    if (trimmed(line).empty() || trimmed(line).front() == '#' || trimmed(line).front() == '@')
        return {};
    ssh_knownhosts_entry *entry = nullptr;
    if (ssh_known_hosts_parse_line(name.c_str(), std::string(line).c_str(), &entry) != SSH_OK || !entry)
        return {};
    Key key(ssh_key_dup(entry->publickey));
    ssh_knownhosts_entry_free(entry);
    return key;
}

/// A line without `name`: other names on the same line keep their key. Hashed lines have one name only; patterns are
/// the user's and stay.
std::string withoutHost(std::string_view line, const std::string &name) {
    const auto end = line.find_first_of(" \t");
    if (end == std::string_view::npos)
        return std::string(line);
    const auto names = line.substr(0, end);
    if (names.starts_with("|1|"))
        return {};
    std::string left;
    bool found = false;
    for (const auto part : split(names, ',')) {
        if (part == name)
            found = true;
        else
            left += (left.empty() ? "" : ",") + std::string(part);
    }
    if (!found)
        return std::string(line);
    return left.empty() ? std::string() : left + std::string(line.substr(end));
}

/// "SHA256:… (ssh-ed25519, line 3)" of each key that the file has for the host, and the text without them.
struct Known {
    std::vector<std::string> fingerprints;
    std::vector<std::string> types;
    std::string others;
};

Result<Known> readKnown(const fs::path &file, const std::string &name) {
    Known known;
    std::error_code error;
    if (!fs::exists(file, error))
        return known;
    const auto text = TRY(readFile(file, 16 << 20));
    int number = 0;
    for (const auto line : lines(text)) {
        ++number;
        const auto key = keyOfLine(name, line);
        if (key) {
            const std::string type = ssh_key_type_to_char(ssh_key_type(key.get()));
            known.fingerprints.push_back(
                fmt::format("{} ({}, {}:{})", fingerprintOf(key.get()), type, file.string(), number));
            known.types.push_back(type);
        }
        const auto kept = key ? withoutHost(line, name) : std::string(line);
        if (!kept.empty() || !key)
            known.others += kept + "\n";
    }
    return known;
}

/// Adds the host's key, keeping what is there; with `replace` without what it had for this host.
Result<void> remember(const Link &link, const fs::path &file, bool replace) {
    char *text = nullptr;
    if (ssh_session_export_known_hosts_entry(link.ssh.get(), &text) != SSH_OK || !text)
        return fail("cannot make a known_hosts entry of the key of {}", link.where());
    std::string entry = text;
    ssh_string_free_char(text);
    if (!entry.ends_with('\n'))
        entry += '\n';
    std::error_code error;
    const auto directory = file.parent_path();
    if (!fs::exists(directory, error)) {
        fs::create_directories(directory, error);
        ::chmod(directory.c_str(), 0700);
    }
    std::string before;
    if (replace)
        before = TRY(readKnown(file, entryName(link))).others;
    else if (fs::exists(file, error))
        before = TRY(readFile(file, 16 << 20));
    if (!before.empty() && !before.ends_with('\n'))
        before += '\n';
    // A link (dotfiles in a repository) stays a link.
    const auto target = fs::is_symlink(file, error) ? fs::weakly_canonical(file, error) : file;
    return writeFileAtomically(error ? file : target, before + entry, 0600);
}

std::unexpected<Error> unknownKey(const Link &link, const HostKey &key, const Known &known) {
    const auto also =
        known.types.empty()
            ? std::string()
            : fmt::format(" (known_hosts has its {} key, which it does not offer any more)", known.types.front());
    return std::unexpected(Error{.kind = ErrorKind::hostKeyUnknown,
                                 .message = fmt::format("the host key of {} is not known yet: {} {}{}", link.where(),
                                                        key.type, key.fingerprint, also),
                                 .hint = "compare it with what the board's console shows for "
                                         "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub, then accept it",
                                 .detail = key.fingerprint,
                                 .subject = link.where()});
}

std::unexpected<Error> changedKey(const Link &link, const HostKey &key, const Known &known) {
    std::string detail;
    for (const auto &fingerprint : known.fingerprints)
        detail += fmt::format("known:     {}\n", fingerprint);
    detail += fmt::format("presented: {} ({})", key.fingerprint, key.type);
    return std::unexpected(
        Error{.kind = ErrorKind::hostKeyChanged,
              .message = fmt::format("the host key of {} has changed: known {}, presented {}", link.where(),
                                     known.fingerprints.empty() ? "another" : known.fingerprints.front().substr(0, 50),
                                     key.fingerprint),
              .hint = "the board was reflashed (usual), another board has this address now, or someone is in between; "
                      "replace the entry only when you know which",
              .detail = detail,
              .subject = link.where()});
}

} // namespace

Result<HostKey> checkHostKey(const Link &link, const Login &login) {
    ssh_key raw = nullptr;
    if (ssh_get_server_publickey(link.ssh.get(), &raw) != SSH_OK)
        return fail("{} presented no host key", link.where());
    const Key key(raw);
    const HostKey presented{.fingerprint = fingerprintOf(key.get()),
                            .type = ssh_key_type_to_char(ssh_key_type(key.get()))};
    const auto file = knownHostsFile(link, login);
    const auto state = ssh_session_is_known_server(link.ssh.get());
    if (state == SSH_KNOWN_HOSTS_OK)
        return presented;
    const auto known = TRY(readKnown(file, entryName(link)));
    const bool accepted = !login.acceptFingerprint.empty() && login.acceptFingerprint == presented.fingerprint;
    switch (state) {
    case SSH_KNOWN_HOSTS_CHANGED:
        if (!accepted || !login.replaceChangedKey)
            return changedKey(link, presented, known);
        TRY(remember(link, file, true));
        return presented;
    case SSH_KNOWN_HOSTS_UNKNOWN:
    case SSH_KNOWN_HOSTS_NOT_FOUND:
    case SSH_KNOWN_HOSTS_OTHER: // the same host with a key of another type: new, not changed
        if (!accepted)
            return unknownKey(link, presented, known);
        TRY(remember(link, file, false));
        return presented;
    default:
        return fail("cannot check the host key of {}: {}", link.where(), printable(link.lastError()));
    }
}

} // namespace slipway
