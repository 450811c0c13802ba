// Quantisation, dequantisation and the two static bounds of the reference.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>

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
    // n = 4: target = 1026 - (2 + 1) / 2 = 1024.5.
    const std::vector<float> x = {3.0F, -4.0F, 0.0F, 12.0F};  // norm 13
    const QuantisedToken token = quantise(x, 1026);
    EXPECT_EQ(token.scale, static_cast<float>(13.0 / 1024.5));
    EXPECT_EQ(token.q, Vector({236, -315, 0, 946})) << "236.4, -315.2, 945.7";
}

TEST(Quantisation, ENC_1_ties_go_to_the_even_neighbour) {
    // n = 9, so that target = B_q - 2; four entries of target / 2 have that norm.
    std::vector<float> x = {511.5F, 511.5F, -511.5F, 511.5F, 0, 0, 0, 0, 0};
    EXPECT_EQ(quantise(x, 1025).q, Vector({512, 512, -512, 512, 0, 0, 0, 0, 0}));
    x = {510.5F, 510.5F, -510.5F, 510.5F, 0, 0, 0, 0, 0};  // norm 1021
    EXPECT_EQ(quantise(x, 1024).q[0], 511) << "510.5 * 1022 / 1021 = 511";
    EXPECT_EQ(quantise(x, 1023).q, Vector({510, 510, -510, 510, 0, 0, 0, 0, 0}));
    EXPECT_EQ(quantise(x, 1023).scale, 1.0F);
}

TEST(Quantisation, ENC_1_the_zero_token_and_its_threshold) {
    const QuantisedToken zero{Vector{0, 0}, 1.0F};
    EXPECT_EQ(quantise(std::vector<float>{0.0F, -0.0F}, 1024), zero);
    EXPECT_EQ(quantise(std::vector<float>{0x1.fffffep-101F, 0.0F}, 1024), zero);
    const QuantisedToken smallest = quantise(std::vector<float>{0x1p-100F}, 1024);
    EXPECT_EQ(smallest.q, Vector({1023})) << "target = 1024 - 2/2";
    EXPECT_EQ(smallest.scale, static_cast<float>(0x1p-100 / 1023));
    EXPECT_EQ(quantise({}, 1024), (QuantisedToken{{}, 1.0F}));
}

TEST(Quantisation, ENC_1_what_is_not_finite_is_refused) {
    for (float bad : {infinity, -infinity, not_a_number}) {
        try {
            quantise(std::vector<float>{1.0F, bad}, 1024);
            FAIL() << "accepted " << bad;
        } catch (const PreconditionError& error) {
            EXPECT_STREQ(error.what(), "activation is not finite");
        }
    }
    EXPECT_THROW(quantise(std::vector<float>{1.0F}, 1), PreconditionError) << "target = 0";
    EXPECT_THROW(quantise(std::vector<float>{1.0F}, 32768), PreconditionError);
}

TEST(Quantisation, ENC_1_the_sum_of_squares_has_eight_lanes) {
    // 1 is lost beside 2^54, 2 is not: the result tells which terms were added first.
    const float big = 0x1p27F;
    const auto sum = [](const std::vector<float>& x) { return ordered_sum_of_squares(x); };
    EXPECT_EQ(sum({big, 1, 1, 0, 0, 0, 0, 0}), 0x1p54) << "lanes 1 and 2, one after the other";
    EXPECT_EQ(sum({big, 1, 0, 0, 0, 1, 0, 0}), 0x1p54 + 2) << "lanes 1 and 5 first";
    EXPECT_EQ(sum({big, 1, 0, 0, 0, 0, 0, 0, 0, 1}), 0x1p54 + 2) << "entries 1 and 9 share a lane";
    EXPECT_EQ(sum({big, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}), 0x1p54 + 2) << "lane 4 joins lane 0";
    EXPECT_EQ(sum({1, 0, 0, big, 1}), 0x1p54 + 2) << "half 0 comes before half 3";
    EXPECT_EQ(sum({}), 0);
}

/// A sum in the order of the entries: the mutant.
double plain_sum_of_squares(const std::vector<float>& x) {
    double sum = 0;
    for (float x_j : x) sum += static_cast<double>(x_j) * static_cast<double>(x_j);
    return sum;
}

TEST(Quantisation, ENC_1_another_order_of_the_sum_gives_other_bits) {
    int different = 0;
    std::mt19937 generator(1);
    for (int repetition = 0; repetition < 100; ++repetition) {
        std::vector<float> x(100);
        for (float& x_j : x) x_j = static_cast<float>(generator()) / 4294967296.0F;
        if (plain_sum_of_squares(x) != ordered_sum_of_squares(x)) ++different;
    }
    EXPECT_GT(different, 10);
}

Integer square_norm(const Vector& q) {
    Integer sum = 0;
    for (const Integer& q_j : q) sum += q_j * q_j;
    return sum;
}

bool within(const Vector& q, std::int32_t B_q) { return square_norm(q) <= Integer(B_q) * B_q; }

/// ENC-1 with the machine's own rounding; x has an entry of at least 2^-100.
QuantisedToken quantise_by_machine(const std::vector<float>& x, double B_q, double room) {
    const double target = B_q - room;
    const double norm = std::sqrt(ordered_sum_of_squares(x));
    QuantisedToken token{{}, static_cast<float>(norm / target)};
    const double inverse = target / norm;
    for (float x_j : x) token.q.emplace_back(std::nearbyint(static_cast<double>(x_j) * inverse));
    return token;
}

/// The room that ENC-1 leaves for rounding.
double room_of(std::size_t n) { return (std::sqrt(static_cast<double>(n)) + 1) / 2; }

RC_GTEST_PROP(Quantisation, ENC_1_agrees_with_machine_doubles_and_keeps_to_the_norm, ()) {
    const bool wild = *rc::gen::arbitrary<bool>();
    const auto x = token_of(*rc::gen::inRange(1, 40), wild ? any_float : ordinary_float);
    const auto B_q = *rc::gen::inRange(1024, 32768);
    const QuantisedToken token = quantise(x, B_q);
    float max_abs = 0;
    for (float x_j : x) max_abs = std::fmax(max_abs, std::fabs(x_j));
    if (max_abs < 0x1p-100F) {
        RC_ASSERT(token == (QuantisedToken{Vector(x.size(), Integer(0)), 1.0F}));
        return;
    }
    RC_ASSERT(token == quantise_by_machine(x, B_q, room_of(x.size())));
    RC_ASSERT(within(token.q, B_q));
    RC_ASSERT(token.scale > 0.0F);
    RC_ASSERT(std::isfinite(token.scale));
}

/// n entries that the factor target / norm takes just above k + 1/2, so that all are rounded up:
/// the worst that rounding can do to a norm.
std::vector<float> all_rounded_up(std::size_t n, std::int32_t B_q) {
    const double target = B_q - room_of(n);
    const double each = target / std::sqrt(static_cast<double>(n));  // q_j of equal entries
    std::vector<float> x(n, static_cast<float>(std::floor(each - 0.5) + 0.5 + 1e-3));
    if (n < 2) return x;
    double rest = target * target;  // one entry takes what is left of the norm
    for (std::size_t j = 1; j < n; ++j)
        rest -= static_cast<double>(x[j]) * static_cast<double>(x[j]);
    x[0] = static_cast<float>(std::sqrt(std::max(rest, 0.0)));
    return x;
}

TEST(Quantisation, ENC_1_the_norm_is_never_above_the_bound) {
    for (std::size_t n : {1U, 2U, 3U, 7U, 8U, 9U, 100U, 1000U, 10000U}) {
        for (std::int32_t B_q : {1024, 12951, 32767}) {
            std::vector<std::vector<float>> tokens = {
                all_rounded_up(n, B_q), std::vector<float>(n, 1.0F),
                std::vector<float>(n, -0x1p-100F), std::vector<float>(n, 3.0e38F)};
            tokens.push_back(std::vector<float>(n, 1e-3F));  // one outlier
            tokens.back()[n / 2] = 1e6F;
            tokens.push_back(std::vector<float>(n, 0x1p-149F));
            tokens.back()[n - 1] = 0x1p-100F;
            for (const std::vector<float>& x : tokens) {
                ASSERT_TRUE(within(quantise(x, B_q).q, B_q)) << "n = " << n << ", B_q = " << B_q;
            }
        }
    }
}

TEST(Quantisation, ENC_1_without_room_for_rounding_the_norm_is_exceeded) {
    int above = 0;
    for (std::size_t n : {100U, 1000U, 10000U}) {
        const std::vector<float> x(n, 1.0F);
        for (int B_q = 1024; B_q < 1064; ++B_q) {
            if (!within(quantise_by_machine(x, B_q, 0).q, B_q)) ++above;  // the mutant
            ASSERT_TRUE(within(quantise_by_machine(x, B_q, room_of(n)).q, B_q));
        }
    }
    EXPECT_GT(above, 40);
}

TEST(Quantisation, ENC_1_little_of_the_norm_is_wasted) {
    const std::vector<float> x = {1.0F, 2.0F, -3.0F};
    EXPECT_GE(square_norm(quantise(x, 32767).q), Integer(32763) * 32763);
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

TEST(Bounds, ENC_3_the_norm_of_the_weights) {
    EXPECT_EQ(weight_norm({Matrix{{3, -4}, {1, 1}}}), 5) << "exactly a square";
    EXPECT_EQ(weight_norm({Matrix{{5, 1}}}), 6) << "sqrt(26) is rounded up";
    EXPECT_EQ(weight_norm({Matrix{{4, -3, 0}, {4, 2, 2}}}), 5) << "25 and 24";
    EXPECT_EQ(weight_norm({Matrix{{1, 0}}, Matrix{{0, -7}}}), 7) << "the largest of all members";
    EXPECT_EQ(weight_norm({Matrix(3, 5)}), 0);
    const Integer large = (Integer(1) << 70) + 1;
    EXPECT_EQ(weight_norm({Matrix{{large}}}), large) << "no rounding of binary64";
    EXPECT_EQ(weight_norm({Matrix{{large, 1}}}), large + 1);
    EXPECT_THROW(weight_norm({}), PreconditionError);
    EXPECT_THROW(weight_norm({Matrix{{1, 2}}, Matrix(1, 3)}), PreconditionError);
}

TEST(Bounds, ENC_3_the_norm_of_the_activations_of_a_group) {
    const Matrix small{{1, -2}, {3, 4}};
    EXPECT_EQ(activation_norm({small}, 101), 10) << "50 / 5";
    EXPECT_EQ(activation_norm({small}, 102), 10) << "floor((102 - 1) / 2) = 50";
    EXPECT_EQ(activation_norm({small}, 100), 9) << "floor(99 / 2) = 49";
    EXPECT_EQ(activation_norm({Matrix(3, 5)}, 3), 32767) << "zero rows";
    EXPECT_EQ(activation_norm({Matrix{{60}}}, 101), 0);
    const Integer L = paper().ring().modulus();
    EXPECT_EQ(activation_norm({small}, L), 32767);
    EXPECT_EQ(activation_norm({Matrix{{51402}}}, L), 32766) << "1684281158 / 51402 = 32766.8";
    EXPECT_THROW(activation_norm({}, 101), PreconditionError);
}

TEST(Bounds, ENC_3_the_set_paper_never_goes_below_12951) {
    // n <= 2^20 entries of 127: a norm of 127 * 2^10.
    const Matrix longest{{127 * 1024}};
    EXPECT_EQ(activation_norm({longest}, paper().ring().modulus()), 12951);
    EXPECT_NO_THROW(require_useful_norm(1024));
    EXPECT_THROW(require_useful_norm(1023), PreconditionError);
}

Matrix any_scaled_weights(std::size_t m, std::size_t n) {
    Matrix W(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) W(i, j) = *rc::gen::inRange(-127, 128);
    }
    return W;
}

RC_GTEST_PROP(Bounds, ENC_3_and_ENC_4_the_norms_are_the_tightest_that_fit, ()) {
    const Matrix W = any_scaled_weights(3, 4);
    const Integer L = *rc::gen::inRange(2, 1 << 30);
    const Integer B_w = weight_norm({W});
    RC_ASSERT(B_w * B_w >= largest_row_square(W));
    RC_ASSERT(B_w == 0 || (B_w - 1) * (B_w - 1) < largest_row_square(W));
    const std::int32_t B_q = activation_norm({W}, L);
    RC_ASSERT(fits_modulus({W}, B_q, L));
    RC_ASSERT(B_q == 32767 || !fits_modulus({W}, B_q + 1, L));
}

Vector mask_and_unmask(const Integer& L, const Matrix& W, const Vector& q) {
    const Ring ring(L);
    const Vector r(q.size(), L / 3);
    const Vector y_masked = ring.multiply(W, mask(ring, q, r));
    return unmask(ring, y_masked, cancellation(ring, W, r));
}

RC_GTEST_PROP(Bounds, ENC_4_unmasking_is_exact_for_every_input_of_the_norm, ()) {
    const Matrix W = any_scaled_weights(2, 3);
    const auto B_q = *rc::gen::inRange(1, 1000);
    const Integer bound = weight_norm({W}) * B_q;
    const Integer L = 2 * bound + 2 + *rc::gen::inRange(-1, 2);  // L >= 2 bound + 1
    RC_PRE(bound > 0);
    RC_ASSERT(fits_modulus({W}, B_q, L));
    RC_ASSERT(!fits_modulus({W}, B_q, 2 * bound));
    Vector q = any_scaled_weights(1, 3).transpose().column(0);
    for (Integer& q_j : q) q_j *= *rc::gen::inRange(0, 8);
    RC_PRE(within(q, B_q));
    RC_ASSERT(abs((W * q)[0]) <= bound);
    RC_ASSERT(mask_and_unmask(L, W, q) == W * q);
}

TEST(Bounds, ENC_4_cauchy_and_schwarz_are_tight) {
    // q = k W(0, .): |(W q)_0| = B_w B_q exactly, with B_w = 5 and B_q = 5 k.
    const Matrix W{{3, -4}};
    for (int k = 1; k < 50; ++k) {
        const Vector q = {3 * k, -4 * k};
        const Integer bound = weight_norm({W}) * 5 * k;
        EXPECT_EQ((W * q)[0], bound);
        EXPECT_TRUE(fits_modulus({W}, 5 * k, 2 * bound + 1));
        EXPECT_FALSE(fits_modulus({W}, 5 * k, 2 * bound));
        EXPECT_EQ(mask_and_unmask(2 * bound + 1, W, q), W * q);
        // With L = 2 bound the output +bound comes back as -bound.
        EXPECT_EQ(mask_and_unmask(2 * bound, W, q), Vector({-bound}));
    }
}

TEST(Bounds, ENC_4_the_bound_of_the_set_paper) {
    const Integer L = paper().ring().modulus();  // (L - 1) / 2 = 1684281158 = 2 * 842140579
    EXPECT_TRUE(fits_modulus({Matrix{{842140579}}}, 2, L));
    EXPECT_FALSE(fits_modulus({Matrix{{842140580}}}, 2, L));
    EXPECT_THROW(fits_modulus({Matrix{{1}}}, -1, L), PreconditionError);
}

TEST(Bounds, ENC_4_the_condition_of_the_lemma_in_the_paper_is_too_weak) {
    const Matrix W{{3}};
    const Vector q = {5};
    EXPECT_EQ(mask_and_unmask(16, W, q), Vector{-1}) << "L = 16 exceeds |W q| = 15";
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
