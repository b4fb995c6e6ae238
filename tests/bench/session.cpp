// SPDX-License-Identifier: Apache-2.0
//
// One session against the program ssh, both to the same sshd on loopback: commands one after the other, and bytes through one
// channel each way.

#include "tests/bench/bench.h"
#include "tests/device/localsshd.h"

#include "core/base/files.h"

#include <cstring>

using namespace slipway;
using namespace slipway::bench;

namespace {

constexpr double asQuick = 1 / 0.95; ///< the goal in the issue is throughput: at least 0.95 of OpenSSH's

/// The server, a session of ours, and how ssh gets to it.
class Work {
public:
    Work()
        : m_server({"MaxSessions 100"}) {
        auto session = slipway::connect(m_server.login(), m_progress);
        if (!session)
            std::exit((fmt::print(stderr, "{}\n", session.error().message), 1));
        m_session = std::move(*session);
    }

    [[nodiscard]] fs::path at(const std::string &name) const { return m_server.at(name); }

    /// `count` times `true` over the session.
    Result<void> commands(int count) {
        for (int i = 0; i < count; ++i)
            TRY(m_session->check({"true"}, m_progress));
        return {};
    }
    Result<void> up(std::uint64_t bytes) {
        std::uint64_t left = bytes;
        const auto source = [&left](std::span<char> room) -> Result<std::size_t> {
            const auto count = std::min<std::uint64_t>(left, room.size());
            std::memset(room.data(), 'x', count);
            left -= count;
            return std::size_t(count);
        };
        const auto finished = TRY(m_session->execute({.line = "exec cat >/dev/null", .source = source}, m_progress));
        return finished.exitCode == 0 ? Result<void>() : fail("cat ended with {}", finished.exitCode);
    }
    Result<void> down(std::uint64_t bytes) {
        std::uint64_t seen = 0;
        const auto line = fmt::format("exec head -c {} /dev/zero", bytes);
        TRY(m_session->execute({.line = line, .output = [&seen](std::string_view text) { seen += text.size(); }}, m_progress));
        return seen == bytes ? Result<void>() : fail("{} of {} bytes came", seen, bytes);
    }

    /// ssh with these words before the host; `line` runs there.
    [[nodiscard]] Command ssh(std::vector<std::string> words, const std::string &line) const {
        const auto home = m_server.home();
        Command command{.program = "ssh",
                        .arguments = {"-q", "-F", "none", "-o", "BatchMode=yes", "-o", "UserKnownHostsFile=" + (home / ".ssh/known_hosts").string(), "-i",
                                      (home / ".ssh/id_ed25519").string(), "-p", std::to_string(m_server.port())}};
        command.arguments.insert(command.arguments.end(), words.begin(), words.end());
        command.arguments.insert(command.arguments.end(), {"127.0.0.1", line});
        return command;
    }

private:
    LocalSshd m_server;
    Progress m_progress;
    std::unique_ptr<Session> m_session;
};

/// A shell line of this machine that runs ssh with its words quoted: for a pipe or a loop.
std::function<Result<void>()> shell(const std::string &before, const Command &ssh, const std::string &after) {
    std::vector<std::string> words{ssh.program};
    words.insert(words.end(), ssh.arguments.begin(), ssh.arguments.end());
    return command({.program = "sh", .arguments = {"-c", before + " " + shellJoin(words) + " " + after}});
}

std::string sshVersion() {
    Progress progress;
    const auto finished = run({.program = "ssh", .arguments = {"-V"}}, progress);
    return finished ? finished->errors.substr(0, finished->errors.find(',')) : "ssh";
}

} // namespace

int main(int argc, char **argv) {
    Bench bench("session", argc, argv);
    Work work;
    const auto version = sshVersion();
    const int runs = bench.quick() ? 3 : 7;
    const int count = bench.quick() ? 20 : 100;
    const std::uint64_t bytes = std::uint64_t(bench.quick() ? 128 : 512) << 20;
    const auto loop = fmt::format("i=0; while [ $i -lt {} ]; do i=$((i+1));", count);
    const Contender ours{fmt::format("{} commands", count), [&] { return work.commands(count); }};
    bench.compare(fmt::format("{} commands, ssh logs in for each", count), 0.5, bench.quick() ? 1 : 3, ours, version,
                  Contender{version, shell(loop, work.ssh({}, "true"), "; done")});

    const std::vector<std::string> master{"-o", "ControlPath=" + work.at("master").string()};
    auto open = master;
    open.insert(open.end(), {"-o", "ControlMaster=yes", "-o", "ControlPersist=yes", "-f"});
    if (const auto opened = command(work.ssh(open, "true"))(); !opened)
        return fmt::print(stderr, "{}\n", opened.error().message), 1;
    bench.compare(fmt::format("{} commands, ssh over a ControlMaster", count), 1.0, runs, ours, version + ", ControlMaster",
                  Contender{version, shell(loop, work.ssh(master, "true"), "; done")});
    auto close = master;
    close.insert(close.end(), {"-O", "exit"});
    (void)command(work.ssh(close, "true"))();

    for (const auto &[name, words] : {std::pair<std::string, std::vector<std::string>>{"its own choice", {}},
                                      {"aes128-gcm", {"-c", "aes128-gcm@openssh.com"}}}) {
        bench.compare(fmt::format("{} up, ssh with {}", formatBytes(bytes), name), asQuick, runs, {"up", [&] { return work.up(bytes); }}, version,
                      Contender{version, shell(fmt::format("head -c {} /dev/zero |", bytes), work.ssh(words, "exec cat >/dev/null"), "")});
        bench.compare(fmt::format("{} down, ssh with {}", formatBytes(bytes), name), asQuick, runs, {"down", [&] { return work.down(bytes); }}, version,
                      Contender{version, shell("", work.ssh(words, fmt::format("exec head -c {} /dev/zero", bytes)), ">/dev/null")});
    }
    return bench.finish();
}
