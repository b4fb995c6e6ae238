// SPDX-License-Identifier: Apache-2.0
//
// ptxas: machine code beside the PTX, so that the board need not translate at the first load, and what the kernel
// costs.

#include "core/kernel/unit.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

/// The number before `unit` in a line such as "Used 17 registers, used 0 barriers, 360 bytes cmem[0]".
int numberBefore(std::string_view line, std::string_view unit) {
    const auto at = line.find(unit);
    if (at == std::string_view::npos)
        return -1;
    auto begin = at;
    while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9')
        --begin;
    const auto number = parseNumber(line.substr(begin, at - begin));
    return number && *number < 1'000'000'000 ? int(*number) : -1;
}

/// Of several kernels in one image the largest counts.
void readResources(std::string_view output, KernelRecord &record) {
    for (const auto line : lines(output)) {
        record.registers = std::max(record.registers, numberBefore(line, " registers"));
        record.sharedBytes = std::max(record.sharedBytes, numberBefore(line, " bytes smem"));
        record.stackBytes = std::max(record.stackBytes, numberBefore(line, " bytes stack frame"));
        const int stores = numberBefore(line, " bytes spill stores");
        if (stores >= 0)
            record.spillBytes =
                std::max(record.spillBytes, stores + std::max(0, numberBefore(line, " bytes spill loads")));
    }
    if (record.registers >= 0 && record.sharedBytes < 0)
        record.sharedBytes = 0; // ptxas leaves it out when there is none
}

} // namespace

Result<void> makeCubin(StoredRecord &stored, Capability capability, CompileContext &context, Progress &progress) {
    auto name = stored.image.file;
    name.replace_extension(".cubin");
    const auto scratch = context.scratch / name;
    const Command command{.program = context.tools.ptxas.string(),
                          .arguments = {"-v", "-arch=" + capability.sm(),
                                        (context.request.cacheDirectory / stored.image.file).string(), "-o",
                                        scratch.string()}};
    const auto finished = TRY(run(command, progress));
    if (finished.exitCode != 0)
        return std::unexpected(commandFailed(command, finished));
    stored.record.registers = stored.record.sharedBytes = stored.record.spillBytes = stored.record.stackBytes = -1;
    readResources(finished.errors + finished.output, stored.record);
    stored.cubin = TRY(context.publish(name.string(), TRY(readFile(scratch))));
    stored.cubinTool = context.ptxasTool;
    return {};
}

} // namespace slipway
