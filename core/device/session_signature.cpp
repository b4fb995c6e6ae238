// SPDX-License-Identifier: Apache-2.0
//
// Which signature a key makes. An RSA key can make three kinds; the library takes SHA-512 whenever the server lists it and the
// user allows it, while ssh goes by the user's order. So the library is allowed one at a time.

#include "core/device/sessionparts.h"

#include "core/base/text.h"

#include <libssh/libssh.h>

#include <algorithm>

namespace slipway {

namespace {

constexpr std::string_view certificateEnd = "-cert-v01@openssh.com";

bool isRsa(std::string_view algorithm) {
    return algorithm.starts_with("rsa-sha2-") || algorithm.starts_with("ssh-rsa");
}

/// PubkeyAcceptedAlgorithms once for each RSA signature in it, with that one only. A certificate's goes with the plain one: the
/// library derives the hash of both from the plain name.
std::vector<std::string> oneSignatureEach(const std::string &accepted) {
    std::vector<std::string_view> signatures;
    std::string others;
    for (const auto name : split(accepted, ',')) {
        if (!isRsa(name)) {
            others += std::string(name) + ",";
            continue;
        }
        const auto signature = name.substr(0, name.find(certificateEnd));
        if (std::ranges::find(signatures, signature) == signatures.end())
            signatures.push_back(signature);
    }
    std::vector<std::string> lists;
    for (const auto signature : signatures)
        lists.push_back(fmt::format("{}{},{}{}", others, signature, signature, certificateEnd));
    return lists;
}

/// Did the library refuse the key by itself, before it asked the server?
bool wasNotAsked(const Attempt &attempt) {
    return attempt.link.lastError().find("is not allowed ") != std::string::npos;
}

/// Why the key was not offered at all.
std::string whyNot(Attempt &attempt, std::string_view type) {
    if (attempt.link.lastError().find("RSA_MIN_SIZE") != std::string::npos)
        return " (shorter than your RequiredRSASize)";
    if (!isRsa(type) || attempt.link.settings.keyAlgorithms.find("rsa-sha2-") == std::string::npos)
        return " (not among your PubkeyAcceptedAlgorithms)";
    attempt.sha1Only = true;
    return " (RSA, of which the server takes SHA-1 signatures only)";
}

} // namespace

Result<int> offerInTurn(Attempt &attempt, std::string_view type, bool insist, const std::function<Result<int>()> &offer) {
    const auto &accepted = attempt.link.settings.keyAlgorithms;
    auto lists = isRsa(type) ? oneSignatureEach(accepted) : std::vector<std::string>();
    if (lists.empty())
        lists.push_back(accepted);
    bool asked = false;
    int result = SSH_AUTH_DENIED;
    for (const auto &list : lists) {
        if (result != SSH_AUTH_DENIED || !attempt.link.alive() || (asked && !insist))
            break;
        if (!list.empty())
            ssh_options_set(attempt.session(), SSH_OPTIONS_PUBLICKEY_ACCEPTED_TYPES, list.c_str());
        result = TRY(offer());
        asked = asked || result != SSH_AUTH_DENIED || !wasNotAsked(attempt);
    }
    if (!asked)
        attempt.tried.back() += whyNot(attempt, type);
    return result;
}

} // namespace slipway
