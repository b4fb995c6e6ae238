# SPDX-License-Identifier: Apache-2.0
#
# Part of `board`: starts the userland in namespaces of its own, with sshd as its first process, and stops it.
#
#   outer namespace   only where the machine has no binfmt handler for arm64: root of a user namespace may mount an own
#                     binfmt_misc (Linux 6.7 and newer) and register qemu there
#   inner namespace   the caller appears as user nvidia (1000); processes, mounts, host name and IPC are the board's own
#
# Where user namespaces are not to be had (in a chroot, say) root does without them: sshd then really runs as user 1000.
# Inside, STATE/run is seen at /mnt and the userland at /mnt/root, so that no folder above them has to be readable for 1000.
#
# sshd is process 1 of the board: when it ends, the kernel ends every process on the board.

findEmulator() {
    local name
    for name in qemu-aarch64-static qemu-aarch64; do
        ! command -v "$name" || return 0
    done
    give "qemu for arm64 programs is not installed" "apt-get install qemu-user-static (Debian 13: qemu-user)"
}

readonly binfmtFolder=/proc/sys/fs/binfmt_misc
binfmtLine() { # EMULATOR; flag F: the interpreter is opened now, so that it need not exist inside the board
    printf '%s' ':slipway-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'"$1:F"
}

# Whether this machine runs arm64 programs already, also inside a chroot.
machineRunsArm64() {
    local handler
    for handler in "$binfmtFolder"/*aarch64*; do
        if grep -qs '^enabled' "$handler" && grep -qs '^flags:.*F' "$handler"; then return 0; fi
    done
    return 1
}

# Sets `inner`: the words that give the board its own namespaces.
needNamespaces() {
    needPrograms unshare mount setpriv sshd
    local own=(--mount --pid --fork --kill-child=KILL --uts --ipc)
    if unshare --user --map-root-user true 2>/dev/null; then
        inner=(unshare --user --map-user=1000 --map-group=1000 --keep-caps "${own[@]}" --)
        owner=$(id -u)
    elif [ "$(id -u)" = 0 ] && unshare --mount --propagation unchanged --pid --fork true 2>/dev/null; then
        inner=(unshare --propagation unchanged "${own[@]}" -- "$here/board" private-namespace "$state/run/view")
        owner=1000
    else
        give "this system does not allow user namespaces, which the virtual board runs in" \
            "as root: sysctl -w user.max_user_namespaces=15000; on Debian also kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0; in a container run it with --security-opt seccomp=unconfined; in a chroot run it as root"
    fi
}

# Sets `outer`: the words before the inner namespace.
needArm64() {
    local emulator
    emulator=$(findEmulator)
    outer=()
    ! machineRunsArm64 || return 0
    if unshare --user --map-root-user --mount -- mount -t binfmt_misc binfmt_misc "$binfmtFolder" 2>/dev/null; then
        outer=(unshare --user --map-root-user --mount -- "$here/board" outer-namespace "$emulator")
        return 0
    fi
    if [ "$(id -u)" = 0 ] && { [ -e "$binfmtFolder/register" ] || mount -t binfmt_misc binfmt_misc "$binfmtFolder" 2>/dev/null; } &&
        binfmtLine "$emulator" >"$binfmtFolder/register" 2>/dev/null; then
        phase "registered $emulator for arm64 programs on this machine"
        return 0
    fi
    give "this machine does not run arm64 programs: no handler with flag F in $binfmtFolder, and its kernel ($(uname -r)) lets no user register one (6.7 and newer do)" \
        "apt-get install qemu-user-static binfmt-support (Debian 13: qemu-user-binfmt), or run this once as root"
}

outerNamespace() { # EMULATOR COMMAND...
    local emulator=$1
    shift
    mount -t binfmt_misc binfmt_misc "$binfmtFolder"
    binfmtLine "$emulator" >"$binfmtFolder/register"
    exec "$@"
}

# In a chroot no mount is the root, so nothing can be made private: the board gets a view of its own. Where mounts are shared,
# the view is the one mount that others see; stop takes it away.
privateNamespace() { # VIEW COMMAND...
    local view=$1
    shift
    mkdir -p "$view"
    mount --rbind / "$view"
    mount --make-rprivate "$view"
    exec chroot "$view" "$@"
}
removeView() {
    [ "$(id -u)" != 0 ] || ! mountpoint -q "$state/run/view" || umount -l -R "$state/run/view"
}

innerNamespace() { # RUN ROOT DISK_MB READONLY_HOME
    local diskMegabytes=$3 readOnlyHome=$4 root=/mnt/root name
    mount --bind "$1" /mnt
    mount --bind "$2" "$root"
    for name in home opt tmp var; do
        mount --bind "$root/$name" "$root/$name"
    done
    [ "$diskMegabytes" = 0 ] || mount -t tmpfs -o "size=${diskMegabytes}m,mode=755,uid=1000,gid=1000" "slipway-disk" "$root/opt"
    # The system is not the user's to change. (A mount with locked flags cannot be changed here: then it stays writable.)
    mount -o remount,bind,ro "$root" 2>/dev/null || true
    if [ "$readOnlyHome" = 1 ]; then
        mount -o remount,bind,ro "$root/home"
        mount -o remount,bind,ro "$root/opt"
    fi
    mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$root/run"
    makeDevices "$root/dev"
    # sshd looks its users up here: there is only nvidia, whose shell enters the userland.
    mount --bind /mnt/passwd /etc/passwd
    mount --bind /mnt/group /etc/group
    hostname slipway-virtual-jetson
    local sshd drop=()
    sshd=$(command -v sshd)
    # Of root's rights only the one that the login shell needs is kept.
    [ "$(id -u)" != 0 ] || drop=(setpriv --reuid=1000 --regid=1000 --clear-groups --inh-caps=-all,+sys_chroot --ambient-caps=-all,+sys_chroot)
    exec "${drop[@]}" "$sshd" -D -f /mnt/sshd_config -E /mnt/sshd.log
}

makeDevices() { # FOLDER
    local to=$1 name
    mount -t tmpfs -o mode=755 tmpfs "$to"
    for name in null zero full random urandom tty; do
        : >"$to/$name"
        mount --bind "/dev/$name" "$to/$name"
    done
    mkdir "$to/pts" "$to/shm"
    mount --rbind /dev/pts "$to/pts" 2>/dev/null || true
    mount -t tmpfs -o mode=1777 tmpfs "$to/shm"
    ln -s /proc/self/fd "$to/fd"
    ln -s fd/0 "$to/stdin"
    ln -s fd/1 "$to/stdout"
    ln -s fd/2 "$to/stderr"
    ln -s pts/ptmx "$to/ptmx"
}

# Writes STATE/run, which is all that the board sees of this machine's side.
writeRunFolder() { # PORT
    local run=$state/run
    mkdir -p "$run/root"
    {
        echo "# Written by Slipway at every start of this virtual board."
        echo "ListenAddress 127.0.0.1"
        echo "Port $1"
        echo "HostKey /mnt/host_ed25519"
        echo "AuthorizedKeysFile /mnt/authorized_keys"
        echo "PidFile none"
        printf '%s no\n' StrictModes UsePAM PasswordAuthentication KbdInteractiveAuthentication PermitUserRC PrintMotd PrintLastLog UseDNS \
            X11Forwarding AllowAgentForwarding
        echo "AuthenticationMethods publickey"
        echo "AcceptEnv LANG LC_*"
        echo "MaxStartups 100"
        echo "MaxSessions 100"
        echo "SetEnv SLIPWAY_BOARD_ROOT=/mnt/root QEMU_UNAME=$(valueOf "$profileFile" kernel)+simulated"
        [ "$noSftp" = 1 ] || echo "Subsystem sftp /usr/lib/openssh/sftp-server"
    } >"$run/sshd_config"
    printf 'nvidia:x:1000:1000:virtual board:/:/mnt/board-shell\nsshd:x:65534:65534::/:/usr/sbin/nologin\n' >"$run/passwd"
    printf 'nvidia:x:1000:\nnogroup:x:65534:\n' >"$run/group"
    cat "$state/id_ed25519.pub" ${authorizedKeys:+"$authorizedKeys"} >"$run/authorized_keys"
    cp -f "$here/board-shell" "$run/board-shell"
    cp -f "$state/host_ed25519" "$run/host_ed25519"
    rm -f "$run/sshd.log"
    : >"$run/sshd.log"
    chmod 755 "$run" "$run/root" "$run/board-shell"
    chmod 600 "$run/host_ed25519"
    printf '[127.0.0.1]:%s %s\n' "$1" "$(cut -d' ' -f1,2 "$state/host_ed25519.pub")" >"$state/known_hosts"
    # Only root has anything to give away, and it may have run the board another way before.
    [ "$(id -u)" != 0 ] || chown "$owner" "$run/host_ed25519" "$run/sshd.log"
    [ "$(stat -c %u "$root/home/nvidia")" = "$owner" ] || chown -R "$owner" "$root/home/nvidia" "$root/opt" "$root/tmp" "$root/var/tmp"
}

# What a test wants to be missing or bad is changed in the stopped userland.
applyFaults() {
    local rsync=$root/usr/bin/rsync hidden=$root/usr/lib/.rsync-hidden rc=$root/home/nvidia/.bashrc
    if [ "$noRsync" = 1 ]; then
        [ ! -f "$rsync" ] || mv "$rsync" "$hidden"
    else
        [ ! -f "$hidden" ] || mv "$hidden" "$rsync"
    fi
    sed -i '/# slipway-chatty$/d' "$rc"
    [ "$chattyShell" = 0 ] || sed -i '1i echo "Welcome to your board! You have mail." # slipway-chatty' "$rc"
}

# Whether an SSH server answers on the port.
answers() { # PORT
    local line=
    { exec 8<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
    read -r -t 2 line <&8 || true
    exec 8>&-
    case $line in SSH-*) return 0 ;; esac
    return 1
}
isTaken() { (exec 8<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

freePort() {
    local candidate tries
    for tries in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        candidate=$((20000 + (RANDOM * 32768 + RANDOM) % 12000))
        isTaken "$candidate" || { echo "$candidate"; return; }
    done
    give "no free port found between 20000 and 32000 after $tries tries" "pass --port N"
}

# Starts the namespaces in the background and waits until sshd answers. Fails when it ended instead.
launch() { # PORT
    local starter pid tries log=$state/run/sshd.log
    writeRunFolder "$1"
    setsid "${outer[@]}" "${inner[@]}" "$here/board" inner-namespace "$state/run" "$root" "$diskMegabytes" "$readOnlyHome" \
        </dev/null >>"$log" 2>&1 9>&- &
    starter=$!
    trap 'kill "$starter" 2>/dev/null; exit 130' HUP INT TERM # a cancelled start leaves no board behind
    for tries in $(seq 200); do
        kill -0 "$starter" 2>/dev/null || { removeView; return 1; }
        if answers "$1"; then
            pid=$(cat "/proc/$starter/task/$starter/children")
            pid=${pid%% *}
            echo "$pid $(processBegan "$pid")" >"$state/process"
            trap - HUP INT TERM
            disown "$starter"
            return 0
        fi
        sleep 0.03
    done
    kill "$starter" 2>/dev/null || true
    give "the board's sshd does not answer on port $1 after $tries tries: $(tail -n1 "$log")" "see $log"
}

start() {
    local pid wanted
    profile=$(valueOf "$state/board.conf" profile)
    loadProfile
    if pid=$(boardProcess); then
        phase "the board runs already"
        printBoard 1 "$pid"
        return
    fi
    [ -x "$here/board-shell" ] || give "$here/board-shell is missing" "build Slipway"
    needNamespaces
    needArm64
    applyFaults
    cmp -s "$here/libcuda.so.1" "$root$(valueOf "$profileFile" libcuda_dir)/libcuda.so.1.1" || installDriver "$root"
    wanted=$port
    [ "$wanted" != 0 ] || wanted=$(valueOf "$state/board.conf" port)
    if [ "$port" != 0 ] && isTaken "$port"; then give "port $port of 127.0.0.1 is in use" "pass another --port, or --port 0 to have one chosen"; fi
    if [ "$wanted" = 0 ] || isTaken "$wanted"; then wanted=$(freePort); fi
    phase "starting the board on port $wanted"
    launch "$wanted" || give "the board ended at its start: $(tail -n1 "$state/run/sshd.log")" "see $state/run/sshd.log"
    sed -i "s/^port=.*/port=$wanted/" "$state/board.conf"
    printBoard 1 "$(boardProcess)"
}

stop() {
    local pid tries
    if ! pid=$(boardProcess); then
        phase "the board does not run"
        rm -f "$state/process"
        return 0
    fi
    # Process 1 of the board: with it the kernel ends all its logins and whatever they left running.
    kill -KILL "$pid" 2>/dev/null || true
    for tries in $(seq 100); do
        boardProcess >/dev/null || break
        sleep 0.02
    done
    boardProcess >/dev/null && give "process $pid of the board does not end after $tries tries"
    rm -f "$state/process"
    removeView
    phase "stopped"
}
