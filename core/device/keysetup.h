// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

namespace slipway {

/// Makes an ed25519 key without a passphrase, 0600, with its .pub beside it. An existing file is never overwritten.
[[nodiscard]] Result<void> createKey(const fs::path &file, const std::string &comment, Progress &progress);

/// The one line of a key's public half: FILE.pub, or what ssh-keygen derives from FILE.
[[nodiscard]] Result<std::string> publicKeyLine(const fs::path &file, Progress &progress);

/// Adds a public key to ~/.ssh/authorized_keys of the board, once, with the modes that sshd wants (what ssh-copy-id does).
/// False = it was there already.
[[nodiscard]] Result<bool> installKey(Session &session, const std::string &publicLine, Progress &progress);

/// Opens a new connection with this key alone, without agent or password: does the board let it in.
[[nodiscard]] Result<void> proveKey(const Login &login, const fs::path &file, Progress &progress);

} // namespace slipway
