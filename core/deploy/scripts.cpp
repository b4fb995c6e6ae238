// SPDX-License-Identifier: Apache-2.0
//
// The shell texts that run on the board, and how they are started. Notes that hold for all: LC_ALL=C keeps messages in
// one language; `[ … ] &&` is not used as a last command where `set -e` is on; no bashism, no GNU-only option without a
// fallback.

#include "core/deploy/scripts.h"

#include "core/base/text.h"

namespace slipway {

namespace {

// What several scripts share; it stands before each of them.
//   since PID    when a process started, in clock ticks after the boot: tells it from a later one with the same number
//   point ID     makes `current` point to a release. `mv -T` renames the link over the old one; where mv does not know
//   -T,
//                `ln -sfn` replaces it in two system calls
//   revert       goes back from $id to $back, but never away from another release
//   unlock       gives the lock back if it is this run's
const char *const functions = R"sh(
since() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
point() {
  rm -f "$d/.current.$nonce"
  ln -s "releases/$1" "$d/.current.$nonce" || return 1
  if ! mv -T "$d/.current.$nonce" "$d/current" 2>/dev/null; then
    ln -sfn "releases/$1" "$d/current" && rm -f "$d/.current.$nonce"
  fi
  [ "$(readlink "$d/current")" = "releases/$1" ]
}
revert() {
  if [ "$(readlink "$d/current")" = "releases/$id" ]; then
    if [ -n "$back" ] && [ -d "$d/releases/$back" ]; then point "$back"; else rm -f "$d/current"; fi
  fi
  rm -f "$d/.slipway/good/$id"
  printf '%s\n' "$line" >> "$d/.slipway/log.jsonl"
}
unlock() { if read -r n < "$d/.slipway/lock" && [ "$n" = "$nonce" ]; then rm -f "$d/.slipway/lock"; fi; }
)sh";

} // namespace

namespace script {

const char *const state = R"sh(
export LC_ALL=C; d=$1
case $d in '~') d=$HOME ;; '~/'*) d=$HOME/${d#??} ;; esac
printf 'dest %s\n' "$d"
if [ -L "$d/current" ]; then printf 'current %s\n' "$(readlink "$d/current")"; elif [ -e "$d/current" ]; then echo foreign; fi
for r in "$d"/releases/*; do if [ -d "$r" ] && [ ! -L "$r" ]; then printf 'release %s\n' "${r##*/}"; fi; done
for r in "$d"/releases/.*.partial; do if [ -d "$r" ]; then r=${r##*/.}; printf 'partial %s\n' "${r%.partial}"; fi; done
for g in "$d"/.slipway/good/*; do if [ -f "$g" ]; then printf 'good %s\n' "${g##*/}"; fi; done
if [ -f "$d/.slipway/log.jsonl" ]; then tail -n 500 "$d/.slipway/log.jsonl" | sed 's/^/log /'; fi
if [ -f "$d/current/conf/manifest.json" ]; then echo manifest; cat "$d/current/conf/manifest.json"; fi
)sh";

// The lock is a file that is linked into place: whole or absent, never half written. It names the process that serves
// the connection ($PPID, with its start time and the boot), so that a lock whose owner is gone is known to be stale.
const char *const begin = R"sh(
set -eu; export LC_ALL=C; umask 022
d=$1 id=$2 nonce=$3 by=$4 from=$5
mkdir -p "$d/releases" "$d/.slipway/good"
lock=$d/.slipway/lock mine=$d/.slipway/lock.$nonce
boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo none)
printf '%s\n' "$nonce" "$PPID" "$(since "$PPID")" "$boot" "$(date -u '+%Y-%m-%d %H:%M:%S UTC')" "$by" > "$mine"
tries=0
until ln "$mine" "$lock" 2>/dev/null; do
  if [ ! -e "$lock" ] && (set -C; cat "$mine" > "$lock") 2>/dev/null; then break; fi
  { read -r n && read -r p && read -r s && read -r b && read -r when && read -r who; } < "$lock" 2>/dev/null || who=somebody
  if [ "${b:-}" = "$boot" ] && [ "${p:-0}" -gt 1 ] && [ "$(since "$p")" = "${s:-}" ] && [ "$p" != "$PPID" ]; then
    rm -f "$mine"; printf 'locked by %s since %s\n' "${who:-somebody}" "${when:-?}" >&2; exit 75
  fi
  mv "$lock" "$lock.$nonce.stale" 2>/dev/null && rm -f "$lock.$nonce.stale"
  tries=$((tries + 1))
  if [ "$tries" -gt 5 ]; then rm -f "$mine"; echo 'the lock cannot be taken' >&2; exit 75; fi
done
rm -f "$mine"
for t in "$d"/.slipway/timer.*; do
  if [ -f "$t" ]; then mkdir "$d/.slipway/done.${t##*.}" 2>/dev/null || :; rm -f "$t"; fi
done
p=$d/releases/.$id.partial
mkdir -p "$p"
flush() { if [ $# -gt 0 ]; then mkdir -p "$p/$dir"; (cd "$d/releases/$from/$dir" && ln -- "$@" "$p/$dir/") 2>/dev/null || :; fi; }
dir=. ; set --
while IFS= read -r line; do
  case $line in
    D*) flush "$@"; set --; dir=${line#D} ;;
    F*) set -- "$@" "./${line#F}"; if [ $# -ge 100 ]; then flush "$@"; set --; fi ;;
    *) flush "$@"; break ;;
  esac
done
cd "$p"
sha256sum -c - 2>/dev/null | while IFS= read -r line; do
  case $line in
    *': OK') printf '%s\n' "$line" ;;
    *': FAILED') rm -f -- "${line%: FAILED}" ;;
  esac
done
)sh";

const char *const receive = R"sh(
set -eu; export LC_ALL=C; umask 022
exec tar -x -p -f - -C "$1/releases/.$2.partial"
)sh";

const char *const finish = R"sh(
set -eu; export LC_ALL=C
d=$1 id=$2
cd "$d/releases/.$id.partial"
flush() { if [ $# -gt 0 ]; then chmod "$mode" -- "$@"; fi; }
mode=644; set --
while IFS= read -r line; do
  case $line in
    M*) flush "$@"; set --; mode=${line#M} ;;
    F*) set -- "$@" "${line#F}"; if [ $# -ge 100 ]; then flush "$@"; set --; fi ;;
    *) flush "$@"; break ;;
  esac
done
bad=$(sha256sum -c - 2>/dev/null | sed -n '/: OK$/!p')
if [ -n "$bad" ]; then
  printf '%s\n' "$bad" | while IFS= read -r line; do rm -f -- "${line%: FAILED*}"; done
  printf '%s\n' "$bad"; exit 65
fi
sync -f . 2>/dev/null || sync
cd "$d/releases"
if [ -e "$id" ] || [ -L "$id" ]; then
  if [ "$(readlink ../current 2>/dev/null)" = "releases/$id" ]; then
    cd ".$id.partial"
    find . -type f | while IFS= read -r f; do
      if [ "$f" -ef "../$id/$f" ]; then continue; fi
      mkdir -p "../$id/${f%/*}" && mv -f -- "$f" "../$id/$f" || exit 1
    done
    cd ..; rm -rf -- ".$id.partial"; exit 0
  fi
  rm -rf -- "$id"
fi
mv ".$id.partial" "$id"
)sh";

const char *const check = R"sh(
export LC_ALL=C
cd "$1/releases/$2" || exit 1
sha256sum -c - 2>/dev/null | sed -n '/: OK$/!p'
)sh";

const char *const activate = R"sh(
set -eu; export LC_ALL=C
d=$1 id=$2 back=$3 nonce=$4 seconds=$5 line=$6
[ -d "$d/releases/$id" ]
if [ "$seconds" -gt 0 ]; then
  : > "$d/.slipway/timer.$nonce"
  nohup sh -c "$7" slipway-timer "$d" "$id" "$back" "$nonce" "$seconds" "$line" > /dev/null 2>&1 < /dev/null &
fi
point "$id"
)sh";

const char *const timer = R"sh(
export LC_ALL=C
d=$1 id=$2 back=$3 nonce=$4 seconds=$5 line=$6
while [ "$seconds" -gt 0 ]; do
  sleep 1; seconds=$((seconds - 1))
  if [ -d "$d/.slipway/done.$nonce" ]; then rmdir "$d/.slipway/done.$nonce"; exit 0; fi
done
if mkdir "$d/.slipway/done.$nonce" 2>/dev/null; then revert; rm -f "$d/.slipway/timer.$nonce"; fi
)sh";

const char *const keep = R"sh(
set -eu
d=$1 id=$2 nonce=$3 seconds=$4 line=$5
if [ "$seconds" -gt 0 ]; then
  if ! mkdir "$d/.slipway/done.$nonce" 2>/dev/null; then rmdir "$d/.slipway/done.$nonce"; exit 76; fi
  rm -f "$d/.slipway/timer.$nonce"
fi
: > "$d/.slipway/good/$id"
printf '%s\n' "$line" >> "$d/.slipway/log.jsonl"
)sh";

const char *const goBack = R"sh(
set -eu; export LC_ALL=C
d=$1 id=$2 back=$3 nonce=$4 seconds=$5 line=$6
if [ "$seconds" -gt 0 ]; then
  if ! mkdir "$d/.slipway/done.$nonce" 2>/dev/null; then rmdir "$d/.slipway/done.$nonce"; exit 0; fi
  rm -f "$d/.slipway/timer.$nonce"
fi
revert
)sh";

const char *const abandon = R"sh(
d=$1 nonce=$2 line=$3 remove=$4
if [ -n "$remove" ]; then rm -rf -- "$d/releases/.$remove.partial"; fi
printf '%s\n' "$line" >> "$d/.slipway/log.jsonl"
unlock
)sh";

const char *const prune = R"sh(
export LC_ALL=C; d=$1 nonce=$2; shift 2
where() { (cd "$1" 2>/dev/null && pwd -P); }
for id in "$@"; do
  r=$d/releases/$id
  if [ ! -d "$r" ] || [ -L "$r" ]; then continue; fi
  used=
  for l in "$d"/* "$d"/releases/*; do
    if [ -L "$l" ] && [ "$(where "$l")" = "$(where "$r")" ]; then used=1; fi
  done
  if [ -z "$used" ]; then rm -f "$d/.slipway/good/$id"; rm -rf -- "$r"; printf 'removed %s\n' "$id"; fi
done
for p in "$d"/releases/.*.partial; do if [ -d "$p" ]; then rm -rf -- "$p"; fi; done
unlock
)sh";

const char *const restore = R"sh(
set -eu; export LC_ALL=C
d=$1 id=$2 nonce=$3 line=$4
[ -d "$d/releases/$id" ]
for t in "$d"/.slipway/timer.*; do
  if [ -f "$t" ]; then mkdir "$d/.slipway/done.${t##*.}" 2>/dev/null || :; rm -f "$t"; fi
done
point "$id"
printf '%s\n' "$line" >> "$d/.slipway/log.jsonl"
)sh";

const char *const run = R"sh(
r=$1 command=$2 n=$3; shift 3
RELEASE=$r; export RELEASE
while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n - 1)); done
cd "$r" || exit 1
exec sh -c "$command \"\$@\"" "$command" "$@"
)sh";

const char *const runLogged = R"sh(
d=$1 r=$2 command=$3 n=$4; shift 4; s=$d/.slipway
if { read -r p && read -r g && read -r t; } 2>/dev/null < "$s/run.pid" && [ -n "$t" ] && [ "$(since "$p")" = "$t" ]; then
  printf 'it runs already, as process %s\n' "$p" >&2; exit 75
fi
mkdir -p "$s" || exit 1
if [ -f "$s/run.log" ] && [ "$(wc -c < "$s/run.log")" -gt 4000000 ]; then mv -f "$s/run.log" "$s/run.log.1"; fi
trap 'rm -f "$s/out.$$" "$s/err.$$" "$s/run.pid"' EXIT
trap 'exit 143' TERM HUP INT
printf '%s\n' "$$" "$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f3)" "$(since $$)" > "$s/run.pid"
printf '== %s %s\n' "$(date -u '+%Y-%m-%d %H:%M:%S UTC')" "${r##*/}" >> "$s/run.log"
RELEASE=$r; export RELEASE
while [ "$n" -gt 0 ]; do export "$1"; shift; n=$((n - 1)); done
cd "$r" || exit 1
rm -f "$s/out.$$" "$s/err.$$"
mkfifo "$s/out.$$" "$s/err.$$" || exit 1
tee -a "$s/run.log" < "$s/out.$$" &
tee -a "$s/run.log" < "$s/err.$$" >&2 &
sh -c "$command \"\$@\"" "$command" "$@" > "$s/out.$$" 2> "$s/err.$$"
code=$?
wait
exit $code
)sh";

const char *const stop = R"sh(
s=$1/.slipway
if ! { read -r p && read -r g && read -r t; } 2>/dev/null < "$s/run.pid" || [ -z "$t" ] || [ "$(since "$p")" != "$t" ]; then
  rm -f "$s/run.pid"; echo nothing; exit 0
fi
kill -s TERM -- "-$g"
i=0
while [ "$i" -lt 50 ] && [ "$(since "$p")" = "$t" ]; do sleep 0.1 2>/dev/null || sleep 1; i=$((i + 1)); done
kill -s KILL -- "-$g" 2>/dev/null
rm -f "$s/run.pid" "$s/out.$p" "$s/err.$p"
echo stopped
)sh";

const char *const logs = R"sh(
if [ -f "$1/.slipway/run.log" ]; then tail -n "$2" "$1/.slipway/run.log"; fi
)sh";

} // namespace script

std::string scriptText(const char *body) {
    return std::string(functions) + body;
}

Result<Finished> runScript(Session &session, const char *text, std::vector<std::string> arguments, Progress &progress,
                           std::string input) {
    arguments.insert(arguments.begin(), {"sh", "-c", scriptText(text), "slipway"});
    return session.execute({.line = shellJoin(arguments), .input = std::move(input)}, progress);
}

bool isDiskFull(const Finished &finished) {
    return finished.errors.find("No space left on device") != std::string::npos ||
           finished.errors.find("Disk quota exceeded") != std::string::npos;
}

Error scriptFailed(std::string_view context, const Finished &finished) {
    const auto said = lines(trimmed(finished.errors));
    Error error{.detail = fmt::format("exit status: {}\n{}", finished.exitCode, tailLines(finished.errors, 20))};
    error.message = fmt::format(
        "{}: {}", context, said.empty() ? fmt::format("exit status {}", finished.exitCode) : printable(said.front()));
    if (isDiskFull(finished))
        error = {.message = fmt::format("{}: the board's disk is full", context),
                 .hint =
                     "make room on the board, keep fewer releases (deploy.keep), or deploy to another disk with --dest",
                 .detail = error.detail};
    else if (finished.errors.find("Read-only file system") != std::string::npos)
        error.hint = "deploy elsewhere with --dest, or mount that file system read-write on the board";
    else if (finished.errors.find("Permission denied") != std::string::npos)
        error.hint = "on the board: sudo install -d -o $USER DEST; or --dest '~/NAME'";
    return error;
}

Result<Finished> checkScript(Session &session, const char *text, std::vector<std::string> arguments,
                             std::string_view context, Progress &progress, std::string input) {
    auto finished = TRY(runScript(session, text, std::move(arguments), progress, std::move(input)));
    if (finished.exitCode != 0)
        return std::unexpected(scriptFailed(context, finished));
    return finished;
}

} // namespace slipway
