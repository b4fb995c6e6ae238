// SPDX-License-Identifier: Apache-2.0
//
// The scripts that run on the board. Plain POSIX shell and busybox-safe: no arrays, no process substitution, every tool
// optional. A board's answer is text with marks; the parser is elsewhere and pure.

#include "core/device/factsscript.h"

#include "core/base/process.h"
#include "core/base/text.h"

namespace slipway {

namespace {

constexpr std::string_view common = R"sh(LC_ALL=C; export LC_ALL
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
mark() { printf '\n@@slipway:%s\n' "$1"; }
has() { command -v "$1" >/dev/null 2>&1; }
T=; has timeout && T='timeout 10'
mark begin
)sh";

constexpr std::string_view reading = R"sh(
mark clock; date +%s
mark arch; uname -m
mark kernel; uname -r
mark cpu; grep -E -m 1 '^(Features|flags)' /proc/cpuinfo 2>/dev/null
for t in /sys/firmware/devicetree/base /proc/device-tree; do
  if [ -r "$t/model" ] || [ -r "$t/compatible" ]; then
    mark model; tr '\0' '\n' <"$t/model" 2>/dev/null
    mark compatible; tr '\0' '\n' <"$t/compatible" 2>/dev/null
    mark serial; tr '\0' '\n' <"$t/serial-number" 2>/dev/null
    break
  fi
done
mark release; head -n 1 /etc/nv_tegra_release 2>/dev/null
mark bootcontrol; cat /etc/nv_boot_control.conf 2>/dev/null
mark l4tcore; dpkg-query --showformat='${Version}' --show nvidia-l4t-core 2>/dev/null
mark jetpackpackage; dpkg-query --showformat='${Version}' --show nvidia-jetpack 2>/dev/null
mark os; cat /etc/os-release 2>/dev/null
mark machineid; cat /etc/machine-id 2>/dev/null
mark simulated; cat /etc/slipway-virtual-board 2>/dev/null
mark glibc; getconf GNU_LIBC_VERSION 2>/dev/null || ldd --version 2>/dev/null | head -n 1
mark ldcache; ldconfig -p 2>/dev/null
m=$(uname -m); lib=
mark ldfiles
for d in /lib /usr/lib /lib64 /usr/lib64 "/lib/$m-linux-gnu" "/usr/lib/$m-linux-gnu"; do
  for f in "$d"/*.so.* "$d"/ld-linux*; do
    [ -e "$f" ] || continue
    echo "${f##*/}"
    case $f in */libstdc++.so.6) lib=$f ;; esac
  done
done
mark cxx
[ -n "$lib" ] && tr -c 'A-Za-z0-9_.' '\n' <"$lib" | grep -E '^(GLIBCXX|CXXABI)_[0-9]' | sort -u
mark toolkit; cat /usr/local/cuda/version.json 2>/dev/null || cat /usr/local/cuda/version.txt 2>/dev/null
mark power; has nvpmodel && $T nvpmodel -q 2>/dev/null
for f in /sys/devices/gpu.0/tpc_pg_mask /sys/devices/platform/gpu.0/tpc_pg_mask; do
  [ -r "$f" ] && { mark tpcmask; cat "$f"; break; }
done
mark memory; cat /proc/meminfo 2>/dev/null
# -a: df leaves out bind mounts of a file system that it has shown, and / may be read-only where /home is not
mark df; $T df -aPk 2>/dev/null || $T df -Pk 2>/dev/null
mark mounts; cat /proc/mounts 2>/dev/null
mark env; env | grep -E '^(CUDA|TEENYC|NVIDIA)_[A-Z0-9_]*=|^LD_LIBRARY_PATH='
mark tools
for t in rsync tar sha256sum ln flock setsid timeout gzip zstd nohup mktemp; do
  has "$t" || continue
  case $t in rsync|tar) printf '%s\t%s\n' "$t" "$($t --version 2>/dev/null | head -n 1)" ;; *) printf '%s\t\n' "$t" ;; esac
done
for f in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/libexec/sftp-server /usr/lib/ssh/sftp-server; do
  [ -x "$f" ] && { printf 'sftp\t\n'; break; }
done
if has nvidia-smi; then
  mark smi; $T nvidia-smi 2>/dev/null | head -n 12
  mark smigpus; $T nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null
fi
)sh";

/// Leaves $probe as a program that runs, or empty. Directories that are mounted noexec are passed over.
constexpr std::string_view takeProbe = R"sh(
probe=; dirs=
trap 'for d in $dirs; do rm -rf "$d"; done' EXIT
trap 'exit 1' HUP INT TERM PIPE
for b in "${TMPDIR:-/tmp}" /var/tmp "$HOME" /dev/shm /run; do
  case $b in *' '*|'') continue ;; esac
  d=$(mktemp -d "$b/slipway.XXXXXX" 2>/dev/null) || continue
  dirs="$dirs $d"
  if [ -z "$all" ]; then cat >"$d/all" 2>/dev/null || continue; all=$d/all; fi
  case $(uname -m) in
    aarch64|arm64) [ "$A" -gt 0 ] && dd if="$all" of="$d/slipway-probe" bs="$A" count=1 2>/dev/null ;;
    x86_64) [ "$X" -gt 0 ] && { tail -c "$X" "$all" >"$d/slipway-probe"; } 2>/dev/null ;;
  esac
  chmod 700 "$d/slipway-probe" 2>/dev/null || continue
  "$d/slipway-probe" --version >/dev/null 2>&1 && { probe=$d/slipway-probe; break; }
done
)sh";

/// What the driver is: as a program gets it here, and with each cuda-compat folder (of the CUDA for Tegra and the CUDA
/// compatibility notes) in front: a line "FOLDER", one of the probe, and "LINK -> FOLDER" for /usr/local/cuda and its like.
constexpr std::string_view askDriver = R"sh(
if [ -n "$probe" ]; then
  mark probe; "$probe" facts --timeout 15 2>/dev/null
  mark compat; seen=
  for d in /usr/local/cuda*/compat /usr/local/cuda*/compat_orin; do
    [ -e "$d/libcuda.so.1" ] || continue
    p=$(cd "$d" 2>/dev/null && pwd -P) || continue
    case " $seen " in
      *" $p "*) ;;
      *) seen="$seen $p"; echo "$p"
         LD_LIBRARY_PATH=$p${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$probe" facts --timeout 15 2>/dev/null ;;
    esac
    [ "$d" = "$p" ] || echo "$d -> $p"
  done
fi
)sh";

std::string sizes(const ProbeBytes &probes) {
    return fmt::format("A={} X={} all=\n", probes.aarch64.size(), probes.x86_64.size());
}

/// The script travels on stdin, where no login shell can misread it: dd takes exactly its bytes (other readers take
/// more from a pipe than they need), and the probes stay for the script's own `cat`.
RemoteScript packed(std::string script, const ProbeBytes &probes) {
    RemoteScript packed{.line = fmt::format("sh -c 'eval \"$(dd bs=1 count={} 2>/dev/null)\"'", script.size()),
                        .input = std::move(script)};
    packed.input += probes.aarch64;
    packed.input += probes.x86_64;
    return packed;
}

} // namespace

RemoteScript factsScript(const ProbeBytes &probes) {
    std::string script(common);
    script += reading;
    if (!probes.aarch64.empty() || !probes.x86_64.empty()) {
        script += sizes(probes);
        script += takeProbe;
        script += askDriver;
    }
    script += "mark end\nexit 0\n";
    return packed(std::move(script), probes);
}

RemoteScript loadScript(const ProbeBytes &probes, const std::string &directory,
                        const std::map<std::string, std::string> &environment) {
    std::string script(common);
    script += sizes(probes);
    script += takeProbe;
    script += "[ -n \"$probe\" ] || { echo 'the probe does not run on this board' >&2; exit 126; }\n";
    for (const auto &[name, value] : environment)
        script += fmt::format("{}={}; export {}\n", name, shellQuote(value), name);
    script += fmt::format("cd {} || exit 125\nmark load\n\"$probe\" load .\nstatus=$?\nmark end\nexit $status\n",
                          shellQuote(directory));
    return packed(std::move(script), probes);
}

Result<std::map<std::string, std::string_view>> factsSections(std::string_view output, std::string &preamble) {
    const std::string first = fmt::format("\n{}begin\n", factsMark);
    const auto begin = output.find(first);
    if (begin == std::string_view::npos)
        return fail("the board's shell did not run our script{}",
                    trimmed(output).empty() ? "" : fmt::format("; it printed \"{}\"", printable(trimmed(output), 120)));
    preamble = output.substr(0, begin);
    std::map<std::string, std::string_view> sections;
    const std::string mark = fmt::format("\n{}", factsMark);
    auto at = begin;
    while (at != std::string_view::npos) {
        const auto nameStart = at + mark.size();
        const auto nameEnd = output.find('\n', nameStart);
        if (nameEnd == std::string_view::npos)
            break;
        const auto next = output.find(mark, nameEnd);
        const auto content =
            output.substr(nameEnd + 1, next == std::string_view::npos ? next : next - std::min(next, nameEnd + 1));
        sections.emplace(output.substr(nameStart, nameEnd - nameStart), content);
        at = next;
    }
    return sections;
}

} // namespace slipway
