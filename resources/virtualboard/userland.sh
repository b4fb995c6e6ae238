# SPDX-License-Identifier: Apache-2.0
#
# Part of `board`: an arm64 userland from distribution packages, without root, debootstrap or maintainer scripts. apt works in
# its own state directory for arm64, so the machine's package database is neither read nor changed.

# Left out although other packages ask for it: maintainer scripts and debconf use it, and neither runs here.
readonly unwantedPackages='perl\|perl-modules-.*\|libperl.*\|libgdbm.*'
readonly wantedPackages="base-files base-passwd bash dash coreutils tar gzip bzip2 xz-utils grep sed findutils util-linux mount procps
rsync diffutils hostname mawk openssh-sftp-server libc-bin dpkg file libc6-dev linux-libc-dev zlib1g-dev libssl-dev"

compilerLibrary() { # SUITE: the libstdc++ whose headers and library a program is built against
    case $1 in
    bullseye) echo libstdc++-10-dev ;;
    bookworm) echo libstdc++-12-dev ;;
    *) echo libstdc++-14-dev ;;
    esac
}

# The Debian mirror that this machine's apt uses: as apt knows it after an update, else as its sources name it.
findMirror() {
    [ -z "$mirror" ] || return 0
    mirror=$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 2>/dev/null | sed -n 's,^Debian \(.*/debian\)/*$,\1,p' | head -n1)
    [ -n "$mirror" ] || mirror=$(grep -rhoE '^[^#]*https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
        sed -n 's,.*\(https\?://[^ ]*/debian\).*,\1,p' | head -n1)
    [ -n "$mirror" ] || give "no Debian mirror among apt's sources" "pass --mirror URI (a Debian mirror with arm64)"
}

keyring() {
    local file
    for file in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp; do
        [ ! -f "$file" ] || { echo "$file"; return; }
    done
    give "the keys of the Debian archive are missing" "apt-get install debian-archive-keyring"
}

aptFor() { # SUITE ARGUMENTS...
    local suite=$1 apt=$cache/apt-$1
    shift
    # Own configuration, except the machine's proxy and timeouts; errors of a mirror must be errors here.
    apt-get -qq -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o "Dir::State=$apt" \
        -o "Dir::State::lists=$apt/lists" -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt" -o "Dir::Cache::archives=$cache" \
        -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Acquire::Languages=none -o Debug::NoLocking=1 \
        -o APT::Sandbox::User= -o APT::Update::Error-Mode=any -o APT::Update::Post-Invoke-Success::= \
        -o Binary::apt-get::APT::Keep-Downloaded-Packages=true -o APT::Keep-Downloaded-Packages=true "$@"
}

# Fetches the suite's packages into the cache and writes its list: one file name a line, and the dpkg status that they make.
fetchPackages() { # SUITE
    local suite=$1 apt=$cache/apt-$1 log=$cache/apt-$1/log
    findMirror
    mkdir -p "$apt/lists/partial" "$cache/partial"
    : >"$apt/status"
    echo "deb [arch=arm64 signed-by=$(keyring)] $mirror $suite main" >"$apt/sources.list"
    phase "reading the package lists of $suite for arm64"
    aptFor "$suite" update >"$log" 2>&1 || return 1
    phase "fetching the arm64 packages of $suite"
    # shellcheck disable=SC2086 -- the package lists are words
    aptFor "$suite" -y --no-install-recommends --download-only install $wantedPackages "$(compilerLibrary "$suite")" >>"$log" 2>&1 || return 1
    listPackages "$suite"
}

listPackages() { # SUITE
    local apt=$cache/apt-$1 name version file
    simulateInstall "$1" >"$apt/names"
    : >"$apt/list.new"
    : >"$apt/status.new"
    while read -r name version; do
        for file in "$cache/${name}_${version//:/%3a}"_*.deb; do
            [ -f "$file" ] || return 1
            echo "${file##*/}" >>"$apt/list.new"
            dpkg-deb -f "$file" | sed '/^Package:/a Status: install ok installed' >>"$apt/status.new"
            echo >>"$apt/status.new"
        done
    done <"$apt/names"
    [ -s "$apt/list.new" ] || return 1
    mv "$apt/status.new" "$apt/dpkg-status"
    mv "$apt/list.new" "$apt/list"
}

simulateInstall() { # SUITE -> "NAME VERSION" lines
    # shellcheck disable=SC2086
    aptFor "$1" -s --no-install-recommends install $wantedPackages "$(compilerLibrary "$1")" 2>/dev/null |
        sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1 \2/p' | grep -v "^\($unwantedPackages\) "
}

haveAllPackages() { # SUITE
    local file
    [ -s "$cache/apt-$1/list" ] && [ -s "$cache/apt-$1/dpkg-status" ] || return 1
    while read -r file; do
        [ -f "$cache/$file" ] || return 1
    done <"$cache/apt-$1/list"
}

makeUserland() { # ROOT
    local suite lock
    suite=$(valueOf "$profileFile" suite)
    # Several boards may be made at the same time; the packages are fetched and unpacked once.
    exec {lock}>"$cache/lock"
    flock -w 600 "$lock" || give "another board is being made with the packages in $cache"
    needBase "$suite" || {
        case $suite in bookworm | trixie) giveFetchFailed "$suite" ;; esac
        phase "the mirror has no $suite any more: using bookworm, whose C library is newer than the real board's"
        suite=bookworm
        needBase "$suite" || giveFetchFailed "$suite"
    }
    exec {lock}>&-
    phase "unpacking the userland ($suite)"
    tar -x --no-same-owner -C "$1" -f "$cache/apt-$suite/base.tar" || give "cannot unpack $cache/apt-$suite/base.tar" "remove $cache and try again"
}

giveFetchFailed() { # SUITE
    give "cannot fetch the arm64 packages of $1 from ${mirror:-the mirror}: $(tail -n1 "$cache/apt-$1/log")" "check the network, or pass --mirror URI"
}

# The suite's userland as one archive in the cache: unpacking that takes a second, the packages take five.
needBase() { # SUITE
    local suite=$1 apt=$cache/apt-$1
    haveAllPackages "$suite" || fetchPackages "$suite" || return 1
    [ ! "$apt/base.tar" -nt "$apt/list" ] || return 0
    phase "unpacking $(wc -l <"$apt/list") packages of $suite"
    rm -rf "$apt/base"
    unpackPackages "$suite" "$apt/base"
    tar -c -C "$apt/base" -f "$apt/base.tar.new" .
    mv "$apt/base.tar.new" "$apt/base.tar"
    rm -rf "$apt/base"
}

unpackPackages() { # SUITE ROOT
    local suite=$1 to=$2 name
    mkdir -p "$to"/usr/{bin,sbin,lib} "$to"/var/lib/dpkg/info
    for name in bin sbin lib; do ln -s "usr/$name" "$to/$name"; done
    # Documentation and translations are left out: nobody reads them here, and it halves the time.
    (cd "$cache" && xargs -P 2 -n 8 sh -c '
        to=$0
        for deb; do
            dpkg-deb --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink -C "$to" \
                --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/locale --exclude=./usr/share/info || exit 255
        done' "$to" <"$cache/apt-$suite/list") || give "cannot unpack the packages in $cache" "remove $cache and try again"
    cp "$cache/apt-$suite/dpkg-status" "$to/var/lib/dpkg/status"
    ln -sf mawk "$to/usr/bin/awk"
    cp "$to/usr/share/base-files/profile" "$to/etc/profile" 2>/dev/null || true
    chmod -R u+rwX "$to"
}
