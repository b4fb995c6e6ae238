// SPDX-License-Identifier: Apache-2.0
//
// A loop on all cores.

#include "core/kernel/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace slipway {

int threadCount(int asked) {
    return asked > 0 ? asked : std::max(1, int(std::thread::hardware_concurrency()));
}

void inParallel(std::size_t count, int threads, Progress &progress, const std::function<bool(std::size_t)> &work) {
    std::atomic<std::size_t> next{0};
    std::atomic<bool> go{true};
    const auto loop = [&] {
        while (go && !progress.cancelled()) {
            const auto index = next.fetch_add(1);
            if (index >= count)
                return;
            if (!work(index))
                go = false;
        }
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(count, std::size_t(threadCount(threads))); ++i)
        others.emplace_back(loop);
    loop();
}

} // namespace slipway
