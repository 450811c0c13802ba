// The integers and the ring Z_L of the reference, against definitions written out here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference/parameters.hpp"
#include "reference/randomness.hpp"
#include "reference/ring.hpp"

namespace slip::reference {
namespace {

/// An integer below 2^(8 bytes), small and large alike.
Integer any_integer(int bytes) {
    return little_endian(
        *rc::gen::resize(bytes, rc::gen::container<Bytes>(rc::gen::arbitrary<std::uint8_t>())));
}

Integer any_signed(int bytes) {
    const Integer magnitude = any_integer(bytes);
    return *rc::gen::arbitrary<bool>() ? magnitude : Integer(-magnitude);
}

/// Lucas and Lehmer: 2^e - 1 is prime iff s_(e-2) = 0, where s_0 = 4 and s_(i+1) = s_i^2 - 2.
bool mersenne_is_prime(unsigned e) {
    const Integer L = (Integer(1) << e) - 1;
    Integer s = 4;
    for (unsigned i = 0; i < e - 2; ++i) s = (s * s - 2 + L) % L;
    return s == 0;
}

TEST(Parameters, PARAM_1_the_modulus_is_prime_and_a_residue_fits_its_bytes) {
    const Profile profile = p31();
    EXPECT_EQ(profile.modulus, 2147483647);
    EXPECT_TRUE(mersenne_is_prime(31));
    EXPECT_FALSE(mersenne_is_prime(29)) << "2^29 - 1 = 233 * 1103 * 2089";
    EXPECT_LE(profile.modulus, Integer(1) << static_cast<unsigned>(8 * profile.residue_bytes));
    EXPECT_GT(pow(profile.modulus, static_cast<unsigned>(profile.repetitions)), Integer(1) << 60);
    EXPECT_EQ(profile.number, 1);
}

TEST(Matrices, CONV_1_an_m_by_n_matrix_maps_n_entries_to_m) {
    const Matrix W{{1, 2, 3}, {4, 5, 6}};
    EXPECT_EQ(W.rows(), 2U);
    EXPECT_EQ(W.cols(), 3U);
    EXPECT_EQ(W * Vector({1, 0, -1}), Vector({-2, -2}));
    EXPECT_EQ(W * W.transpose(), (Matrix{{14, 32}, {32, 77}}));
    EXPECT_EQ(W + W, Integer(2) * W);
    EXPECT_EQ(W - W, Matrix(2, 3));
    EXPECT_EQ(W.column(1), Vector({2, 5}));
    EXPECT_EQ(Matrix::from_columns(2, {W.column(0), W.column(1), W.column(2)}), W);
    EXPECT_EQ(largest_row_norm(Integer(-1) * W), 15);
}

TEST(Matrices, a_product_through_no_dimension_is_zero) {
    EXPECT_EQ(Matrix(2, 0) * Matrix(0, 3), Matrix(2, 3));
}

TEST(Matrices, wrong_shapes_are_errors) {
    const Matrix W{{1, 2, 3}, {4, 5, 6}};
    EXPECT_THROW(W * W, PreconditionError);
    EXPECT_THROW(W * Vector({1, 2}), PreconditionError);
    EXPECT_THROW(W + W.transpose(), PreconditionError);
    EXPECT_THROW(W(2, 0), PreconditionError);
    EXPECT_THROW(Matrix({{1, 2}, {3}}), PreconditionError);
    EXPECT_THROW(Matrix::from_columns(3, {Vector{1, 2}}), PreconditionError);
}

TEST(Rings, RING_1_small_rings_agree_with_machine_arithmetic) {
    for (int L = 2; L <= 12; ++L) {
        const Ring ring{Integer(L)};
        for (int a = 0; a < L; ++a) {
            for (int b = 0; b < L; ++b) {
                ASSERT_EQ(ring.add(a, b), (a + b) % L);
                ASSERT_EQ(ring.subtract(a, b), (a + L - b) % L);
                ASSERT_EQ(ring.multiply(a, b), (a * b) % L);
            }
        }
    }
}

RC_GTEST_PROP(Rings, RING_1_is_a_commutative_ring_for_any_modulus, ()) {
    const Ring ring(any_integer(24) + 2);
    const Integer a = ring.embed(any_signed(30));
    const Integer b = ring.embed(any_signed(30));
    const Integer c = ring.embed(any_signed(30));
    RC_ASSERT(ring.add(a, b) == ring.add(b, a));
    RC_ASSERT(ring.multiply(a, b) == ring.multiply(b, a));
    RC_ASSERT(ring.subtract(ring.add(a, b), b) == a);
    RC_ASSERT(ring.multiply(a, ring.add(b, c)) ==
              ring.add(ring.multiply(a, b), ring.multiply(a, c)));
    RC_ASSERT(ring.contains(ring.add(a, b)));
    RC_ASSERT(ring.contains(ring.subtract(a, b)));
    RC_ASSERT(ring.contains(ring.multiply(a, b)));
}

TEST(Rings, CONV_1_a_residue_that_is_not_canonical_is_refused) {
    const Ring ring(7);
    EXPECT_THROW(ring.add(7, 0), PreconditionError);
    EXPECT_THROW(ring.add(0, 7), PreconditionError);
    EXPECT_THROW(ring.subtract(-1, 0), PreconditionError);
    EXPECT_THROW(ring.multiply(0, -1), PreconditionError);
    EXPECT_THROW(ring.lift(Integer(7)), PreconditionError);
    EXPECT_THROW(ring.multiply(Matrix{{1}}, Vector{7}), PreconditionError);
    EXPECT_THROW(ring.add(Vector{1, 2}, Vector{1}), PreconditionError);
    EXPECT_THROW(Ring(Integer(1)), PreconditionError);
}

TEST(Rings, RING_2_embeds_every_integer_into_its_class) {
    for (int L = 2; L <= 9; ++L) {
        const Ring ring{Integer(L)};
        for (int v = -3 * L; v <= 3 * L; ++v) {
            const Integer r = ring.embed(Integer(v));
            ASSERT_TRUE(ring.contains(r));
            ASSERT_EQ((r - v) % L, 0);
        }
    }
}

TEST(Rings, RING_2_the_remainder_of_the_language_would_not_do) {
    EXPECT_EQ(Ring(7).embed(Integer(-1)), 6);
    EXPECT_FALSE(Ring(7).contains(Integer(-1) % 7)) << "the mutant: v % L";
}

RC_GTEST_PROP(Rings, RING_2_is_a_homomorphism, ()) {
    const Ring ring(any_integer(20) + 2);
    const Integer u = any_signed(40);
    const Integer v = any_signed(40);
    RC_ASSERT(ring.embed(Integer(u + v)) == ring.add(ring.embed(u), ring.embed(v)));
    RC_ASSERT(ring.embed(Integer(u * v)) == ring.multiply(ring.embed(u), ring.embed(v)));
}

TEST(Rings, RING_3_lift_undoes_embed_exactly_on_its_range) {
    for (int L = 2; L <= 11; ++L) {
        const Ring ring{Integer(L)};
        for (int v = -2 * L; v <= 2 * L; ++v) {
            const bool in_range = -(L / 2) <= v && v <= (L - 1) / 2;
            ASSERT_EQ(ring.lift(ring.embed(Integer(v))) == v, in_range) << v << " mod " << L;
        }
    }
}

RC_GTEST_PROP(Rings, RING_3_lift_is_the_least_member_of_the_class, ()) {
    const Ring ring(any_integer(20) + 2);
    const Integer r = ring.embed(any_signed(30));
    const Integer v = ring.lift(r);
    RC_ASSERT(ring.embed(v) == r);
    RC_ASSERT(2 * abs(v) <= ring.modulus());
}

/// x mod 2^e - 1 by folding until nothing is left above e bits.
std::uint64_t fold(std::uint64_t x, unsigned e) {
    const std::uint64_t p = (std::uint64_t{1} << e) - 1;
    while (x > p) x = (x & p) + (x >> e);
    return x == p ? 0 : x;
}

TEST(Rings, RING_4_division_and_folding_agree_at_the_edges) {
    for (unsigned e : {31U, 61U}) {
        const std::uint64_t p = (std::uint64_t{1} << e) - 1;
        for (std::uint64_t x : {std::uint64_t{0}, p - 1, p, p + 1, 2 * p - 1, 2 * p, 2 * p + 1,
                                (p - 1) << 1, ~std::uint64_t{0}}) {
            EXPECT_EQ(mersenne_remainder(x, e), fold(x, e)) << x;
        }
    }
    EXPECT_EQ(mersenne_remainder(p31().modulus, 31), 0) << "the modulus itself is zero";
    EXPECT_THROW(mersenne_remainder(-1, 31), PreconditionError);
}

RC_GTEST_PROP(Rings, RING_4_division_and_folding_agree, ()) {
    const auto x = *rc::gen::arbitrary<std::uint64_t>();
    const auto e = *rc::gen::element(31U, 61U);
    RC_ASSERT(mersenne_remainder(x, e) == fold(x, e));
    RC_ASSERT(mersenne_remainder(x, e) == Ring((Integer(1) << e) - 1).embed(Integer(x)));
}

}  // namespace
}  // namespace slip::reference
