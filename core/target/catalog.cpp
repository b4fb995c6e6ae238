// SPDX-License-Identifier: Apache-2.0
//
// Everything in targets/ read together, and the questions that need more than one table.

#include "core/base/text.h"
#include "core/target/target.h"
#include "core/target/cudaversion.h"

#include <algorithm>

namespace slipway {

namespace {

/// name -> file of all *.json in the directories; later directories win. A directory that is not there is fine: a user
/// need not have one.
Result<std::map<std::string, fs::path>> filesIn(const std::vector<fs::path> &directories) {
    std::map<std::string, fs::path> files;
    for (const auto &directory : directories) {
        std::error_code error;
        for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
            if (at->path().extension() == ".json")
                files[at->path().filename().string()] = at->path();
        }
        if (error && error != std::errc::no_such_file_or_directory)
            return fail("cannot read {}: {}", directory.string(), error.message());
    }
    return files;
}

Result<Json> takeTable(std::map<std::string, fs::path> &files, const std::string &name,
                       const std::vector<fs::path> &directories) {
    const auto node = files.extract(name);
    if (!node) {
        std::vector<std::string> looked;
        for (const auto &directory : directories)
            looked.push_back(directory.string());
        return std::unexpected(
            Error{.message = fmt::format("cannot find targets/{} (looked in {})", name, fmt::join(looked, ", ")),
                  .hint = "reinstall Slipway, or run it from its build folder"});
    }
    return readJsonFile(node.mapped());
}

std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const auto change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
        }
    }
    return row[b.size()];
}

/// The ids that `wanted` may have meant: those that contain it, or are few letters away.
std::vector<std::string> near(const std::vector<Target> &targets, std::string_view wanted) {
    std::vector<std::string> found;
    for (const auto &target : targets) {
        if ((wanted.size() >= 3 && target.id.find(wanted) != std::string::npos) ||
            (wanted.size() < 64 && editDistance(target.id, wanted) <= 3))
            found.push_back(target.id);
    }
    return found;
}

} // namespace

Result<Catalog> Catalog::load(const std::vector<fs::path> &directories) {
    auto files = TRY(filesIn(directories));
    Catalog catalog;
    catalog.isa = TRY(PtxIsa::fromJson(TRY(takeTable(files, "ptxisa.json", directories))));
    catalog.jetpacks = TRY(JetPacks::fromJson(TRY(takeTable(files, "jetpack.json", directories))));
    for (const auto &[name, file] : files) {
        auto target = TRY(Target::fromJson(TRY(readJsonFile(file)), file.string()));
        if (target.id + ".json" != name)
            return fail("{}: \"id\" is \"{}\", needed the file's name", file.string(), printable(target.id));
        catalog.targets.push_back(std::move(target));
    }
    std::sort(catalog.targets.begin(), catalog.targets.end(), [](const auto &a, const auto &b) { return a.id < b.id; });
    return catalog;
}

const Target *Catalog::find(std::string_view id) const {
    const auto found = std::find_if(targets.begin(), targets.end(), [&](const auto &t) { return t.id == id; });
    return found == targets.end() ? nullptr : &*found;
}

Result<Target> Catalog::target(std::string_view id) const {
    if (const auto *found = find(id))
        return *found;
    std::vector<std::string> all;
    for (const auto &target : targets)
        all.push_back(target.id);
    const auto meant = near(targets, id);
    return std::unexpected(Error{
        .kind = ErrorKind::usage,
        .message = fmt::format("there is no target \"{}\" (there are {})", printable(id, 60), fmt::join(all, ", ")),
        .hint =
            meant.empty() ? "slipway targets lists them" : fmt::format("did you mean {}?", fmt::join(meant, " or "))});
}

BoardFacts Catalog::profileFacts(const Target &target) const {
    BoardFacts facts;
    facts.arch = target.arch;
    if (target.capability)
        facts.gpus = {GpuFacts{.name = target.name,
                               .capability = *target.capability,
                               .smCount = target.smCountMax,
                               .integrated = isa.isTegra(*target.capability) ? std::optional(true) : std::nullopt}};
    const auto *release = jetpacks.find(target.jetpackAssumed);
    if (!release) {
        facts.warnings.push_back(
            fmt::format("the profile {} does not say what system the board has; give --facts or --device for "
                        "the real board",
                        target.id));
        return facts;
    }
    facts.jetpack = release->version;
    if (!release->l4t.empty())
        facts.l4t = release->l4t.front();
    const auto set = [](std::optional<std::string> &fact, const std::string &value) {
        if (!value.empty())
            fact = value;
    };
    set(facts.glibc, release->glibc);
    set(facts.glibcxx, release->glibcxx);
    set(facts.cxxabi, release->cxxabi);
    set(facts.cudaToolkit, release->cuda);
    if (!release->ubuntu.empty())
        facts.os = fmt::format("Ubuntu {}", release->ubuntu);
    facts.cudaDriver = release->driver;
    facts.warnings.push_back(
        fmt::format("assumes JetPack {}; give --facts or --device for the real board", release->version));
    return facts;
}

Result<PtxVersion> Catalog::choosePtx(Capability capability, std::optional<int> driver) const {
    const auto *known = isa.find(capability);
    const auto highest = std::max_element(isa.targets().begin(), isa.targets().end(), [](const auto &a, const auto &b) {
        return a.capability.number < b.capability.number;
    });
    // A capability beyond the table is new hardware and usable; one between others, or a suffix that was never made, is
    // a slip.
    if (!known && (highest == isa.targets().end() || capability.number <= highest->capability.number))
        return std::unexpected(Error{.kind = ErrorKind::usage,
                                     .message = fmt::format("there is no {} in the PTX ISA table", capability.sm()),
                                     .hint = "slipway targets lists the boards and their capabilities"});
    if (!driver)
        return known ? known->minPtx : isa.newest();
    const auto cuda = "CUDA " + cudaVersionText(*driver);
    const auto accepted = isa.newestForDriver(*driver);
    if (!accepted)
        return fail("the board's driver ({}) is older than the table of drivers", cuda);
    if (known && accepted->newest < known->minPtx)
        return std::unexpected(
            Error{.message = fmt::format("{} needs PTX {} or newer, but the board's driver ({}) accepts at most {}",
                                         capability.sm(), known->minPtx.text(), cuda, accepted->newest.text()),
                  .hint = fmt::format("update the board to a driver of CUDA {} or newer, or compile for the capability "
                                      "that the board reports",
                                      isa.cudaOf(known->minPtx))});
    // An extrapolated version is a guess that no tool here may know yet: what the table has is enough.
    return isa.atMost(accepted->newest).value_or(accepted->newest);
}

} // namespace slipway
