// SPDX-License-Identifier: Apache-2.0
//
// Where boards may be, from what this computer knows already.

#include "core/device/discover.h"

#include "core/base/process.h"
#include "core/base/text.h"
#include "core/device/sshconfig.h"

#include <algorithm>
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

namespace slipway {

namespace {

constexpr const char *usbAddress = "192.168.55.1"; ///< every Jetson's, as NVIDIA's l4tbr0 sets it up
constexpr std::chrono::milliseconds browseTime{6000};

/// Is one of our interfaces in 192.168.55.0/24?
bool hasUsbNetwork() {
    ifaddrs *list = nullptr;
    if (::getifaddrs(&list) != 0)
        return false;
    bool found = false;
    for (const auto *entry = list; entry && !found; entry = entry->ifa_next) {
        if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET)
            continue;
        const auto address = ntohl(reinterpret_cast<const sockaddr_in *>(entry->ifa_addr)->sin_addr.s_addr);
        found = address >> 8 == 0xC0A837 && (address & 0xFF) != 1;
    }
    ::freeifaddrs(list);
    return found;
}

/// "Orin\032Nano" of avahi's output.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto code = text[i] == '\\' && i + 3 < text.size() ? parseNumber(text.substr(i + 1, 3)) : std::nullopt;
        if (code && *code < 256) {
            plain += char(*code);
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return printable(plain, 80);
}

} // namespace

std::vector<FoundHost> parseAvahi(std::string_view text) {
    std::vector<FoundHost> found;
    for (const auto line : lines(text)) {
        // =;eth0;IPv4;orin;_ssh._tcp;local;orin.local;192.168.1.5;22;"txt"
        const auto fields = split(line, ';');
        if (fields.size() < 9 || fields[0] != "=")
            continue;
        const auto port = parseNumber(fields[8]).value_or(0);
        FoundHost host{.name = unescaped(fields[3]), .address = printable(fields[6], 255), .port = port == 22 || port > 65535 ? 0 : int(port), .source = "mDNS"};
        const auto same = [&](const FoundHost &other) { return other.address == host.address && other.port == host.port; };
        if (!host.address.empty() && std::ranges::none_of(found, same) && found.size() < 1000)
            found.push_back(std::move(host));
    }
    return found;
}

Result<std::vector<FoundHost>> discoverBoards(const fs::path &home, Progress &progress) {
    std::vector<FoundHost> found;
    for (const auto &name : sshConfigHosts(home / ".ssh/config", home))
        found.push_back({.name = printable(name, 80), .address = printable(name, 255), .port = 0, .source = "~/.ssh/config"});
    if (hasUsbNetwork())
        found.push_back({.name = "jetson-usb", .address = usbAddress, .port = 0, .source = "USB"});
    if (findProgram("avahi-browse")) {
        const auto browsed = run({.program = "avahi-browse", .arguments = {"-rtp", "_ssh._tcp"}, .timeout = browseTime}, progress);
        TRY(progress.checkpoint());
        if (!browsed || browsed->exitCode != 0)
            progress.warn("mDNS could not be asked: avahi-browse did not answer (is avahi-daemon running?)");
        else
            std::ranges::copy(parseAvahi(browsed->output), std::back_inserter(found));
    } else {
        progress.note("mDNS was not asked: avahi-browse is not installed (avahi-utils)");
    }
    return found;
}

} // namespace slipway
