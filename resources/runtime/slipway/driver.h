// SPDX-License-Identifier: Apache-2.0
//
// The handful of the CUDA Driver API that starting kernels needs, found at run time: no CUDA header to compile
// with, no libcuda to link to. A machine without a driver gets an Error that says so.
#pragma once

#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace slipway::runtime {

/// What went wrong, in one line; for driver errors also the CUresult, its name and the JIT's log.
class Error : public std::runtime_error {
public:
    enum class Kind { noDriver, noDevice, noImage, driver };

    Error(Kind what, const std::string &text)
        : std::runtime_error(text)
        , kind(what) {}
    Error(const std::string &text, int result, std::string resultName, std::string jitLog)
        : std::runtime_error(text)
        , kind(Kind::driver)
        , code(result)
        , name(std::move(resultName))
        , log(std::move(jitLog)) {}

    Kind kind;
    int code = 0;     ///< CUresult, 0 unless the driver refused something
    std::string name; ///< such as CUDA_ERROR_NO_BINARY_FOR_GPU
    std::string log;  ///< what the driver's JIT printed, often several lines
};

using DevicePointer = unsigned long long; ///< CUdeviceptr

namespace detail {

/// Where boards keep libcuda.so.1 when the loader's own search does not know it; slipway-probe looks in the same order.
inline std::vector<std::string> driverFolders() {
    std::vector<std::string> folders = {"/usr/lib/aarch64-linux-gnu/tegra", "/usr/lib/aarch64-linux-gnu/nvidia"};
    const auto addEach = [&folders](const std::string &parent, const std::string &prefix, const std::string &tail) {
        DIR *dir = ::opendir(parent.c_str());
        if (!dir)
            return;
        const auto before = std::ptrdiff_t(folders.size());
        while (const dirent *entry = ::readdir(dir))
            if (entry->d_name[0] != '.' && std::string(entry->d_name).compare(0, prefix.size(), prefix) == 0)
                folders.push_back(parent + "/" + entry->d_name + tail);
        ::closedir(dir);
        std::sort(folders.begin() + before, folders.end());
    };
    addEach("/opt/nvidia/l4t-gpu-libs", "", "");
    addEach("/usr/local", "cuda", "/compat");
    addEach("/usr/local", "cuda", "/compat_orin");
    for (const char *folder :
         {"/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/lib/wsl/lib"})
        folders.push_back(folder);
    return folders;
}

/// A handle of libcuda.so.1: the loader's search first (LD_LIBRARY_PATH included), then the known folders.
inline void *openDriver() {
    if (void *library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
        return library;
    const char *reason = ::dlerror();
    const std::string first = reason ? reason : "no reason given";
    for (const std::string &folder : driverFolders()) {
        const std::string path = folder + "/libcuda.so.1";
        if (::access(path.c_str(), R_OK) != 0)
            continue;
        if (void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
            return library;
    }
    throw Error(Error::Kind::noDriver, "no CUDA driver on this machine: " + first);
}

} // namespace detail

/// The driver's functions, bound once. They stay bound until the process ends: libcuda does not like to be unloaded.
class Driver {
public:
    Driver()
        : m_library(detail::openDriver()) {
        bind(m_errorName, "cuGetErrorName");
        bind(m_errorString, "cuGetErrorString");
        bind(init, "cuInit");
        bind(version, "cuDriverGetVersion");
        bind(deviceCount, "cuDeviceGetCount");
        bind(deviceGet, "cuDeviceGet");
        bind(deviceName, "cuDeviceGetName");
        bind(deviceAttribute, "cuDeviceGetAttribute");
        bind(contextRetain, "cuDevicePrimaryCtxRetain");
        bind(contextRelease, "cuDevicePrimaryCtxRelease_v2", "cuDevicePrimaryCtxRelease");
        bind(contextSetCurrent, "cuCtxSetCurrent");
        bind(synchronize, "cuCtxSynchronize");
        bind(moduleLoad, "cuModuleLoadDataEx");
        bind(moduleUnload, "cuModuleUnload");
        bind(moduleFunction, "cuModuleGetFunction");
        bind(launch, "cuLaunchKernel");
        bind(allocate, "cuMemAlloc_v2");
        bind(release, "cuMemFree_v2");
        bind(upload, "cuMemcpyHtoD_v2");
        bind(download, "cuMemcpyDtoH_v2");
    }

    int (*init)(unsigned) = nullptr;
    int (*version)(int *) = nullptr;
    int (*deviceCount)(int *) = nullptr;
    int (*deviceGet)(int *, int) = nullptr;
    int (*deviceName)(char *, int, int) = nullptr;
    int (*deviceAttribute)(int *, int, int) = nullptr;
    int (*contextRetain)(void **, int) = nullptr;
    int (*contextRelease)(int) = nullptr;
    int (*contextSetCurrent)(void *) = nullptr;
    int (*synchronize)() = nullptr;
    int (*moduleLoad)(void **, const void *, unsigned, int *, void **) = nullptr;
    int (*moduleUnload)(void *) = nullptr;
    int (*moduleFunction)(void **, void *, const char *) = nullptr;
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **) = nullptr;
    int (*allocate)(DevicePointer *, std::size_t) = nullptr;
    int (*release)(DevicePointer) = nullptr;
    int (*upload)(DevicePointer, const void *, std::size_t) = nullptr;
    int (*download)(void *, DevicePointer, std::size_t) = nullptr;

    /// Calls one of the functions above; a missing one and a CUresult other than 0 become an Error.
    template <class Function, class... Arguments>
    void call(const std::string &what, Function function, Arguments... arguments) const {
        if (!function)
            throw Error(Error::Kind::noDriver, "cannot " + what + ": this CUDA driver lacks the function for it");
        check(what, function(arguments...));
    }

    void check(const std::string &what, int code, const std::string &log = {}) const {
        if (code == 0)
            return;
        const std::string name = textOf(m_errorName, code);
        std::string text =
            "cannot " + what + ": " + (name.empty() ? "CUDA error" : name) + " (" + std::to_string(code) + ")";
        if (const std::string meaning = textOf(m_errorString, code); !meaning.empty())
            text += ", " + meaning;
        if (!log.empty())
            text += "; the driver's log: " + log;
        throw Error(text, code, name, log);
    }

private:
    using TextFunction = int (*)(int, const char **);

    template <class Function>
    void bind(Function &function, const char *name, const char *olderName = nullptr) {
        void *symbol = ::dlsym(m_library, name);
        if (!symbol && olderName)
            symbol = ::dlsym(m_library, olderName);
        function = reinterpret_cast<Function>(symbol);
    }

    static std::string textOf(TextFunction function, int code) {
        const char *text = nullptr;
        return function && function(code, &text) == 0 && text ? text : "";
    }

    void *m_library;
    TextFunction m_errorName = nullptr;
    TextFunction m_errorString = nullptr;
};

} // namespace slipway::runtime
