// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace slipway {

/// A password or passphrase: in memory only, locked against swapping, wiped when the last copy goes. Prints as nothing.
class Secret {
public:
    Secret() = default;
    explicit Secret(std::string_view text);
    [[nodiscard]] bool empty() const { return !m_bytes; }
    /// Zero-terminated, for the SSH library.
    [[nodiscard]] const char *reveal() const;

private:
    std::shared_ptr<char[]> m_bytes;
};

} // namespace slipway
