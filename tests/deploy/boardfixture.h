// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/digest.h"
#include "core/deploy/board.h"
#include "core/deploy/deploy.h"
#include "tests/deploy/localsession.h"

#include <QTemporaryDir>

#include <sys/stat.h>

namespace slipway {

/// A board in a temporary directory, and packages to deploy to it.
class BoardFixture {
public:
    LocalSession session;
    DeployOptions options{.confirm = std::chrono::seconds(0), .by = "tester@host"};
    Progress progress;

    [[nodiscard]] fs::path root() const { return m_dir.path().toStdString(); }
    [[nodiscard]] std::string dest() const { return (root() / "opt/app").string(); }
    [[nodiscard]] fs::path at(const std::string &path) const { return fs::path(dest()) / path; }

    /// A package with these files: "bin/…" is executable. `health` and `run` as the manifest says them.
    [[nodiscard]] Package package(const std::map<std::string, std::string> &files, const std::string &health = {},
                                  const std::string &run = "bin/app") {
        Package made{.directory = root() / fmt::format("package{}", ++m_packages)};
        made.manifest.name = "app";
        made.manifest.target = "generic-x86_64";
        made.manifest.run = run;
        made.manifest.health = health;
        made.manifest.dest = dest();
        for (const auto &[path, text] : files) {
            const unsigned mode = path.starts_with("bin/") ? 0755 : 0644;
            (void)writeFileAtomically(made.directory / path, text, mode);
            made.manifest.files.push_back({.path = path, .size = text.size(), .mode = mode, .sha256 = sha256(text)});
            if (path == "conf/env")
                made.env = parseEnvFile(text).value();
        }
        (void)writeFileAtomically(made.directory / "conf/manifest.json", jsonText(made.manifest.toJson()));
        return made;
    }

    /// Plans and deploys.
    Result<DeployOutcome> ship(const Package &package) {
        const auto plan = TRY(planDeploy(session, package, {}, progress));
        return deploy(session, plan, options, progress);
    }
    /// What `current/PATH` holds; "" when there is none.
    [[nodiscard]] std::string live(const std::string &path) const {
        return readFile(at("current/" + path)).value_or("");
    }
    [[nodiscard]] std::string liveId() const {
        std::error_code none;
        return fs::read_symlink(at("current"), none).filename().string();
    }
    [[nodiscard]] std::vector<std::string> releases() const {
        std::vector<std::string> names;
        std::error_code none;
        for (const auto &entry : fs::directory_iterator(at("releases"), none))
            names.push_back(entry.path().filename().string());
        std::sort(names.begin(), names.end());
        return names;
    }
    /// A program in a directory that comes first in the board's PATH.
    void fakeTool(const std::string &name, const std::string &script) {
        (void)writeFileAtomically(root() / "tools" / name, "#!/bin/sh\n" + script, 0755);
        session.board().environment["PATH"] = (root() / "tools").string() + ":/usr/bin:/bin";
    }
    void realTools() { session.board().environment.erase("PATH"); }

private:
    QTemporaryDir m_dir;
    int m_packages = 0;
};

} // namespace slipway
