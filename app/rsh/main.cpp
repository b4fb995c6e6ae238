// SPDX-License-Identifier: Apache-2.0
//
// slipway-rsh: what rsync starts as its remote shell. It hands its own stdin, stdout and stderr to the Slipway that
// started rsync, over the unix socket in SLIPWAY_RSH_SOCKET, and waits for the exit status: no byte of the transfer
// passes here.
//
// Message: the three descriptors (SCM_RIGHTS) with the words HOST COMMAND..., each ended by a NUL. Answer: the status
// as one int of this machine; a socket that closes without one means that the connection was lost.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

constexpr int connectionLost = 255; // what ssh says

int complain(const char *what) {
    std::fprintf(stderr, "slipway-rsh: %s: %s\n", what, std::strerror(errno));
    return connectionLost;
}

bool sendWords(int socket, const std::string &words) {
    int descriptors[3] = {0, 1, 2};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(descriptors))] = {};
    iovec part{.iov_base = const_cast<char *>(words.data()), .iov_len = words.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(descriptors));
    std::memcpy(CMSG_DATA(header), descriptors, sizeof(descriptors));
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == ssize_t(words.size());
}

} // namespace

int main(int argc, char **argv) {
    const char *path = std::getenv("SLIPWAY_RSH_SOCKET");
    if (!path || argc < 3) {
        std::fputs("slipway-rsh is started by rsync for Slipway; there is nothing to do by hand\n", stderr);
        return 2;
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return complain(path);
    }
    std::strcpy(address.sun_path, path);
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket < 0 || ::connect(socket, reinterpret_cast<sockaddr *>(&address), sizeof(address)) != 0)
        return complain("cannot reach Slipway");
    std::string words;
    for (int i = 1; i < argc; ++i)
        words.append(argv[i]).push_back('\0');
    if (!sendWords(socket, words))
        return complain("cannot talk to Slipway");
    for (const int descriptor : {0, 1})
        ::close(descriptor); // they live on in Slipway: rsync must see it when that closes them
    int status = 0;
    ssize_t count = 0;
    do
        count = ::recv(socket, &status, sizeof(status), 0);
    while (count < 0 && errno == EINTR);
    return count == ssize_t(sizeof(status)) ? status : connectionLost;
}
