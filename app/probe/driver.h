// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text.h"

namespace slipway::probe {

/// The CUDA driver's functions that the probe asks; a null one is missing in this driver.
struct Driver {
    int (*init)(unsigned) = nullptr;
    int (*version)(int *) = nullptr;
    int (*errorName)(int, const char **) = nullptr;
    int (*errorString)(int, const char **) = nullptr;
    int (*deviceCount)(int *) = nullptr;
    int (*device)(int *, int) = nullptr;
    int (*deviceName)(char *, int, int) = nullptr;
    int (*deviceMemory)(std::size_t *, int) = nullptr;
    int (*deviceUuid)(unsigned char *, int) = nullptr;
    int (*attribute)(int *, int, int) = nullptr;
    int (*contextRetain)(void **, int) = nullptr;
    int (*contextSetCurrent)(void *) = nullptr;
    int (*moduleLoad)(void **, const void *, unsigned, int *, void **) = nullptr;
    int (*moduleUnload)(void *) = nullptr;
    int (*moduleFunction)(void **, void *, const char *) = nullptr;
    int (*functionCount)(unsigned *, void *) = nullptr;
    int (*functions)(void **, unsigned, void *) = nullptr;
    int (*functionName)(const char **, void *) = nullptr;
};

/// In the child: opens libcuda as a program would and starts it, reporting on the way so that whatever was learnt
/// before a hang is not lost. Lines: `L"path"`, `V12060`, `C100`, `E"text"`, then `Sok`, `Sabsent` or `Serror`.
/// True when the driver is up.
bool openDriver(Driver &driver, int descriptor);

/// CUDA_ERROR_... for the code; its number where the driver has no name for it.
Text errorName(const Driver &driver, int code);

/// The value of a CUdevice_attribute, or -1 when the driver does not know it.
long deviceAttribute(const Driver &driver, int device, int which);

/// In the parent: what the driver said, put together from the lines above.
class DriverReport {
public:
    /// Takes one of openDriver's lines; false for any other line.
    bool take(std::string_view line);
    /// Sets the status where the child could not: "hung" or "crashed".
    void fail(std::string_view status, std::string_view detail);
    bool isOk() const { return std::string_view(m_status) == "ok"; }
    bool isKnown() const { return !m_status.empty(); }
    /// `{"status":…,"version":…,"library":…,"code":…,"error":…}`, without what is not known.
    void appendJson(Text &to) const;

private:
    Text m_status;
    Text m_version;
    Text m_library;
    Text m_code;
    Text m_error;
};

} // namespace slipway::probe
