// SPDX-License-Identifier: Apache-2.0
//
// Reads what is below DEST on a board: releases, which one is live, which were good, and the log.

#include "core/deploy/board.h"

#include "core/base/text.h"
#include "core/deploy/scripts.h"

#include <algorithm>

namespace slipway {

std::string LogEntry::line() const {
    Json json{{"time", time},     {"by", by},       {"release", release}, {"name", name},
              {"commit", commit}, {"dirty", dirty}, {"bytes", bytes},     {"outcome", outcome}};
    if (!reason.empty())
        json["reason"] = reason;
    if (!allowed.empty())
        json["allowed"] = allowed;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<LogEntry> LogEntry::fromLine(std::string_view line) {
    const auto json = parseJson(line, "log.jsonl", 8);
    if (!json || !json->is_object())
        return std::nullopt;
    const auto text = [&](const char *key) { return member<std::string>(*json, key, "", "log.jsonl").value_or(""); };
    LogEntry entry{.by = text("by"),
                   .release = text("release"),
                   .name = text("name"),
                   .commit = text("commit"),
                   .outcome = text("outcome"),
                   .reason = text("reason")};
    entry.time = long(member<std::uint64_t>(*json, "time", 0, "log.jsonl").value_or(0));
    entry.dirty = member<bool>(*json, "dirty", false, "log.jsonl").value_or(false);
    entry.bytes = member<std::uint64_t>(*json, "bytes", 0, "log.jsonl").value_or(0);
    entry.allowed =
        member<std::vector<std::string>>(*json, "allowed", {}, "log.jsonl").value_or(std::vector<std::string>());
    return entry;
}

bool isReleaseId(std::string_view id) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    };
    return !id.empty() && id.size() < 200 && id.front() != '.' && id.front() != '-' &&
           std::all_of(id.begin(), id.end(), plain);
}

int BoardState::rank(const std::string &id) const {
    for (auto at = log.rbegin(); at != log.rend(); ++at) {
        if (at->release == id && at->outcome == "live")
            return int(log.rend() - at);
    }
    return -1;
}

std::string BoardState::lastGood(const std::string &except) const {
    // A live release that never passed (an interrupted deploy) was not deployed yet: everything good comes before it.
    const int before = rank(live);
    std::string best;
    for (const auto &id : good) {
        const bool earlier = before < 0 || !good.contains(live) || except != live || rank(id) < before;
        if (id != except && releases.contains(id) && earlier && (best.empty() || rank(id) > rank(best)))
            best = id;
    }
    return best;
}

namespace {

/// The id of "releases/ID" or "/…/releases/ID"; empty for any other link.
std::string idOfLink(std::string_view link, std::string_view dest) {
    if (link.starts_with(dest) && link.substr(dest.size()).starts_with('/'))
        link.remove_prefix(dest.size() + 1);
    if (!link.starts_with("releases/"))
        return {};
    link.remove_prefix(9);
    return isReleaseId(link) ? std::string(link) : std::string();
}

} // namespace

BoardState parseBoard(std::string_view text) {
    BoardState state;
    std::string link;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const auto space = line.find(' ');
        const auto key = line.substr(0, space);
        const auto value = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
        if (key == "manifest" && value.empty()) {
            if (const auto json = parseJson(text, "manifest.json")) {
                if (auto manifest = Manifest::fromJson(*json, "manifest.json"))
                    state.manifest = std::move(*manifest);
            }
            break;
        }
        if (key == "dest")
            state.dest = value;
        else if (key == "current")
            link = value;
        else if (key == "foreign")
            state.foreign = true;
        else if (key == "log") {
            if (auto entry = LogEntry::fromLine(value))
                state.log.push_back(std::move(*entry));
        } else if (isReleaseId(value)) {
            if (key == "release")
                state.releases.emplace(value);
            else if (key == "partial")
                state.partials.emplace(value);
            else if (key == "good")
                state.good.emplace(value);
        }
    }
    state.live = idOfLink(link, state.dest);
    state.foreign = state.foreign || (!link.empty() && state.live.empty());
    if (!state.releases.contains(state.live))
        state.live.clear(); // a link that dangles is no release
    return state;
}

Result<BoardState> readBoard(Session &session, const std::string &dest, Progress &progress) {
    if (dest.empty())
        return failAs(ErrorKind::usage,
                      "no destination is named (\"deploy\": {{\"dest\": …}} in slipway.json, or --dest)");
    const bool fine = (dest.front() == '/' || dest == "~" || dest.starts_with("~/")) &&
                      dest.find('\n') == std::string::npos && dest.find('\0') == std::string::npos &&
                      trimmed(dest) == dest;
    std::string path = dest;
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    if (!fine || path == "/")
        return failAs(ErrorKind::usage,
                      "found \"{}\" as the destination, needed an absolute directory on the board (or one below ~/)",
                      printable(dest));
    const auto finished =
        TRY(checkScript(session, script::state, {path}, fmt::format("cannot look at {} on the board", path), progress));
    auto state = parseBoard(finished.output);
    if (state.dest.empty() || state.dest.front() != '/')
        return std::unexpected(Error{.message = "the board's shell printed something else than its answer",
                                     .hint = "see the check remote-shell of slipway preflight",
                                     .detail = printable(finished.output)});
    return state;
}

} // namespace slipway
