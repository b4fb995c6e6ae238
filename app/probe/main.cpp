// SPDX-License-Identifier: Apache-2.0
//
// slipway-probe: asks a board's CUDA driver what it is and whether it takes the kernels we ship. It runs on the board,
// needs nothing there but libc, and writes nothing.

#include "verbs.h"

#include <csignal>

namespace {

using namespace slipway::probe;

constexpr std::string_view usage =
    R"(usage: slipway-probe facts [--timeout S]            the driver and its GPUs, as one JSON document
       slipway-probe load [--timeout S] PATH...      load kernel images; folders: their *.o, *.cubin, *.ptx, *.fatbin
       slipway-probe --version | --help
--timeout: seconds until a driver that says nothing counts as hung (facts 20; load 120 for each image)
exit status: 0 all ok; 1 an image was refused; 2 usage; 3 no usable driver
)";

int complain(std::string_view text, std::string_view about) {
    writeAll(2, Text("slipway-probe: ").append(text).append(about).append('\n'));
    return usageError;
}

/// Takes `--timeout S` out of the arguments; false after a complaint.
bool takeTimeout(int &count, const char **arguments, long &seconds) {
    int kept = 0;
    for (int i = 0; i < count; ++i) {
        const std::string_view word = arguments[i];
        if (word != "--timeout") {
            if (startsWith(word, "--"))
                return complain("unknown option ", word) == 0;
            arguments[kept++] = arguments[i];
            continue;
        }
        seconds = i + 1 < count ? wholeNumber(arguments[++i]) : -1;
        if (seconds < 1 || seconds > 86400)
            return complain("--timeout needs seconds, a whole number from 1 to 86400", "") == 0;
    }
    count = kept;
    return true;
}

} // namespace

int main(int argc, const char **argv) {
    ::signal(SIGPIPE, SIG_IGN);
    const std::string_view verb = argc > 1 ? argv[1] : "";
    int count = argc > 2 ? argc - 2 : 0;
    const char **arguments = argv + 2;
    if (verb == "--version" || verb == "--help") {
        writeAll(1, verb == "--help" ? usage : "slipway-probe " SLIPWAY_VERSION "\n");
        return allOk;
    }
    if (verb != "facts" && verb != "load") {
        writeAll(2, usage);
        return usageError;
    }
    long seconds = verb == "facts" ? 20 : 120;
    if (!takeTimeout(count, arguments, seconds))
        return usageError;
    if (verb == "facts")
        return count == 0 ? facts(seconds) : complain("facts takes no argument, found ", arguments[0]);
    return count > 0 ? load(arguments, count, seconds) : complain("load needs a file or a folder", "");
}
