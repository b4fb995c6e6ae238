// SPDX-License-Identifier: Apache-2.0
//
// Slipway's kernel runtime: header-only, C++17, nothing to link but libdl. A program finds the kernels that were
// shipped beside it and starts them:
//
//     slipway::runtime::Gpu gpu;
//     auto saxpy = gpu.kernel<float, const float *, float *, unsigned>("saxpy");
//     slipway::runtime::Buffer<float> x(gpu, xs), y(gpu, ys);
//     saxpy.launch({blocks}, {256}, 2.0f, x, y, unsigned(xs.size()));
//     ys = y.download();
//
// Everything that fails throws slipway::runtime::Error.
#pragma once

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "driver.h"
#include "images.h"

namespace slipway::runtime {

/// Blocks of a grid, or threads of a block.
struct Extent {
    unsigned x = 1;
    unsigned y = 1;
    unsigned z = 1;
};

struct Options {
    int device = 0;
    std::string cache; ///< folder to look in; empty: cacheFolder()
};

/// A loaded image; unloaded with the last kernel that came from it.
class Module {
public:
    Module(std::shared_ptr<const Driver> driver, void *handle)
        : m_driver(std::move(driver))
        , m_handle(handle) {}
    Module(const Module &) = delete;
    Module &operator=(const Module &) = delete;
    ~Module() {
        if (m_driver->moduleUnload)
            m_driver->moduleUnload(m_handle);
    }
    void *handle() const { return m_handle; }

private:
    std::shared_ptr<const Driver> m_driver;
    void *m_handle;
};

/// The GPU and its primary context, current on the thread that made it. Kernels and buffers end before it does.
class Gpu {
public:
    explicit Gpu(Options options = {});
    Gpu(const Gpu &) = delete;
    Gpu &operator=(const Gpu &) = delete;
    ~Gpu() {
        if (m_driver->contextRelease)
            m_driver->contextRelease(m_device);
    }

    const std::string &name() const { return m_name; }
    int capability() const { return m_capability; }       ///< 87 for 8.7
    int driverVersion() const { return m_driverVersion; } ///< 12060 for CUDA 12.6
    const std::string &cache() const { return m_folder.path(); }
    /// Whether this is Slipway's virtual board: it judges images as a real driver does, and computes nothing.
    bool isSimulated() const { return m_name.find("simulated by Slipway") != std::string::npos; }
    const std::shared_ptr<const Driver> &driver() const { return m_driver; }
    void synchronize() const { m_driver->call("wait for the GPU", m_driver->synchronize); }

    /// Loads the best image of the kernel; the template arguments are its parameters, pointers for buffers.
    template <class... Parameters>
    class Kernel;
    template <class... Parameters>
    Kernel<Parameters...> kernel(const std::string &name) const;

private:
    struct Loaded {
        std::shared_ptr<Module> module;
        void *function = nullptr;
        Image image;
    };

    Loaded load(const std::string &name) const;
    Loaded tryImage(const Image &image) const;
    void noteInexact(const std::string &name, const Image &image) const;
    [[noreturn]] void throwNotFound(const std::string &name, const Lookup &found) const;
    int attribute(int which) const {
        int value = 0;
        m_driver->call("ask the GPU's attributes", m_driver->deviceAttribute, &value, which, m_device);
        return value;
    }

    std::shared_ptr<const Driver> m_driver;
    mutable Folder m_folder; ///< remembers its listing
    std::string m_name;
    std::optional<std::uint32_t> m_ptxVersion;
    int m_device = 0;
    int m_capability = 0;
    int m_driverVersion = 0;
    mutable bool m_noted = false;
    void *m_context = nullptr;
};

inline Gpu::Gpu(Options options)
    : m_driver(std::make_shared<Driver>())
    , m_folder(options.cache.empty() ? cacheFolder() : options.cache)
    , m_ptxVersion(ptxVersionOfEnvironment()) {
    const Driver &driver = *m_driver;
    driver.call("start the CUDA driver", driver.init, 0u);
    driver.call("ask the driver's version", driver.version, &m_driverVersion);
    int count = 0;
    driver.call("count the GPUs", driver.deviceCount, &count);
    if (options.device < 0 || options.device >= count)
        throw Error(Error::Kind::noDevice, "no GPU " + std::to_string(options.device) +
                                               " on this machine: the driver knows " + std::to_string(count));
    driver.call("open the GPU", driver.deviceGet, &m_device, options.device);
    char name[256] = {};
    driver.call("ask the GPU's name", driver.deviceName, name, int(sizeof name - 1), m_device);
    m_name = name;
    constexpr int majorAttribute = 75;
    constexpr int minorAttribute = 76;
    m_capability = attribute(majorAttribute) * 10 + attribute(minorAttribute);
    driver.call("make a context on the GPU", driver.contextRetain, &m_context, m_device);
    driver.call("use the GPU's context", driver.contextSetCurrent, m_context);
}

/// Loads one image and finds its entry; throws with the JIT's log.
inline Gpu::Loaded Gpu::tryImage(const Image &image) const {
    enum JitOption { infoLog = 3, infoLogSize = 4, errorLog = 5, errorLogSize = 6 };
    char info[4096] = {};
    char error[8192] = {};
    int keys[] = {infoLog, infoLogSize, errorLog, errorLogSize};
    // the sizes travel as pointers' bits: that is the driver's calling convention
    void *values[] = {info, reinterpret_cast<void *>(sizeof info - 1), error,
                      reinterpret_cast<void *>(sizeof error - 1)};
    const std::string bytes = detail::readImageFile(image.path);
    void *handle = nullptr;
    if (!m_driver->moduleLoad)
        throw Error(Error::Kind::noDriver, "cannot load kernels: this CUDA driver lacks cuModuleLoadDataEx");
    const int code = m_driver->moduleLoad(&handle, bytes.data(), 4, keys, values);
    m_driver->check("load " + image.path, code, std::string(detail::trimmed(error)));
    Loaded loaded;
    loaded.module = std::make_shared<Module>(m_driver, handle);
    loaded.image = image;
    m_driver->call("find the entry \"" + image.entry + "\" in " + image.path, m_driver->moduleFunction,
                   &loaded.function, handle, image.entry.c_str());
    return loaded;
}

inline void Gpu::throwNotFound(const std::string &name, const Lookup &found) const {
    std::string text = "no image of kernel \"" + name + "\" for sm_" + std::to_string(m_capability) + " in " + cache() +
                       " (looked for " + name + "_HASH.cubin and " + name + "_HASH.o): ";
    const auto list = [](const std::vector<std::string> &items) {
        std::string joined;
        for (std::size_t i = 0; i < items.size() && i < 8; ++i)
            joined += (i ? ", " : "") + items[i];
        return joined + (items.size() > 8 ? ", ..." : "");
    };
    if (!found.folderExists)
        text += "the folder does not exist";
    else if (!found.unusable.empty())
        text += "it holds only " + list(found.unusable);
    else if (!found.names.empty())
        text += "it holds other kernels: " + list(found.names);
    else
        text += "it holds no kernel at all";
    throw Error(Error::Kind::noImage, text);
}

/// Says once, for the first kernel, that the image was not the one keyed for this device and environment.
inline void Gpu::noteInexact(const std::string &name, const Image &image) const {
    if (image.exact || image.kind == Image::Kind::cubin || m_noted)
        return;
    m_noted = true;
    const std::string version = m_ptxVersion ? " and PTX " + std::to_string(*m_ptxVersion) : "";
    std::fprintf(stderr,
                 "slipway: the cache has no image of \"%s\" keyed for sm_%d%s; took %s (%s), others may be alike\n",
                 name.c_str(), m_capability, version.c_str(), image.path.c_str(), image.target.c_str());
}

/// Tries what was found in order of preference and says on stderr when it had to make do.
inline Gpu::Loaded Gpu::load(const std::string &name) const {
    const Lookup found = m_folder.lookUp(name, m_capability, m_ptxVersion);
    if (found.images.empty())
        throwNotFound(name, found);
    std::optional<Error> firstError;
    for (const Image &image : found.images) {
        try {
            Loaded loaded = tryImage(image);
            if (firstError)
                std::fprintf(stderr, "slipway: %s; took %s instead\n", firstError->what(), image.path.c_str());
            noteInexact(name, image);
            return loaded;
        } catch (const Error &error) {
            if (!firstError)
                firstError = error;
            else
                std::fprintf(stderr, "slipway: %s\n", error.what());
        }
    }
    throw *firstError;
}

/// Memory on the GPU for `size` values of a plain type.
template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable<T>::value, "the GPU gets the bytes as they are");

public:
    Buffer(const Gpu &gpu, std::size_t size)
        : m_driver(gpu.driver())
        , m_size(size) {
        if (size > std::numeric_limits<std::size_t>::max() / sizeof(T))
            throw Error(Error::Kind::noDevice, "cannot take " + std::to_string(size) + " values on the GPU: too many");
        m_driver->call("take " + std::to_string(size * sizeof(T)) + " bytes on the GPU", m_driver->allocate, &m_pointer,
                       size ? size * sizeof(T) : 1);
    }
    Buffer(const Gpu &gpu, const std::vector<T> &values)
        : Buffer(gpu, values.size()) {
        if (!values.empty())
            m_driver->call("copy to the GPU", m_driver->upload, m_pointer, static_cast<const void *>(values.data()),
                           values.size() * sizeof(T));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() {
        if (m_driver->release && m_pointer)
            m_driver->release(m_pointer);
    }

    std::size_t size() const { return m_size; }
    DevicePointer pointer() const { return m_pointer; }
    /// Waits for the kernels that write it (the copy is ordered after them).
    std::vector<T> download() const {
        std::vector<T> values(m_size);
        if (m_size)
            m_driver->call("copy from the GPU", m_driver->download, static_cast<void *>(values.data()), m_pointer,
                           m_size * sizeof(T));
        return values;
    }

private:
    std::shared_ptr<const Driver> m_driver;
    std::size_t m_size;
    DevicePointer m_pointer = 0;
};

namespace detail {

/// How an argument for a parameter of type P travels: buffers as their address, values as they are.
template <class P>
struct Argument {
    static_assert(std::is_trivially_copyable<P>::value, "kernel parameters are plain values");
    using Stored = P;
    template <class A>
    static Stored of(const A &value) {
        static_assert(std::is_same<A, P>::value, "the argument must have exactly the parameter's type");
        return value;
    }
};

template <class T>
struct Argument<T *> {
    using Stored = DevicePointer;
    static Stored of(const Buffer<std::remove_const_t<T>> &buffer) { return buffer.pointer(); }
};

} // namespace detail

/// A kernel ready to start, with its parameters' types.
template <class... Parameters>
class Gpu::Kernel {
public:
    const Image &image() const { return m_loaded.image; }

    /// Starts the kernel; errors inside it appear at the next synchronize() or download().
    template <class... Arguments>
    void launch(Extent grid, Extent block, const Arguments &...arguments) const {
        static_assert(sizeof...(Arguments) == sizeof...(Parameters), "one argument for each parameter");
        auto stored = std::make_tuple(detail::Argument<Parameters>::of(arguments)...);
        std::apply(
            [&](auto &...values) {
                void *addresses[] = {static_cast<void *>(&values)..., nullptr};
                m_driver->call("start \"" + m_loaded.image.entry + "\"", m_driver->launch, m_loaded.function, grid.x,
                               grid.y, grid.z, block.x, block.y, block.z, 0u, static_cast<void *>(nullptr),
                               static_cast<void **>(addresses), static_cast<void **>(nullptr));
            },
            stored);
    }

private:
    friend class Gpu;
    Kernel(std::shared_ptr<const Driver> driver, Loaded loaded)
        : m_driver(std::move(driver))
        , m_loaded(std::move(loaded)) {}

    std::shared_ptr<const Driver> m_driver;
    Loaded m_loaded;
};

template <class... Parameters>
Gpu::Kernel<Parameters...> Gpu::kernel(const std::string &name) const {
    return Kernel<Parameters...>(m_driver, load(name));
}

} // namespace slipway::runtime
