// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/device/session.h"

namespace slipway {

/// A Session without a network: answers by rules, records what was asked. The first rule whose `contains` occurs in the
/// command's line answers; without one the command ends with status 127, as an unknown command does.
class FakeSession final : public Session {
public:
    struct Rule {
        std::string contains;
        std::function<Result<Finished>(const RemoteCommand &, const std::string &input)> answer;
    };
    struct Call {
        std::string line;
        std::string input; ///< everything that was sent to stdin
    };

    std::vector<Rule> rules;
    std::vector<Call> calls;
    std::string hostKey = "SHA256:fake";
    int connections = 1; ///< with those that `again` opened

    /// Answers lines that contain `contains` with this.
    void on(std::string contains, int exitCode, std::string output = {}, std::string errors = {}) {
        rules.push_back({std::move(contains), [=](const RemoteCommand &, const std::string &) -> Result<Finished> {
                             return Finished{.exitCode = exitCode, .output = output, .errors = errors};
                         }});
    }
    /// The connection drops at lines that contain `contains`.
    void loseAt(std::string contains) {
        rules.push_back({std::move(contains), [](const RemoteCommand &, const std::string &) -> Result<Finished> {
                             return failAs(ErrorKind::unreachable, "the connection to fake was lost: closed");
                         }});
    }
    [[nodiscard]] bool wasAsked(std::string_view contains) const {
        for (const auto &call : calls)
            if (call.line.find(contains) != std::string::npos)
                return true;
        return false;
    }

    Result<Finished> execute(const RemoteCommand &command, Progress &progress) override {
        TRY(progress.checkpoint());
        auto input = command.input;
        std::string block(64 * 1024, '\0');
        while (command.source) {
            const auto count = TRY(command.source(std::span(block.data(), block.size())));
            if (count == 0)
                break;
            input.append(block, 0, count);
        }
        calls.push_back({command.line, input});
        for (const auto &rule : rules) {
            if (command.line.find(rule.contains) == std::string::npos)
                continue;
            auto finished = TRY(rule.answer(command, input));
            if (command.output)
                command.output(std::exchange(finished.output, {}));
            if (command.errors)
                command.errors(std::exchange(finished.errors, {}));
            return finished;
        }
        return Finished{.exitCode = 127, .errors = "sh: not found\n"};
    }
    [[nodiscard]] std::string fingerprint() const override { return hostKey; }
    /// A view of the same double: calls and rules are shared.
    Result<std::unique_ptr<Session>> again(Progress &) override {
        ++connections;
        return std::make_unique<Shared>(*this);
    }

private:
    class Shared final : public Session {
    public:
        explicit Shared(FakeSession &owner)
            : m_owner(owner) {}
        Result<Finished> execute(const RemoteCommand &command, Progress &progress) override {
            return m_owner.execute(command, progress);
        }
        [[nodiscard]] std::string fingerprint() const override { return m_owner.hostKey; }
        Result<std::unique_ptr<Session>> again(Progress &progress) override { return m_owner.again(progress); }

    private:
        FakeSession &m_owner;
    };
};

} // namespace slipway
