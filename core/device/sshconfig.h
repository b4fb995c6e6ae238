// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/device/device.h"

namespace slipway {

/// What the user's ssh would do for a host: the part of `ssh -G` that we act on ourselves.
struct SshSettings {
    std::string host; ///< HostName
    std::string user;
    int port = 22;
    std::vector<fs::path> identities; ///< IdentityFile in order, expanded; empty = none configured, the usual ones count
    std::vector<fs::path> certificates; ///< CertificateFile in order, expanded; NAME-cert.pub beside a key needs no entry
    bool identitiesOnly = false;
    std::string agent;                  ///< IdentityAgent: a path, "none", or empty = $SSH_AUTH_SOCK
    std::vector<std::string> jumps;     ///< ProxyJump, first hop first: "user@host:port"
    std::string proxyCommand;           ///< with its %h and %p
    std::string hostKeyAlias;
    std::string keyAlgorithms; ///< PubkeyAcceptedAlgorithms in order, comma-separated; empty = not said
    int leastRsaBits = 0;      ///< RequiredRSASize; 0 = not said
};

/// Reads what `ssh -G` printed; pure. `home` is what ~ and %d stand for, `host` what the user typed (%n).
[[nodiscard]] SshSettings parseSshSettings(std::string_view text, const fs::path &home, const std::string &host);

/// Asks the user's own ssh, which knows all of its configuration (Match, Include, Canonicalize…, tokens); directives that
/// it does not know are passed over. Nothing when there is no ssh on this computer: then the SSH library reads the file.
[[nodiscard]] Result<std::optional<SshSettings>> readSshSettings(const Login &login, const fs::path &home,
                                                                 Progress &progress);

/// The names after `Host` in a configuration file and what it includes, without patterns: boards the user has named.
[[nodiscard]] std::vector<std::string> sshConfigHosts(const fs::path &file, const fs::path &home);

} // namespace slipway
