// SPDX-License-Identifier: Apache-2.0
//
// Which folder on a board a command is about, when the user did not say.

#include "core/deploy/destination.h"

#include "core/base/text.h"

namespace slipway {

Result<std::vector<std::string>> findDestinations(Session &session, Progress &progress) {
    constexpr const char *script = R"(for d in /opt/*/.slipway "$HOME"/*/.slipway; do [ -d "$d" ] && echo "${d%/.slipway}"; done; :)";
    const auto listed = TRY(session.check({"sh", "-c", script}, progress));
    std::vector<std::string> found;
    for (const auto line : lines(listed.output))
        found.emplace_back(line);
    return found;
}

Result<std::string> chooseDestination(Session &session, const std::string &typed, Progress &progress) {
    if (!typed.empty())
        return typed;
    const auto found = TRY(findDestinations(session, progress));
    if (found.empty())
        return std::unexpected(Error{.message = "nothing was deployed to this board yet (looked in /opt and the home directory)",
                                     .hint = "slipway ship PROJECT --device NAME, or name the folder with --dest"});
    if (found.size() > 1)
        return failAs(ErrorKind::usage, "there is more than one program on this board: say which with --dest ({})", fmt::join(found, ", "));
    return found.front();
}

} // namespace slipway
