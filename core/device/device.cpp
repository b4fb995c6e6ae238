// SPDX-License-Identifier: Apache-2.0
//
// Saved boards: how people write an address, and the JSON form.

#include "core/device/device.h"

#include "core/base/text.h"

#include <algorithm>

namespace slipway {

namespace {

constexpr std::string_view form = "USER@HOST, USER@HOST:PORT or [IPV6]:PORT";

Result<int> parsePort(std::string_view text, std::string_view address) {
    const auto port = parseNumber(text);
    if (!port || *port == 0 || *port > 65535)
        return failAs(ErrorKind::usage, "\"{}\" has the port \"{}\", needed a number from 1 to 65535",
                      printable(address), printable(text));
    return int(*port);
}

/// Names end up in file names and on command lines.
bool isName(std::string_view name) {
    const auto plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
    };
    return !name.empty() && name.size() <= 64 && name.front() != '.' && name.front() != '-' &&
           std::all_of(name.begin(), name.end(), plain);
}

bool isHost(std::string_view host) {
    const auto bad = [](unsigned char c) {
        return c <= ' ' || c == 0x7f ||
               std::string_view("/\\'\"`$;&|<>()[]{}*?!@#").find(char(c)) != std::string_view::npos;
    };
    return !host.empty() && host.size() <= 255 && host.front() != '-' && std::none_of(host.begin(), host.end(), bad);
}

} // namespace

Result<Device> Device::fromAddress(std::string_view name, std::string_view address) {
    if (!isName(name))
        return failAs(ErrorKind::usage, "\"{}\" cannot be a device's name: needed letters, digits, -, _ and .",
                      printable(name));
    Device device{.name = std::string(name)};
    auto rest = address;
    if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
        device.user = rest.substr(0, at);
        rest.remove_prefix(at + 1);
        if (device.user.empty() || device.user.front() == '-' ||
            device.user.find_first_of(" \t\n/") != std::string::npos)
            return failAs(ErrorKind::usage, "\"{}\" has no usable user name, needed {}", printable(address), form);
    }
    if (rest.starts_with('[')) {
        const auto end = rest.find(']');
        if (end == std::string_view::npos)
            return failAs(ErrorKind::usage, "\"{}\" lacks the closing ], needed {}", printable(address), form);
        device.host = rest.substr(1, end - 1);
        rest.remove_prefix(end + 1);
        if (!rest.empty() && rest.front() != ':')
            return failAs(ErrorKind::usage, "\"{}\" is not an address, needed {}", printable(address), form);
        if (!rest.empty())
            device.port = TRY(parsePort(rest.substr(1), address));
    } else if (const auto colon = rest.find(':'); colon != std::string_view::npos && rest.rfind(':') == colon) {
        device.host = rest.substr(0, colon);
        device.port = TRY(parsePort(rest.substr(colon + 1), address));
    } else {
        device.host = rest; // also a bare IPv6 address, which then has no port
    }
    if (!isHost(device.host))
        return failAs(ErrorKind::usage, "\"{}\" is not an address, needed {}", printable(address), form);
    return device;
}

Json Device::toJson() const {
    Json json{{"name", name}, {"host", host}};
    const auto add = [&json](const char *key, const std::string &value) {
        if (!value.empty())
            json[key] = value;
    };
    if (port > 0)
        json["port"] = port;
    add("user", user);
    add("identity", identity);
    add("target", target);
    add("machine_id", machineId);
    add("serial", serial);
    add("known_hosts", knownHosts);
    if (isVirtual)
        json["virtual"] = true;
    add("last_seen", lastSeen);
    return json;
}

Result<Device> Device::fromJson(const Json &json, std::string_view what) {
    Device device;
    device.name = TRY(required<std::string>(json, "name", what));
    if (!isName(device.name))
        return fail("{}: \"{}\" cannot be a device's name", what, printable(device.name));
    device.host = TRY(required<std::string>(json, "host", what));
    if (!isHost(device.host))
        return fail("{}: \"host\" is \"{}\", needed a name or an address", what, printable(device.host));
    device.port = TRY(member<int>(json, "port", 0, what));
    if (device.port < 0 || device.port > 65535)
        return fail("{}: \"port\" is {}, needed a number from 1 to 65535", what, device.port);
    device.user = TRY(member<std::string>(json, "user", {}, what));
    device.identity = TRY(member<std::string>(json, "identity", {}, what));
    device.target = TRY(member<std::string>(json, "target", {}, what));
    device.machineId = TRY(member<std::string>(json, "machine_id", {}, what));
    device.serial = TRY(member<std::string>(json, "serial", {}, what));
    device.knownHosts = TRY(member<std::string>(json, "known_hosts", {}, what));
    device.isVirtual = TRY(member<bool>(json, "virtual", false, what));
    device.lastSeen = TRY(member<std::string>(json, "last_seen", {}, what));
    return device;
}

} // namespace slipway
