// SPDX-License-Identifier: Apache-2.0
//
// Slipway's sample: adds two vectors on the GPU with a kernel that was compiled on the PC. `--self-test` starts every
// kernel and checks it against the CPU; `--device cuda ...` is the ahead-of-time run that writes a kernel.

#include "generator.h"
#include "selftest.h"

#include <cstdio>
#include <string_view>

namespace runtime = slipway::runtime;

namespace {

constexpr const char *usage = R"(usage: vector_add                      add two vectors on the GPU
       vector_add --self-test         start every kernel and compare with the CPU
       vector_add --device cuda --options capability=sm_N[,ptx-version=NN] [--cache-dir DIR] [--force]
                                      write the program's own kernel into DIR, ahead of time
       vector_add --version | --help
options: --cache-dir DIR  where the kernels are (default: cache/ beside bin/)
         --data DIR       where model.safetensors is (default: data/ beside bin/, else ./data)
exit status: 0 done; 1 failed; 2 no GPU to run on
)";

struct Arguments {
    bool selfTest = false;
    bool version = false;
    bool help = false;
    std::string data;
    Generation generation;
};

Arguments readArguments(int argc, char **argv) {
    Arguments arguments;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        std::string *value = word == "--device"      ? &arguments.generation.device
                             : word == "--options"   ? &arguments.generation.options
                             : word == "--cache-dir" ? &arguments.generation.cache
                             : word == "--data"      ? &arguments.data
                                                     : nullptr;
        bool *flag = word == "--self-test" ? &arguments.selfTest
                     : word == "--force"   ? &arguments.generation.force
                     : word == "--version" ? &arguments.version
                     : word == "--help"    ? &arguments.help
                                           : nullptr;
        if (flag)
            *flag = true;
        else if (!value)
            throw std::runtime_error("unknown argument \"" + std::string(word) + "\", --help lists them");
        else if (i + 1 == argc)
            throw std::runtime_error(std::string(word) + " needs a value");
        else
            *value = argv[++i];
    }
    if (!arguments.generation.options.empty() && arguments.generation.device.empty())
        throw std::runtime_error("--options needs --device cuda");
    return arguments;
}

std::string dataFolder(const Arguments &arguments) {
    if (!arguments.data.empty())
        return arguments.data;
    const std::string shipped = runtime::packageFolder() + "/data";
    return runtime::isFolder(shipped) ? shipped : "data";
}

int demo(const runtime::Gpu &gpu) {
    const auto kernel = gpu.kernel<const float *, const float *, float *, unsigned>("vector_add");
    if (gpu.isSimulated()) {
        std::printf("vector_add is loaded, not run: this is a simulated driver (%s)\n", gpu.name().c_str());
        return 0;
    }
    const std::vector<float> a = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<float> b = {10, 20, 30, 40, 50, 60, 70, 80};
    runtime::Buffer<float> ga(gpu, a), gb(gpu, b), out(gpu, a.size());
    kernel.launch({1}, {unsigned(a.size())}, ga, gb, out, unsigned(a.size()));
    std::printf("on %s (capability %d.%d):\n", gpu.name().c_str(), gpu.capability() / 10, gpu.capability() % 10);
    const std::vector<float> sum = out.download();
    for (std::size_t i = 0; i < sum.size(); ++i)
        std::printf("%g + %g = %g\n", a[i], b[i], sum[i]);
    return 0;
}

int runOnGpu(const Arguments &arguments) {
    const Model model = arguments.selfTest ? readModel(dataFolder(arguments) + "/model.safetensors") : Model();
    runtime::Options options;
    options.cache = arguments.generation.cache;
    const runtime::Gpu gpu(options);
    return arguments.selfTest ? selfTest(gpu, model) : demo(gpu);
}

/// No driver, or a driver without a usable GPU: CUDA_ERROR_NO_DEVICE, STUB_LIBRARY and their like.
bool meansNoGpu(const runtime::Error &error) {
    constexpr int stubLibrary = 34, noDevice = 100, invalidDevice = 101;
    return error.kind == runtime::Error::Kind::noDriver || error.kind == runtime::Error::Kind::noDevice ||
           error.code == stubLibrary || error.code == noDevice || error.code == invalidDevice;
}

int run(int argc, char **argv) {
    Arguments arguments = readArguments(argc, argv);
    if (arguments.help)
        return std::fputs(usage, stdout) < 0;
    if (arguments.version)
        return std::puts("vector_add " SAMPLE_VERSION) < 0;
    if (arguments.generation.device.empty())
        return runOnGpu(arguments);
    if (arguments.generation.cache.empty())
        arguments.generation.cache = runtime::cacheFolder();
    return std::puts(generate(arguments.generation).c_str()) < 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const runtime::Error &error) {
        std::fflush(stdout);
        const bool noGpu = meansNoGpu(error);
        std::fprintf(stderr, "vector_add: %s%s\n", noGpu ? "nothing was run, it needs an NVIDIA GPU: " : "",
                     error.what());
        return noGpu ? 2 : 1;
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "vector_add: %s\n", error.what());
        return 1;
    }
}
