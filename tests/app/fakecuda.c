// SPDX-License-Identifier: Apache-2.0
//
// A libcuda.so.1 for the tests of the probe and the sample: one made-up Orin that answers the driver's queries.
// FAKE_CUDA in the environment makes it fail, and marks inside an image make it refuse, hang or crash. It computes
// nothing.

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int asked(const char *mode) {
    const char *value = getenv("FAKE_CUDA");
    return value && strcmp(value, mode) == 0;
}

int cuInit(unsigned flags) {
    (void)flags;
    if (asked("hang"))
        for (;;)
            pause();
    if (asked("crash"))
        raise(SIGKILL); // no handler of a sanitizer sees this one
    if (asked("exit"))
        exit(0);
    return asked("no device") ? 100 : 0;
}

int cuDriverGetVersion(int *version) {
    *version = 12060;
    return 0;
}

int cuGetErrorName(int code, const char **name) {
    *name = code == 100   ? "CUDA_ERROR_NO_DEVICE"
            : code == 222 ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
            : code == 500 ? "CUDA_ERROR_NOT_FOUND"
                          : "CUDA_ERROR_INVALID_IMAGE";
    return 0;
}

int cuGetErrorString(int code, const char **text) {
    *text = code == 100 ? "no CUDA-capable device \xff is detected" : "made up";
    return 0;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return 0;
}

int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "Orin (simulated by Slipway)");
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    *bytes = 7990000000;
    return 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device) {
    (void)device;
    for (int i = 0; i < 16; ++i)
        uuid[i] = (unsigned char)(i * 17);
    return 0;
}

int cuDeviceGetAttribute(int *value, int which, int device) {
    (void)device;
    switch (which) {
    case 10:
        *value = 32;
        return 0;
    case 13:
        *value = 624000;
        return 0;
    case 16:
        *value = 8;
        return 0;
    case 18:
        *value = 1;
        return 0;
    case 38:
        *value = 4194304;
        return 0;
    case 75:
        *value = 8;
        return 0;
    case 76:
        *value = 7;
        return 0;
    case 97:
        *value = 166912;
        return 0;
    default:
        return 1;
    }
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = context;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    return 0;
}

int cuCtxSetCurrent(void *context) {
    (void)context;
    return 0;
}

/// Takes text with a `.version` up to 8.5; the module is a copy of the text. Of an ELF it only sees that it is one,
/// with a kernel `k`.
int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *keys, void **values) {
    const char *text = image;
    if (strstr(text, "HANG"))
        for (;;)
            pause();
    if (strstr(text, "CRASH"))
        raise(SIGKILL);
    if (strncmp(text,
                "\x7f"
                "ELF",
                4) == 0) {
        *module = strdup(".entry k(");
        return 0;
    }
    const char *version = strstr(text, ".version ");
    if (!version)
        return 200;
    if (strncmp(version + 9, "8.5", 3) > 0) {
        for (unsigned i = 0; i + 1 < count; ++i)
            if (keys[i] == 5)
                snprintf(values[i], (size_t)(uintptr_t)values[i + 1], "Unsupported .version \"%.3s\"\n", version + 9);
        return 222;
    }
    *module = strdup(text);
    return 0;
}

int cuModuleUnload(void *module) {
    free(module);
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    char entry[256];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    *function = module;
    return strstr(module, entry) ? 0 : 500;
}
