// SPDX-License-Identifier: Apache-2.0
//
// A forked worker with a deadline.

#include "child.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace slipway::probe {

namespace {

constexpr std::size_t longestLine = 4u << 20;

/// In the child: cut off from our caller's streams, gone when we are gone, leaving no core file on the board.
void isolate(int descriptor) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none = {0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    const int nothing = ::open("/dev/null", O_RDWR);
    for (int stream = 0; stream < 3; ++stream)
        if (nothing >= 0)
            ::dup2(nothing, stream);
        else if (stream != descriptor)
            ::close(stream);
}

} // namespace

bool Child::start(void (*work)(int, const void *), const void *input) {
    int ends[2];
    if (::pipe(ends) != 0)
        return false;
    ::fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    ::fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    m_pid = ::fork();
    if (m_pid == 0) {
        ::close(ends[0]);
        isolate(ends[1]);
        work(ends[1], input);
        ::_exit(0); // the driver's own exit handlers may hang, too
    }
    ::close(ends[1]);
    m_descriptor = ends[0];
    m_ended = m_pid < 0;
    m_buffer.clear();
    if (m_pid < 0)
        ::close(ends[0]);
    return m_pid > 0;
}

bool Child::takeLine(Text &line) {
    const std::string_view all = m_buffer;
    const std::size_t end = all.find('\n');
    if (end == std::string_view::npos)
        return false;
    line.clear();
    line.append(std::string_view(all.data(), end));
    m_buffer.removePrefix(end + 1);
    return true;
}

bool Child::readMore() {
    const ssize_t count = ::read(m_descriptor, m_buffer.reserve(65536), 65536);
    if (count > 0)
        m_buffer.grow(std::size_t(count));
    return (count > 0 && m_buffer.size() <= longestLine) || (count < 0 && errno == EINTR);
}

bool Child::hasEnded() {
    if (!m_ended && ::waitpid(m_pid, &m_status, WNOHANG) == m_pid)
        m_ended = true;
    return m_ended;
}

bool Child::nextLine(Text &line, std::uint64_t microseconds) {
    const std::uint64_t deadline = now() + microseconds;
    while (!takeLine(line)) {
        const std::uint64_t time = now();
        const std::uint64_t left = time < deadline ? (deadline - time) / 1000 + 1 : 0;
        pollfd wait = {m_descriptor, POLLIN, 0};
        // in steps, since a grandchild of the driver may keep the pipe open after the child's death
        const int ready = ::poll(&wait, 1, int(left < 100 ? left : 100));
        if (ready > 0 ? !readMore() : (hasEnded() || left == 0))
            return takeLine(line);
    }
    return true;
}

Ending Child::end(Text &detail) {
    // a child that closed its pipe is about to be gone; one that still has it open is killed
    pollfd wait = {m_descriptor, POLLIN, 0};
    const bool closed = ::poll(&wait, 1, 0) > 0 && (wait.revents & POLLHUP);
    for (int i = 0; closed && i < 20 && !hasEnded(); ++i)
        ::poll(nullptr, 0, 50);
    const bool killed = !hasEnded();
    if (killed)
        ::kill(m_pid, SIGKILL);
    for (int i = 0; i < 20 && !hasEnded(); ++i)
        ::poll(nullptr, 0, 50); // one that sleeps inside the kernel cannot be killed: it is left behind
    ::close(m_descriptor);
    if (killed) {
        detail.append("no answer from the driver in time");
        if (!m_ended)
            detail.append(", and the process that asked cannot be killed");
        return Ending::hung;
    }
    if (WIFSIGNALED(m_status)) {
        detail.append("the driver crashed with signal ").number(std::uint64_t(WTERMSIG(m_status)));
        return Ending::crashed;
    }
    if (WEXITSTATUS(m_status) != 0) {
        detail.append("the driver ended the process with status ").number(std::uint64_t(WEXITSTATUS(m_status)));
        return Ending::crashed;
    }
    detail.append("the driver ended the process");
    return Ending::finished;
}

} // namespace slipway::probe
