// SPDX-License-Identifier: Apache-2.0
//
// The user's ssh configuration as ssh itself understands it: OpenSSH is asked (`ssh -G`) instead of parsing its language
// once more.

#include "core/device/sshconfig.h"

#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"

#include <algorithm>
#include <glob.h>
#include <pwd.h>
#include <set>
#include <unistd.h>

namespace slipway {

namespace {

constexpr std::chrono::milliseconds answerTime{10000}; // a `Match exec` of the user's may look something up

/// What `ssh -G` lists when no IdentityFile is configured (OpenSSH 8 to 10).
bool isUsualIdentity(const std::string &file) {
    static const std::set<std::string> usual = {"~/.ssh/id_rsa",     "~/.ssh/id_ecdsa",      "~/.ssh/id_ecdsa_sk",
                                                "~/.ssh/id_ed25519", "~/.ssh/id_ed25519_sk", "~/.ssh/id_xmss",
                                                "~/.ssh/id_dsa"};
    return usual.contains(file);
}

std::string localUser() {
    const passwd *user = ::getpwuid(::getuid());
    return user ? user->pw_name : "";
}

/// The tokens of ssh_config(5) that a key's name may have.
std::string withTokens(const std::string &text, const SshSettings &settings, const fs::path &home,
                       const std::string &typed) {
    const std::string source = text.starts_with("~/") ? (home / text.substr(2)).string() : text;
    std::string expanded;
    for (std::size_t i = 0; i < source.size(); ++i) {
        if (source[i] != '%' || i + 1 == source.size()) {
            expanded += source[i];
            continue;
        }
        switch (source[++i]) {
        case 'd': expanded += home.string(); break;
        case 'h': expanded += settings.host; break;
        case 'n': expanded += typed; break;
        case 'p': expanded += std::to_string(settings.port); break;
        case 'r': expanded += settings.user; break;
        case 'u': expanded += localUser(); break;
        default: expanded += source[i]; break;
        }
    }
    return expanded;
}

void hostsOf(const fs::path &file, const fs::path &home, int depth, std::vector<std::string> &names);

void included(std::string_view pattern, const fs::path &home, int depth, std::vector<std::string> &names) {
    std::string path(pattern);
    if (path.starts_with("~/"))
        path = (home / path.substr(2)).string();
    else if (!path.starts_with('/'))
        path = (home / ".ssh" / path).string();
    glob_t found{};
    if (::glob(path.c_str(), 0, nullptr, &found) == 0)
        for (std::size_t i = 0; i < found.gl_pathc && i < 100; ++i)
            hostsOf(found.gl_pathv[i], home, depth + 1, names);
    ::globfree(&found);
}

void hostsOf(const fs::path &file, const fs::path &home, int depth, std::vector<std::string> &names) {
    const auto text = depth < 8 ? readFile(file, 1 << 20).value_or("") : std::string();
    for (const auto raw : lines(text)) {
        std::string line(trimmed(raw));
        std::ranges::replace(line, '\t', ' ');
        std::ranges::replace(line, '=', ' ');
        const auto words = split(line, ' ');
        if (words.empty())
            continue;
        std::string key(words.front());
        std::ranges::transform(key, key.begin(), [](unsigned char c) { return char(std::tolower(c)); });
        for (std::size_t i = 1; i < words.size() && (key == "host" || key == "include"); ++i) {
            if (words[i].empty())
                continue;
            if (key == "include")
                included(words[i], home, depth, names);
            else if (words[i].find_first_of("*?!\"") == std::string_view::npos &&
                     std::ranges::find(names, words[i]) == names.end() && names.size() < 1000)
                names.emplace_back(words[i]);
        }
    }
}

} // namespace

SshSettings parseSshSettings(std::string_view text, const fs::path &home, const std::string &host) {
    SshSettings settings{.host = host};
    std::vector<std::string> identities;
    std::vector<std::string> certificates;
    for (const auto line : lines(text)) {
        const auto blank = line.find(' ');
        if (blank == std::string_view::npos)
            continue;
        const auto key = line.substr(0, blank);
        const std::string value(trimmed(line.substr(blank + 1)));
        if (key == "hostname")
            settings.host = value;
        else if (key == "user")
            settings.user = value;
        else if (key == "port")
            settings.port = int(parseNumber(value).value_or(22));
        else if (key == "identityfile")
            identities.push_back(value);
        else if (key == "certificatefile" && value != "none")
            certificates.push_back(value);
        else if (key == "identitiesonly")
            settings.identitiesOnly = value == "yes";
        else if (key == "identityagent" && value != "SSH_AUTH_SOCK")
            settings.agent = value;
        else if (key == "proxycommand" && value != "none")
            settings.proxyCommand = value;
        else if (key == "hostkeyalias" && value != "none")
            settings.hostKeyAlias = value;
        else if (key == "pubkeyacceptedalgorithms" || key == "pubkeyacceptedkeytypes") // the second before OpenSSH 8.5
            settings.keyAlgorithms = value;
        else if (key == "requiredrsasize")
            settings.leastRsaBits = int(parseNumber(value).value_or(0));
        else if (key == "proxyjump" && value != "none")
            for (const auto hop : split(value, ','))
                settings.jumps.emplace_back(trimmed(hop));
    }
    if (!std::ranges::all_of(identities, isUsualIdentity))
        for (const auto &file : identities)
            if (file != "none")
                settings.identities.emplace_back(withTokens(file, settings, home, host));
    for (const auto &file : certificates)
        settings.certificates.emplace_back(withTokens(file, settings, home, host));
    if (settings.agent.starts_with("~/") || settings.agent.find('%') != std::string::npos)
        settings.agent = withTokens(settings.agent, settings, home, host);
    return settings;
}

Result<std::optional<SshSettings>> readSshSettings(const Login &login, const fs::path &home, Progress &progress) {
    const auto ssh = findProgram("ssh");
    if (!ssh)
        return std::nullopt;
    Command command{.program = ssh->string(), .arguments = {"-o", "IgnoreUnknown=*", "-G"}, .timeout = answerTime};
    auto &words = command.arguments;
    std::error_code ignored;
    if (!login.configFile.empty() || !login.home.empty()) { // else ssh's own two files
        const auto file = login.configFile.empty() ? home / ".ssh/config" : login.configFile;
        words.insert(words.end(), {"-F", fs::exists(file, ignored) ? file.string() : "none"});
    }
    if (!login.device.user.empty())
        words.insert(words.end(), {"-l", login.device.user});
    if (login.device.port > 0)
        words.insert(words.end(), {"-p", std::to_string(login.device.port)});
    words.insert(words.end(), {"--", login.device.host});
    const auto finished = TRY(run(command, progress));
    if (finished.exitCode != 0)
        return std::unexpected(
            Error{.message = fmt::format("ssh cannot use its configuration for {}: {}", printable(login.device.host),
                                         printable(trimmed(tailLines(finished.errors, 2)), 300)),
                  .hint = fmt::format("try it: ssh -G {}", printable(login.device.host))});
    return parseSshSettings(finished.output, home, login.device.host);
}

std::vector<std::string> sshConfigHosts(const fs::path &file, const fs::path &home) {
    std::vector<std::string> names;
    hostsOf(file, home, 0, names);
    return names;
}

} // namespace slipway
