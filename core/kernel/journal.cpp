// SPDX-License-Identifier: Apache-2.0
//
// A run's journal: one line of JSON for each call of add(), appended by a single write. Nothing waits for the disk: a
// killed process loses nothing that it has written, and after a power cut the images themselves are looked at.

#include "core/kernel/journal.h"

#include "core/base/text.h"
#include "core/kernel/diskroom.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace slipway {

namespace {

constexpr const char *fileName = "finished-kernels";

/// Same image of the same compilation: the later record takes the place of the earlier.
std::string identity(const StoredRecord &stored) {
    return fmt::format("{}\n{}", stored.subject(),
                       (stored.image.file.empty() ? stored.cubin : stored.image).file.string());
}

} // namespace

Result<RunJournal> RunJournal::in(const fs::path &workFolder, std::uint64_t bytes) {
    RunJournal journal;
    journal.m_file = workFolder / fileName;
    journal.m_descriptor = ::open(journal.m_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (journal.m_descriptor < 0)
        return fail("cannot write {}: {}", printable(journal.m_file.string()), std::strerror(errno));
    const bool kept = bytes == 0 || ::fallocate(journal.m_descriptor, FALLOC_FL_KEEP_SIZE, 0, off_t(bytes)) == 0;
    if (!kept && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        return std::unexpected(
            Error{.message = fmt::format("there is no room for {} more in {}: {}", formatBytes(bytes),
                                         printable(workFolder.string()), std::strerror(errno)),
                  .hint = roomHint});
    return journal; // a file system that cannot keep room is used without
}

RunJournal::~RunJournal() {
    if (m_descriptor >= 0)
        ::close(m_descriptor);
}

void RunJournal::add(const std::vector<StoredRecord> &records) const {
    if (m_descriptor < 0 || records.empty())
        return;
    auto line = Json::array();
    for (const auto &stored : records)
        line.push_back(toJson(stored));
    // the line feed before it ends a line that found no room
    const auto text = "\n" + line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    [[maybe_unused]] const auto written = ::write(m_descriptor, text.data(), text.size());
}

void RunJournal::remove() {
    std::error_code ignored;
    if (m_descriptor >= 0)
        ::close(std::exchange(m_descriptor, -1));
    if (!m_file.empty())
        fs::remove(m_file, ignored);
    m_file.clear();
}

std::vector<StoredRecord> RunJournal::read(const fs::path &workFolder) {
    const auto text = readFile(workFolder / fileName);
    if (!text)
        return {};
    std::map<std::string, StoredRecord> latest;
    for (const auto line : lines(*text)) {
        const auto json = line.empty() ? Result<Json>(Json()) : parseJson(line, fileName);
        if (!json || !json->is_array())
            continue;
        for (const auto &each : *json) {
            if (auto stored = storedRecordFromJson(each))
                latest.insert_or_assign(identity(*stored), *std::move(stored));
        }
    }
    std::vector<StoredRecord> all;
    for (auto &[key, stored] : latest)
        all.push_back(std::move(stored));
    return all;
}

} // namespace slipway
