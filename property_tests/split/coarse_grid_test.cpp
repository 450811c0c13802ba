// Weights on a coarse grid are refused (DECO-13).
#include "optimized/split/coarse_grid.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "optimized/base/error.hpp"
#include "property_tests/generators/values.hpp"

namespace slip::splitting {
namespace {

using base::MatrixView;

/// m x n weights, of which `round` says where on a grid the normal number x of row i and column j
/// lies.
template <class Round>
std::vector<float> weights(std::size_t m, std::size_t n, std::uint64_t seed, const Round& round) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    std::vector<float> values;
    for (std::size_t i = 0; i < m * n; ++i) {
        values.push_back(static_cast<float>(round(normal(random), i / n, i % n)));
    }
    return values;
}

bool refused(const std::vector<float>& w, std::size_t n) {
    try {
        require_fine_grid({w.data(), w.size() / n, n}, "the matrix");
    } catch (const BadInput& error) {
        EXPECT_NE(std::string(error.what()).find("the matrix"), std::string::npos);
        return true;
    }
    return false;
}

TEST(CoarseGrid, DECO_13_the_share_over_the_windows_of_all_rows) {
    std::vector<float> w(2 * 40, 0.5F);
    for (std::size_t j = 0; j < 32; ++j) w[40 + j] = static_cast<float>(j + 1);
    EXPECT_DOUBLE_EQ(distinct_share({w.data(), 2, 40}), (1 + 1 + 32 + 1) / 80.0)
        << "a row of 40 has a window of 32 and one of 8";
}

TEST(CoarseGrid, DECO_13_zeros_do_not_count) {
    std::vector<float> sparse(640, 0.0F);
    for (std::size_t i = 0; i < 64; ++i) sparse[10 * i] = static_cast<float>(i + 1);
    EXPECT_DOUBLE_EQ(distinct_share({sparse.data(), 1, 640}), 1) << "pruned, not quantised";
    const std::vector<float> none(640, 0.0F);
    EXPECT_DOUBLE_EQ(distinct_share({none.data(), 10, 64}), 1) << "nothing is hidden in it";
}

TEST(CoarseGrid, DECO_13_the_edge) {
    const auto of_values = [](std::size_t count) {
        std::vector<float> w(32);
        for (std::size_t j = 0; j < 32; ++j) w[j] = static_cast<float>(1 + j % count);
        return w;
    };
    EXPECT_TRUE(refused(of_values(15), 32));
    EXPECT_FALSE(refused(of_values(16), 32));
}

RC_GTEST_PROP(CoarseGrid, DECO_13_integers_of_four_bits_are_refused_whatever_the_scales, ()) {
    const auto block = *testing::any_size(1, 4).as("windows that share a scale");
    const auto levels = *testing::any_size(1, 7).as("levels");
    const auto seed = *rc::gen::arbitrary<std::uint64_t>();
    const auto most = static_cast<double>(levels);
    const auto w = weights(8, 128, seed, [&](double x, std::size_t i, std::size_t j) {
        const auto scale = static_cast<double>(1 + i + j / (32 * block));
        return scale *
               std::clamp(std::nearbyint(x * most / 1.5), -most, most);  // half are not zero
    });
    RC_ASSERT(refused(w, 128));
}

TEST(CoarseGrid, DECO_13_eight_bits_and_halves_are_not_refused) {
    const auto eight_bits = [](double x, std::size_t, std::size_t) {
        return std::clamp(std::nearbyint(x * 127 / 3.5), -127.0, 127.0);
    };
    EXPECT_FALSE(refused(weights(64, 192, 1, eight_bits), 192));
    const auto bfloat16 = [](double x, std::size_t, std::size_t) {
        int exponent = 0;
        return std::ldexp(std::nearbyint(256 * std::frexp(x, &exponent)), exponent - 8);
    };
    EXPECT_FALSE(refused(weights(64, 192, 2, bfloat16), 192));
}

}  // namespace
}  // namespace slip::splitting
