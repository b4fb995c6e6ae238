// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace slipway {

/// Names of ciphers for each direction, the wanted one first, as SSH lists them.
struct CipherOrder {
    std::string up;   ///< from here to the board
    std::string down; ///< from the board to here
};

/// The faster of AES-GCM and ChaCha20 for two machines, by whether their processors have AES instructions: without them, on
/// either side, AES is several times slower than ChaCha20.
[[nodiscard]] CipherOrder cipherOrder(bool aesHere, bool aesThere);

/// Has this machine's processor AES instructions?
[[nodiscard]] bool hasAesInstructions();

} // namespace slipway
