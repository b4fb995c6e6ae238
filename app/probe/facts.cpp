// SPDX-License-Identifier: Apache-2.0
//
// `slipway-probe facts`: the driver, and every GPU that it shows to a program.

#include "child.h"
#include "driver.h"
#include "verbs.h"

namespace slipway::probe {

namespace {

enum Attribute {
    sharedPerBlock = 8,
    warpSize = 10,
    clockRate = 13,
    multiprocessorCount = 16,
    integrated = 18,
    l2CacheSize = 38,
    threadsPerMultiprocessor = 39,
    capabilityMajor = 75,
    capabilityMinor = 76,
    sharedPerMultiprocessor = 81,
    sharedPerBlockOptin = 97,
    clusterLaunch = 120,
    tensorMap = 127,
};

void appendUuid(Text &gpu, const Driver &driver, int device) {
    unsigned char bytes[16];
    if (!driver.deviceUuid || driver.deviceUuid(bytes, device) != 0)
        return;
    Text uuid("GPU-");
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            uuid.append('-');
        uuid.append("0123456789abcdef"[bytes[i] >> 4]).append("0123456789abcdef"[bytes[i] & 15]);
    }
    gpu.field("uuid", uuid);
}

Text describeGpu(const Driver &driver, int device) {
    Text gpu("{");
    char name[256] = {};
    if (driver.deviceName && driver.deviceName(name, int(sizeof name - 1), device) == 0)
        gpu.field("name", name);
    const long major = deviceAttribute(driver, device, capabilityMajor);
    const long minor = deviceAttribute(driver, device, capabilityMinor);
    if (major >= 0 && minor >= 0)
        gpu.field("capability", Text().number(std::uint64_t(major)).append('.').number(std::uint64_t(minor)));
    const auto number = [&](const char *key, Attribute which) {
        if (const long value = deviceAttribute(driver, device, which); value >= 0)
            gpu.field(key, std::uint64_t(value));
    };
    const auto flag = [&](const char *key, Attribute which) {
        if (const long value = deviceAttribute(driver, device, which); value >= 0)
            gpu.key(key).append(value ? "true" : "false");
    };
    number("sm_count", multiprocessorCount);
    flag("integrated", integrated);
    std::size_t memory = 0;
    if (driver.deviceMemory && driver.deviceMemory(&memory, device) == 0)
        gpu.field("memory_bytes", std::uint64_t(memory));
    number("l2_bytes", l2CacheSize);
    number("shared_per_block_bytes", sharedPerBlock);
    number("shared_per_block_optin_bytes", sharedPerBlockOptin);
    number("shared_per_sm_bytes", sharedPerMultiprocessor);
    number("max_threads_per_sm", threadsPerMultiprocessor);
    number("warp_size", warpSize);
    number("clock_khz", clockRate);
    flag("cluster_launch", clusterLaunch);
    flag("tensor_map", tensorMap);
    appendUuid(gpu, driver, device);
    return gpu.append('}');
}

/// In the child: the driver's lines, one line `G{…}` for each GPU, and `.` at the end.
void askDriver(int descriptor, const void *) {
    Driver driver;
    int count = 0;
    if (openDriver(driver, descriptor) && driver.deviceCount(&count) == 0)
        for (int i = 0; i < count && i < 64; ++i)
            if (int device = 0; driver.device(&device, i) == 0)
                writeAll(descriptor, Text("G").append(describeGpu(driver, device)).append('\n'));
    writeAll(descriptor, ".\n");
}

} // namespace

int facts(long seconds) {
    DriverReport driver;
    Text gpus;
    Text line;
    Child child;
    bool complete = false;
    if (!child.start(askDriver, nullptr)) {
        driver.fail("error", "cannot start a process to ask the driver");
    } else {
        while (!complete && child.nextLine(line, std::uint64_t(seconds) * 1000000)) {
            std::string_view text = line;
            complete = text == ".";
            if (!driver.take(text) && startsWith(text, "G")) {
                text.remove_prefix(1);
                gpus.append(gpus.empty() ? "" : ",").append(text);
            }
        }
        Text detail;
        const Ending ending = child.end(detail);
        if (!complete)
            driver.fail(ending == Ending::hung ? "hung" : "crashed", detail);
    }
    Text document("{\"probe\":1,\"driver\":");
    driver.appendJson(document);
    document.append(",\"gpus\":[").append(gpus).append("]}\n");
    writeAll(1, document);
    return driver.isOk() ? allOk : noDriver;
}

} // namespace slipway::probe
