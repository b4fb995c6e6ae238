// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/json.h"
#include "core/device/session.h"

namespace slipway {

/// What a board does at one moment. What it does not tell is absent.
struct Sample {
    std::optional<double> gpuPercent;
    std::optional<double> cpuPercent; ///< mean of the cores that are on
    std::optional<int> coresOn;
    std::optional<std::uint64_t> memoryUsed;  ///< bytes; on Jetson the GPU's memory is in it
    std::optional<std::uint64_t> memoryTotal; ///< bytes
    std::optional<double> celsius;            ///< the hottest of GPU and junction, else of the CPU
    std::optional<int> milliwatts;            ///< of the whole module, else of the GPU
    std::optional<std::string> powerMode;     ///< "15W"
    std::string source;                       ///< "tegrastats", "sysfs", "nvidia-smi"

    [[nodiscard]] Json toJson() const;
};

/// One line of tegrastats, of any JetPack; nothing when it is none.
[[nodiscard]] std::optional<Sample> parseTegrastats(std::string_view line);

/// Turns the lines of the board's script into samples. CPU load is a difference: the first sample of sysfs has none.
class LiveReader {
public:
    /// A sample when this line completes one.
    [[nodiscard]] std::optional<Sample> take(std::string_view line);

private:
    void takeStat(std::string_view line);
    void takeSmi(std::string_view values);

    Sample m_next;
    std::optional<std::string> m_powerMode;
    std::uint64_t m_busyBefore = 0;
    std::uint64_t m_allBefore = 0;
    std::uint64_t m_available = 0;
};

/// Samples the board once a second over one channel of the session, until `count` samples came (0 = until cancelled).
/// Nothing is installed and nothing is left running.
[[nodiscard]] Result<void> watchBoard(Session &session, int count, const std::function<void(const Sample &)> &onSample,
                                      Progress &progress);

} // namespace slipway
