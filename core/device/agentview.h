// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/progress.h"
#include "core/device/tcpconnect.h"

#include <filesystem>
#include <thread>
#include <vector>

namespace slipway {

namespace fs = std::filesystem;

/// The user's ssh-agent behind a window that shows one of its keys at a time. A server ends the connection after a few
/// wrong keys (OpenSSH: six), and the SSH library offers all that an agent has, up to the first that it cannot read: so it
/// sees one, and who shows it knows what became of it. Signatures are still made by the agent; no private key passes here.
class AgentView {
public:
    /// Connects and lists the keys. Errors: no agent, or it does not answer.
    [[nodiscard]] static Result<std::unique_ptr<AgentView>> open(const fs::path &socket, Progress &progress);
    ~AgentView();
    AgentView(const AgentView &) = delete;
    AgentView &operator=(const AgentView &) = delete;

    /// Public key blobs, in the agent's order until `prefer`.
    [[nodiscard]] std::size_t size() const { return m_keys.size(); }
    /// Those of `blobs` come first, in that order; with `only` the others are not shown at all.
    void prefer(const std::vector<std::string> &blobs, bool only);
    /// What the library sees from now on.
    void show(std::size_t index);
    /// "ssh-ed25519", "ssh-rsa-cert-v01@openssh.com", …
    [[nodiscard]] std::string type(std::size_t index) const;
    /// The library's end of a new conversation; the library closes it.
    [[nodiscard]] int conversation();

private:
    struct Key {
        std::string blob;
        std::string comment;
    };
    AgentView() = default;
    void serve(int library, const std::stop_token &stop);
    [[nodiscard]] std::string shownKey();

    Descriptor m_agent;
    std::vector<Key> m_keys;
    std::mutex m_mutex;
    std::size_t m_shown = 0;
    std::jthread m_thread;
};

/// The blob of the first line of a .pub file; empty = it is none.
[[nodiscard]] std::string publicKeyBlob(std::string_view text);

} // namespace slipway
