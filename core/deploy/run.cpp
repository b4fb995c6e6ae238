// SPDX-License-Identifier: Apache-2.0
//
// Running the live release's program on the board, its log, and its end.

#include "core/base/text.h"
#include "core/deploy/board.h"
#include "core/deploy/deployment.h"
#include "core/deploy/scripts.h"

namespace slipway {

namespace {

/// Passes whole lines on as bytes come.
class LinesOf {
public:
    explicit LinesOf(const LineSink &sink)
        : m_sink(sink) {}
    void add(std::string_view bytes) {
        m_rest += bytes;
        std::size_t from = 0;
        for (auto end = m_rest.find('\n'); end != std::string::npos; end = m_rest.find('\n', from)) {
            if (m_sink)
                m_sink(std::string_view(m_rest).substr(from, end - from));
            from = end + 1;
        }
        m_rest.erase(0, from);
    }
    void finish() {
        if (m_sink && !m_rest.empty())
            m_sink(m_rest);
        m_rest.clear();
    }

private:
    const LineSink &m_sink;
    std::string m_rest;
};

/// conf/env of the live release; none is fine.
Result<std::map<std::string, std::string>> liveEnvironment(Session &session, const std::string &release,
                                                           Progress &progress) {
    const auto text = TRY(session.run({"cat", release + "/conf/env"}, progress));
    if (text.exitCode != 0)
        return std::map<std::string, std::string>();
    return TRY_IN(parseEnvFile(text.output), "conf/env of the live release");
}

Error alreadyRuns(const Finished &finished) {
    return {.message = fmt::format("the release is running already: {}", printable(trimmed(finished.errors))),
            .hint = "slipway stop ends it"};
}

} // namespace

Result<int> runRelease(Session &session, const RunRequest &request, const LineSink &output, const LineSink &errors,
                       Progress &progress) {
    const auto state = TRY(readBoard(session, request.dest, progress));
    if (state.live.empty())
        return std::unexpected(Error{.message = fmt::format("no release is live in {} on the board", state.dest),
                                     .hint = "slipway ship or slipway deploy first"});
    const auto command = state.manifest ? state.manifest->run : std::string();
    if (command.empty())
        return std::unexpected(Error{.message = fmt::format("{} does not say what to run", state.live),
                                     .hint = "\"run\": {\"command\": \"bin/NAME\"} in slipway.json, then ship again"});
    const auto release = state.dest + "/releases/" + state.live;
    std::vector<std::string> words{"sh", "-c", scriptText(script::runLogged), "slipway", state.dest, release, command};
    for (auto &word : environmentWords(TRY(liveEnvironment(session, release, progress)), release))
        words.push_back(std::move(word));
    words.insert(words.end(), request.arguments.begin(), request.arguments.end());
    LinesOf out(output);
    LinesOf err(errors);
    std::string complaint;
    RemoteCommand remote{.line = shellJoin(words)};
    remote.output = [&](std::string_view bytes) { out.add(bytes); };
    remote.errors = [&](std::string_view bytes) {
        if (complaint.size() < 4096)
            complaint += bytes;
        err.add(bytes);
    };
    const auto finished = TRY(session.execute(remote, progress));
    out.finish();
    err.finish();
    if (finished.exitCode == 75 && complaint.starts_with("it runs already"))
        return std::unexpected(alreadyRuns({.errors = complaint}));
    return finished.exitCode;
}

Result<std::string> releaseLogs(Session &session, const std::string &dest, int count, Progress &progress) {
    const auto state = TRY(readBoard(session, dest, progress));
    return TRY(checkScript(session, script::logs, {state.dest, std::to_string(std::max(count, 0))},
                           "cannot read the log", progress))
        .output;
}

Result<bool> stopRelease(Session &session, const std::string &dest, Progress &progress) {
    const auto state = TRY(readBoard(session, dest, progress));
    const auto finished = TRY(checkScript(session, script::stop, {state.dest}, "cannot stop the program", progress));
    return trimmed(finished.output) == "stopped";
}

} // namespace slipway
