// SPDX-License-Identifier: Apache-2.0
//
// Which capabilities, and which PTX version for each.

#include "core/kernel/aotplan.h"
#include "core/target/cudaversion.h"

#include <algorithm>

namespace slipway {

namespace {

std::unexpected<Error> cannotTake(std::string message, PtxVersion works) {
    return std::unexpected(
        Error{.kind = ErrorKind::stopped,
              .message = std::move(message),
              .hint = fmt::format("use --ptx-version {} (TEENYC_PTX_VERSION={})", works.code(), works.code())});
}

/// Is the version that was asked for one that the target knows and the board's driver accepts.
Result<PtxVersion> checkAsked(PtxVersion asked, Capability capability, std::optional<int> driver,
                              const Catalog &catalog) {
    const auto works = TRY(catalog.choosePtx(capability, driver));
    const auto &isa = catalog.isa;
    if (!isa.exists(asked) && asked <= isa.newest())
        return cannotTake(fmt::format("there is no PTX {}", asked.text()), works);
    if (const auto *known = isa.find(capability); known && asked < known->minPtx)
        return cannotTake(fmt::format("PTX {} does not know {}, which needs {} or newer", asked.text(), capability.sm(),
                                      known->minPtx.text()),
                          known->minPtx);
    const auto accepted = driver ? isa.newestForDriver(*driver) : std::nullopt;
    if (accepted && asked > accepted->newest)
        return cannotTake(
            fmt::format("PTX {} is newer than what the board's driver (CUDA {}) accepts, which is {} at most",
                        asked.text(), cudaVersionText(*driver), accepted->newest.text()),
            works);
    return asked;
}

Result<PtxVersion> chooseVersion(Capability capability, std::optional<int> driver, const Catalog &catalog,
                                 const WorkerDescription &llvm) {
    const auto newest = TRY(catalog.choosePtx(capability, driver));
    const auto *known = catalog.isa.find(capability);
    const auto &versions = llvm.ptxVersions;
    const auto above = std::upper_bound(versions.begin(), versions.end(), newest);
    if (above == versions.begin())
        return newest;
    const auto ours = *std::prev(above);
    return known ? std::max(ours, known->minPtx) : ours;
}

} // namespace

Result<AotTargets> chooseTargets(const AotRequest &request, const AotOptions &options, const Catalog &catalog,
                                 const WorkerDescription &llvm) {
    auto capabilities = request.capabilities;
    if (options.capability) {
        if (capabilities.empty())
            capabilities = {*options.capability};
        else if (capabilities != std::vector{*options.capability})
            return failAs(ErrorKind::usage, "option capability is {}, but {} was asked for", options.capability->sm(),
                          capabilities.front().sm());
    }
    if (capabilities.empty())
        return failAs(ErrorKind::usage, "no capability to compile for (needed one such as sm_87)");
    if (options.ptx && request.ptx && *options.ptx != *request.ptx)
        return failAs(ErrorKind::usage, "option ptx-version is {}, but {} was asked for", options.ptx->code(),
                      request.ptx->code());
    const auto asked = request.ptx ? request.ptx : options.ptx;
    AotTargets targets;
    for (const auto &capability : capabilities)
        targets[capability] = asked ? TRY(checkAsked(*asked, capability, request.driver, catalog))
                                    : TRY(chooseVersion(capability, request.driver, catalog, llvm));
    return targets;
}

} // namespace slipway
