// Quantising and dequantising activations on every backend, and the ranges that splitting derives
// from the weights, against the reference.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "optimized/kernels/contracts.hpp"
#include "optimized/kernels/registry.hpp"
#include "optimized/split/decomposition.hpp"
#include "property_tests/generators/values.hpp"
#include "reference/encoding.hpp"
#include "reference/integer_model.hpp"
#include "reference/parameters.hpp"

namespace {

using namespace slip::artifact;
using slip::generators::any_list;
using slip::generators::any_size;
using slip::kernels::Backend;
using slip::splitting::IntegerMatrix;
namespace reference = slip::reference;

/// Runs `body` for every backend that this machine has.
template <class Body>
void for_each_backend(const Body& body) {
    for (const Backend* backend : slip::kernels::available()) {
        SCOPED_TRACE(backend->name);
        body(*backend);
    }
}

// --- ENC-1 ---------------------------------------------------------------------------------------

using Quantise = decltype(Backend::quantise);

bool quantise_agrees(Quantise quantise, const std::vector<float>& x, std::int32_t qa_max) {
    std::vector<std::int16_t> q(x.size());
    const float scale = quantise(x.data(), x.size(), qa_max, q.data());
    const reference::QuantisedToken expected = reference::quantise(x, qa_max);
    return scale == expected.scale && reference::Vector(q.begin(), q.end()) == expected.q;
}

/// Floats of every magnitude that the activations of one token may mix, drawn within a property.
std::vector<float> drawn_token(std::size_t n, int largest_exponent) {
    constexpr std::int32_t one = 1 << 24;
    const auto fractions = *any_list<std::int32_t>(n, -one, one).as("fractions times 2^24");
    const auto below = *any_list<std::int32_t>(n, 0, 20).as("exponents below the largest");
    std::vector<float> x(n);
    for (std::size_t j = 0; j < n; ++j) {
        x[j] = std::ldexp(static_cast<float>(fractions[j]), largest_exponent - below[j] - 24);
    }
    return x;
}

RC_GTEST_PROP(Quantise, ENC_1_equals_the_reference_on_any_token, ()) {
    const auto n = *any_size(0, 70).as("n");
    const auto qa_max = *rc::gen::inRange<std::int32_t>(127, 32768).as("qa_max");
    const auto exponent = *rc::gen::inRange<int>(-110, 127).as("largest exponent");
    const std::vector<float> x = drawn_token(n, exponent);
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(quantise_agrees(backend.quantise, x, qa_max)); });
}

/// Elements whose quotient by the scale lies halfway between two integers.
TEST(Quantise, ENC_1_CONV_3_halves_go_to_the_even_neighbour) {
    std::vector<float> x = {1024.0f};  // with qa_max = 1024 the scale is 1
    for (int i = -40; i < 40; ++i) x.push_back(static_cast<float>(i) + 0.5f);
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int16_t> q(x.size());
        EXPECT_EQ(backend.quantise(x.data(), x.size(), 1024, q.data()), 1.0f);
        for (const std::int16_t value : q) EXPECT_EQ(value % 2, 0);
        EXPECT_TRUE(quantise_agrees(backend.quantise, x, 1024));
    });
}

TEST(Quantise, ENC_1_zero_tokens_and_the_threshold) {
    const float threshold = 0x1p-100f;
    const float below = std::nextafter(threshold, 0.0f);
    const float denormal = std::numeric_limits<float>::denorm_min();
    for_each_backend([&](const Backend& backend) {
        for (const std::vector<float>& x :
             {std::vector<float>{}, {0.0f}, {-0.0f, 0.0f}, {below, -below}, {denormal}}) {
            std::vector<std::int16_t> q(x.size(), 99);
            EXPECT_EQ(backend.quantise(x.data(), x.size(), 1000, q.data()), 1.0f);
            EXPECT_EQ(q, std::vector<std::int16_t>(x.size(), 0));
            EXPECT_TRUE(quantise_agrees(backend.quantise, x, 1000));
        }
        for (const std::vector<float>& x : {std::vector<float>{threshold}, {below, -threshold}}) {
            EXPECT_TRUE(quantise_agrees(backend.quantise, x, 1000));
        }
    });
}

TEST(Quantise, ENC_1_extremes_reach_qa_max_and_never_pass_it) {
    const float largest = std::numeric_limits<float>::max();
    const float smallest = std::numeric_limits<float>::min();
    for (const std::int32_t qa_max : {127, 128, 1000, 8191, 32766, 32767}) {
        for (const float value : {largest, smallest * 0x1p30f, 1.0f, 0.1f, 3.0e-5f}) {
            for_each_backend([&](const Backend& backend) {
                const std::vector<float> x = {value, -value, value / 3,
                                              std::nextafter(value, 0.0f)};
                std::vector<std::int16_t> q(x.size());
                backend.quantise(x.data(), x.size(), qa_max, q.data());
                EXPECT_EQ(q[0], qa_max);
                EXPECT_EQ(q[1], -qa_max);
                EXPECT_TRUE(quantise_agrees(backend.quantise, x, qa_max));
            });
        }
    }
}

TEST(Quantise, ENC_1_not_finite_is_reported_wherever_it_stands) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for_each_backend([&](const Backend& backend) {
        for (const float bad : {infinity, -infinity, nan, -nan}) {
            for (std::size_t position = 0; position < 19; ++position) {
                std::vector<float> x(19, 0.5f);
                x[position] = bad;
                std::vector<std::int16_t> q(x.size());
                EXPECT_LT(backend.quantise(x.data(), x.size(), 1000, q.data()), 0.0f);
                EXPECT_ANY_THROW(reference::quantise(x, 1000));
            }
        }
    });
}

TEST(Quantise, ENC_1_mutants_are_found) {
    // Truncates instead of rounding, and divides by the scale instead of multiplying.
    const Quantise truncates = [](const float* x, std::size_t n, std::int32_t qa_max,
                                  std::int16_t* q) {
        float largest = 0;
        for (std::size_t j = 0; j < n; ++j) largest = std::max(largest, std::abs(x[j]));
        const float inverse = static_cast<float>(qa_max) / largest;
        for (std::size_t j = 0; j < n; ++j) q[j] = static_cast<std::int16_t>(x[j] * inverse);
        return largest / static_cast<float>(qa_max);
    };
    EXPECT_TRUE(quantise_agrees(truncates, {1.0f, -1.0f}, 1000));
    EXPECT_FALSE(quantise_agrees(truncates, {1.0f, 0.9999f}, 1000));
}

// --- ENC-2 ---------------------------------------------------------------------------------------

RC_GTEST_PROP(Dequantise, ENC_2_equals_the_reference, ()) {
    const auto m = *any_size(0, 70).as("m");
    const float token_scale = std::ldexp(1.1f, *rc::gen::inRange<int>(-60, 60).as("exponent"));
    const auto wide = *any_list<std::int64_t>(m, INT64_MIN, INT64_MAX).as("integers");
    const auto shifts = *any_list<std::uint8_t>(m, 0, 63).as("shifts");
    const auto exponents = *any_list<std::int32_t>(m, -60, 59).as("exponents of the row scale");
    std::vector<std::int64_t> y(m);
    std::vector<float> row_scale(m);
    for (std::size_t i = 0; i < m; ++i) {
        y[i] = wide[i] >> shifts[i];
        row_scale[i] = std::ldexp(1.7f, exponents[i]);
    }
    for_each_backend([&](const Backend& backend) {
        std::vector<float> out(m);
        backend.dequantise(y.data(), row_scale.data(), token_scale, m, out.data());
        for (std::size_t i = 0; i < m; ++i) {
            RC_ASSERT(out[i] == reference::dequantise(y[i], row_scale[i], token_scale));
        }
    });
}

TEST(Dequantise, ENC_2_conversion_of_integers_that_binary64_does_not_hold) {
    const std::vector<std::int64_t> y = {std::numeric_limits<std::int64_t>::max(),
                                         std::numeric_limits<std::int64_t>::min(),
                                         (std::int64_t{1} << 53) + 1,
                                         -(std::int64_t{1} << 53) - 1,
                                         (std::int64_t{1} << 54) + 6,
                                         0};
    const std::vector<float> row_scale = {0x1p-40f, 3.3e-12f, 1.0f, 0.1f, 1.0e-30f, 5.0f};
    for_each_backend([&](const Backend& backend) {
        std::vector<float> out(y.size());
        backend.dequantise(y.data(), row_scale.data(), 0.37f, y.size(), out.data());
        EXPECT_EQ(out,
                  reference::dequantise(reference::Vector(y.begin(), y.end()), row_scale, 0.37f));
    });
}

// --- ENC-3 to ENC-5 ------------------------------------------------------------------------------

/// A matrix of the integer model with the given W_D and no low-rank part.
IntegerMatrix with_residual(std::size_t m, std::size_t n, std::vector<std::int8_t> residual) {
    IntegerMatrix matrix;
    matrix.m = m;
    matrix.n = n;
    matrix.residual = std::move(residual);
    matrix.exponent.assign(m, 0);
    matrix.row_scale.assign(m, 1.0f);
    return matrix;
}

reference::Matrix residual_of(const IntegerMatrix& matrix) {
    reference::Matrix result(matrix.m, matrix.n);
    for (std::size_t i = 0; i < matrix.m; ++i) {
        for (std::size_t j = 0; j < matrix.n; ++j) {
            result(i, j) = matrix.residual[i * matrix.n + j];
        }
    }
    return result;
}

RC_GTEST_PROP(ActivationRange, ENC_3_ENC_4_equals_the_reference, ()) {
    const auto m = *any_size(1, 5).as("m");
    const auto n = *any_size(1, 899).as("n");
    const auto largest = *rc::gen::inRange<std::int8_t>(0, 127).as("largest");
    const auto least = static_cast<std::int8_t>(-largest);
    const auto residual = *any_list<std::int8_t>(m * n, least, largest).as("W_D");
    const IntegerMatrix matrix = with_residual(m, n, residual);
    const reference::Matrix W_D = residual_of(matrix);

    const std::uint64_t norm = slip::splitting::largest_row_norm(matrix);
    RC_ASSERT(reference::largest_row_norm(W_D) == norm);
    const reference::Integer L = reference::p31().modulus;
    const std::int32_t qa_max = largest_activation(norm);
    RC_ASSERT(qa_max == reference::largest_activation({W_D}, L));
    RC_ASSERT(reference::fits_modulus({W_D}, qa_max, L));
}

/// The largest norm that still allows each qa_max, and the next.
TEST(ActivationRange, ENC_3_is_tight) {
    constexpr std::uint64_t half = (slip::kernels::P31::p - 1) / 2;
    EXPECT_EQ(largest_activation(0), 32767);
    EXPECT_EQ(largest_activation(1), 32767);
    for (const std::uint64_t qa_max : {127u, 128u, 1000u, 4095u, 32766u}) {
        const std::uint64_t norm = half / qa_max;
        const auto range = static_cast<std::uint64_t>(largest_activation(norm));
        EXPECT_GE(range, qa_max);
        EXPECT_LE(range * norm, half);
        EXPECT_GT((range + 1) * norm, half) << "one more would still fit";
        EXPECT_LT(largest_activation(half / qa_max + 1), static_cast<int>(qa_max));
    }
    // The widest rows that the modulus takes: a group below 127 is refused when splitting.
    EXPECT_EQ(largest_activation(half / 127), 127);
    EXPECT_LT(largest_activation(half / 127 + 1), 127);
}

/// One row whose entries are `rank` times 2^20 a b, so that ENC-5 can be brought to its edge.
IntegerMatrix row_of(std::int16_t a, std::int16_t b, std::size_t copies, std::size_t rank = 1) {
    IntegerMatrix matrix = with_residual(1, copies, std::vector<std::int8_t>(copies, 0));
    matrix.rank = rank;
    matrix.a.assign(rank, a);
    matrix.exponent = {20};
    matrix.b.assign(rank * copies, b);
    return matrix;
}

reference::Matrix integer_weights_of(const IntegerMatrix& matrix) {
    reference::Matrix A(matrix.m, matrix.rank);
    reference::Matrix B(matrix.rank, matrix.n);
    for (std::size_t i = 0; i < matrix.m * matrix.rank; ++i) {
        A(i / matrix.rank, i % matrix.rank) =
            matrix.left_factor()(i / matrix.rank, i % matrix.rank);
    }
    for (std::size_t i = 0; i < matrix.rank * matrix.n; ++i) {
        B(i / matrix.n, i % matrix.n) = matrix.b[i];
    }
    return reference::integer_weights({A, B, residual_of(matrix), matrix.row_scale});
}

TEST(ActivationRange, ENC_5_agrees_with_the_reference_on_both_sides_of_the_edge) {
    bool seen_fitting = false;
    bool seen_too_large = false;
    // 2^20 a b copies qa_max crosses 2^63 between 64 and 65 copies at b = 2047, qa_max = 32767.
    for (const std::size_t copies : {1U, 32U, 63U, 64U, 65U, 66U, 128U, 129U, 200U}) {
        for (const std::int32_t qa_max : {127, 16384, 32767}) {
            for (const std::int16_t a : {std::int16_t{2047}, std::int16_t{-2047}}) {
                const IntegerMatrix matrix = row_of(a, 2047, copies);
                const bool fits = slip::splitting::fits_64_bits(matrix, qa_max);
                EXPECT_EQ(fits, reference::fits_64_bits({integer_weights_of(matrix)}, qa_max));
                (fits ? seen_fitting : seen_too_large) = true;
            }
        }
    }
    EXPECT_TRUE(seen_fitting && seen_too_large);
}

/// A sum that wraps 64 bits to a small number is still seen.
TEST(ActivationRange, ENC_5_is_formed_in_128_bits) {
    const IntegerMatrix matrix = row_of(1024, 1024, 1 << 20, 16);  // norm 2^64
    EXPECT_FALSE(slip::splitting::fits_64_bits(matrix, 127));
}

}  // namespace
