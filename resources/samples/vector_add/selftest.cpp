// SPDX-License-Identifier: Apache-2.0
//
// One test per kernel: inputs made here or read from the model, the same sum on the CPU in double precision, and a
// tolerance that follows from the kernel's arithmetic.

#include "selftest.h"

#include "generator.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace runtime = slipway::runtime;

namespace {

constexpr unsigned threads = 256;

unsigned blocksFor(std::size_t values) {
    return unsigned((values + threads - 1) / threads);
}

/// Numbers between -1 and 1 that are the same on every machine.
std::vector<float> numbers(std::size_t count, std::uint32_t seed) {
    std::vector<float> values(count);
    for (float &value : values) {
        seed = seed * 1664525u + 1013904223u;
        value = float(seed >> 8) / 8388608.0f - 1.0f;
    }
    return values;
}

std::vector<float> floats(const std::vector<Half> &values) {
    std::vector<float> result;
    for (const Half value : values)
        result.push_back(toFloat(value));
    return result;
}

/// How far the GPU is from the CPU at worst.
struct Comparison {
    std::size_t values = 0;
    double error = 0;
    double allowed = 0;
};

/// The largest difference; a NaN, or a result of another length, counts as infinitely far.
Comparison compare(const std::vector<float> &got, const std::vector<double> &wanted, double allowed) {
    Comparison result{got.size(), got.size() == wanted.size() && !got.empty() ? 0.0 : INFINITY, allowed};
    for (std::size_t i = 0; i < got.size() && i < wanted.size(); ++i) {
        const double difference = std::fabs(double(got[i]) - wanted[i]);
        result.error = std::isnan(difference) ? INFINITY : std::max(result.error, difference);
    }
    return result;
}

class SelfTest {
public:
    SelfTest(const runtime::Gpu &gpu, const Model &model)
        : m_gpu(gpu)
        , m_model(model) {}

    int run() {
        vectorAdd();
        saxpy();
        rowSoftmax();
        vectorAddF16();
        matmulTiled();
        scaleBias();
        fillGenerated();
        return finish();
    }

private:
    /// Loads the kernel, lets `body` compute with it unless the driver is simulated, and prints the line.
    template <class... Parameters, class Body>
    void test(const char *name, Body body) {
        try {
            const auto kernel = m_gpu.kernel<Parameters...>(name);
            const runtime::Image &image = kernel.image();
            const char *kind = image.kind == runtime::Image::Kind::cubin ? "cubin" : "PTX";
            if (m_gpu.isSimulated()) {
                std::printf("%-15s loaded, not run: this is a simulated driver; %s %s (%s)\n", name, kind,
                            image.path.c_str(), image.target.c_str());
                ++m_loaded;
                return;
            }
            const Comparison result = body(kernel);
            const bool good = result.error <= result.allowed;
            std::printf("%-15s %s  %zu values, largest error %.3g (allowed %.3g); %s %s (%s)\n", name,
                        good ? "pass" : "FAIL", result.values, result.error, result.allowed, kind, image.path.c_str(),
                        image.target.c_str());
            ++(good ? m_passed : m_failed);
        } catch (const std::exception &error) {
            std::printf("%-15s FAIL  %s\n", name, error.what());
            ++m_failed;
        }
    }

    void vectorAdd() {
        test<const float *, const float *, float *, unsigned>("vector_add", [this](const auto &kernel) {
            const std::vector<float> a = numbers(100003, 1);
            const std::vector<float> b = numbers(a.size(), 2);
            runtime::Buffer<float> ga(m_gpu, a), gb(m_gpu, b), out(m_gpu, a.size());
            kernel.launch({blocksFor(a.size())}, {threads}, ga, gb, out, unsigned(a.size()));
            std::vector<double> wanted;
            for (std::size_t i = 0; i < a.size(); ++i)
                wanted.push_back(a[i] + b[i]); // one rounding on both sides: equal to the bit
            return compare(out.download(), wanted, 0);
        });
    }

    void saxpy() {
        test<float, const float *, float *, unsigned>("saxpy", [this](const auto &kernel) {
            const float alpha = 2.5f;
            const std::vector<float> x = numbers(65537, 3);
            const std::vector<float> y = numbers(x.size(), 4);
            runtime::Buffer<float> gx(m_gpu, x), gy(m_gpu, y);
            kernel.launch({blocksFor(x.size())}, {threads}, alpha, gx, gy, unsigned(x.size()));
            std::vector<double> wanted;
            for (std::size_t i = 0; i < x.size(); ++i)
                wanted.push_back(std::fma(alpha, x[i], y[i])); // fused on both sides: equal to the bit
            return compare(gy.download(), wanted, 0);
        });
    }

    void rowSoftmax() {
        test<const float *, float *, unsigned>("row_softmax", [this](const auto &kernel) {
            const unsigned rows = 37, cols = 1001;
            std::vector<float> in = numbers(std::size_t(rows) * cols, 5);
            for (float &value : in)
                value *= 20.0f;
            runtime::Buffer<float> gin(m_gpu, in), out(m_gpu, in.size());
            kernel.launch({rows}, {threads}, gin, out, cols);
            std::vector<double> wanted(in.size());
            for (unsigned row = 0; row < rows; ++row) {
                const float *values = in.data() + std::size_t(row) * cols;
                double largest = values[0], sum = 0;
                for (unsigned c = 0; c < cols; ++c)
                    largest = std::max(largest, double(values[c]));
                for (unsigned c = 0; c < cols; ++c)
                    sum += std::exp(values[c] - largest);
                for (unsigned c = 0; c < cols; ++c)
                    wanted[std::size_t(row) * cols + c] = std::exp(values[c] - largest) / sum;
            }
            return compare(out.download(), wanted, 2e-6); // results are at most 1; ex2.approx and exponents up to 58
        });
    }

    void vectorAddF16() {
        test<const Half *, const Half *, Half *, unsigned>("vector_add_f16", [this](const auto &kernel) {
            const std::vector<Half> &a = tensor("residual.a");
            const std::vector<Half> &b = tensor("residual.b");
            if (a.size() != b.size())
                throw ModelError("residual.a and residual.b differ in length");
            runtime::Buffer<Half> ga(m_gpu, a), gb(m_gpu, b), out(m_gpu, a.size());
            kernel.launch({blocksFor(a.size())}, {threads}, ga, gb, out, unsigned(a.size()));
            std::vector<double> wanted;
            for (std::size_t i = 0; i < a.size(); ++i)
                wanted.push_back(toFloat(toHalf(toFloat(a[i]) + toFloat(b[i])))); // equal to the bit
            return compare(floats(out.download()), wanted, 0);
        });
    }

    void matmulTiled() {
        using Floats = const float *;
        test<Floats, Floats, float *, unsigned, unsigned, unsigned>("matmul_tiled", [this](const auto &kernel) {
            const unsigned m = 45, n = 70, k = 99, tile = 16; // no multiples of the tile, so the edges are tested too
            const std::vector<float> a = numbers(std::size_t(m) * k, 6);
            const std::vector<float> b = numbers(std::size_t(k) * n, 7);
            runtime::Buffer<float> ga(m_gpu, a), gb(m_gpu, b), out(m_gpu, std::size_t(m) * n);
            kernel.launch({(n + tile - 1) / tile, (m + tile - 1) / tile}, {tile, tile}, ga, gb, out, m, n, k);
            std::vector<double> wanted(std::size_t(m) * n);
            for (unsigned row = 0; row < m; ++row)
                for (unsigned column = 0; column < n; ++column)
                    for (unsigned i = 0; i < k; ++i)
                        wanted[std::size_t(row) * n + column] +=
                            double(a[std::size_t(row) * k + i]) * b[std::size_t(i) * n + column];
            return compare(out.download(), wanted,
                           5e-5); // 99 terms of at most 1, each rounding 6e-8 of the partial sum
        });
    }

    void scaleBias() {
        using Floats = const float *;
        test<Floats, Floats, Floats, float *, unsigned>("scale_bias", [this](const auto &kernel) {
            const std::vector<float> scale = floats(tensor("norm.scale"));
            const std::vector<float> bias = floats(tensor("norm.bias"));
            if (scale.size() != bias.size())
                throw ModelError("norm.scale and norm.bias differ in length");
            const unsigned rows = 33, cols = unsigned(scale.size());
            const std::vector<float> in = numbers(std::size_t(rows) * cols, 8);
            runtime::Buffer<float> gin(m_gpu, in), gscale(m_gpu, scale), gbias(m_gpu, bias), out(m_gpu, in.size());
            kernel.launch({blocksFor(cols), rows}, {threads}, gin, gscale, gbias, out, cols);
            std::vector<double> wanted;
            for (std::size_t i = 0; i < in.size(); ++i)
                wanted.push_back(double(in[i]) * scale[i % cols] + bias[i % cols]);
            return compare(out.download(), wanted, 3e-7); // values below 2: one or two roundings
        });
    }

    void fillGenerated() {
        test<float *, float, unsigned>(generatedKernel, [this](const auto &kernel) {
            const std::vector<float> before(1000, -1.0f);
            const unsigned filled = 777; // the rest must stay as it was
            runtime::Buffer<float> out(m_gpu, before);
            kernel.launch({blocksFor(before.size())}, {threads}, out, 42.5f, filled);
            std::vector<double> wanted(before.begin(), before.end());
            std::fill(wanted.begin(), wanted.begin() + filled, 42.5);
            return compare(out.download(), wanted, 0);
        });
    }

    const std::vector<Half> &tensor(const std::string &name) const {
        const auto found = m_model.find(name);
        if (found == m_model.end())
            throw ModelError("the model has no tensor " + name);
        return found->second;
    }

    int finish() const {
        if (m_gpu.isSimulated())
            std::printf("%d kernels loaded, %d refused; nothing was computed: this is a simulated driver (%s)\n",
                        m_loaded, m_failed, m_gpu.name().c_str());
        else
            std::printf("%d passed, %d failed on %s\n", m_passed, m_failed, m_gpu.name().c_str());
        return m_failed ? 1 : 0;
    }

    const runtime::Gpu &m_gpu;
    const Model &m_model;
    int m_passed = 0;
    int m_failed = 0;
    int m_loaded = 0;
};

} // namespace

int selfTest(const runtime::Gpu &gpu, const Model &model) {
    return SelfTest(gpu, model).run();
}
