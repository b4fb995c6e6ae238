// SPDX-License-Identifier: Apache-2.0
//
// How much a sync would copy, asked of the board before anything is copied.

#include "core/sysroot/measure.h"

#include "core/base/text.h"

namespace slipway {

namespace {

/// Kilobytes that `du -sk` printed; 0 where it printed no sensible number.
std::uint64_t bytesIn(const std::string &output) {
    constexpr std::uint64_t most = std::uint64_t(1) << 50; // a petabyte of kilobytes is no disk of a board
    const auto kilobytes = parseNumber(output.substr(0, output.find_first_of("\t\n")));
    return kilobytes && std::uint64_t(*kilobytes) < most ? std::uint64_t(*kilobytes) * 1024 : 0;
}

} // namespace

Result<std::vector<SysrootFolder>> measureFolders(Session &session, const std::vector<std::string> &folders,
                                                  Progress &progress) {
    std::vector<SysrootFolder> measured;
    auto step = progress.step("measure the folders", folders.size(), Event::Unit::files);
    for (const auto &folder : folders) {
        SysrootFolder one{.path = folder};
        one.present = TRY(session.run({"test", "-d", folder}, progress)).exitCode == 0;
        if (one.present) // the folder itself may be a link (/lib); links below it are copied as links
            one.bytes = bytesIn(TRY(session.run({"du", "-skxH", folder}, progress)).output);
        measured.push_back(std::move(one));
        step.advance();
    }
    step.done();
    return measured;
}

} // namespace slipway
