// Float operations of the graph: what MODEL-5 and MODEL-8 say of each.
#include "optimized/graph/operations.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "property_tests/generators/values.hpp"
#include "property_tests/graph/model_oracle.hpp"

namespace slip::testing {
namespace {

using namespace graph;
using Doubles = std::vector<double>;

/// `count` numbers in -1 .. 1 of 24 bits, so that products and sums are rounded, drawn within a
/// property.
std::vector<float> drawn_fractions(std::size_t count, const char* name) {
    constexpr std::int32_t one = 1 << 24;
    std::vector<float> fractions;
    for (const std::int32_t units :
         *generators::any_list<std::int32_t>(count, -one, one).as(name)) {
        fractions.push_back(std::ldexp(static_cast<float>(units), -24));
    }
    return fractions;
}

RC_GTEST_PROP(Model, MODEL_5_dot_adds_in_eight_lanes, ()) {
    const auto n = *generators::any_size(0, 69).as("n");
    const auto a = drawn_fractions(n, "a times 2^24");
    const auto b = drawn_fractions(n, "b times 2^24");
    std::array<float, 8> lanes{};
    for (std::size_t j = 0; j < a.size(); ++j) {
        const float term = a[j] * b[j];
        lanes[j % 8] += term;
    }
    float expected = lanes[0] + lanes[4];
    for (std::size_t l = 1; l < 4; ++l) expected += lanes[l] + lanes[l + 4];
    RC_ASSERT(std::bit_cast<std::uint32_t>(dot(a, b)) == std::bit_cast<std::uint32_t>(expected));
}

TEST(Model, MODEL_5_exponential_is_accurate_and_saturates) {
    double largest_error = 0;
    for (float x = -87.0F; x <= 87.0F; x += 0.0009765625F) {
        const double exact = std::exp(double{x});
        largest_error = std::max(largest_error, std::abs(double{exponential(x)} / exact - 1));
    }
    EXPECT_LT(largest_error, std::ldexp(1.0, -22));
    EXPECT_EQ(exponential(0), 1.0F);
    EXPECT_EQ(exponential(-1000), exponential(-87));
    EXPECT_EQ(exponential(1000), exponential(87));
    EXPECT_EQ(exponential(-INFINITY), exponential(-87));
    EXPECT_TRUE(std::isnan(exponential(NAN)));
}

TEST(Model, MODEL_8_gelu_is_the_tanh_form) {
    std::vector<float> x;
    for (float value = -12.0F; value <= 12.0F; value += 0.001953125F) x.push_back(value);
    std::vector<float> y = x;
    gelu(y);
    for (std::size_t j = 0; j < x.size(); ++j) {
        const double v = double{x[j]};
        const double u = std::sqrt(2.0 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
        EXPECT_NEAR(double{y[j]}, v / 2 * (1 + std::tanh(u)), 1e-6 * (1 + std::abs(v)));
    }
    std::vector<float> extremes{0.0F, 3e38F, -3e38F, NAN};
    gelu(extremes);
    EXPECT_EQ(extremes[0], 0.0F);
    EXPECT_EQ(extremes[1], 3e38F);
    EXPECT_NEAR(extremes[2], 0.0F, 10.0F);  // -3e38 exp(-87)
    EXPECT_TRUE(std::isnan(extremes[3]));
}

RC_GTEST_PROP(Model, MODEL_8_layer_norm_of_every_row, (std::uint64_t seed)) {
    std::mt19937_64 bits(seed);
    std::normal_distribution<float> normal;
    const std::size_t n = 1 + bits() % 70;
    std::vector<float> x(3 * n);
    LayerNorm parameters{std::vector<float>(n), std::vector<float>(n)};
    for (auto* values : {&x, &parameters.weight, &parameters.bias}) {
        for (float& value : *values) value = 2 + normal(bits);
    }
    std::fill_n(x.begin(), n, 0.25F);  // no variance
    std::vector<float> y(3 * n);

    layer_norm({x.data(), 3, n}, parameters, 1e-5F, {y.data(), 3, n});

    for (std::size_t t = 0; t < 3; ++t) {
        const Doubles row(x.begin() + static_cast<std::ptrdiff_t>(t * n),
                          x.begin() + static_cast<std::ptrdiff_t>((t + 1) * n));
        const Doubles expected = oracle::layer_norm(row, parameters.weight, parameters.bias, 1e-5);
        for (std::size_t j = 0; j < n; ++j) {
            RC_ASSERT(std::abs(double{y[t * n + j]} - expected[j]) < 1e-4);
        }
    }
}

TEST(Model, MODEL_5_softmax_of_extremes_is_finite) {
    std::vector<float> scores{3e38F, -3e38F, 0.0F};
    softmax(scores);
    EXPECT_FLOAT_EQ(scores[0], 1.0F);
    EXPECT_NEAR(scores[1], 0.0F, 1e-30);
    std::vector<float> one{-5.0F};
    softmax(one);
    EXPECT_EQ(one[0], 1.0F);
}

}  // namespace
}  // namespace slip::testing
