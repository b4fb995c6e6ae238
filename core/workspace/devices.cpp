// SPDX-License-Identifier: Apache-2.0
//
// devices.json and the last facts of each device. An entry that this version cannot read is named, kept, and written back.

#include "core/workspace/workspace.h"

#include "core/base/text.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace slipway {

namespace {

fs::path devicesFile(const Workspace &workspace) { return workspace.config / "devices.json"; }

/// Holds the lock on devices.json between reading and writing it, so that two programs do not lose each other's change.
class Lock {
public:
    explicit Lock(const fs::path &file) {
        std::error_code ignored;
        fs::create_directories(file.parent_path(), ignored);
        m_descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        while (m_descriptor >= 0 && ::flock(m_descriptor, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~Lock() {
        if (m_descriptor >= 0)
            ::close(m_descriptor);
    }
    Lock(const Lock &) = delete;
    Lock &operator=(const Lock &) = delete;

private:
    int m_descriptor = -1;
};

/// The file's document; none yet: an empty one.
Result<Json> readDocument(const fs::path &file) {
    std::error_code error;
    if (!fs::exists(file, error))
        return Json{{"format", 1}, {"devices", Json::array()}};
    auto json = readJsonFile(file);
    if (!json)
        return std::unexpected(std::move(json).error().hinted(fmt::format("repair or remove {}", file.string())));
    if (!json->is_object() || !json->contains("devices") || !(*json)["devices"].is_array())
        return std::unexpected(Error{.message = fmt::format("{}: found no list \"devices\"", file.string()),
                                     .hint = "repair or remove the file"});
    return json;
}

bool isNamed(const Json &entry, std::string_view name) {
    return entry.is_object() && entry.contains("name") && entry["name"].is_string()
           && entry["name"].get_ref<const std::string &>() == name;
}

std::unexpected<Error> unknownDevice(const DeviceList &list, std::string_view name) {
    std::vector<std::string> names;
    std::string known;
    for (const auto &device : list.devices) {
        names.push_back(device.name);
        known += (known.empty() ? "" : ", ") + device.name;
    }
    const auto near = nearestWord(name, names);
    return std::unexpected(
        Error{.kind = ErrorKind::usage,
              .message = fmt::format("there is no device \"{}\"{}", printable(name),
                                     known.empty() ? " (none is saved yet)" : fmt::format(" (known: {})", known)),
              .hint = near.empty() ? "add it with: slipway device add NAME USER@HOST" : fmt::format("did you mean {}?", near)});
}

Result<fs::path> factsFile(const Workspace &workspace, std::string_view device) {
    if (!isName(device))
        return failAs(ErrorKind::usage, "\"{}\" is no name for a device", printable(device));
    return workspace.state / "facts" / (std::string(device) + ".json");
}

} // namespace

const Device *DeviceList::find(std::string_view name) const {
    const auto found = std::ranges::find(devices, name, &Device::name);
    return found == devices.end() ? nullptr : &*found;
}

Result<DeviceList> readDevices(const Workspace &workspace) {
    const auto file = devicesFile(workspace);
    const auto document = TRY(readDocument(file));
    DeviceList list;
    int number = 0;
    for (const auto &entry : document["devices"]) {
        number += 1;
        const bool named = entry.is_object() && entry.contains("name") && entry["name"].is_string();
        const auto what = fmt::format("{}: device {}{}", file.string(), number,
                                      named ? fmt::format(" ({})", printable(entry["name"].get<std::string>(), 40)) : "");
        auto device = Device::fromJson(entry, what);
        if (device && !isName(device->name))
            device = fail("{}: \"{}\" is no name (needed letters, digits, '.', '_', '-')", what, printable(device->name));
        if (device && list.find(device->name))
            device = fail("{}: the name {} is taken by an earlier one", what, device->name);
        if (device)
            list.devices.push_back(*std::move(device));
        else
            list.problems.push_back(device.error().message);
    }
    return list;
}

namespace {

/// What the user added by hand to an entry, which means nothing to us, stays in it.
Json withForeignKeys(Json saved, const Json &entry) {
    const auto read = Device::fromJson(entry, "");
    const auto known = read ? read->toJson() : Json::object();
    for (const auto &[key, value] : entry.items())
        if (read && !known.contains(key) && !saved.contains(key))
            saved[key] = value;
    return saved;
}

} // namespace

Result<void> saveDevice(const Workspace &workspace, const Device &device) {
    if (!isName(device.name))
        return failAs(ErrorKind::usage, "\"{}\" cannot name a device (needed letters, digits, '.', '_', '-', at most 64)",
                      printable(device.name));
    const Lock lock(workspace.config / ".devices.lock");
    const auto file = devicesFile(workspace);
    auto document = TRY(readDocument(file));
    auto &entries = document["devices"];
    const auto same = std::ranges::find_if(entries, [&](const Json &entry) { return isNamed(entry, device.name); });
    if (same != entries.end())
        *same = withForeignKeys(device.toJson(), *same);
    else
        entries.push_back(device.toJson());
    return writeJsonFile(file, document, 0600);
}

Result<void> removeDevice(const Workspace &workspace, std::string_view name) {
    const Lock lock(workspace.config / ".devices.lock");
    const auto file = devicesFile(workspace);
    auto document = TRY(readDocument(file));
    auto &entries = document["devices"];
    const auto same = std::ranges::find_if(entries, [&](const Json &entry) { return isNamed(entry, name); });
    if (same == entries.end())
        return unknownDevice(TRY(readDevices(workspace)), name);
    entries.erase(same);
    TRY(writeJsonFile(file, document, 0600));
    std::error_code ignored;
    if (const auto facts = factsFile(workspace, name))
        fs::remove(*facts, ignored);
    return {};
}

Result<Device> findDevice(const Workspace &workspace, std::string_view name) {
    const auto list = TRY(readDevices(workspace));
    if (const auto *device = list.find(name))
        return *device;
    auto unknown = unknownDevice(list, name);
    if (!list.problems.empty())
        unknown.error().detail = list.problems.front();
    return unknown;
}

Result<void> saveFacts(const Workspace &workspace, std::string_view device, const BoardFacts &facts) {
    return writeJsonFile(TRY(factsFile(workspace, device)), facts.toJson(), 0600);
}

Result<BoardFacts> loadFacts(const Workspace &workspace, std::string_view device) {
    const auto file = TRY(factsFile(workspace, device));
    std::error_code error;
    if (!fs::exists(file, error))
        return std::unexpected(Error{.message = fmt::format("the facts of {} were never read", device),
                                     .hint = fmt::format("read them with: slipway device facts {}", device)});
    return BoardFacts::fromJson(TRY(readJsonFile(file)), file.string());
}

} // namespace slipway
