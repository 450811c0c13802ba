// E-2: the lifted variant of the check, for moduli that are powers of two, by exhaustion at small
// widths.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/lifted_check.hpp"
#include "reference/masking.hpp"

namespace slip::reference {
namespace {

/// How many rho in {0..2^sigma - 1}^2 accept the honest reply to W_D x~ plus the error.
int accepting(const LiftedWidths& widths, const Matrix& W_D, const Matrix& x_masked,
              const Matrix& error) {
    const Ring ring(widths.modulus());
    const Matrix reply = ring.embed(W_D * x_masked + error);
    const int secrets = 1 << widths.sigma;
    int count = 0;
    for (int first = 0; first < secrets; ++first) {
        for (int second = 0; second < secrets; ++second) {
            const Matrix rho{{first}, {second}};
            const LiftedKey secret{rho, precompute_lifted_s(widths, rho, W_D)};
            if (lifted_accepts(widths, secret, x_masked, reply)) ++count;
        }
    }
    return count;
}

TEST(LiftedCheck, E_2_an_error_in_the_low_bits_passes_with_at_most_2_to_the_minus_sigma) {
    const Matrix W_D{{3, -1, 2}, {0, 5, -7}};
    const Matrix x_masked{{9}, {30}, {17}};
    for (const LiftedWidths widths : {LiftedWidths{1, 1}, {2, 1}, {2, 2}, {1, 3}, {2, 3}}) {
        const int modulus = 1 << (widths.e + widths.sigma);
        const Matrix x = Ring(widths.modulus()).embed(x_masked);
        const int low = 1 << widths.e;
        const int all = 1 << (2 * widths.sigma);
        int most = 0;
        for (int error = 1; error < modulus * modulus; ++error) {
            const Matrix e{{error % modulus}, {error / modulus}};
            if (e(0, 0) % low == 0 && e(1, 0) % low == 0) continue;  // harmless: high bits only
            most = std::max(most, accepting(widths, W_D, x, e));
        }
        EXPECT_EQ(most << widths.sigma, all) << "the bound is reached, and not exceeded";
        EXPECT_EQ(accepting(widths, W_D, x, Matrix(2, 1)), all) << "honest";
    }
}

TEST(LiftedCheck, E_2_without_the_lift_half_of_all_secrets_accept) {
    // The mutant: sigma bits of rho, but no bits to spare in the ring; e = 4 and the error 2^3.
    const Ring ring(16);
    int accepted = 0;
    for (int rho = 0; rho < 16; ++rho) {
        if (ring.multiply(rho, 8) == 0) ++accepted;
    }
    EXPECT_EQ(accepted, 8);
}

TEST(LiftedCheck, E_2_an_error_in_the_high_bits_may_pass_and_changes_nothing) {
    const LiftedWidths widths{3, 2};
    const Matrix W_D{{1}, {1}};
    const Matrix high{{16}, {0}};  // 2^4, above e = 3
    EXPECT_GT(accepting(widths, W_D, Matrix{{5}}, high) * 4, 16);
    EXPECT_EQ(lifted_unmask(widths, {21, 5}, {3, 3}), lifted_unmask(widths, {5, 5}, {3, 3}));
}

RC_GTEST_PROP(LiftedCheck, E_2_an_honest_run_is_accepted_and_exact, ()) {
    const LiftedWidths widths{20, 40};
    const Ring ring(widths.modulus());
    const Matrix W_D = any_matrix(4, 3, 127);
    const Vector q = any_matrix(3, 1, 1000).column(0);  // |W_D q| <= 381000 < 2^19
    const Key key = {*rc::gen::arbitrary<std::uint8_t>()};
    const Vector r = uniform_residues(ring, key, Purpose::mask, 0, 3);
    const Vector x_masked = mask(ring, q, r);
    const Vector y_masked = ring.multiply(W_D, x_masked);

    const Matrix rho = draw_lifted_rho(widths, key, 0, 4, 2);
    const LiftedKey secret{rho, precompute_lifted_s(widths, rho, W_D)};
    const Matrix x = Matrix::from_columns(3, {x_masked});
    RC_ASSERT(lifted_accepts(widths, secret, x, Matrix::from_columns(4, {y_masked})));
    RC_ASSERT(lifted_unmask(widths, y_masked, cancellation(ring, W_D, r)) == W_D * q);

    Vector wrong = y_masked;
    const std::size_t i = *rc::gen::inRange<std::size_t>(0, 4);
    wrong[i] = ring.add(wrong[i], 1 + *rc::gen::inRange(0, 1000));
    RC_ASSERT(!lifted_accepts(widths, secret, x, Matrix::from_columns(4, {wrong})));
}

TEST(LiftedCheck, E_2_the_secret_has_sigma_bits) {
    const LiftedWidths widths{8, 3};
    const Matrix rho = draw_lifted_rho(widths, Key{1}, 0, 50, 2);
    Integer largest = 0;
    for (std::size_t i = 0; i < 50; ++i) largest = std::max(largest, rho(i, 1));
    EXPECT_EQ(largest, 7);
    EXPECT_THROW(draw_lifted_rho({0, 3}, Key{1}, 0, 1, 1), PreconditionError);
    const LiftedKey too_large{Matrix{{8}}, Matrix{{8}}};
    EXPECT_THROW(lifted_accepts(widths, too_large, Matrix{{1}}, Matrix{{1}}), PreconditionError);
}

}  // namespace
}  // namespace slip::reference
