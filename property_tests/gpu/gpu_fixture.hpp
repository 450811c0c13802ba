// What the tests of products on a GPU share: W held by one, this machine's GPU, and a fake one.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/gpu/gpu.hpp"
#include "optimized/kernels/group_weights.hpp"
#include "optimized/kernels/registry.hpp"
#include "property_tests/gpu/fake_driver.hpp"
#include "property_tests/kernels/kernel_fixture.hpp"

namespace slip::gpu {

using testing::Bytes;
using testing::Fill;
using testing::most_planes;
using testing::primes;
using testing::residues;
using testing::weights;
using Weights = std::vector<std::int8_t>;

struct Shape {
    std::size_t m, n, b, planes;
};

inline Bytes on_the_processor(const Shape& shape, const Weights& w, const Bytes& x) {
    return testing::Packed(*kernels::available().front(), w, shape.m, shape.n)
        .multiply(x, shape.b, shape.planes);
}

/// W as David has it, on a GPU.
inline kernels::WeightMatrix held_by(Gpu& gpu, const Shape& shape, const Weights& w) {
    kernels::WeightMatrix matrix(w.data(), shape.m, shape.n);
    matrix.multiply_on(gpu.hold(matrix));
    matrix.prepare();
    return matrix;
}

inline Bytes multiplied(const kernels::WeightMatrix& w, const Shape& shape, const Bytes& x) {
    Bytes y(shape.b * shape.planes * shape.m, testing::sentinel);
    w.multiply(x, y, shape.planes);
    return y;
}

/// A matrix per plane, rows x n, as they lie in A or U (HIDE-1): up to 125 in magnitude.
struct Planes {
    Planes(std::size_t planes, std::size_t m, std::size_t n, Fill kind, std::mt19937_64& random)
        : rows(m), cols(n) {
        for (std::size_t p = 0; p < planes; ++p) {
            bytes.push_back(
                testing::fill<std::int8_t>(kind, m * n, -125, 125, {-125, 125, -1, 0, 1}, random));
        }
    }
    kernels::PlanarMatrix matrix() const {
        std::vector<kernels::WeightMatrix> planes;
        for (const Weights& plane : bytes) planes.emplace_back(plane.data(), rows, cols);
        return kernels::PlanarMatrix(std::move(planes));
    }
    std::vector<base::MatrixView<const std::int8_t>> views() const {
        std::vector<base::MatrixView<const std::int8_t>> planes;
        for (const Weights& plane : bytes) planes.emplace_back(plane.data(), rows, cols);
        return planes;
    }

    std::size_t rows, cols;
    std::vector<Weights> bytes;
};

/// W_t = [A ; U] as David has it, on a GPU.
inline kernels::GroupWeights held_by(Gpu& gpu, const Planes& a,
                                     std::shared_ptr<const HeldRows> held_u, const Planes& u) {
    kernels::GroupWeights w(a.matrix(), u.matrix());
    w.multiply_on(gpu.hold(w.hidden(), std::move(held_u)));
    w.prepare();
    return w;
}

inline Bytes applied(const kernels::GroupWeights& w, const Bytes& x, std::size_t planes,
                     base::WorkerTeam* team = nullptr) {
    Bytes y(x.size() / w.shape().inputs() * w.shape().outputs(), testing::sentinel);
    w.apply(x, y, planes, team);
    return y;
}

/// On the machine's GPU if there is one.
class ThisGpu : public ::testing::Test {
protected:
    void SetUp() override {
        try {
            gpu_ = Gpu::open();
        } catch (const BadInput& error) {
            GTEST_SKIP() << error.what();
        }
    }
    std::shared_ptr<Gpu> gpu_;
};

/// Where it was built without clang++-19 there are no kernels, and no GPU is opened.
class FakeGpu : public ::testing::Test {
protected:
    void SetUp() override {
        if (*products_ptx == '\0') GTEST_SKIP() << "built without clang++-19";
        void* const library = ::dlopen(SLIP_FAKE_DRIVER, RTLD_NOW);
        ASSERT_NE(library, nullptr) << ::dlerror();
        find(library, "fake_cuda_fail", fail_);
        find(library, "fake_cuda_calls", calls_);
        find(library, "fake_cuda_held", held_);
        find(library, "fake_cuda_freed_bytes", freed_bytes_);
    }
    void TearDown() override {
        if (fail_ != nullptr) fail_(nullptr, 0);
    }
    static std::shared_ptr<Gpu> open() { return Gpu::open(SLIP_FAKE_DRIVER); }

    /// That `act` throws an E that names the call and the driver's reason.
    template <class E, class Act>
    static void expect_failure(const char* call, const Act& act) {
        try {
            act();
            ADD_FAILURE() << call << " failed, and nothing was thrown";
        } catch (const E& error) {
            const std::string says = error.what();
            EXPECT_NE(says.find(std::string(call) + " failed: CUDA_ERROR_OUT_OF_MEMORY"),
                      std::string::npos)
                << says;
        }
    }

    decltype(&fake_cuda_fail) fail_ = nullptr;
    decltype(&fake_cuda_calls) calls_ = nullptr;
    decltype(&fake_cuda_held) held_ = nullptr;
    decltype(&fake_cuda_freed_bytes) freed_bytes_ = nullptr;

private:
    template <class F>
    static void find(void* library, const char* name, F& function) {
        function = reinterpret_cast<F>(::dlsym(library, name));
        ASSERT_NE(function, nullptr) << name;
    }
};

}  // namespace slip::gpu
