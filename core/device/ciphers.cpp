// SPDX-License-Identifier: Apache-2.0
//
// Which cipher a session asks for. Both lists hold the same names: a server that lacks one takes the next.

#include "core/device/ciphers.h"

#include "core/base/files.h"
#include "core/base/text.h"

namespace slipway {

namespace {

constexpr const char *aesFirst = "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr";
constexpr const char *chachaFirst = "chacha20-poly1305@openssh.com,aes128-gcm@openssh.com,aes256-gcm@openssh.com,aes256-ctr,aes192-ctr,aes128-ctr";

} // namespace

CipherOrder cipherOrder(bool aesHere, bool aesThere) {
    const char *order = aesHere && aesThere ? aesFirst : chachaFirst;
    return {.up = order, .down = order};
}

bool hasAesInstructions() {
    const auto text = readFile("/proc/cpuinfo", 4 << 20).value_or("");
    for (const auto line : lines(text))
        if (line.starts_with("flags") || line.starts_with("Features"))
            return (std::string(line) + " ").find(" aes ") != std::string::npos;
    return false;
}

} // namespace slipway
