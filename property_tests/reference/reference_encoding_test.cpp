// Quantisation, dequantisation and the two static bounds of the reference.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "reference/encoding.hpp"
#include "reference/integer_model.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// Any finite float: every exponent is about equally likely.
float any_float() {
    const auto bits = *rc::gen::arbitrary<std::uint32_t>();
    const float x = std::bit_cast<float>(bits);
    return std::isfinite(x) ? x : 0.0F;
}

/// A float of ordinary size.
float ordinary_float() { return static_cast<float>(*rc::gen::inRange(-100000, 100000)) / 1000.0F; }

std::vector<float> token_of(int n, const std::function<float()>& entry) {
    std::vector<float> x;
    for (int j = 0; j < n; ++j) x.push_back(entry());
    return x;
}

TEST(Rounding, CONV_3_ties_go_to_the_even_neighbour) {
    EXPECT_EQ(round_half_even(0.5), 0);
    EXPECT_EQ(round_half_even(1.5), 2);
    EXPECT_EQ(round_half_even(2.5), 2);
    EXPECT_EQ(round_half_even(-0.5), 0);
    EXPECT_EQ(round_half_even(-1.5), -2);
    EXPECT_EQ(round_half_even(-2.5), -2);
    EXPECT_EQ(round_half_even(0.0), 0);
    EXPECT_EQ(round_half_even(std::nextafter(0.5, 1.0)), 1);
    EXPECT_EQ(round_half_even(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(round_half_even(0x1p200), Integer(1) << 200);
    EXPECT_NE(std::round(2.5), 2) << "the mutant: ties away from zero";
    EXPECT_THROW(round_half_even(std::numeric_limits<double>::infinity()), PreconditionError);
}

RC_GTEST_PROP(Rounding, CONV_3_agrees_with_the_machine, ()) {
    const double x = static_cast<double>(*rc::gen::arbitrary<std::int64_t>()) /
                     static_cast<double>(std::int64_t{1} << *rc::gen::inRange(0, 60));
    RC_ASSERT(round_half_even(x) == Integer(std::nearbyint(x)));
    RC_ASSERT(round_half_even(-x) == Integer(-round_half_even(x)));
}

TEST(Quantisation, ENC_1_a_token_by_hand) {
    const std::vector<float> x = {1.0F, -0.5F, 0.25F, 0.0F, -1.0F};
    const QuantisedToken token = quantise(x, 127);
    EXPECT_EQ(token.scale, 1.0F / 127.0F);
    EXPECT_EQ(token.q, Vector({127, -64, 32, 0, -127})) << "63.5 goes to 64, 31.75 to 32";
}

TEST(Quantisation, ENC_1_the_zero_token_and_its_threshold) {
    const QuantisedToken zero{Vector{0, 0}, 1.0F};
    EXPECT_EQ(quantise(std::vector<float>{0.0F, -0.0F}, 127), zero);
    EXPECT_EQ(quantise(std::vector<float>{0x1.fffffep-101F, 0.0F}, 127), zero);
    const QuantisedToken smallest = quantise(std::vector<float>{0x1p-100F, 0.0F}, 127);
    EXPECT_EQ(smallest.q, Vector({127, 0}));
    EXPECT_EQ(smallest.scale, 0x1p-100F / 127.0F);
    EXPECT_EQ(quantise({}, 127), (QuantisedToken{{}, 1.0F}));
}

TEST(Quantisation, ENC_1_what_is_not_finite_is_refused) {
    for (float bad : {infinity, -infinity, not_a_number}) {
        try {
            quantise(std::vector<float>{1.0F, bad}, 127);
            FAIL() << "accepted " << bad;
        } catch (const PreconditionError& error) {
            EXPECT_STREQ(error.what(), "activation is not finite");
        }
    }
    EXPECT_THROW(quantise(std::vector<float>{1.0F}, 0), PreconditionError);
    EXPECT_THROW(quantise(std::vector<float>{1.0F}, 32768), PreconditionError);
}

/// ENC-1 with the machine's own rounding; x has a nonzero entry.
QuantisedToken quantise_by_machine(const std::vector<float>& x, float qa_max) {
    float max_abs = 0;
    for (float x_j : x) max_abs = std::fmax(max_abs, std::fabs(x_j));
    QuantisedToken token{{}, max_abs / qa_max};
    const float inverse = qa_max / max_abs;
    for (float x_j : x) token.q.emplace_back(std::nearbyintf(x_j * inverse));
    return token;
}

RC_GTEST_PROP(Quantisation, ENC_1_agrees_with_machine_floats, ()) {
    const bool wild = *rc::gen::arbitrary<bool>();
    const auto x = token_of(*rc::gen::inRange(1, 20), wild ? any_float : ordinary_float);
    const auto qa_max = *rc::gen::inRange(127, 32768);
    const QuantisedToken token = quantise(x, qa_max);
    float max_abs = 0;
    for (float x_j : x) max_abs = std::fmax(max_abs, std::fabs(x_j));
    if (max_abs < 0x1p-100F) {
        RC_ASSERT(token == (QuantisedToken{Vector(x.size(), Integer(0)), 1.0F}));
        return;
    }
    RC_ASSERT(token == quantise_by_machine(x, static_cast<float>(qa_max)));
    Integer largest = 0;
    for (const Integer& q_j : token.q) largest = std::max(largest, Integer(abs(q_j)));
    RC_ASSERT(largest == qa_max);
}

TEST(Quantisation, ENC_1_dividing_by_the_scale_is_a_different_rule) {
    int different = 0;
    for (int i = 1; i < 20000; ++i) {
        const std::vector<float> x = {static_cast<float>(i) / 20000.0F, 0.7F + 1.0F / 3.0F};
        const QuantisedToken token = quantise(x, 32767);
        const float quotient = x[0] / token.scale;  // the mutant
        if (round_half_even(static_cast<double>(quotient)) != token.q[0]) ++different;
        ASSERT_EQ(token, quantise_by_machine(x, 32767.0F));
    }
    EXPECT_GT(different, 0);
}

TEST(Dequantisation, ENC_2_is_evaluated_in_binary64_from_left_to_right) {
    EXPECT_EQ(dequantise(3, 0.5F, 0.25F), 0.375F);
    EXPECT_EQ(dequantise(-3, 0.5F, 0.25F), -0.375F);
    // y and the row scale alone overflow binary32, the whole product does not.
    const float y = dequantise(Integer(1) << 62, 0x1p100F, 0x1p-100F);
    EXPECT_EQ(y, 0x1p62F);
    // 2^53 + 1 and 2^53 + 3 are not binary64 numbers; ties go to even.
    EXPECT_EQ(dequantise((Integer(1) << 53) + 1, 1.0F, 1.0F), 0x1p53F);
    EXPECT_THROW(dequantise(Integer(1) << 63, 1.0F, 1.0F), PreconditionError);
    EXPECT_NO_THROW(dequantise(-(Integer(1) << 63), 1.0F, 1.0F));
    const std::vector<float> scales = {1.0F, 2.0F};
    EXPECT_EQ(dequantise(Vector{1, -1}, scales, 0.5F), std::vector<float>({0.5F, -1.0F}));
    EXPECT_THROW(dequantise(Vector{1}, scales, 0.5F), PreconditionError);
}

RC_GTEST_PROP(Dequantisation, ENC_2_agrees_with_machine_doubles, ()) {
    const auto y = *rc::gen::arbitrary<std::int64_t>();
    const float row = std::fabs(ordinary_float()) + 0.001F;
    const float token = std::fabs(ordinary_float()) + 0.001F;
    const double by_row = static_cast<double>(y) * static_cast<double>(row);
    RC_ASSERT(dequantise(y, row, token) == static_cast<float>(by_row * static_cast<double>(token)));
}

TEST(Dequantisation, ENC_2_another_order_gives_other_bits) {
    int different = 0;
    for (std::int64_t y = 1; y < 5'000'000'000'000'000; y = 3 * y + 1) {
        for (int i = 1; i < 200; ++i) {
            const float row = 1.0F / static_cast<float>(i);
            const float token = 1.0F / static_cast<float>(i + 7);
            const float in_single = static_cast<float>(y) * row * token;  // the mutant
            if (dequantise(y, row, token) != in_single) ++different;
        }
    }
    EXPECT_GT(different, 0);
}

TEST(Bounds, ENC_3_the_largest_activation_of_a_group) {
    const Matrix small{{1, -2}, {3, 0}};  // row norms 3 and 3
    const Matrix large{{-50, 70}};        // row norm 120
    EXPECT_EQ(largest_activation({small}, 101), 16) << "floor(50 / 3)";
    EXPECT_EQ(largest_activation({small}, 102), 16) << "floor((102 - 1) / 2) = 50";
    EXPECT_EQ(largest_activation({small}, 103), 17);
    EXPECT_EQ(largest_activation({small, large}, 101), 0) << "the largest row of all members";
    EXPECT_EQ(largest_activation({small, large}, 241), 1);
    EXPECT_EQ(largest_activation({Matrix(3, 5)}, 3), 32767) << "zero rows";
    EXPECT_EQ(largest_activation({small}, p31().modulus), 32767);
    EXPECT_THROW(largest_activation({}, 101), PreconditionError);
    EXPECT_THROW(largest_activation({small, Matrix(1, 3)}, 101), PreconditionError);
}

TEST(Bounds, ENC_3_a_group_below_127_is_refused) {
    EXPECT_THROW(require_useful_activation(126), PreconditionError);
    EXPECT_NO_THROW(require_useful_activation(127));
}

Matrix any_weights(std::size_t m, std::size_t n) {
    Matrix W(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) W(i, j) = *rc::gen::inRange(-127, 128);
    }
    return W;
}

RC_GTEST_PROP(Bounds, ENC_3_and_ENC_4_the_activation_bound_is_the_largest_that_fits, ()) {
    const Matrix W = any_weights(3, 4);
    const Integer L = *rc::gen::inRange(2, 1 << 30);
    const std::int32_t qa_max = largest_activation({W}, L);
    RC_ASSERT(fits_modulus({W}, qa_max, L));
    RC_ASSERT(qa_max == 32767 || !fits_modulus({W}, qa_max + 1, L));
}

/// The worst input of |q_j| <= qa_max for row i: it reaches qa_max times the norm of the row.
Vector worst_input(const Matrix& W, std::size_t i, std::int32_t qa_max) {
    Vector q;
    for (std::size_t j = 0; j < W.cols(); ++j) q.emplace_back(W(i, j) < 0 ? -qa_max : qa_max);
    return q;
}

Vector mask_and_unmask(const Integer& L, const Matrix& W, const Vector& q) {
    const Ring ring(L);
    const Vector r(q.size(), L / 3);
    const Vector y_masked = ring.multiply(W, mask(ring, q, r));
    return unmask(ring, y_masked, cancellation(ring, W, r));
}

RC_GTEST_PROP(Bounds, ENC_4_unmasking_is_exact_at_the_bound_and_not_below, ()) {
    const Matrix W = any_weights(2, 3);
    const auto qa_max = *rc::gen::inRange(1, 1000);
    const Integer bound = static_bound({W}, qa_max);
    RC_PRE(bound > 0);
    RC_ASSERT(fits_modulus({W}, qa_max, 2 * bound + 1));
    RC_ASSERT(!fits_modulus({W}, qa_max, 2 * bound));
    bool exact_below = true;
    for (std::size_t i = 0; i < W.rows(); ++i) {
        const Vector q = worst_input(W, i, qa_max);
        RC_ASSERT(abs((W * q)[i]) <= bound);
        RC_ASSERT(mask_and_unmask(2 * bound + 1, W, q) == W * q);
        exact_below = exact_below && mask_and_unmask(2 * bound, W, q) == W * q;
    }
    // With L = 2 Bnd the output +Bnd comes back as -Bnd: L >= 2 Bnd + 1 is necessary.
    RC_ASSERT(!exact_below);
}

TEST(Bounds, ENC_4_the_condition_of_the_lemma_in_the_paper_is_too_weak) {
    const Matrix W{{3}};
    const Vector q = {5};
    EXPECT_EQ(mask_and_unmask(16, W, q), Vector({-1})) << "L = 16 exceeds |W q| = 15";
    EXPECT_EQ(mask_and_unmask(31, W, q), Vector({15}));
}

TEST(Bounds, ENC_5_the_64_bit_bound_is_sharp) {
    const Integer largest = (Integer(1) << 63) - 1;
    Matrix W(2, 2);
    W(1, 0) = largest / 127 - 1;
    W(1, 1) = -1;
    EXPECT_TRUE(fits_64_bits({W}, 127));
    EXPECT_TRUE(fits_64_bits({Matrix(1, 2), W}, 127));
    EXPECT_FALSE(fits_64_bits({Matrix{{Integer(1) << 56}}}, 128)) << "2^63 itself";
    EXPECT_TRUE(fits_64_bits({Matrix{{(Integer(1) << 56) - 1}}}, 128));
    W(1, 1) = -2;
    EXPECT_FALSE(fits_64_bits({W}, 127)) << "127 (floor((2^63 - 1) / 127) + 1) > 2^63 - 1";
    EXPECT_FALSE(fits_64_bits({Matrix(1, 2), W}, 127));
}

TEST(Widths, PARAM_2_an_integer_model_with_an_entry_out_of_range_is_refused) {
    const IntegerModel good{
        Matrix{{2146435072}}, Matrix{{-2047, 2047}}, Matrix{{-127, 127}}, {1.0F}};
    EXPECT_NO_THROW(require_valid(good));
    IntegerModel bad = good;
    bad.A(0, 0) += 1 << 20;
    EXPECT_THROW(require_valid(bad), PreconditionError) << "2048 * 2^20";
    bad = good;
    bad.B(0, 1) = -2048;
    EXPECT_THROW(require_valid(bad), PreconditionError);
    bad = good;
    bad.W_D(0, 0) = -128;
    EXPECT_THROW(require_valid(bad), PreconditionError);
    bad = good;
    bad.row_scale = {0.0F};
    EXPECT_THROW(require_valid(bad), PreconditionError);
    bad = good;
    bad.row_scale = {};
    EXPECT_THROW(require_valid(bad), PreconditionError);
}

TEST(Widths, PARAM_2_a_row_of_A_has_one_exponent) {
    const Matrix A{{0, 0}, {-2047, 1}, {2048, 2}, {4094, 0}, {4095, 0}, {3, -(1 << 30)}};
    const std::vector<unsigned> exponents = {0, 0, 1, 1, 2, 20};
    for (std::size_t i = 0; i < exponents.size(); ++i) EXPECT_EQ(row_exponent(A, i), exponents[i]);

    const auto with_row = [](const Integer& first, const Integer& second) {
        return IntegerModel{
            Matrix{{first, second}, {1, 2047}}, Matrix(2, 1), Matrix(2, 1), {1.0F, 1.0F}};
    };
    EXPECT_NO_THROW(require_valid(with_row(2047, -1)));
    EXPECT_NO_THROW(require_valid(with_row(2048, -2)));
    EXPECT_NO_THROW(require_valid(with_row(-(1 << 30), 1 << 20)));
    EXPECT_THROW(require_valid(with_row(2048, -1)), PreconditionError);
    EXPECT_THROW(require_valid(with_row(4, 2049)), PreconditionError);
    EXPECT_THROW(require_valid(with_row(1 << 19, -(1 << 30))), PreconditionError);
}

}  // namespace
}  // namespace slip::reference
