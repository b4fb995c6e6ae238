// SPDX-License-Identifier: Apache-2.0
//
// What session.cpp and its siblings session_*.cpp share. Nobody else includes this.
#pragma once

#include "core/device/agentview.h"
#include "core/device/session.h"
#include "core/device/sshconfig.h"
#include "core/device/tcpconnect.h"

#include <poll.h>

struct ssh_session_struct; // libssh's handle, opaque here

namespace slipway {

/// How a host is reached, when the host before it on the way says so.
struct Route {
    std::optional<std::vector<std::string>> jumps; ///< instead of what ~/.ssh/config says
    int depth = 0;                                 ///< hosts that wait for this one
};

/// One connection: the handle of the SSH library, always non-blocking, and how it is waited for.
struct Link {
    std::shared_ptr<ssh_session_struct> ssh;
    std::shared_ptr<void> event; ///< pumps packets; exists once the session is up
    std::string host;            ///< after ~/.ssh/config
    int port = 22;
    std::string user;
    SshSettings settings;         ///< as the user's ssh has them for this host
    bool isHop = false;           ///< only the way to another host
    std::shared_ptr<void> tunnel; ///< what carries it when it goes through another host; last to end
    std::string lost; ///< why it is over; empty = it is alive
    bool garbled = false; ///< it is over because what came was no SSH

    [[nodiscard]] std::string where() const { return hostText(host, port); }
    [[nodiscard]] std::string name() const { return user + "@" + where(); }

    /// Reads ~/.ssh/config, connects, agrees on keys. Nothing is checked or authenticated yet.
    [[nodiscard]] static Result<Link> open(const Login &login, const Route &route, Progress &progress);

    /// Waits until the connection can go on or one of `more` is ready, at most `most`.
    void wait(std::span<pollfd> more, std::chrono::milliseconds most) const;
    /// Handles what has arrived, without waiting. False = the connection is broken.
    bool pump();
    /// Bytes received so far: the sign of life.
    [[nodiscard]] std::uint64_t heard() const;
    /// False = the other side has gone, or what it sends is no SSH: nothing more will come.
    [[nodiscard]] bool alive() const;
    /// Ends it without asking the peer.
    void abandon(std::string why);
    /// Notes why it is not alive any more.
    void noteLoss();
    [[nodiscard]] std::string lastError() const;
    [[nodiscard]] std::unexpected<Error> lostError() const;
};

/// Repeats `call` while it returns `again`: the library's calls go on where they were.
template <typename Call>
Result<int> untilDone(Link &link, int again, std::chrono::milliseconds most, std::string_view what, Progress &progress,
                      const Call &call) {
    const auto deadline = std::chrono::steady_clock::now() + most;
    int result = call();
    while (result == again) {
        link.wait({}, std::chrono::milliseconds(100));
        TRY(progress.checkpoint());
        if (std::chrono::steady_clock::now() > deadline)
            return failAs(ErrorKind::unreachable, "{} did not answer in time ({})", link.where(), what);
        result = call();
    }
    return result;
}

struct HostKey {
    std::string fingerprint; ///< "SHA256:…"
    std::string type;        ///< "ssh-ed25519"
};
/// Verifies the host's key against known_hosts, and writes there what the user accepted.
[[nodiscard]] Result<HostKey> checkHostKey(const Link &link, const Login &login);

/// Which keys have been offered on earlier connections of the same login.
struct Offers {
    std::shared_ptr<AgentView> agent; ///< absent = not asked yet, or there is none
    bool useAgent = true;
    bool identitiesDone = false; ///< the configured keys are not offered again
    std::size_t from = 0;        ///< the agent's keys before this one were refused
};
enum class Authenticated { yes, cutOff };
/// Logs in. `cutOff`: the server ended the connection because too many keys were offered; `offers` says how to go on.
[[nodiscard]] Result<Authenticated> authenticate(Link &link, const Login &login, Offers &offers, Progress &progress);

/// One login in progress. What libssh answers (SSH_AUTH_SUCCESS, _DENIED, _PARTIAL, _ERROR) is passed on as it is.
struct Attempt {
    Link &link;
    const Login &login;
    Offers &offers;
    Progress &progress;
    bool securityKey = false; ///< a FIDO key was passed over: only the agent can use it
    bool sha1Only = false;    ///< an RSA key was passed over: the server names no signature for it that the user allows
    std::vector<std::string> tried{};  ///< for the error: what was offered, the last one now
    std::vector<std::string> locked{}; ///< keys that the server takes and that need a passphrase
    bool wrongPassphrase = false;

    [[nodiscard]] ssh_session_struct *session() const { return link.ssh.get(); }
    /// Repeats `once` until it is no "again" any more.
    [[nodiscard]] Result<int> call(const std::function<int()> &once) const;
};
/// Offers a key of `type` by `offer`; an RSA key once for each signature that it may make, in the order of the user's
/// PubkeyAcceptedAlgorithms. `insist`: a signature that the server lists but refuses is followed by the next one (an sshd before
/// 9.6 lists them all, whatever its configuration says); else the first that it lists counts, as for ssh.
[[nodiscard]] Result<int> offerInTurn(Attempt &attempt, std::string_view type, bool insist, const std::function<Result<int>()> &offer);
/// Offers the key in a file, with its certificates first; a locked one is only asked about, and noted.
[[nodiscard]] Result<int> tryKeyFile(Attempt &attempt, const fs::path &file);

/// A link whose host is verified and that is logged in.
struct OpenLink {
    Link link;
    HostKey key;
};
[[nodiscard]] Result<OpenLink> openLink(const Login &login, const Route &route, Progress &progress);

/// A connection to host:port that goes through the last of `jumps`; `keep` must live as long as the descriptor is used.
struct Tunnelled {
    Descriptor socket;
    std::shared_ptr<void> keep;
};
[[nodiscard]] Result<Tunnelled> connectThrough(const Login &login, std::vector<std::string> jumps, const std::string &host,
                                               int port, int depth, Progress &progress);

[[nodiscard]] Result<Finished> executeOn(Link &link, const RemoteCommand &command, Progress &progress);
/// Moves bytes between `descriptor` and host:port as the link's host sees it, until one side ends. `opened` is called once,
/// with nothing or with why it could not be reached.
[[nodiscard]] Result<void> forwardOn(Link &link, const std::string &host, int port, int descriptor,
                                     const std::function<void(Result<void>)> &opened, Progress &progress);

/// While it lives a write to a connection that was reset gives an error on this thread instead of SIGPIPE.
class NoSigPipe {
public:
    NoSigPipe();
    ~NoSigPipe();
    NoSigPipe(const NoSigPipe &) = delete;
    NoSigPipe &operator=(const NoSigPipe &) = delete;

private:
    bool m_wasPending = false;
    bool m_wasBlocked = false;
};

/// `~/x` and `%d/x` below `home`.
[[nodiscard]] fs::path expandHome(std::string path, const fs::path &home);
[[nodiscard]] fs::path homeOf(const Login &login);

} // namespace slipway
