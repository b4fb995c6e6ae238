// SPDX-License-Identifier: Apache-2.0
//
// Speaks the ssh-agent protocol (draft-miller-ssh-agent) as far as a list of keys goes; everything else is passed on.

#include "core/device/agentview.h"

#include "core/base/text.h"

#include <QByteArray>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace slipway {

using namespace std::chrono;

namespace {

constexpr std::size_t longestMessage = 256 * 1024; ///< OpenSSH's own limit
constexpr char requestIdentities = 11;
constexpr char identitiesAnswer = 12;
constexpr char signRequest = 13;
constexpr std::size_t signWithSha256 = 2;
constexpr std::size_t signWithSha512 = 4;
constexpr auto answerTime = 5s;

std::string number(std::size_t value) {
    return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

std::size_t numberAt(std::string_view bytes) {
    std::size_t value = 0;
    for (int i = 0; i < 4; ++i)
        value = value << 8 | static_cast<unsigned char>(bytes[std::size_t(i)]);
    return value;
}

/// One message, waited for until `givesUp` says so; empty = the end.
template <typename GivesUp> std::string readMessage(int descriptor, const GivesUp &givesUp) {
    std::string bytes;
    std::size_t wanted = 4;
    while (bytes.size() < wanted) {
        pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
        if (::poll(&entry, 1, 50) <= 0) {
            if (givesUp())
                return {};
            continue;
        }
        char block[4096];
        const auto count = ::recv(descriptor, block, std::min(sizeof(block), wanted - bytes.size()), MSG_DONTWAIT);
        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR))
            return {};
        bytes.append(block, std::size_t(std::max<ssize_t>(count, 0)));
        if (bytes.size() == 4 && wanted == 4) {
            wanted += numberAt(bytes);
            if (wanted > longestMessage + 4 || wanted == 4)
                return {};
        }
    }
    return bytes.substr(4);
}

bool writeMessage(int descriptor, const std::string &payload) {
    const auto bytes = number(payload.size()) + payload;
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const auto count = ::send(descriptor, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count <= 0 && errno != EINTR)
            return false;
        sent += std::size_t(std::max<ssize_t>(count, 0));
    }
    return true;
}

/// Takes a length-prefixed string from the front.
std::optional<std::string> takeString(std::string_view &bytes) {
    if (bytes.size() < 4 || numberAt(bytes) > bytes.size() - 4)
        return {};
    std::string text(bytes.substr(4, numberAt(bytes)));
    bytes.remove_prefix(4 + text.size());
    return text;
}

/// The library asks for SHA-512 wherever a server lists it, also when it announced SHA-256 to that server. What is signed says
/// what was announced: session id, a byte, user, service, method, a byte, algorithm, … (RFC 4252, 7).
std::string withAnnouncedHash(std::string request) {
    std::string_view rest(request);
    if (rest.front() != signRequest)
        return request;
    rest.remove_prefix(1);
    const auto key = takeString(rest);
    const auto content = key ? takeString(rest) : std::nullopt;
    if (!content || rest.size() != 4)
        return request;
    std::string_view signedText(*content);
    const auto skip = [&](int strings) {
        for (; strings > 0; --strings)
            (void)takeString(signedText);
        signedText.remove_prefix(std::min<std::size_t>(1, signedText.size()));
    };
    skip(1);
    skip(3);
    const auto algorithm = takeString(signedText).value_or("");
    const auto flags = algorithm.starts_with("rsa-sha2-512") ? signWithSha512 : algorithm.starts_with("rsa-sha2-256") ? signWithSha256 : 0;
    return request.replace(request.size() - 4, 4, number(flags)); // other kinds of key have no choice
}

} // namespace

Result<std::unique_ptr<AgentView>> AgentView::open(const fs::path &socket, Progress &progress) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.string().size() >= sizeof(address.sun_path))
        return fail("the SSH agent's socket {} has too long a name", printable(socket.string()));
    socket.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
    std::unique_ptr<AgentView> view(new AgentView);
    view->m_agent = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(view->m_agent.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0)
        return fail("no SSH agent answers at {}: {}", printable(socket.string()), std::strerror(errno));
    const auto deadline = steady_clock::now() + answerTime;
    writeMessage(view->m_agent.get(), {requestIdentities});
    const auto answer = readMessage(
        view->m_agent.get(), [&] { return progress.cancelled() || steady_clock::now() > deadline; });
    TRY(progress.checkpoint());
    if (answer.size() < 5 || answer.front() != identitiesAnswer)
        return fail("the SSH agent at {} does not list its keys", printable(socket.string()));
    std::string_view rest(answer);
    rest.remove_prefix(5);
    while (true) {
        auto blob = takeString(rest);
        auto comment = blob ? takeString(rest) : std::nullopt;
        if (!comment)
            return view;
        view->m_keys.push_back({std::move(*blob), std::move(*comment)});
    }
}

AgentView::~AgentView() {
    m_thread.request_stop();
}

void AgentView::prefer(const std::vector<std::string> &blobs, bool only) {
    const auto rank = [&](const Key &key) { return std::ranges::find(blobs, key.blob) - blobs.begin(); };
    std::ranges::stable_sort(m_keys, {}, rank);
    if (only)
        std::erase_if(m_keys, [&](const Key &key) { return rank(key) == std::ssize(blobs); });
}

void AgentView::show(std::size_t index) {
    const std::lock_guard lock(m_mutex);
    m_shown = index;
}

std::string AgentView::type(std::size_t index) const {
    std::string_view blob = m_keys[index].blob;
    return takeString(blob).value_or("");
}

std::string AgentView::shownKey() {
    const std::lock_guard lock(m_mutex);
    std::string answer(1, identitiesAnswer);
    answer += number(m_shown < m_keys.size() ? 1 : 0);
    if (m_shown < m_keys.size())
        for (const auto &part : {m_keys[m_shown].blob, m_keys[m_shown].comment})
            answer += number(part.size()) + part;
    return answer;
}

int AgentView::conversation() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    m_thread = std::jthread([this, end = ends[1]](const std::stop_token &stop) {
        serve(end, stop);
        ::close(end);
    });
    return ends[0];
}

void AgentView::serve(int library, const std::stop_token &stop) {
    const auto stopped = [&] { return stop.stop_requested(); };
    while (true) {
        const auto request = readMessage(library, stopped);
        if (request.empty())
            return;
        auto answer = shownKey();
        if (request.front() != requestIdentities) {
            if (!writeMessage(m_agent.get(), withAnnouncedHash(request)))
                return;
            answer = readMessage(m_agent.get(), stopped); // as long as a person needs to touch a key
            if (answer.empty())
                return;
        }
        if (!writeMessage(library, answer))
            return;
    }
}

std::string publicKeyBlob(std::string_view text) {
    const auto line = trimmed(lines(text).empty() ? std::string_view() : lines(text).front());
    const auto words = split(line, ' ');
    const bool isKey = words.size() >= 2 && (words[0].find("ssh-") != std::string_view::npos || words[0].starts_with("ecdsa-"));
    if (!isKey)
        return {};
    return QByteArray::fromBase64(QByteArray(words[1].data(), qsizetype(words[1].size()))).toStdString();
}

} // namespace slipway
