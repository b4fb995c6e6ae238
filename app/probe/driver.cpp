// SPDX-License-Identifier: Apache-2.0
//
// Opening the CUDA driver that a program on this board would get.

#include "driver.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

namespace slipway::probe {

namespace {

constexpr const char *libraryName = "libcuda.so.1";

void report(int descriptor, char kind, std::string_view text) {
    Text line;
    line.append(kind).append(text).append('\n');
    writeAll(descriptor, line);
}

void reportText(int descriptor, char kind, std::string_view text) {
    Text quoted;
    report(descriptor, kind, quoted.json(text));
}

/// Every PARENT/PREFIX* with the tail appended, in order of name.
void addFolders(TextList &to, const char *parent, std::string_view prefix, std::string_view tail) {
    DIR *dir = ::opendir(parent);
    if (!dir)
        return;
    const std::size_t before = to.size();
    while (const dirent *entry = ::readdir(dir))
        if (entry->d_name[0] != '.' && startsWith(entry->d_name, prefix))
            to.add(Text(parent).append('/').append(entry->d_name).append(tail));
    ::closedir(dir);
    to.sort(before);
}

/// Where boards keep the library when the loader's own search does not know it (JetPack 4 to 7, compat packages,
/// containers, WSL); the kernel runtime that programs use looks in the same order.
TextList knownFolders() {
    TextList folders;
    folders.add("/usr/lib/aarch64-linux-gnu/tegra");
    folders.add("/usr/lib/aarch64-linux-gnu/nvidia");
    addFolders(folders, "/opt/nvidia/l4t-gpu-libs", "", "");
    addFolders(folders, "/usr/local", "cuda", "/compat");
    addFolders(folders, "/usr/local", "cuda", "/compat_orin");
    folders.add("/usr/local/nvidia/lib64");
    folders.add("/usr/lib/x86_64-linux-gnu/nvidia/current");
    folders.add("/usr/lib/wsl/lib");
    return folders;
}

/// The library's handle; otherwise null, with the loader's words, and whether a file was there at all.
void *openLibrary(Text &reason, bool &present) {
    if (void *library = ::dlopen(libraryName, RTLD_NOW | RTLD_GLOBAL))
        return library;
    const char *words = ::dlerror();
    reason.append(words ? words : "no reason given");
    // "libcuda.so.1: cannot open shared object file: …" is an absent driver; any other library's name there is a broken
    // one
    present = !(startsWith(reason, libraryName) && std::strstr(reason.c_str(), "cannot open shared object file"));
    const TextList folders = knownFolders();
    for (std::size_t i = 0; i < folders.size(); ++i) {
        Text path = Text(folders[i]).append('/').append(libraryName);
        if (::access(path.c_str(), F_OK) != 0)
            continue;
        if (void *library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL))
            return library;
        words = ::dlerror();
        present = true;
        reason.clear();
        reason.append(words ? words : "no reason given");
    }
    return nullptr;
}

template <class Function>
void bind(void *library, Function &function, const char *name, const char *older = nullptr) {
    void *symbol = ::dlsym(library, name);
    if (!symbol && older)
        symbol = ::dlsym(library, older);
    function = reinterpret_cast<Function>(symbol);
}

void bindAll(void *library, Driver &driver) {
    bind(library, driver.init, "cuInit");
    bind(library, driver.version, "cuDriverGetVersion");
    bind(library, driver.errorName, "cuGetErrorName");
    bind(library, driver.errorString, "cuGetErrorString");
    bind(library, driver.deviceCount, "cuDeviceGetCount");
    bind(library, driver.device, "cuDeviceGet");
    bind(library, driver.deviceName, "cuDeviceGetName");
    bind(library, driver.deviceMemory, "cuDeviceTotalMem_v2", "cuDeviceTotalMem");
    bind(library, driver.deviceUuid, "cuDeviceGetUuid_v2", "cuDeviceGetUuid");
    bind(library, driver.attribute, "cuDeviceGetAttribute");
    bind(library, driver.contextRetain, "cuDevicePrimaryCtxRetain");
    bind(library, driver.contextSetCurrent, "cuCtxSetCurrent");
    bind(library, driver.moduleLoad, "cuModuleLoadDataEx");
    bind(library, driver.moduleUnload, "cuModuleUnload");
    bind(library, driver.moduleFunction, "cuModuleGetFunction");
    bind(library, driver.functionCount, "cuModuleGetFunctionCount");
    bind(library, driver.functions, "cuModuleEnumerateFunctions");
    bind(library, driver.functionName, "cuFuncGetName");
}

/// The file behind the library, links followed.
void reportLibrary(const Driver &driver, int descriptor) {
    Dl_info where;
    if (!driver.init || ::dladdr(reinterpret_cast<void *>(driver.init), &where) == 0 || !where.dli_fname)
        return;
    char path[PATH_MAX];
    reportText(descriptor, 'L', ::realpath(where.dli_fname, path) ? path : where.dli_fname);
}

bool fail(int descriptor, const char *status, std::string_view error) {
    reportText(descriptor, 'E', error);
    report(descriptor, 'S', status);
    return false;
}

} // namespace

Text errorName(const Driver &driver, int code) {
    const char *name = nullptr;
    if (driver.errorName && driver.errorName(code, &name) == 0 && name)
        return Text(name);
    return Text("CUDA error ").number(std::uint64_t(code));
}

long deviceAttribute(const Driver &driver, int device, int which) {
    int value = 0;
    return driver.attribute && driver.attribute(&value, which, device) == 0 ? value : -1;
}

bool openDriver(Driver &driver, int descriptor) {
    Text reason;
    bool present = false;
    void *library = openLibrary(reason, present);
    if (!library)
        return fail(descriptor, present ? "error" : "absent", reason);
    bindAll(library, driver);
    reportLibrary(driver, descriptor);
    if (!driver.init || !driver.deviceCount || !driver.device)
        return fail(descriptor, "error", "the library lacks cuInit, cuDeviceGetCount or cuDeviceGet");
    int version = 0;
    if (driver.version && driver.version(&version) == 0 &&
        version > 0) // needs no cuInit, so it is known even where that fails
        report(descriptor, 'V', Text().number(std::uint64_t(version)));
    const int code = driver.init(0);
    if (code != 0) {
        report(descriptor, 'C', Text().number(std::uint64_t(code)));
        Text error = errorName(driver, code);
        const char *meaning = nullptr;
        if (driver.errorString && driver.errorString(code, &meaning) == 0 && meaning)
            error.append(": ").append(meaning);
        return fail(descriptor, "error", error);
    }
    report(descriptor, 'S', "ok");
    return true;
}

bool DriverReport::take(std::string_view line) {
    if (line.empty())
        return false;
    Text *field = nullptr;
    switch (line.front()) {
    case 'S':
        field = &m_status;
        break;
    case 'V':
        field = &m_version;
        break;
    case 'L':
        field = &m_library;
        break;
    case 'C':
        field = &m_code;
        break;
    case 'E':
        field = &m_error;
        break;
    default:
        return false;
    }
    line.remove_prefix(1);
    field->clear();
    field->append(line);
    return true;
}

void DriverReport::fail(std::string_view status, std::string_view detail) {
    m_status.clear();
    m_status.append(status);
    m_error.clear();
    m_error.json(detail);
}

void DriverReport::appendJson(Text &to) const {
    to.append('{').field("status", m_status);
    const auto append = [&to](std::string_view name, const Text &value) {
        if (!value.empty())
            to.key(name).append(value);
    };
    append("version", m_version);
    append("library", m_library);
    append("code", m_code);
    append("error", m_error);
    to.append('}');
}

} // namespace slipway::probe
