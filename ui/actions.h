// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/deploy/ship.h"
#include "core/device/live.h"
#include "core/kernel/cache.h"
#include "core/preflight/check.h"
#include "core/sysroot/measure.h"
#include "core/sysroot/sysroot.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace slipway {

/// A saved board and what is remembered of it; nothing here needed a connection.
struct Board {
    Device device;
    std::optional<BoardFacts> facts;
    std::optional<Sysroot> sysroot;
};

/// A kernel cache on this machine.
struct CachePlace {
    std::string project; ///< "vector_add"
    std::string target;  ///< target id
    fs::path directory;
};

/// What the window shows before anybody does anything: read from the workspace in one go.
struct Overview {
    std::vector<Board> boards;
    std::vector<Target> targets;
    std::vector<CachePlace> caches;
    std::vector<std::string> problems; ///< entries that could not be read, one line each
};

/// One line of what a ship will do.
struct PlannedStep {
    std::string step;   ///< "Build", "Kernels", "Package", "Pre-flight", "Send"
    std::string detail; ///< "cmake target vector_add for aarch64, against the sysroot of virtual-orin"
};
struct ShipPreview {
    std::string project;
    std::string dest;
    bool proposed = false; ///< there is no slipway.json: Slipway proposes this
    std::vector<PlannedStep> steps;
};
struct ShipAsk {
    fs::path project;
    std::vector<std::string> allow; ///< checks that may fail, chosen by the user and logged on the board
};

/// Against what a package is checked: exactly one of the three.
struct AgainstTarget {
    std::string id;
};
struct AgainstFacts {
    fs::path file;
};
struct AgainstBoard {
    Login login;
};
using Against = std::variant<AgainstTarget, AgainstFacts, AgainstBoard>;

/// What a sysroot sync will copy.
struct SysrootPlan {
    fs::path destination;
    std::vector<SysrootFolder> folders;
    std::uint64_t freeBytes = 0;    ///< where the copy goes
    std::optional<Sysroot> existing; ///< what is there already: only the difference is copied
};

struct VirtualBoardAsk {
    std::string profile; ///< "orin-nano-jp62"
    std::string name;    ///< "virtual-orin"
};

/// Everything the window can ask for. Each call blocks and runs on a job's thread, several at a time; none touches a widget.
/// Questions to the user come back as errors of their kinds (host key, password, passphrase): the window asks, changes the
/// What became of a package that was to be fixed.
struct FixOutcome {
    std::vector<std::string> done; ///< in words: "strip library paths of this machine from bin/app"; empty = nothing could be
    Verdict verdict;               ///< of the package as it is now
};

/// Login and calls again. app/gui composes the engine behind it; tests have a fake.
class Actions {
public:
    virtual ~Actions() = default;

    [[nodiscard]] virtual Result<Overview> overview(Progress &progress) = 0;
    [[nodiscard]] virtual Result<void> saveBoard(const Device &device, Progress &progress) = 0;
    [[nodiscard]] virtual Result<void> removeBoard(const std::string &name, Progress &progress) = 0;
    /// Starts it and adds it to the saved boards.
    [[nodiscard]] virtual Result<Device> startVirtualBoard(const VirtualBoardAsk &ask, Progress &progress) = 0;

    /// Connects, reads all facts, remembers them and when the board was seen.
    [[nodiscard]] virtual Result<BoardFacts> readFacts(const Login &login, Progress &progress) = 0;
    /// Connects and hands on what the board does, once a second, on the job's thread, until cancelled.
    [[nodiscard]] virtual Result<void> watch(const Login &login, const std::function<void(const Sample &)> &onSample, Progress &progress) = 0;
    [[nodiscard]] virtual Result<std::vector<Release>> releases(const Login &login, const std::string &dest, Progress &progress) = 0;
    [[nodiscard]] virtual Result<Release> rollback(const Login &login, const std::string &dest, const std::string &id,
                                                   Progress &progress) = 0;

    /// What `ship` would do; reads this machine only.
    [[nodiscard]] virtual Result<ShipPreview> planShip(const fs::path &project, const Device &device, Progress &progress) = 0;
    /// An error of kind `stopped` comes with the verdict that stopped it.
    [[nodiscard]] virtual Result<ShipOutcome> ship(const Login &login, const ShipAsk &ask, std::optional<Verdict> &verdict,
                                                   Progress &progress) = 0;
    /// Whether a folder that was dropped is a package; else it is taken for a project.
    [[nodiscard]] virtual Result<bool> isPackage(const fs::path &folder, Progress &progress) = 0;
    [[nodiscard]] virtual Result<Verdict> preflight(const fs::path &package, const Against &against, Progress &progress) = 0;
    /// Checks, does what is safe (conf/env, library paths of this machine, modes), and checks again.
    [[nodiscard]] virtual Result<FixOutcome> fixPackage(const fs::path &package, const Against &against, Progress &progress) = 0;

    [[nodiscard]] virtual Result<SysrootPlan> planSysroot(const Login &login, Progress &progress) = 0;
    [[nodiscard]] virtual Result<Sysroot> syncSysroot(const Login &login, const fs::path &destination, Progress &progress) = 0;
    [[nodiscard]] virtual Result<std::vector<SysrootFinding>> verifySysroot(const Sysroot &sysroot, Progress &progress) = 0;

    [[nodiscard]] virtual Result<KernelCache> readCache(const fs::path &directory, Progress &progress) = 0;
    /// Text of an image: PTX as it is; of a cubin what can be said of it in words.
    [[nodiscard]] virtual Result<std::string> readImageText(const fs::path &image, Progress &progress) = 0;
};

/// What the window remembers between runs; app/gui keeps it in a file.
class Settings {
public:
    virtual ~Settings() = default;
    [[nodiscard]] virtual std::string value(const std::string &key) const = 0;
    virtual void setValue(const std::string &key, const std::string &value) = 0;
};

} // namespace slipway
