// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/actions.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

/// A window's engine without an engine: values that a test sets, and operations that wait until it says so.
namespace slipway::fake {

using namespace std::chrono_literals;

inline Device device(const std::string &name, bool isVirtual = false) {
    Device made;
    made.name = name;
    made.host = "192.168.55.1";
    made.user = "nvidia";
    made.target = "jetson-orin-nano";
    made.isVirtual = isVirtual;
    made.lastSeen = "2026-11-29T10:00:00Z";
    return made;
}

inline BoardFacts orinFacts() {
    BoardFacts facts;
    facts.model = "NVIDIA Jetson Orin Nano Developer Kit";
    facts.compatible = {"nvidia,p3768-0000+p3767-0005", "nvidia,tegra234"};
    facts.l4t = "36.4.3";
    facts.jetpack = "6.2";
    facts.os = "Ubuntu 22.04.5 LTS";
    facts.arch = "aarch64";
    facts.kernel = "5.15.148-tegra";
    facts.glibc = "2.35";
    facts.glibcxx = "3.4.30";
    facts.cxxabi = "1.3.13";
    facts.cudaDriver = 12060;
    facts.cudaToolkit = "12.6";
    facts.gpus = {GpuFacts{.name = "Orin", .capability = {87}, .smCount = 8, .integrated = true}};
    facts.memoryBytes = 7990000000;
    facts.machineId = "5f0c9ab2e4714c0d8c6f33d7c0a1b2c3";
    facts.powerMode = "15W";
    facts.disks = {DiskFacts{.mount = "/", .freeBytes = 20000000000}, DiskFacts{.mount = "/tmp", .freeBytes = 3900000000, .noexec = true}};
    facts.tools = {{"rsync", "3.2.7"}, {"tar", "1.34"}, {"sha256sum", ""}};
    facts.clockSkewSeconds = 0;
    facts.shellQuiet = true;
    facts.readAt = 1795946400;
    return facts;
}

inline Target orinTarget() {
    Target target;
    target.id = "jetson-orin-nano";
    target.name = "Jetson Orin Nano";
    target.arch = "aarch64";
    target.capability = Capability{87};
    return target;
}

inline Verdict failedVerdict() {
    Verdict verdict;
    verdict.status = Status::fail;
    verdict.factsSource = "orin-lab, now";
    verdict.findings = {
        {"capability", Status::pass, "cache/saxpy_1f.o", "PTX for sm_87", "runs on 8.7", "PTX runs on its capability and later ones", ""},
        {"ptx-version", Status::fail, "cache/vector_add_9c.o", "PTX 8.7", "8.5 or older", "the driver of JetPack 6.2 (CUDA 12.6) accepts PTX up to 8.5",
         "slipway aot --ptx-version 85"},
        {"dtype", Status::warn, "data/model.safetensors", "F16", "F32", "no kernel takes F16", "declare F32, or add an F16 kernel"},
        {"glibc", Status::unknown, "bin/vector_add", "GLIBC_2.34", "glibc of the board", "the board's glibc could not be read", "read the facts again"},
        {"load", Status::skipped, "package", "", "", "needs a live board", ""},
    };
    return verdict;
}

/// How long an operation works: until cancelled or released, reporting as it goes.
class Gate {
public:
    /// Blocks a job until `release`; false when it was cancelled.
    bool pass(Progress &progress) {
        while (!m_open) {
            if (progress.cancelled())
                return false;
            std::this_thread::sleep_for(5ms);
        }
        return true;
    }
    void release() { m_open = true; }
    void close() { m_open = false; }

private:
    std::atomic<bool> m_open = true;
};

class FakeActions : public Actions {
public:
    Overview world;
    Gate gate; ///< every operation on a board passes it
    std::vector<Error> questions; ///< asked one after the other, until answered
    std::string password;         ///< when set, what the board wants
    Verdict verdict = failedVerdict();
    FixOutcome fixed;
    bool shipIsStopped = false;
    std::map<std::string, KernelCache> caches;
    std::vector<Release> onBoard;
    std::atomic<int> connections = 0;
    std::vector<std::string> allowed; ///< of the last ship
    std::vector<Device> saved;
    std::vector<Sample> samples;           ///< what `watch` hands on, then it waits to be cancelled
    std::optional<Error> watchFails;       ///< what it ends with instead of waiting
    std::atomic<int> watching = 0;         ///< boards that are watched now
    std::vector<std::string> watched;      ///< the boards that were, in order

    Result<Overview> overview(Progress &) override {
        const std::lock_guard lock(m_mutex);
        return world;
    }
    Result<void> saveBoard(const Device &made, Progress &) override {
        const std::lock_guard lock(m_mutex);
        saved.push_back(made);
        world.boards.push_back({.device = made});
        return {};
    }
    Result<void> removeBoard(const std::string &name, Progress &) override {
        const std::lock_guard lock(m_mutex);
        std::erase_if(world.boards, [&](const Board &board) { return board.device.name == name; });
        return {};
    }
    Result<Device> startVirtualBoard(const VirtualBoardAsk &ask, Progress &progress) override {
        auto step = progress.step("start the virtual board");
        const std::lock_guard lock(m_mutex);
        world.boards.push_back({.device = device(ask.name, true)});
        step.done();
        return device(ask.name, true);
    }
    Result<BoardFacts> readFacts(const Login &login, Progress &progress) override {
        TRY(connect(login, progress));
        const std::lock_guard lock(m_mutex);
        for (auto &board : world.boards)
            if (board.device.name == login.device.name)
                board.facts = orinFacts();
        return orinFacts();
    }
    Result<void> watch(const Login &login, const std::function<void(const Sample &)> &onSample, Progress &progress) override {
        {
            const std::lock_guard lock(m_mutex);
            watched.push_back(login.device.name);
        }
        ++watching;
        for (const auto &sample : samples)
            onSample(sample);
        while (!watchFails && !progress.cancelled())
            std::this_thread::sleep_for(5ms);
        --watching;
        return watchFails ? Result<void>(std::unexpected(*watchFails)) : failAs(ErrorKind::cancelled, "cancelled");
    }
    [[nodiscard]] std::vector<std::string> watchedBoards() {
        const std::lock_guard lock(m_mutex);
        return watched;
    }
    Result<std::vector<Release>> releases(const Login &login, const std::string &, Progress &progress) override {
        TRY(connect(login, progress));
        return onBoard;
    }
    Result<Release> rollback(const Login &login, const std::string &, const std::string &id, Progress &progress) override {
        TRY(connect(login, progress));
        for (auto &release : onBoard)
            release.current = release.id == id;
        return Release{.id = id, .current = true};
    }
    Result<ShipPreview> planShip(const fs::path &project, const Device &to, Progress &) override {
        return ShipPreview{.project = project.filename().string(), .dest = "/opt/vector_add", .steps = {
            {"Build", "CMake target vector_add for aarch64, against the sysroot of " + to.name},
            {"Kernels", "6 kernels for sm_87 with PTX 8.5"},
            {"Package", "bin, cache, conf, data"},
            {"Pre-flight", "against " + to.name},
            {"Send", "to /opt/vector_add, then bin/vector_add --self-test"}}};
    }
    Result<ShipOutcome> ship(const Login &login, const ShipAsk &ask, std::optional<Verdict> &stopped, Progress &progress) override {
        allowed = ask.allow;
        TRY(connect(login, progress));
        if (shipIsStopped && ask.allow.empty()) {
            stopped = verdict;
            return failAs(ErrorKind::stopped, "pre-flight found 1 reason not to ship");
        }
        auto step = progress.step("send", 100, Event::Unit::bytes);
        step.advance(40);
        if (!gate.pass(progress))
            return failAs(ErrorKind::cancelled, "cancelled");
        step.advance(60);
        step.done("100 B");
        ShipOutcome outcome;
        outcome.deployed.release = Release{.id = "vector_add-1a2b3c4d5e6f", .current = true};
        outcome.deployed.bytesSent = 100;
        return outcome;
    }
    Result<bool> isPackage(const fs::path &folder, Progress &) override { return folder.filename() == "package"; }
    Result<Verdict> preflight(const fs::path &, const Against &against, Progress &progress) override {
        if (const auto *board = std::get_if<AgainstBoard>(&against))
            TRY(connect(board->login, progress));
        return verdict;
    }
    Result<FixOutcome> fixPackage(const fs::path &, const Against &against, Progress &progress) override {
        if (const auto *board = std::get_if<AgainstBoard>(&against))
            TRY(connect(board->login, progress));
        return fixed;
    }
    Result<SysrootPlan> planSysroot(const Login &login, Progress &progress) override {
        TRY(connect(login, progress));
        return SysrootPlan{.destination = "/home/dev/.cache/slipway/sysroots/orin-lab",
                           .folders = {{"/usr/lib/aarch64-linux-gnu", 1240000000}, {"/usr/include", 310000000}, {"/usr/local/cuda-12.6", 2800000000},
                                       {"/opt/nvidia", 0, false}},
                           .freeBytes = 120000000000};
    }
    Result<Sysroot> syncSysroot(const Login &login, const fs::path &destination, Progress &progress) override {
        TRY(connect(login, progress));
        auto step = progress.step("copy /usr/lib", 1000, Event::Unit::bytes);
        step.at(500);
        if (!gate.pass(progress))
            return failAs(ErrorKind::cancelled, "cancelled");
        step.done();
        return Sysroot{.path = destination, .device = login.device.name, .target = "jetson-orin-nano", .l4t = "36.4.3", .glibc = "2.35",
                       .cudaToolkit = "12.6", .syncedAt = 1795946400, .bytes = 4350000000, .files = 18234};
    }
    Result<std::vector<SysrootFinding>> verifySysroot(const Sysroot &, Progress &) override {
        return std::vector<SysrootFinding>{{true, "usr/lib/aarch64-linux-gnu", "no dangling link among 2311"}, {true, "hello.c", "compiled and linked"},
                                           {true, "hello.cpp", "compiled and linked"}};
    }
    Result<KernelCache> readCache(const fs::path &directory, Progress &) override {
        const auto found = caches.find(directory.string());
        if (found == caches.end())
            return fail("{}: not a directory", directory.string());
        return found->second;
    }
    Result<std::string> readImageText(const fs::path &image, Progress &) override {
        return "// " + image.filename().string() + "\n.version 8.5\n.target sm_87\n.visible .entry vector_add()\n{\n\tret;\n}\n";
    }

private:
    /// Asks what is left to ask, then waits at the gate.
    Result<void> connect(const Login &login, Progress &progress) {
        ++connections;
        auto step = progress.step("connect to " + login.device.name);
        for (const auto &question : questions)
            if (question.kind == ErrorKind::hostKeyUnknown && login.acceptFingerprint.empty())
                return std::unexpected(question);
        const auto given = login.passwords.find("nvidia@192.168.55.1");
        if (!password.empty() && (given == login.passwords.end() || given->second.empty() || given->second.reveal() != password))
            return std::unexpected(Error{.kind = ErrorKind::passwordNeeded, .message = "the server wants a password", .subject = "nvidia@192.168.55.1"});
        if (!gate.pass(progress))
            return failAs(ErrorKind::cancelled, "cancelled");
        step.done();
        return {};
    }

    std::mutex m_mutex;
};

class MemorySettings : public Settings {
public:
    std::string value(const std::string &key) const override {
        const auto found = values.find(key);
        return found == values.end() ? std::string() : found->second;
    }
    void setValue(const std::string &key, const std::string &value) override { values[key] = value; }
    std::map<std::string, std::string> values;
};

} // namespace slipway::fake
