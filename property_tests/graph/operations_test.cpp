// Float operations of the graph: what MODEL-8 says of each.
#include "optimized/graph/operations.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "property_tests/graph/model_oracle.hpp"

namespace slip::testing {
namespace {

using namespace graph;
using Doubles = std::vector<double>;

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

}  // namespace
}  // namespace slip::testing
