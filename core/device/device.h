// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/base/secret.h"
#include "core/target/facts.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// A board that the user saved. Holds no secret.
struct Device {
    std::string name;
    std::string host;       ///< as the user gave it: a name, an address, or a Host of ~/.ssh/config
    int port = 0;           ///< 0 = from ~/.ssh/config, else 22
    std::string user;       ///< empty = from ~/.ssh/config, else the local user
    std::string identity;   ///< key file; empty = as ssh would choose
    std::string target;     ///< target id; empty = not known yet
    std::string machineId;  ///< of the board that was seen last
    std::string serial;     ///< of the board that was seen last: its hardware's
    std::string knownHosts; ///< another known_hosts file (virtual boards); empty = the user's own
    bool isVirtual = false;
    std::string lastSeen; ///< ISO 8601, UTC

    [[nodiscard]] Json toJson() const;
    [[nodiscard]] static Result<Device> fromJson(const Json &json, std::string_view what);
    /// Reads "USER@HOST", "HOST", "USER@HOST:PORT", "[::1]:2222".
    [[nodiscard]] static Result<Device> fromAddress(std::string_view name, std::string_view address);
};

/// Everything a connection needs, gathered before it is opened: nothing is looked up while connecting.
struct Login {
    Device device;
    Secret password;                           ///< of the board; asked only after the server wanted one
    std::map<std::string, Secret> passwords;   ///< Error::subject of a passwordNeeded ("user@host") -> password; also of hosts
                                               ///< on the way (ProxyJump), which never get `password`
    std::map<std::string, Secret> passphrases; ///< key file -> passphrase
    std::string acceptFingerprint; ///< "SHA256:…" that the user accepted for a host that known_hosts does not have
    bool replaceChangedKey =
        false;               ///< the user said the board was reflashed: the old entry goes, `acceptFingerprint` comes
    fs::path home;           ///< for ~/.ssh/…; empty = $HOME
    fs::path configFile;     ///< empty = home/.ssh/config
    fs::path knownHostsFile; ///< empty = device.knownHosts, else home/.ssh/known_hosts
    std::optional<bool> boardAes{}; ///< BoardFacts::cpuAes of the last time: chooses the cipher
    bool useAgent = true;
    fs::path agentSocket; ///< empty = IdentityAgent of ~/.ssh/config, else $SSH_AUTH_SOCK
    std::chrono::milliseconds connectTimeout{10000};
};

} // namespace slipway
