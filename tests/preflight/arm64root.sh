#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# arm64root.sh ROOT: unpacks some hundred arm64 packages of bookworm, fetched as the virtual board fetches its own and into the
# same cache. Prints how many there are. Exit 77: the packages cannot be fetched here.
set -euo pipefail
root=$1
source "$(dirname "$0")/../../resources/virtualboard/userland.sh"
cache=${SLIPWAY_DEBS:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway/debs}
mirror=''
phase() { :; }
give() { echo "$1" >&2; exit 77; }

# Programs of many kinds: interpreters, plug-ins with libraries of their own, private library folders, static programs.
programs="acl attr bc bind9-host bsdextrautils busybox-static cpio curl dc dialog dmidecode dosfstools e2fsprogs ed ethtool fdisk
gawk gdisk gettext-base git gnupg groff-base gstreamer1.0-plugins-base gstreamer1.0-tools htop iproute2 iptables iputils-ping jq kmod less
libarchive-tools libopenblas0-pthread liblapack3 libprotobuf32 libyaml-cpp0.7 libopencv-core406 libsndfile1 lsof lz4 m4 make mtools nano net-tools
netcat-openbsd nettle-bin ninja-build openssh-client openssl p7zip parted patch pciutils perl pigz psmisc python3 python3-numpy re2c samba-libs
screen socat sqlite3 strace systemd sysstat tcpdump tmux traceroute tree unzip usbutils v4l-utils vim-tiny wget xxd zip zsh zstd"

programs=${programs//$'\n'/ }
mkdir -p "$cache"
exec {lock}>"$cache/lock"
flock -w 600 "$lock" || give "another test is fetching packages into $cache"
haveAllPackages bookworm || fetchPackages bookworm || give "cannot fetch the arm64 packages of bookworm"
list=$cache/apt-bookworm/list-programs
isWhole() { [ -s "$list" ] && [ "$(head -n1 "$list")" = "# $programs" ] && tail -n+2 "$list" | (cd "$cache" && xargs -d '\n' ls) >/dev/null 2>&1; }
if ! isWhole; then
    # shellcheck disable=SC2086 -- the package lists are words
    aptFor bookworm -y --no-install-recommends --download-only install $wantedPackages $programs >/dev/null 2>&1 ||
        give "cannot fetch the arm64 packages of bookworm"
    {
        echo "# $programs"
        # shellcheck disable=SC2086
        aptFor bookworm -s --no-install-recommends install $wantedPackages $programs | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' |
            while read -r name version; do
                for file in "$cache/${name}_${version//:/%3a}"_*.deb; do [ ! -f "$file" ] || echo "${file##*/}"; done
            done
    } >"$list.new"
    mv "$list.new" "$list"
fi
exec {lock}>&-
mkdir -p "$root"/usr/{bin,sbin,lib}
for name in bin sbin lib; do ln -sfn "usr/$name" "$root/$name"; done
(cd "$cache" && tail -n+2 "$list" | xargs -P 2 -n 8 sh -c 'to=$0
    for deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink -C "$to" \
            --exclude=./usr/share --exclude=./usr/include --exclude=./var --exclude=./dev || exit 255
    done' "$root")
chmod -R u+rwX "$root"
tail -n+2 "$list" | wc -l
