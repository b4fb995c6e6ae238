// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 through Qt, so that the engine brings no cryptography of its own.

#include "core/base/digest.h"

#include <QCryptographicHash>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

namespace slipway {

std::string sha256(std::string_view bytes) {
    return QCryptographicHash::hash(QByteArray::fromRawData(bytes.data(), qsizetype(bytes.size())),
                                    QCryptographicHash::Sha256)
        .toHex()
        .toStdString();
}

Result<std::string> sha256OfFile(const std::filesystem::path &file, Progress &progress) {
    std::ifstream in(file, std::ios::binary);
    if (!in)
        return fail("cannot read {}: {}", file.string(), std::strerror(errno));
    QCryptographicHash hash(QCryptographicHash::Sha256);
    std::vector<char> block(1 << 20);
    while (in) {
        TRY(progress.checkpoint());
        in.read(block.data(), std::streamsize(block.size()));
        hash.addData(QByteArray::fromRawData(block.data(), qsizetype(in.gcount())));
    }
    if (in.bad())
        return fail("cannot read {}: {}", file.string(), std::strerror(errno));
    return hash.result().toHex().toStdString();
}

} // namespace slipway
