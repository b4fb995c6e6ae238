// SPDX-License-Identifier: Apache-2.0
//
// The login shell that sshd starts for the virtual board: it enters the arm64 userland, drops every capability and becomes
// the userland's bash, without one more process. sshd passes the place by SLIPWAY_BOARD_ROOT (SetEnv in its configuration).
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

int give(const char *what, const char *path) {
    std::fprintf(stderr, "slipway virtual board: cannot %s %s: %s\n", what, path, std::strerror(errno));
    return 126;
}

/// The namespace's rights were only needed for chroot: programs on the board are plain user processes.
bool dropCapabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2] = {};
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && syscall(SYS_capset, &header, none) == 0 &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void setEnvironment() {
    static constexpr const char *values[][2] = {
        {"HOME", "/home/nvidia"}, {"USER", "nvidia"}, {"LOGNAME", "nvidia"}, {"SHELL", "/bin/bash"},
        {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
    };
    for (const auto &value : values)
        setenv(value[0], value[1], 1);
    unsetenv("SLIPWAY_BOARD_ROOT");
    unsetenv("MAIL");
}

} // namespace

int main(int argc, char **argv) {
    const char *root = std::getenv("SLIPWAY_BOARD_ROOT");
    if (!root) {
        std::fputs("slipway virtual board: SLIPWAY_BOARD_ROOT is not set: this program is started by the board's sshd\n", stderr);
        return 126;
    }
    if (chroot(root) != 0 || chdir("/") != 0)
        return give("enter", root);
    if (!dropCapabilities())
        return give("drop the capabilities of", "the login");
    setEnvironment();
    if (chdir("/home/nvidia") != 0)
        return give("enter", "/home/nvidia");
    // A command ends with its connection; what it put in the background with nohup or setsid goes on, as on a real board.
    prctl(PR_SET_PDEATHSIG, SIGHUP, 0, 0, 0);
    char bash[] = "bash";
    char login[] = "-l"; // the emulator is given bash's path, so a leading '-' in argv[0] would be lost
    char *const loginShell[] = {bash, login, nullptr};
    argv[0] = bash;
    execv("/bin/bash", argc == 1 ? loginShell : argv);
    return give("start", "/bin/bash (is qemu-aarch64 registered with binfmt_misc?)");
}
