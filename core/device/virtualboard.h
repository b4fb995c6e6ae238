// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"

#include <filesystem>
#include <string>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// A Jetson-like machine on this one: a real OpenSSH server on 127.0.0.1 whose logins land in an arm64 userland that
/// runs under qemu, with a simulated CUDA driver. It needs no root where the system allows user namespaces.
struct VirtualBoardOptions {
    fs::path resources; ///< folder with the `board` script, its profiles, `libcuda.so.1` and `board-shell`:
                        ///< share/slipway/virtualboard beside the bin/ that our programs are in
    fs::path state;     ///< everything of this board lives here, e.g. $XDG_STATE_HOME/slipway/boards/virtual-orin
    fs::path cache;     ///< downloaded packages, shared by all boards, e.g. $XDG_CACHE_HOME/slipway/debs
    std::string profile = "orin-nano-jp62"; ///< see virtualBoardProfiles; used when the board is made
    int port = 0;                           ///< 0 = the one it had before, else a free one
    std::string mirror;                     ///< URI of a Debian mirror; empty = the one that apt uses
    fs::path authorizedKeys;                ///< further public keys that may log in
    // What tests need a board to be bad at:
    int diskMegabytes = 0; ///< /opt is a disk of this size (emptied by stop); 0 = no limit
    bool noRsync = false;
    bool noSftp = false;
    bool chattyShell = false;  ///< .bashrc prints
    bool readOnlyHome = false; ///< the home directory and /opt cannot be written
};

/// A running board, and what is needed to log in.
struct VirtualBoard {
    bool running = false;
    std::string profile;
    std::string model; ///< as its device tree says, "NVIDIA Jetson … (simulated by Slipway)"
    std::string host;  ///< always 127.0.0.1
    int port = 0;
    std::string user;      ///< nvidia
    fs::path identity;     ///< private key that logs in
    std::string knownHost; ///< one line for a known_hosts file
    fs::path knownHosts;   ///< a file that holds that line
    fs::path root;         ///< the userland
    long process = 0;      ///< pid of the board's first process; 0 when it is stopped
};

/// The profiles that `resources` has: orin-nano-jp62, orin-jp51, thor-jp70.
[[nodiscard]] std::vector<std::string> virtualBoardProfiles(const fs::path &resources);

/// Makes the board when it does not exist, and starts it when it does not run; a running board is left as it is.
/// Errors: unknown profile (usage), missing packages or kernel features (the hint says what to install or enable).
[[nodiscard]] Result<VirtualBoard> startVirtualBoard(const VirtualBoardOptions &options, Progress &progress);

/// The state of the board below `options.state`; `running` is false for one that is stopped. Error: there is none.
[[nodiscard]] Result<VirtualBoard> virtualBoardStatus(const VirtualBoardOptions &options, Progress &progress);

/// Ends the board and every process on it. Its files stay. Stopping a stopped board is no error.
[[nodiscard]] Result<void> stopVirtualBoard(const VirtualBoardOptions &options, Progress &progress);

} // namespace slipway
