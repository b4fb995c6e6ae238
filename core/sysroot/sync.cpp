// SPDX-License-Identifier: Apache-2.0
//
// Mirrors a board's libraries and headers. Links come over as links (never followed, never dropped), usr-merge links
// are kept, and a copy counts as one only when its stamp is written, which is the last thing that happens.

#include "core/sysroot/sysroot.h"

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/device/rsyncbridge.h"
#include "core/sysroot/links.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <set>
#include <sys/stat.h>

namespace slipway {

namespace {

constexpr const char *stampName = ".slipway-sysroot.json";
constexpr const char *workName = ".slipway-sysroot.unfinished";

/// What no build needs and what makes a copy slow: kernel modules, firmware, debug symbols, desktop programs.
constexpr const char *leftOut[] = {
    "/usr/lib/modules",  "/lib/modules",         "/usr/lib/firmware",         "/lib/firmware",
    "/usr/lib/debug",    "/usr/lib/snapd",       "/usr/lib/libreoffice",      "/usr/lib/firefox",
    "/usr/lib/git-core", "/usr/lib/thunderbird", "/usr/lib/chromium-browser", "__pycache__"};

/// What of the folders exists on the board: the links on the way to each, and where it really is.
Result<std::vector<std::string>> pathsOnBoard(Session &session, const std::vector<std::string> &folders,
                                              Progress &progress) {
    // Prints NUL-terminated absolute paths. A link is followed step by step, so that each step of it is copied.
    constexpr std::string_view script = R"sh(for p in "$@"; do
  n=0
  while [ -L "$p" ] && [ $n -lt 20 ]; do
    printf '%s\0' "$p"
    t=$(readlink "$p") || break
    case $t in /*) p=$t ;; *) p=${p%/*}/$t ;; esac
    n=$((n + 1))
  done
  if [ -e "$p" ] && [ ! -L "$p" ]; then
    r=$(readlink -f "$p") && printf '%s\0' "$r"
  fi
done)sh";
    std::vector<std::string> words{"sh", "-c", std::string(script), "sh"};
    words.insert(words.end(), folders.begin(), folders.end());
    const auto finished = TRY(session.check(words, progress));
    std::set<std::string> paths;
    for (const auto path : split(finished.output, '\0')) {
        const auto clean = fs::path(path).lexically_normal().string();
        if (clean.size() > 1 && clean.front() == '/' && isInsidePath(std::string_view(clean).substr(1)))
            paths.insert(clean);
    }
    return std::vector<std::string>(paths.begin(), paths.end());
}

bool isBelow(const std::string &path, const std::string &folder) {
    return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

/// NUL-separated, relative to the board's root. A path below another one is in it already.
std::string filesFrom(const std::vector<std::string> &paths) {
    std::string list;
    for (const auto &path : paths) {
        const bool covered =
            std::any_of(paths.begin(), paths.end(), [&](const auto &other) { return isBelow(path, other); });
        if (!covered)
            list += path.substr(1) + '\0';
    }
    return list;
}

/// "  1,234,567  12%    3.45MB/s    0:00:05 (xfr#5, to-chk=10/100)" of --info=progress2.
struct Moved {
    std::uint64_t bytes = 0;
    int percent = 0;
};
std::optional<Moved> parseProgress(std::string_view line) {
    std::string digits;
    auto text = trimmed(line);
    while (!text.empty() &&
           (std::isdigit(static_cast<unsigned char>(text.front())) || text.front() == ',' || text.front() == '.')) {
        if (std::isdigit(static_cast<unsigned char>(text.front())))
            digits += text.front();
        text.remove_prefix(1);
    }
    text = trimmed(text);
    const auto sign = text.find('%');
    const auto bytes = parseNumber(digits);
    const auto percent = sign == std::string_view::npos ? std::nullopt : parseNumber(text.substr(0, sign));
    if (!bytes || !percent || *percent > 100)
        return {};
    return Moved{.bytes = *bytes, .percent = int(*percent)};
}

/// Root's own files that the login may not read are no part of what programs link to.
bool onlyUnreadable(const Finished &finished) {
    if (finished.exitCode == 24)
        return true;
    if (finished.exitCode != 23)
        return false;
    for (const auto line : lines(finished.errors)) {
        const bool harmless = trimmed(line).empty() || line.find("Permission denied (13)") != std::string_view::npos ||
                              line.starts_with("rsync error: some files") ||
                              line.find("skipping file deletion") != std::string_view::npos;
        if (!harmless)
            return false;
    }
    return true;
}

RsyncRun rsyncRun(const SyncRequest &request, const fs::path &list) {
    RsyncRun run{.rsync = request.rsync, .rsh = request.rsh};
    // Real folders and the links to them are listed one by one, so no --keep-dirlinks is needed to keep /lib ->
    // usr/lib: with it a board could write through a link to wherever that leads on this computer. No --safe-links: it
    // drops absolute links without a word. No -L: it copies a link to "." forty levels deep.
    run.arguments = {"--recursive",
                     "--links",
                     "--perms",
                     "--times",
                     "--relative",
                     "--no-specials",
                     "--no-devices",
                     "--delete",
                     "--partial",
                     "--from0",
                     "--files-from=" + list.string(),
                     "--chmod=Du+rwx,Fu+rw,ug-s",
                     "--info=progress2",
                     "--no-inc-recursive",
                     "--outbuf=L"};
    for (const char *path : leftOut)
        run.arguments.push_back(fmt::format("--exclude={}", path));
    run.arguments.emplace_back("board:/");
    run.arguments.push_back(request.path.string() + "/");
    return run;
}

Result<void> copy(Session &session, const SyncRequest &request, const fs::path &list, Progress &progress) {
    auto step = progress.step("copy libraries and headers from the board", 0, Event::Unit::bytes);
    std::uint64_t moved = 0;
    int percent = 0;
    const auto follow = [&](std::string_view line) {
        const auto now = parseProgress(line);
        if (!now)
            return;
        moved = now->bytes;
        if (now->percent > percent) {
            percent = now->percent;
            step.setTotal(now->bytes / std::uint64_t(percent) * 100);
        }
        step.at(moved);
    };
    const auto finished = TRY(runRsync(session, rsyncRun(request, list), follow, progress));
    if (finished.exitCode != 0 && !onlyUnreadable(finished))
        return std::unexpected(rsyncFailed(finished));
    if (finished.exitCode != 0)
        progress.warn(fmt::format("{} files that this login may not read were left out",
                                  std::max<std::size_t>(lines(finished.errors).size(), 2) - 1));
    step.done(fmt::format("{} transferred", formatBytes(moved)));
    return {};
}

Result<void> measure(Sysroot &sysroot, Progress &progress) {
    std::error_code error;
    for (fs::recursive_directory_iterator entry(sysroot.path, fs::directory_options::skip_permission_denied, error);
         entry != fs::end(entry); entry.increment(error)) {
        TRY(progress.checkpoint());
        std::error_code ignored;
        if (!fs::is_regular_file(entry->symlink_status(ignored)))
            continue;
        ++sysroot.files;
        sysroot.bytes += entry->file_size(ignored);
    }
    return {};
}

Json stampOf(const Sysroot &sysroot) {
    return Json{{"format", 1},
                {"device", sysroot.device},
                {"target", sysroot.target},
                {"machine_id", sysroot.machineId},
                {"l4t", sysroot.l4t},
                {"glibc", sysroot.glibc},
                {"cuda_toolkit", sysroot.cudaToolkit},
                {"synced_at", sysroot.syncedAt},
                {"bytes", sysroot.bytes},
                {"files", sysroot.files}};
}

/// A folder that holds something else must not become a sysroot: `--delete` would empty its lib/ and usr/.
Result<void> prepare(const fs::path &path) {
    std::error_code error;
    const bool ours = fs::exists(path / stampName, error) || fs::exists(path / workName, error);
    if (fs::exists(path, error) && !ours && !fs::is_empty(path, error))
        return std::unexpected(
            Error{.message = fmt::format("{} holds files that are no sysroot of Slipway", path.string()),
                  .hint = "choose an empty or a new folder"});
    TRY(writeFileAtomically(path / workName, "a sync began here and has not ended\n"));
    fs::remove(path / stampName, error);
    return {};
}

} // namespace

Result<Sysroot> syncSysroot(Session &session, const SyncRequest &request, Progress &progress) {
    if (request.target.sysrootFolders.empty())
        return fail("the target {} names no folders for a sysroot", request.target.id);
    if (request.facts.tools && !request.facts.tools->contains("rsync"))
        return std::unexpected(rsyncFailed({.exitCode = 127}));
    auto step = progress.step(fmt::format("sync the sysroot of {}", request.device));
    const auto paths = TRY(pathsOnBoard(session, request.target.sysrootFolders, progress));
    if (paths.empty())
        return fail("the board has none of the folders of {}: {}", request.target.id,
                    fmt::join(request.target.sysrootFolders, " "));
    TRY(prepare(request.path));
    std::error_code ignored;
    const auto scratch = TRY(ScratchDir::in(fs::temp_directory_path(ignored)));
    const auto list = scratch.path() / "files";
    TRY(writeFileAtomically(list, filesFrom(paths)));
    TRY(copy(session, request, list, progress));
    {
        auto repair = progress.step("repair links and linker scripts");
        const auto links = TRY(makeLinksRelative(request.path, progress));
        const auto scripts = TRY(repairLinkerScripts(request.path, progress));
        repair.done(fmt::format("{} links, {} scripts", links, scripts));
    }
    Sysroot sysroot{.path = request.path,
                    .device = request.device,
                    .target = request.target.id,
                    .machineId = request.facts.machineId.value_or(""),
                    .l4t = request.facts.l4t.value_or(""),
                    .glibc = request.facts.glibc.value_or(""),
                    .cudaToolkit = request.facts.cudaToolkit.value_or(""),
                    .syncedAt = long(std::time(nullptr))};
    TRY(measure(sysroot, progress));
    TRY(progress.checkpoint());
    TRY(writeJsonFile(request.path / stampName, stampOf(sysroot)));
    fs::remove(request.path / workName, ignored);
    step.done(fmt::format("{} files, {}", sysroot.files, formatBytes(sysroot.bytes)));
    return sysroot;
}

Result<Sysroot> openSysroot(const fs::path &path) {
    std::error_code error;
    if (!fs::is_directory(path, error))
        return fail("there is no sysroot at {}", path.string());
    if (fs::exists(path / workName, error))
        return std::unexpected(
            Error{.message = fmt::format("the sync of the sysroot {} was interrupted", path.string()),
                  .hint = "run it again: it goes on where it stopped"});
    if (!fs::exists(path / stampName, error))
        return fail("{} is not a sysroot (it has no {})", path.string(), stampName);
    const auto what = (path / stampName).string();
    const auto json = TRY(readJsonFile(path / stampName));
    Sysroot sysroot{.path = path};
    sysroot.device = TRY(member<std::string>(json, "device", {}, what));
    sysroot.target = TRY(required<std::string>(json, "target", what));
    sysroot.machineId = TRY(member<std::string>(json, "machine_id", {}, what));
    sysroot.l4t = TRY(member<std::string>(json, "l4t", {}, what));
    sysroot.glibc = TRY(member<std::string>(json, "glibc", {}, what));
    sysroot.cudaToolkit = TRY(member<std::string>(json, "cuda_toolkit", {}, what));
    sysroot.syncedAt = long(TRY(member<std::uint64_t>(json, "synced_at", std::uint64_t(0), what)));
    sysroot.bytes = TRY(member<std::uint64_t>(json, "bytes", std::uint64_t(0), what));
    sysroot.files = TRY(member<std::uint64_t>(json, "files", std::uint64_t(0), what));
    return sysroot;
}

} // namespace slipway
