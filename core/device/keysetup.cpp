// SPDX-License-Identifier: Apache-2.0
//
// From a password to a key: make one, put it on the board as ssh-copy-id does, and prove that it opens.

#include "core/device/keysetup.h"

#include "core/base/files.h"
#include "core/base/text.h"

#include <QTemporaryDir>

namespace slipway {

namespace {

/// The key comes on stdin. A file that ends without a line end gets one first; links (dotfiles) stay links.
constexpr std::string_view script = R"sh(cd "$HOME" || exit 1
umask 077
IFS= read -r key || exit 1
mkdir -p .ssh || exit 1
f=.ssh/authorized_keys
set -- $key
if [ -f "$f" ] && grep -qF -- "$2" "$f"; then
  chmod go-w .ssh "$f"
  echo present
  exit 0
fi
{ [ ! -s "$f" ] || [ -z "$(tail -c 1 "$f")" ] || echo >>"$f"; } && printf '%s\n' "$key" >>"$f" || exit 1
chmod go-w .ssh "$f"
[ -x /sbin/restorecon ] && /sbin/restorecon -R .ssh >/dev/null 2>&1
echo added
)sh";

fs::path homeDirectory(const Login &login) {
    if (!login.home.empty())
        return login.home;
    const char *home = std::getenv("HOME");
    return home ? fs::path(home) : fs::path("/");
}

} // namespace

Result<void> createKey(const fs::path &file, const std::string &comment, Progress &progress) {
    std::error_code error;
    if (fs::exists(file, error) || fs::exists(file.string() + ".pub", error))
        return failAs(ErrorKind::usage, "{} exists already: it is not overwritten", file.string());
    fs::create_directories(file.parent_path(), error);
    TRY(runChecked({.program = "ssh-keygen", .arguments = {"-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", file.string()}},
                   progress));
    return {};
}

Result<std::string> publicKeyLine(const fs::path &file, Progress &progress) {
    std::error_code error;
    std::string text;
    if (fs::exists(file.string() + ".pub", error))
        text = TRY(readFile(file.string() + ".pub", 64 * 1024));
    else
        text = TRY(runChecked({.program = "ssh-keygen", .arguments = {"-y", "-P", "", "-f", file.string()}}, progress)).output;
    const auto all = lines(text);
    const std::string line(all.empty() ? std::string_view() : trimmed(all.front()));
    if (split(line, ' ').size() < 2 || line.find("PRIVATE") != std::string::npos)
        return fail("{} is no public key", file.string() + ".pub");
    return line;
}

Result<bool> installKey(Session &session, const std::string &publicLine, Progress &progress) {
    const auto finished = TRY(session.execute({.line = "sh -c " + shellQuote(script), .input = publicLine + "\n"}, progress));
    if (finished.exitCode != 0)
        return std::unexpected(Error{.message = fmt::format("cannot write ~/.ssh/authorized_keys on the board: {}",
                                                            printable(trimmed(tailLines(finished.errors, 1)), 200)),
                                     .hint = "is the home directory there, writable, and not full?"});
    return trimmed(finished.output).ends_with("added");
}

Result<void> proveKey(const Login &login, const fs::path &file, Progress &progress) {
    QTemporaryDir directory; // a configuration that keeps every other key back
    const auto config = fs::path(directory.path().toStdString()) / "config";
    const auto own = login.configFile.empty() ? homeDirectory(login) / ".ssh/config" : login.configFile;
    TRY(writeFileAtomically(config, fmt::format("IdentitiesOnly yes\nInclude \"{}\"\nInclude /etc/ssh/ssh_config\n", own.string())));
    Login proof = login;
    proof.device.identity = file.string();
    proof.configFile = config;
    proof.useAgent = false;
    proof.password = Secret();
    proof.passwords.clear();
    const auto session = connect(proof, progress);
    if (session)
        return {};
    Error error = session.error();
    if (error.kind == ErrorKind::passphraseNeeded)
        return {}; // the board takes it: only its passphrase is missing here
    if (error.kind == ErrorKind::failed || error.kind == ErrorKind::passwordNeeded)
        return std::unexpected(Error{.message = fmt::format("the key is installed, but the board does not take it: {}", error.message),
                                     .hint = "look at AuthorizedKeysFile, PubkeyAuthentication and the modes of the home directory on the board"});
    return std::unexpected(std::move(error));
}

} // namespace slipway
