// What the owner draws and computes for the integrity check, against its definition.
#include "optimized/secrets/draw_check.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "property_tests/secrets/defined_secret.hpp"
#include "slip/error.hpp"

namespace slip::testing {
namespace {

using namespace secrets;

RC_GTEST_PROP(CheckSecret, INTEG_1_INTEG_2_equal_the_definition, ()) {
    const Shape shape{*any_size(1, 40).as("rows"), *any_size(1, 40).as("n")};
    const std::size_t planes = drawn_planes();
    const auto weights = drawn_weights({shape})[0];
    const auto seed =
        *rc::gen::container<std::vector<std::uint8_t>>(32, rc::gen::arbitrary<std::uint8_t>());
    const kernels::GroupWeights matrix(weights.data(), shape.rows, shape.n);
    const DefinedSecret expected(seed, matrix, planes);
    const auto same = [](const auto& found, const Residues& wanted) {
        return std::equal(wanted.begin(), wanted.end(), found.data(), found.data() + found.size());
    };
    const auto w = draw_combinations(seed, planes, shape.rows);
    RC_ASSERT(same(w, expected.w));
    RC_ASSERT(same(companion(w, matrix, planes), expected.s));
    // One prefix for all groups: a taller w gives the same.
    const auto taller = draw_combinations(seed, planes, shape.rows + *any_size(1, 40).as("more"));
    RC_ASSERT(same(companion(taller, matrix, planes), expected.s));
}

/// A matrix whose transposed copy is made in several parts.
TEST(CheckSecret, INTEG_2_of_a_large_matrix) {
    const Shape shape{5000, 4000};
    const auto weights = WeightGroups::filled({shape}, Fill::random, 3)[0];
    const base::MatrixView<const std::int8_t> matrix(weights.data(), shape.rows, shape.n);
    const auto w = draw_combinations(counting_key(), 2, shape.rows);
    const auto s = companion(w, matrix, 2);
    for (const std::size_t j : {0U, 1U, 3354U, 3355U, 3999U}) {
        for (std::size_t ap = 0; ap < 2 * kappa; ++ap) {
            std::int64_t sum = 0;
            for (std::size_t i = 0; i < shape.rows; ++i) {
                sum += std::int64_t{w[ap * shape.rows + i]} * matrix.row(i)[j];
            }
            ASSERT_EQ(s[ap * shape.n + j], mod(sum, primes[ap % 2])) << j << " " << ap;
        }
    }
}

TEST(CheckSecret, INTEG_1_INTEG_2_bad_sizes_are_a_defect) {
    const std::vector<std::int8_t> weights(6, 1);
    const base::MatrixView<const std::int8_t> matrix(weights.data(), 3, 2);
    EXPECT_THROW(draw_combinations(counting_key(), 8, 3), InternalError);
    EXPECT_THROW(draw_combinations(std::vector<std::uint8_t>(31), 4, 3), InternalError);
    EXPECT_THROW(companion(draw_combinations(counting_key(), 4, 2), matrix, 4), InternalError);
    EXPECT_THROW(companion(draw_combinations(counting_key(), 4, 3), matrix, 5), InternalError);
}

}  // namespace
}  // namespace slip::testing
