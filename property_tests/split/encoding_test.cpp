// Quantising and dequantising activations on every backend, against plain arithmetic and the
// reference, and the ranges that splitting derives from the weights, against the reference.
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

namespace {

using namespace slip::artifact;
using slip::kernels::Backend;
using slip::splitting::IntegerMatrix;
using slip::testing::any_list;
using slip::testing::any_size;
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

struct Quantised {
    std::vector<std::int16_t> q;
    float scale = 1;
};

/// ENC-1 as it stands, for a token of finite numbers. The machine rounds to nearest, ties to even.
Quantised quantised(const std::vector<float>& x, std::int32_t norm) {
    Quantised result{std::vector<std::int16_t>(x.size())};
    float largest = 0;
    for (const float value : x) largest = std::max(largest, std::abs(value));
    if (largest < 0x1p-100F) return result;
    double lanes[8] = {};
    for (std::size_t j = 0; j < x.size(); ++j) lanes[j % 8] += double{x[j]} * double{x[j]};
    const double sum = (((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + (lanes[2] + lanes[6])) +
                       (lanes[3] + lanes[7]);
    const double target = norm - (std::sqrt(static_cast<double>(x.size())) + 1) / 2;
    const double inverse = target / std::sqrt(sum);
    for (std::size_t j = 0; j < x.size(); ++j) {
        result.q[j] = static_cast<std::int16_t>(std::nearbyint(double{x[j]} * inverse));
    }
    result.scale = static_cast<float>(std::sqrt(sum) / target);
    return result;
}

std::int64_t square_norm(const std::vector<std::int16_t>& q) {
    std::int64_t sum = 0;
    for (const std::int64_t value : q) sum += value * value;
    return sum;
}

/// What the clause says, and what it says it for; nothing behind q is written.
bool quantise_agrees(Quantise quantise, const std::vector<float>& x, std::int32_t norm) {
    constexpr std::int16_t untouched = 0x5a5a;
    std::vector<std::int16_t> q(x.size() + 1, untouched);
    const float scale = quantise(x.data(), x.size(), norm, q.data());
    EXPECT_EQ(q.back(), untouched);
    q.pop_back();
    const Quantised expected = quantised(x, norm);
    return scale == expected.scale && q == expected.q &&
           square_norm(q) <= std::int64_t{norm} * norm;
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

RC_GTEST_PROP(Quantise, ENC_1_any_token, ()) {
    const auto n = *any_size(0, 70).as("n");
    const auto norm = *rc::gen::inRange<std::int32_t>(1024, 32768).as("B_q");
    const auto exponent = *rc::gen::inRange<int>(-110, 127).as("largest exponent");
    const std::vector<float> x = drawn_token(n, exponent);
    for_each_backend(
        [&](const Backend& backend) { RC_ASSERT(quantise_agrees(backend.quantise, x, norm)); });
}

RC_GTEST_PROP(Quantise, ENC_1_equals_the_reference, ()) {
    const auto n = *any_size(0, 70).as("n");
    const auto norm = *rc::gen::inRange<std::int32_t>(1024, 32768).as("B_q");
    const std::vector<float> x = drawn_token(n, 3);
    const reference::QuantisedToken expected = reference::quantise(x, norm);
    const Quantised found = quantised(x, norm);
    RC_ASSERT(found.scale == expected.scale);
    RC_ASSERT(reference::Vector(found.q.begin(), found.q.end()) == expected.q);
}

/// Squares and a target whose root and quotient are exact: the inverse is 1, and elements between
/// two integers stay there until they are rounded.
TEST(Quantise, ENC_1_CONV_3_halves_go_to_the_even_neighbour) {
    // n = 121: target = B_q - 6. Squares of k + 1/2 and what is missing to target^2.
    constexpr std::int32_t norm = 1030, target = 1024;
    std::vector<float> x(121, 0.0F);
    double missing = double{target} * target;
    for (int i = 0; i < 80; ++i) {
        x[static_cast<std::size_t>(i)] = static_cast<float>(i - 40) + 0.5F;
        missing -= (i - 39.5) * (i - 39.5);
    }
    // Four squares make up every number; of quarters, so do four squares of halves.
    const int whole = static_cast<int>(missing);
    ASSERT_EQ(missing, whole);
    bool is_found = false;
    for (int a = 1023; a > 900 && !is_found; --a) {
        for (int b = 0; b * b <= whole - a * a && !is_found; ++b) {
            for (int c = 0; c <= b && c * c <= whole - a * a - b * b && !is_found; ++c) {
                const int rest = whole - a * a - b * b - c * c;
                const int d = static_cast<int>(std::lround(std::sqrt(rest)));
                if (d * d != rest) continue;
                const int four[] = {a, b, c, d};
                for (std::size_t i = 0; i < 4; ++i) x[80 + i] = static_cast<float>(four[i]);
                is_found = true;
            }
        }
    }
    ASSERT_TRUE(is_found);
    for_each_backend([&](const Backend& backend) {
        std::vector<std::int16_t> q(x.size());
        EXPECT_EQ(backend.quantise(x.data(), x.size(), norm, q.data()), 1.0F);
        for (std::size_t j = 0; j < 80; ++j) EXPECT_EQ(q[j] % 2, 0) << x[j];
        EXPECT_TRUE(quantise_agrees(backend.quantise, x, norm));
    });
}

TEST(Quantise, ENC_1_zero_tokens_and_the_threshold) {
    const float threshold = 0x1p-100f;
    const float below = std::nextafter(threshold, 0.0f);
    const float denormal = std::numeric_limits<float>::denorm_min();
    for_each_backend([&](const Backend& backend) {
        for (std::vector<float> x :
             {std::vector<float>{}, {0.0f}, {-0.0f, 0.0f}, {below, -below}, {denormal}}) {
            for (const std::size_t zeros : {0U, 8U, 17U}) {  // beyond a register, too
                x.resize(x.size() + zeros, 0.0F);
                std::vector<std::int16_t> q(x.size(), 99);
                EXPECT_EQ(backend.quantise(x.data(), x.size(), 2000, q.data()), 1.0f);
                EXPECT_EQ(q, std::vector<std::int16_t>(x.size(), 0));
            }
        }
        for (std::vector<float> x : {std::vector<float>{threshold}, {below, -threshold}}) {
            for (const std::size_t zeros : {0U, 8U, 17U}) {
                x.resize(x.size() + zeros, 0.0F);
                EXPECT_TRUE(quantise_agrees(backend.quantise, x, 2000));
            }
        }
    });
}

/// One entry takes all of the norm, or all take the same part, at every magnitude; and rounding is
/// as bad as it gets.
TEST(Quantise, ENC_1_extremes_never_pass_the_norm) {
    const float largest = std::numeric_limits<float>::max();
    const float smallest = 0x1p-100F;
    std::mt19937_64 random(1);
    for (const std::int32_t norm : {1024, 1025, 8191, 32766, 32767}) {
        for (const float value : {largest, smallest, 1.0f, 0.1f, 3.0e-5f}) {
            for (const std::size_t n : {1U, 4U, 8U, 9U, 1000U, 65536U}) {
                std::vector<float> one(n, 0.0F), equal(n, -value), varied(n);
                one[n / 2] = value;
                for (float& v : varied) {
                    v = value * (static_cast<float>(random() % 1000) / 1000);
                }
                varied[0] = value;
                for_each_backend([&](const Backend& backend) {
                    EXPECT_TRUE(quantise_agrees(backend.quantise, one, norm)) << value;
                    EXPECT_TRUE(quantise_agrees(backend.quantise, equal, norm)) << value;
                    EXPECT_TRUE(quantise_agrees(backend.quantise, varied, norm)) << value;
                });
            }
        }
    }
}

/// PARAM-3: the longest token, every entry rounded up from just above a half.
TEST(Quantise, ENC_1_the_longest_token_at_the_least_norm) {
    constexpr std::size_t n = std::size_t{1} << 20;
    const std::vector<float> x(n, 0.75F);  // of (1024 - 512.5) / 2^10 in the norm each: 0.4995
    for_each_backend([&](const Backend& backend) {
        EXPECT_TRUE(quantise_agrees(backend.quantise, x, 1024));
        EXPECT_TRUE(quantise_agrees(backend.quantise, x, 1026));  // 0.5014, rounded to 1
    });
}

TEST(Quantise, ENC_1_not_finite_is_reported_wherever_it_stands) {
    const float infinity = std::numeric_limits<float>::infinity();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for_each_backend([&](const Backend& backend) {
        for (const float bad : {infinity, -infinity, nan, -nan}) {
            for (std::size_t n = 1; n < 40; ++n) {
                std::vector<float> x(n, 0.5f);
                for (std::size_t position = 0; position < n; ++position) {
                    x[position] = bad;
                    std::vector<std::int16_t> q(n);
                    EXPECT_LT(backend.quantise(x.data(), n, 2000, q.data()), 0.0f);
                    x[position] = 0.5F;
                }
            }
        }
    });
}

TEST(Quantise, ENC_1_mutants_are_found) {
    // Truncates instead of rounding; and leaves no room for what rounding adds.
    const Quantise truncates = [](const float* x, std::size_t n, std::int32_t norm,
                                  std::int16_t* q) {
        const Quantised right = quantised({x, x + n}, norm);
        for (std::size_t j = 0; j < n; ++j) q[j] = static_cast<std::int16_t>(x[j] / right.scale);
        return right.scale;
    };
    const Quantise has_no_room = [](const float* x, std::size_t n, std::int32_t norm,
                                    std::int16_t* q) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += double{x[j]} * double{x[j]};
        const double scale = std::sqrt(sum) / norm;
        for (std::size_t j = 0; j < n; ++j) {
            q[j] = static_cast<std::int16_t>(std::nearbyint(x[j] / scale));
        }
        return static_cast<float>(scale);
    };
    EXPECT_FALSE(quantise_agrees(truncates, {1.0f, 0.9999f, 0.3F}, 2000));
    EXPECT_FALSE(quantise_agrees(has_no_room, {1.0f, 0.9999f, 0.3F}, 2000));
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
        std::vector<float> out(m + 1, 5.0F);
        backend.dequantise(y.data(), row_scale.data(), token_scale, m, out.data());
        RC_ASSERT(out.back() == 5.0F);
        for (std::size_t i = 0; i < m; ++i) {
            RC_ASSERT(out[i] == reference::dequantise(y[i], row_scale[i], token_scale));
        }
    });
}

TEST(Dequantise, ENC_2_conversion_of_integers_that_binary64_does_not_hold) {
    const std::vector<std::int64_t> y = {
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(),
        (std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1, (std::int64_t{1} << 54) + 6, 0,
        // Halves of 32 bits, as AVX2 converts them, at their ends.
        -1, -(std::int64_t{1} << 32), (std::int64_t{1} << 32) - 1,
        std::numeric_limits<std::int64_t>::max() - 512};
    const std::vector<float> row_scale = {0x1p-40f, 3.3e-12f, 1.0f, 0.1f, 1.0e-30f,
                                          5.0f,     1.0f,     1.0f, 1.0f, 0x1p-40f};
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

    const std::uint64_t norm = largest_norm({matrix.residual.data(), m, n});
    RC_ASSERT(reference::weight_norm({W_D}) == norm);
    for (const std::size_t planes : {std::size_t{2}, std::size_t{3}, std::size_t{4}}) {
        const reference::Integer L = slip::base::parameters::modulus(planes);
        const std::int32_t most = activation_norm(norm, planes);
        RC_ASSERT(most == reference::activation_norm({W_D}, L));
        RC_ASSERT(reference::fits_modulus({W_D}, most, L));
    }
}

/// The largest norm of weights that still allows each norm of activations, and the next.
TEST(ActivationRange, ENC_3_is_tight) {
    constexpr std::size_t planes = 4;
    constexpr std::uint64_t half = largest_product(planes);
    EXPECT_EQ(half, 1684281158U);
    EXPECT_EQ(activation_norm(0, planes), 32767);
    EXPECT_EQ(activation_norm(1, planes), 32767);
    for (const std::uint64_t least : {1024U, 4095U, 12951U, 32766U}) {
        const std::uint64_t norm = half / least;
        const auto most = static_cast<std::uint64_t>(activation_norm(norm, planes));
        EXPECT_GE(most, least);
        EXPECT_LE(most * norm, half);
        EXPECT_GT((most + 1) * norm, half) << "one more would still fit";
        EXPECT_LT(activation_norm(norm + 1, planes), static_cast<int>(least));
    }
    EXPECT_EQ(activation_norm(127 * 1024, planes), 12951);  // the widest rows of PARAM-3
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
    // 2^20 a b copies norm crosses 2^63 between 64 and 65 copies at b = 2047, norm = 32767.
    for (const std::size_t copies : {1U, 32U, 63U, 64U, 65U, 66U, 128U, 129U, 200U}) {
        for (const std::int32_t norm : {1024, 16384, 32767}) {
            for (const std::int16_t a : {std::int16_t{2047}, std::int16_t{-2047}}) {
                const IntegerMatrix matrix = row_of(a, 2047, copies);
                const bool fits = slip::splitting::fits_64_bits(matrix, norm);
                EXPECT_EQ(fits, reference::fits_64_bits({integer_weights_of(matrix)}, norm));
                (fits ? seen_fitting : seen_too_large) = true;
            }
        }
    }
    EXPECT_TRUE(seen_fitting && seen_too_large);
}

/// A sum that wraps 64 bits to a small number is still seen.
TEST(ActivationRange, ENC_5_is_formed_in_128_bits) {
    const IntegerMatrix matrix = row_of(1024, 1024, 1 << 20, 16);  // norm 2^64
    EXPECT_FALSE(slip::splitting::fits_64_bits(matrix, 1024));
}

}  // namespace
