// SPDX-License-Identifier: Apache-2.0
//
// Device memory of the simulated driver: ordinary memory of this process, with the board's size as the limit.
#include "driver.h"

namespace simcuda {
namespace {

struct Block {
    unsigned char *start;
    std::size_t size;
};
struct Memory {
    SpinLock lock;
    List<Block> blocks;
    std::size_t used = 0;
};
Memory &memory() {
    static Memory instance;
    return instance;
}

unsigned char *pointer(CUdeviceptr address) {
    return reinterpret_cast<unsigned char *>(std::uintptr_t(address)); // NOLINT(performance-no-int-to-ptr)
}

/// Whether the range lies in one allocation.
bool isOurs(CUdeviceptr address, std::size_t count) {
    const Locked held(memory().lock);
    const unsigned char *at = pointer(address);
    for (const Block &block : memory().blocks) {
        if (at >= block.start && at <= block.start + block.size && count <= std::size_t(block.start + block.size - at))
            return true;
    }
    return false;
}

} // namespace
} // namespace simcuda

using namespace simcuda; // the C interface below lives outside the namespace

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr *address, std::size_t size) {
    if (const CUresult bad = needContext())
        return bad;
    if (!address || size == 0)
        return invalidValue;
    const Locked held(memory().lock);
    if (size > driver().board.memoryBytes - memory().used)
        return outOfMemory;
    void *start = nullptr;
    if (posix_memalign(&start, 256, size) != 0)
        return outOfMemory;
    if (!memory().blocks.add({static_cast<unsigned char *>(start), size})) {
        std::free(start);
        return outOfMemory;
    }
    memory().used += size;
    *address = CUdeviceptr(reinterpret_cast<std::uintptr_t>(start));
    return success;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    if (const CUresult bad = needContext())
        return bad;
    if (!address)
        return success;
    const Locked held(memory().lock);
    List<Block> &blocks = memory().blocks;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        if (blocks[i].start != pointer(address))
            continue;
        memory().used -= blocks[i].size;
        std::free(blocks[i].start);
        blocks.removeAt(i);
        return success;
    }
    return invalidValue;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, std::size_t count) {
    if (const CUresult bad = needContext())
        return bad;
    if (!from || !isOurs(to, count))
        return invalidValue;
    std::memcpy(pointer(to), from, count);
    return success;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, std::size_t count) {
    if (const CUresult bad = needContext())
        return bad;
    if (!to || !isOurs(from, count))
        return invalidValue;
    std::memcpy(to, pointer(from), count);
    return success;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
    if (const CUresult bad = needContext())
        return bad;
    if (!isOurs(to, count))
        return invalidValue;
    std::memset(pointer(to), value, count);
    return success;
}

CUresult cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
    if (const CUresult bad = needContext())
        return bad;
    if (!free || !total)
        return invalidValue;
    const Locked held(memory().lock);
    *total = driver().board.memoryBytes;
    *free = *total - memory().used;
    return success;
}

// The interface of before CUDA 3.2 has 32-bit device addresses, which do not exist here.
CUresult cuMemAlloc(unsigned *, unsigned) { return notSupported; }
CUresult cuMemFree(unsigned) { return notSupported; }
CUresult cuMemcpyHtoD(unsigned, const void *, unsigned) { return notSupported; }
CUresult cuMemcpyDtoH(void *, unsigned, unsigned) { return notSupported; }

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, std::size_t count, CUstream) { return cuMemcpyHtoD_v2(to, from, count); }
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, std::size_t count, CUstream) { return cuMemcpyDtoH_v2(to, from, count); }

CUresult cuStreamCreate(CUstream *stream, unsigned) {
    if (const CUresult bad = needContext())
        return bad;
    if (!stream)
        return invalidValue;
    *stream = nullptr; // work is done at once, so every stream is the default one
    return success;
}
CUresult cuStreamSynchronize(CUstream) { return needContext(); }
CUresult cuStreamDestroy_v2(CUstream) { return needContext(); }
}
