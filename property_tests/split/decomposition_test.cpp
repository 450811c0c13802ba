// W -> W_int = 2^t W_D + A B in optimized/ against the reference. Singular vectors differ between
// libraries, so the reference is given the components that optimized/ found, and must then agree to
// the bit.
// test: threads
#include "optimized/split/decomposition.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "property_tests/split/decomposition_fixture.hpp"
#include "reference/encoding.hpp"

namespace slip::testing {
namespace {

using namespace splitting;

RC_GTEST_PROP(Decomposition, DECO_1_DECO_3_equals_the_reference_to_the_bit, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(1, 25);
    const auto n = *rc::gen::inRange<std::size_t>(1, 25);
    // From half the rank on, so little is left of a row that the floor of DECO-4 may act.
    const auto k = *rc::gen::inRange<std::size_t>(0, std::min(m, n) / 2 + 1);
    std::mt19937_64 random(seed);
    const Weights weights = random_weights(m, n, random);
    const IntegerMatrix matrix = decompose(weights.view(), k, "w");
    const Components top = top_singular_components(weights.view(), k);
    RC_ASSERT(to_reference(matrix) == reference::encode(weights.real(), to_reference(top, m, n)));

    const reference::Matrix W_int = reference::integer_weights(to_reference(matrix));
    RC_ASSERT(to_matrix(integer_weights(matrix), m, n) == W_int);
    RC_ASSERT(fits_64_bits(matrix, 32767) == reference::fits_64_bits({W_int}, 32767));
}

/// Without a low-rank part an entry is off by half a step, the row's largest / 254, and roundings.
TEST(Decomposition, DECO_3_an_entry_is_off_by_half_a_step) {
    std::mt19937_64 random(12);
    const Weights weights = random_weights(20, 30, random);
    const IntegerMatrix matrix = decompose(weights.view(), 0, "w");
    const Eigen::MatrixXd W = weights.real();
    for (Eigen::Index i = 0; i < W.rows(); ++i) {
        const auto row = static_cast<std::size_t>(i);
        const double scale = double{matrix.row_scale[row]} * 0x1p16;
        const double half_step = W.row(i).cwiseAbs().maxCoeff() / (2 * 127);
        int found = 0;
        for (Eigen::Index j = 0; j < W.cols(); ++j) {
            const int weight = matrix.residual[row * 30 + static_cast<std::size_t>(j)];
            found = std::max(found, std::abs(weight));
            EXPECT_LE(std::abs(W(i, j) - scale * weight), half_step * (1 + 0x1p-20));
        }
        EXPECT_EQ(found, W.row(i).isZero(0) ? 0 : 127) << "row " << i;
    }
}

TEST(Decomposition, DECO_1_integer_weights_at_the_ends_of_every_range) {
    const std::vector<std::int8_t> residual = {127, -127, 0, 127, -127, 1};
    const std::vector<std::int16_t> significands = {2047, -2047, 2047, 2047};  // 2 x 2
    const std::vector<std::int8_t> exponents = {20, 20};
    const artifact::LeftFactor left{{significands.data(), 2, 2}, exponents};
    const std::vector<std::int16_t> right = {2047,  -2047, 0,  // 2 x 3
                                             -2047, -2047, 1};
    const auto integers =
        artifact::integer_weights({residual.data(), 2, 3}, left, {right.data(), 2, 3});
    EXPECT_EQ(left(0, 1), -2047 * (1 << 20));
    const reference::IntegerModel model{
        matrix_of(left), to_matrix(right, 2, 3), to_matrix(residual, 2, 3), {1.0f, 1.0f}};
    EXPECT_EQ(to_matrix(integers, 2, 3), reference::integer_weights(model));
}

TEST(Decomposition, is_deterministic) {
    std::mt19937_64 random(11);
    for (const std::size_t side : Sizes{40, 300}) {  // both ways to find components
        const Weights weights = random_weights(side, side + 8, random);
        const IntegerMatrix first = decompose(weights.view(), 6, "w");
        const IntegerMatrix second = decompose(weights.view(), 6, "w");
        EXPECT_EQ(first.a, second.a);
        EXPECT_EQ(first.exponent, second.exponent);
        EXPECT_EQ(first.b, second.b);
        EXPECT_EQ(first.residual, second.residual);
        EXPECT_EQ(first.row_scale, second.row_scale);
    }
}

// --- how close the integer model is to W

TEST(Decomposition, DECO_3_error_is_half_a_step_and_the_factors_rounding) {
    std::mt19937_64 random(15);
    for (const std::size_t k : Sizes{0, 1, 8, 31}) {
        const Weights weights = random_weights(48, 64, random);
        const IntegerMatrix matrix = decompose(weights.view(), k, "w");
        expect_valid(matrix);
        const Eigen::MatrixXd error = error_of(matrix, weights);
        for (std::size_t i = 0; i < matrix.m; ++i) {
            const Index row = static_cast<Index>(i);
            EXPECT_LE(error.row(row).cwiseAbs().maxCoeff(), rounding_of_row(matrix, i)) << i;
            // The largest residual of an ordinary row takes the whole range of int8.
            std::int32_t largest = 0;
            for (std::size_t j = 0; j < matrix.n; ++j) {
                largest = std::max(largest, std::abs(std::int32_t{matrix.residual[i * 64 + j]}));
            }
            EXPECT_EQ(largest, 127);
        }
    }
}

/// Rounding errors of W_D are spread evenly over a step: mean 0, mean square step^2 / 12.
TEST(Decomposition, DECO_3_error_statistics) {
    std::mt19937_64 random(16);
    const Weights weights = random_weights(96, 128, random);
    const IntegerMatrix matrix = decompose(weights.view(), 10, "w");
    Eigen::MatrixXd error = error_of(matrix, weights);
    for (Index i = 0; i < error.rows(); ++i) {
        error.row(i) /= static_cast<double>(matrix.row_scale[static_cast<std::size_t>(i)]) * 0x1p16;
    }
    EXPECT_NEAR(error.mean(), 0.0, 0.02);
    EXPECT_NEAR(error.squaredNorm() * 12 / static_cast<double>(error.size()), 1.0, 0.05);
}

/// What Charlie keeps after rounding is still, but for rounding, the best that rank k allows.
TEST(Decomposition, DECO_2_DECO_3_rounded_factors_keep_the_gap) {
    std::mt19937_64 random(17);
    const Weights weights = random_weights(80, 60, random);
    const Eigen::VectorXd sigma = reference::singular_values(weights.real());
    for (const std::size_t k : Sizes{1, 7, 30}) {
        IntegerMatrix matrix = decompose(weights.view(), k, "w");
        matrix.residual.assign(matrix.residual.size(), 0);  // W_int = W_C
        const double gap = spectral_norm(error_of(matrix, weights));
        EXPECT_NEAR(gap, sigma(static_cast<Index>(k)), 1e-3 * sigma(0));
    }
}

// --- DECO-4 and other edges

TEST(Decomposition, DECO_2_rank_zero_has_no_factors) {
    std::mt19937_64 random(18);
    const IntegerMatrix matrix = decompose(random_weights(5, 7, random).view(), 0, "w");
    expect_valid(matrix);
    EXPECT_TRUE(matrix.a.empty() && matrix.b.empty());
    for (std::size_t i = 0; i < 35; ++i) {
        EXPECT_EQ(integer_weights(matrix)[i], matrix.residual[i] * (std::int64_t{1} << 16));
    }
}

TEST(Decomposition, DECO_4_zero_rows_have_scale_one_and_no_weights) {
    std::mt19937_64 random(19);
    Weights weights = random_weights(6, 8, random);
    std::fill_n(weights.values.begin() + 2 * 8, 8, 0.0f);
    for (const std::size_t k : Sizes{0, 3}) {
        const IntegerMatrix matrix = decompose(weights.view(), k, "w");
        expect_valid(matrix);
        EXPECT_EQ(matrix.row_scale[2], 1.0f);
        for (std::size_t j = 0; j < 8; ++j) {
            EXPECT_EQ(matrix.residual[2 * 8 + j], 0);
            EXPECT_EQ(integer_weights(matrix)[2 * 8 + j], 0);
        }
        for (std::size_t c = 0; c < k; ++c) EXPECT_EQ(matrix.a[2 * k + c], 0);
        EXPECT_EQ(matrix.exponent[2], 0);
    }
    const Weights zero{4, 4, std::vector<float>(16, 0.0f)};
    const IntegerMatrix matrix = decompose(zero.view(), 2, "w");
    expect_valid(matrix);
    EXPECT_EQ(matrix.row_scale, std::vector<float>(4, 1.0f));
    EXPECT_EQ(integer_weights(matrix), std::vector<std::int64_t>(16, 0));
}

/// Nothing, or next to nothing, is left of these after their components are taken out; without
/// a floor on the row scale A would not have an exponent and products would not fit 64 bits.
TEST(Decomposition, DECO_4_ENC_5_rows_without_a_residual) {
    std::mt19937_64 random(20);
    std::vector<std::pair<Weights, std::size_t>> cases;
    cases.emplace_back(Weights{6, 9, std::vector<float>(54, 0.3f)}, 1);  // constant rows
    cases.emplace_back(low_rank_weights(30, 40, 2, random), 2);
    cases.emplace_back(low_rank_weights(30, 40, 2, random), 5);
    cases.emplace_back(random_weights(12, 12, random), 11);  // all but the last component
    Weights identity{8, 8, std::vector<float>(64, 0.0f)};    // one-hot rows
    for (std::size_t i = 0; i < 8; ++i) identity.values[i * 9] = 1.0f;
    cases.emplace_back(identity, 7);
    for (const auto& [weights, k] : cases) {
        const IntegerMatrix matrix = decompose(weights.view(), k, "w");
        expect_valid(matrix);
        // Whatever activation norm ENC-3 gives.
        EXPECT_TRUE(fits_64_bits(matrix, 32767));
        const double largest = weights.real().cwiseAbs().maxCoeff();
        EXPECT_LE(error_of(matrix, weights).cwiseAbs().maxCoeff(), largest / 500) << k;
    }
}

TEST(Decomposition, DECO_4_tiny_and_huge_magnitudes) {
    std::mt19937_64 random(21);
    for (const float scale : {1e-44f, 1e-38f, 1e-30f, 1e-12f, 1e12f, 1e30f, 5e37f}) {
        const Weights weights = random_weights(10, 14, random, scale);
        for (const std::size_t k : Sizes{0, 3, 9}) {
            const IntegerMatrix matrix = decompose(weights.view(), k, "w");
            expect_valid(matrix);
            const double error = error_of(matrix, weights).cwiseAbs().maxCoeff();
            // A row scale of at least FLT_MIN leaves a step of W_D of 2^16 FLT_MIN.
            EXPECT_LE(error, weights.real().cwiseAbs().maxCoeff() / 100 + 0x1p16 * FLT_MIN)
                << scale;
        }
    }
    // Rows of very different size in one matrix: each row has its own scale.
    Weights mixed = random_weights(4, 16, random);
    for (std::size_t j = 0; j < 16; ++j) mixed.values[j] *= 1e-20f;
    for (std::size_t j = 16; j < 32; ++j) mixed.values[j] *= 1e20f;
    for (const std::size_t k : Sizes{0, 2}) {
        const IntegerMatrix matrix = decompose(mixed.view(), k, "w");
        expect_valid(matrix);
    }
}

TEST(Decomposition, DECO_5_not_finite_is_refused_and_named) {
    std::mt19937_64 random(22);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
        Weights weights = random_weights(4, 5, random);
        weights.values[13] = bad;
        try {
            decompose(weights.view(), 2, "model.layers.7.q_proj");
            ADD_FAILURE() << "accepted";
        } catch (const slip::BadInput& error) {
            EXPECT_NE(std::string(error.what()).find("model.layers.7.q_proj"), std::string::npos);
        }
    }
}

TEST(Decomposition, ranks_and_shapes_outside_the_contract_are_defects) {
    std::mt19937_64 random(23);
    const Weights weights = random_weights(4, 5, random);
    EXPECT_THROW(decompose(weights.view(), 4, "w"), slip::InternalError);
    EXPECT_THROW(top_singular_components(weights.view(), 5), slip::InternalError);
    EXPECT_THROW(decompose({nullptr, 0, 3}, 0, "w"), slip::InternalError);
}

}  // namespace
}  // namespace slip::testing
