// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/kernel/records.h"

namespace slipway {

/// The kernels that a run has finished so far, in a file of its work folder: what a run that is killed leaves to the
/// next one. The file holds room on the disk, also for the records that are written at the run's end, so that a disk
/// which fills up meanwhile does not lose what was made.
class RunJournal {
public:
    RunJournal() = default; ///< keeps nothing
    /// Begins one in `workFolder` and keeps `bytes` of its disk. An error: there is not as much room, or the disk
    /// cannot be written.
    [[nodiscard]] static Result<RunJournal> in(const fs::path &workFolder, std::uint64_t bytes);
    RunJournal(RunJournal &&other) noexcept
        : m_file(std::exchange(other.m_file, {}))
        , m_descriptor(std::exchange(other.m_descriptor, -1)) {}
    RunJournal &operator=(RunJournal &&other) noexcept {
        std::swap(m_file, other.m_file);
        std::swap(m_descriptor, other.m_descriptor);
        return *this;
    }
    ~RunJournal();

    /// Adds records: after a crash either all of them count or none. Thread-safe. What cannot be written is not missed
    /// unless the run is killed, and is then compiled again.
    void add(const std::vector<StoredRecord> &records) const;
    /// Removes the file, which gives its room back.
    void remove();

    /// What the journal in a work folder tells; of two records of one image the later. Lines that were not finished are
    /// left out.
    [[nodiscard]] static std::vector<StoredRecord> read(const fs::path &workFolder);

private:
    fs::path m_file;
    int m_descriptor = -1;
};

} // namespace slipway
