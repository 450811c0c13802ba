// David's products on a GPU (optimized/gpu) against the portable backend: on this machine's GPU, or
// visibly skipped; and everywhere with a fake driver, whose GPU is the processor.
// test: alone
// links: slip_gpu
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "optimized/kernels/group_weights.hpp"
#include "property_tests/gpu/gpu_fixture.hpp"

namespace slip::gpu {
namespace {

void expect_product(Gpu& gpu, const Shape& shape, const Weights& w, const Bytes& x) {
    EXPECT_TRUE(multiplied(held_by(gpu, shape, w), shape, x) == on_the_processor(shape, w, x))
        << shape.m << " x " << shape.n << ", b = " << shape.b << ", planes = " << shape.planes;
}

void expect_random_product(Gpu& gpu, const Shape& shape, std::mt19937_64& random) {
    expect_product(gpu, shape, weights(Fill::random, shape.m * shape.n, random),
                   residues(Fill::random, shape.b, shape.n, shape.planes, random));
}

/// Tails of rows, columns and vectors of every kernel.
void products_of_every_tail(Gpu& gpu) {
    std::mt19937_64 random(1);
    for (const std::size_t m : {0U, 1U, 15U, 16U, 17U, 127U, 128U, 129U, 300U}) {
        for (const std::size_t n : {1U, 2U, 63U, 64U, 65U, 333U, 512U}) {
            expect_random_product(gpu, {m, n, 1 + n % 3, 1 + (m + n) % most_planes}, random);
        }
    }
    for (std::size_t vectors = 1; vectors <= 200; vectors += 1 + vectors / 20) {
        expect_random_product(gpu, {130, 700, vectors, 1}, random);
    }
    for (std::size_t planes = 1; planes <= most_planes; ++planes) {
        for (const std::size_t b : {0U, 1U, 2U, 5U, 9U, 18U, 37U, 200U}) {
            expect_random_product(gpu, {49, 190, b, planes}, random);
        }
    }
}

/// Shapes of models, and more columns than 32 bits can sum.
void products_of_large_shapes(Gpu& gpu) {
    std::mt19937_64 random(2);
    for (const Shape& shape :
         {Shape{2560, 2048, 1, 4}, Shape{256, 5632, 3, 5}, Shape{640, 2048, 33, 4},
          Shape{3, 66'001, 1, 4}, Shape{129, 66'001, 1, 2}, Shape{2, 131'073, 3, 7},
          Shape{1, 600'000, 2, 2}, Shape{1, 600'000, 3, 4}}) {
        expect_random_product(gpu, shape, random);
    }
}

/// The largest sums there are, of either sign, up to the columns that a kernel sums at once, and
/// beyond.
void products_of_extremes(Gpu& gpu) {
    for (const std::size_t n : {64U, 1000U, 65'535U, 65'536U, 65'537U, 70'000U, 200'000U}) {
        for (const std::size_t b : {1U, 6U}) {
            const Shape shape{3, n, b, most_planes};
            Weights w(shape.m * n, 127);
            std::fill_n(w.begin(), n, std::int8_t{-127});
            for (std::size_t j = 0; j < n; j += 2) w[n + j] = -127;  // the second row alternates
            Bytes x;
            for (std::size_t v = 0; v < b * shape.planes; ++v) {
                x.insert(x.end(), n, static_cast<std::uint8_t>(primes[v % shape.planes] - 1));
            }
            expect_product(gpu, shape, w, x);
        }
    }
}

/// HIDE-1: groups of several heights over one U, against the processor. `n` may be more than 32
/// bits can sum.
void hidden_products(Gpu& gpu, std::size_t planes, std::size_t n, std::size_t ell, Fill kind,
                     std::initializer_list<std::size_t> columns, std::mt19937_64& random) {
    base::WorkerTeam team(3);
    const Planes u(planes, ell, n, kind, random);
    const auto held_u = gpu.hold_rows(u.views());
    for (const std::size_t m : {1U, 127U, 128U, 129U, 300U}) {
        const Planes a(planes, m, n, kind, random);
        const kernels::GroupWeights on_gpu = held_by(gpu, a, held_u, u);
        const kernels::GroupWeights on_processor(a.matrix(), u.matrix());
        for (const std::size_t b : columns) {
            const Bytes x = residues(kind, b, n, planes, random);
            EXPECT_TRUE(applied(on_gpu, x, planes, &team) == applied(on_processor, x, planes))
                << m << " + " << ell << " rows x " << n << ", b = " << b << ", planes = " << planes;
        }
    }
}

void hidden_products_of_every_tail(Gpu& gpu) {
    std::mt19937_64 random(8);
    for (std::size_t planes = 2; planes <= most_planes; ++planes) {
        hidden_products(gpu, planes, 190, 128, Fill::random, {0, 1, 9}, random);
    }
    hidden_products(gpu, 6, 64, 1, Fill::random, {2, 8, 33, 65, 97}, random);
    hidden_products(gpu, 6, 700, 130, Fill::extremes, {1, 64}, random);  // 64: the team copies
    hidden_products(gpu, 3, 66'001, 3, Fill::extremes, {1, 9}, random);
}

/// A group of TinyLlama's in the set `hidden`: ell = 2304.
void hidden_products_of_a_model(Gpu& gpu) {
    std::mt19937_64 random(9);
    const std::size_t planes = 6, n = 2048;
    const Planes u(planes, 2304, n, Fill::random, random);
    const Planes a(planes, 2560, n, Fill::random, random);
    const kernels::GroupWeights on_gpu = held_by(gpu, a, gpu.hold_rows(u.views()), u);
    const kernels::GroupWeights on_processor(a.matrix(), u.matrix());
    const Bytes x = residues(Fill::random, 1, n, planes, random);
    EXPECT_EQ(applied(on_gpu, x, planes), applied(on_processor, x, planes));
}

/// CNN-4: the patches are multiplied on the GPU.
void convolution(Gpu& gpu) {
    std::mt19937_64 random(4);
    const base::Convolution convolution{.H = 9, .W = 7, .C = 3, .kH = 3, .kW = 2, .N = 5};
    const Weights w = weights(Fill::random, 5 * convolution.patch(), random);
    const base::MatrixView<const std::int8_t> view(w.data(), 5, convolution.patch());
    const kernels::GroupWeights on_processor(view, convolution);
    kernels::GroupWeights on_gpu(view, convolution);
    on_gpu.multiply_on(gpu.hold(view));
    const std::size_t planes = 4, b = 3;
    const Bytes x = residues(Fill::random, b, on_gpu.shape().inputs(), planes, random);
    Bytes y(b * planes * on_gpu.shape().outputs()), expected(y.size());
    on_gpu.apply(x, y, planes);
    on_processor.apply(x, expected, planes);
    EXPECT_EQ(y, expected);
}

TEST_F(ThisGpu, LIN_1_every_tail) { products_of_every_tail(*gpu_); }
TEST_F(ThisGpu, LIN_1_large_shapes) { products_of_large_shapes(*gpu_); }
TEST_F(ThisGpu, LIN_1_MASK_3_extremes) { products_of_extremes(*gpu_); }
TEST_F(ThisGpu, HIDE_1_every_tail) { hidden_products_of_every_tail(*gpu_); }
TEST_F(ThisGpu, HIDE_1_a_model) { hidden_products_of_a_model(*gpu_); }
TEST_F(ThisGpu, CNN_4_convolution) { convolution(*gpu_); }

TEST_F(FakeGpu, LIN_1_every_tail) { products_of_every_tail(*open()); }
TEST_F(FakeGpu, LIN_1_large_shapes) { products_of_large_shapes(*open()); }
TEST_F(FakeGpu, LIN_1_MASK_3_extremes) { products_of_extremes(*open()); }
TEST_F(FakeGpu, HIDE_1_every_tail) { hidden_products_of_every_tail(*open()); }
TEST_F(FakeGpu, HIDE_1_a_model) { hidden_products_of_a_model(*open()); }
TEST_F(FakeGpu, CNN_4_convolution) { convolution(*open()); }

TEST_F(FakeGpu, the_embedded_ptx_has_every_kernel) {
    const std::string ptx = products_ptx;
    EXPECT_NE(ptx.find(".target sm_80"), std::string::npos);
    for (const char* const kernel : {"narrow", "wide32", "wide64", "wide96", "wide128", "join"}) {
        EXPECT_NE(ptx.find(std::string(".entry ") + kernel + "("), std::string::npos) << kernel;
    }
}

TEST_F(FakeGpu, one_column_in_all_planes_is_one_launch) {
    const Shape shape{128, 512, 1, most_planes};
    std::mt19937_64 random(5);
    const auto gpu = open();
    const auto w = held_by(*gpu, shape, weights(Fill::random, shape.m * shape.n, random));
    const Bytes x = residues(Fill::random, shape.b, shape.n, shape.planes, random);
    const std::size_t before = calls_("cuLaunchKernel");
    multiplied(w, shape, x);
    EXPECT_EQ(calls_("cuLaunchKernel"), before + 1);
}

TEST_F(FakeGpu, one_column_of_a_hidden_matrix_is_one_launch) {
    std::mt19937_64 random(5);
    const auto gpu = open();
    const Planes a(6, 128, 512, Fill::random, random), u(6, 128, 512, Fill::random, random);
    const auto w = held_by(*gpu, a, gpu->hold_rows(u.views()), u);
    const std::size_t before = calls_("cuLaunchKernel");
    applied(w, residues(Fill::random, 1, 512, 6, random), 6);
    EXPECT_EQ(calls_("cuLaunchKernel"), before + 1);
}

/// U is in the GPU's memory once, however many groups are above it, and gone with the last of them.
TEST_F(FakeGpu, HIDE_1_public_rows_are_held_once) {
    std::mt19937_64 random(10);
    const std::size_t planes = 6, n = 64;
    const Planes a(planes, 128, n, Fill::one_hot, random);
    const Planes u(planes, 128, n, Fill::one_hot, random);
    {
        const auto gpu = open();
        auto held_u = gpu->hold_rows(u.views());
        const std::size_t before = calls_("cuMemAlloc_v2");
        const auto first = held_by(*gpu, a, held_u, u), second = held_by(*gpu, a, held_u, u);
        EXPECT_EQ(calls_("cuMemAlloc_v2"), before + 2);
        held_u.reset();
        const Bytes x = residues(Fill::random, 1, n, planes, random);
        EXPECT_EQ(applied(first, x, planes), applied(second, x, planes));
    }
    EXPECT_EQ(held_(), 0U);
}

TEST_F(FakeGpu, HIDE_1_rows_that_do_not_fit_are_an_internal_error) {
    std::mt19937_64 random(11);
    const auto gpu = open();
    const Planes a(6, 2, 64, Fill::random, random);
    for (const Planes& u :
         {Planes(5, 2, 64, Fill::random, random), Planes(6, 2, 65, Fill::random, random)}) {
        EXPECT_THROW(gpu->hold(a.matrix(), gpu->hold_rows(u.views())), InternalError);
    }
    const auto held = gpu->hold(a.matrix(), gpu->hold_rows(a.views()));
    Bytes x(5 * 64), y(5 * 4);
    EXPECT_THROW(held->multiply(x, y, 5, nullptr), InternalError);
}

TEST_F(FakeGpu, CONV_4_what_fails_at_the_start_is_bad_input) {
    for (const char* const call :
         {"cuInit", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute",
          "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2", "cuModuleLoadData",
          "cuModuleGetFunction"}) {
        fail_(call, 1);
        expect_failure<BadInput>(call, [] { open(); });
    }
    EXPECT_THROW(Gpu::open("libcuda-that-is-not-there.so.1"), BadInput);
    EXPECT_EQ(held_(), 0U);
}

TEST_F(FakeGpu, CONV_4_weights_that_the_gpu_does_not_take_are_bad_input) {
    const auto gpu = open();
    const Weights w(6, 1);
    const kernels::WeightMatrix matrix(w.data(), 2, 3);
    for (const char* const call : {"cuMemAlloc_v2", "cuMemcpyHtoD_v2", "cuCtxSynchronize"}) {
        fail_(call, 1);
        expect_failure<BadInput>(call, [&] { gpu->hold(matrix); });
    }
}

/// A product that fails is an internal error; the next one, with what it needs made anew, is right.
TEST_F(FakeGpu, CONV_4_what_fails_midway_is_an_internal_error) {
    std::mt19937_64 random(6);
    const Shape shape{100, 66'001, 1, 3};
    const Weights w = weights(Fill::random, shape.m * shape.n, random);
    const Bytes x = residues(Fill::random, shape.b, shape.n, shape.planes, random);
    {
        const auto gpu = open();
        const auto held = held_by(*gpu, shape, w);
        const Bytes expected = on_the_processor(shape, w, x);
        for (const char* const call :
             {"cuCtxPushCurrent_v2", "cuStreamCreate", "cuMemAlloc_v2", "cuMemAllocHost_v2",
              "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2",
              "cuStreamSynchronize", "cuMemsetD8Async"}) {
            SCOPED_TRACE(call);
            fail_(call, 1);
            expect_failure<InternalError>(call, [&] { multiplied(held, shape, x); });
            fail_(nullptr, 0);
            const auto fresh = open();  // whose lanes are not yet there
            EXPECT_EQ(multiplied(held_by(*fresh, shape, w), shape, x), expected);
        }
        EXPECT_EQ(multiplied(held, shape, x), expected);
    }
    EXPECT_EQ(held_(), 0U);
}

/// SESS-6: once a product is done, the GPU's memory has nothing of the message but W.
TEST_F(FakeGpu, SESS_6_the_gpu_keeps_nothing_of_a_message) {
    std::mt19937_64 random(7);
    const Shape shape{100, 66'001, 2, 3};
    const Weights ones(shape.m * shape.n, 1);
    const auto before = freed_bytes_();
    {
        const auto gpu = open();
        const auto held = held_by(*gpu, shape, ones);
        multiplied(held, shape, residues(Fill::random, shape.b, shape.n, shape.planes, random));
    }
    EXPECT_EQ(freed_bytes_(), before + ones.size());  // the bytes of W
    EXPECT_EQ(held_(), 0U);
}

}  // namespace
}  // namespace slip::gpu
