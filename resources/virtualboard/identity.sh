# SPDX-License-Identifier: Apache-2.0
#
# Part of `board`: the files by which a Jetson is recognised, and the labels by which everybody sees that this is none.

readonly simulated="simulated by Slipway"

put() { # FILE MODE: writes stdin
    mkdir -p "$(dirname "$1")"
    cat >"$1"
    chmod "$2" "$1"
}

writeIdentity() { # ROOT
    local to=$1
    phase "writing the files of $profile"
    writeAccounts "$to"
    writeLabels "$to"
    writeBoardFiles "$to"
    writeDpkgEntries "$to"
    writeCuda "$to"
    writeTools "$to"
    installDriver "$to"
    updateLoaderCache "$to"
}

writeAccounts() { # ROOT
    local to=$1
    mkdir -p "$to"/home/nvidia "$to"/opt "$to"/tmp "$to"/var/tmp "$to"/proc "$to"/dev "$to"/run "$to"/root
    chmod 1777 "$to/tmp" "$to/var/tmp"
    printf 'root:x:0:0:root:/root:/bin/bash\nnvidia:x:1000:1000:NVIDIA:/home/nvidia:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' | put "$to/etc/passwd" 644
    printf 'root:x:0:\nvideo:x:44:nvidia\nnvidia:x:1000:\nnogroup:x:65534:\n' | put "$to/etc/group" 644
    printf 'passwd: files\ngroup: files\nhosts: files dns\n' | put "$to/etc/nsswitch.conf" 644
    cp "$to/etc/skel/.bashrc" "$to/home/nvidia/.bashrc" 2>/dev/null || : >"$to/home/nvidia/.bashrc"
    cp "$to/etc/skel/.profile" "$to/home/nvidia/.profile" 2>/dev/null || true
    tr -d - </proc/sys/kernel/random/uuid | put "$to/etc/machine-id" 444
}

writeLabels() { # ROOT
    local to=$1
    {
        echo "# This is not a Jetson. It is a virtual board: an arm64 userland under qemu with a simulated CUDA driver."
        grep -v '^#' "$profileFile"
    } | put "$to/etc/slipway-virtual-board" 644
    echo slipway-virtual-jetson | put "$to/etc/hostname" 644
    printf '127.0.0.1 localhost slipway-virtual-jetson\n' | put "$to/etc/hosts" 644
    printf '\n  VIRTUAL BOARD, %s: not hardware. GPU programs load here but do not run.\n  Profile %s, emulated arm64.\n\n' "$simulated" "$profile" |
        put "$to/etc/motd" 644
    echo '[ -z "$PS1" ] || cat /etc/motd' | put "$to/etc/profile.d/slipway-virtual-board.sh" 644
}

writeBoardFiles() { # ROOT
    local to=$1 tree=$1/sys/firmware/devicetree/base
    valueOf "$profileFile" release | sed 's/$/\n/' | put "$to/etc/nv_tegra_release" 644
    case $(valueOf "$profileFile" l4t_core) in
    3[6-9].*)
        local libraries
        libraries=$(valueOf "$profileFile" libcuda_dir)
        printf '# KERNEL_VARIANT: oot\nTARGET_USERSPACE_LIB_DIR=nvidia\nTARGET_USERSPACE_LIB_DIR_PATH=%s\n' "${libraries#/}" >>"$to/etc/nv_tegra_release" ;;
    esac
    mkdir -p "$tree"
    printf '%s (%s)\0' "$(valueOf "$profileFile" model)" "$simulated" >"$tree/model"
    valueOf "$profileFile" compatible | tr ' ' '\0' >"$tree/compatible"
    printf '\0' >>"$tree/compatible"
    printf 'SLIPWAY-VIRTUAL\0' >"$tree/serial-number"
    printf 'TNSPEC %s\nTEGRA_CHIPID %s\n' "$(valueOf "$profileFile" tnspec)" "$(valueOf "$profileFile" chip_id)" | put "$to/etc/nv_boot_control.conf" 644
}

writeDpkgEntries() { # ROOT
    local to=$1 package version
    for package in nvidia-l4t-core:l4t_core nvidia-jetpack:jetpack_package; do
        version=$(valueOf "$profileFile" "${package#*:}")
        printf 'Package: %s\nStatus: install ok installed\nPriority: optional\nSection: misc\nMaintainer: Slipway (simulated)\nArchitecture: arm64\nVersion: %s\nDescription: %s\n\n' \
            "${package%:*}" "$version" "$simulated" >>"$to/var/lib/dpkg/status"
        : >"$to/var/lib/dpkg/info/${package%:*}.list"
    done
}

writeCuda() { # ROOT
    local to=$1 version kind home
    version=$(valueOf "$profileFile" cuda)
    kind=$(valueOf "$profileFile" cuda_target)
    home=$to/usr/local/cuda-$version
    mkdir -p "$home/targets/$kind/include" "$home/targets/$kind/lib/stubs"
    printf '{\n   "cuda" : {\n      "name" : "CUDA SDK (%s)",\n      "version" : "%s.0"\n   }\n}\n' "$simulated" "$version" | put "$home/version.json" 644
    echo "A virtual board has no CUDA toolkit: this folder only has the shape of one." | put "$home/targets/$kind/include/README" 644
    # Absolute links, as on a real board: a sysroot must repair them.
    ln -sfn "/usr/local/cuda-$version" "$to/usr/local/cuda"
    ln -sfn "/usr/local/cuda-$version/targets/$kind/lib" "$home/lib64"
    ln -sfn "/usr/local/cuda-$version/targets/$kind/include" "$home/include"
    printf '/usr/local/cuda-%s/targets/%s/lib\n' "$version" "$kind" | put "$to/etc/ld.so.conf.d/000_cuda.conf" 644
}

writeTools() { # ROOT
    local to=$1 mode id smi
    mode=$(valueOf "$profileFile" power_mode)
    id=$(valueOf "$profileFile" power_id)
    smi=$(valueOf "$profileFile" nvidia_smi)
    put "$to/usr/sbin/nvpmodel" 755 <<EOF
#!/bin/sh
# $simulated
echo "NV Power Mode: $mode"
echo "$id"
EOF
    put "$to/usr/bin/tegrastats" 755 <<EOF
#!/bin/sh
echo "tegrastats: $simulated: a virtual board has no sensors" >&2
exit 1
EOF
    [ -n "$smi" ] || return 0
    put "$to/usr/sbin/nvidia-smi" 755 <<EOF
#!/bin/sh
# $simulated
case "\$*" in
*compute_cap*) echo "$(valueOf "$profileFile" capability)" ;;
*query-gpu=name*) echo "$(valueOf "$profileFile" gpu_name) ($simulated)" ;;
*query-gpu=driver_version*) echo "$smi" ;;
*)
    echo "$simulated: this is no real GPU"
    echo "NVIDIA-SMI $smi    Driver Version: $smi    CUDA Version: $(valueOf "$profileFile" cuda)"
    echo "0  $(valueOf "$profileFile" gpu_name) ($simulated)    Memory: Not Supported" ;;
esac
EOF
}

installDriver() { # ROOT
    local to=$1 folder
    folder=$(valueOf "$profileFile" libcuda_dir)
    [ -f "$here/libcuda.so.1" ] || give "the simulated driver $here/libcuda.so.1 is missing" "build Slipway with g++-aarch64-linux-gnu installed"
    mkdir -p "$to$folder"
    cp "$here/libcuda.so.1" "$to$folder/libcuda.so.1.1"
    ln -sfn libcuda.so.1.1 "$to$folder/libcuda.so.1"
    ln -sfn libcuda.so.1.1 "$to$folder/libcuda.so"
    echo "$folder" | put "$to/etc/ld.so.conf.d/nvidia-tegra.conf" 644
}

# The board's own ldconfig writes its cache: it is a static program, so it runs before anything is registered.
updateLoaderCache() { # ROOT
    local emulator as=()
    emulator=$(findEmulator)
    [ "$(id -u)" = 0 ] || as=(unshare --user --map-root-user) # it changes its root folder
    "${as[@]}" "$emulator" "$1/usr/sbin/ldconfig" -r "$1" 2>/dev/null ||
        give "the emulated ldconfig does not run" "try: ${as[*]} $emulator $1/usr/sbin/ldconfig -r $1"
}
