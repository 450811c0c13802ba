// The integers and the ring Z_L of the reference, against definitions written out here.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

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

TEST(Parameters, PARAM_1_the_set_paper) {
    const ParameterSet set = paper();
    EXPECT_EQ(set.name, "paper");
    EXPECT_EQ(set.code, 1);
    EXPECT_EQ(set.planes.primes(), (std::vector<Integer>{251, 241, 239, 233}));
    EXPECT_EQ(set.ring().modulus(), 3368562317);
    EXPECT_EQ((set.ring().modulus() - 1) / 2, 1684281158);
    EXPECT_GT(pow(Integer(233), static_cast<unsigned>(set.combinations)), Integer(1) << 62);
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

TEST(PlanesOfResidues, RING_5_the_table_for_the_first_primes_of_the_list) {
    const std::vector<Integer> moduli{251,          60491,           14457349,         3368562317,
                                      771400770593, 175107974924611, 39049078408188253};
    for (std::size_t h = 1; h <= 7; ++h) {
        const std::vector<Integer> primes(all_primes.begin(),
                                          all_primes.begin() + static_cast<std::ptrdiff_t>(h));
        const Planes planes(primes);
        EXPECT_EQ(planes.count(), h);
        EXPECT_EQ(planes.ring().modulus(), moduli[h - 1]);
        for (std::size_t p = 0; p < h; ++p) {
            const Integer cofactor = planes.ring().modulus() / primes[p];
            EXPECT_EQ(cofactor % primes[p] * planes.inverse(p) % primes[p], 1);
        }
    }
}

TEST(PlanesOfResidues, RING_5_the_inverses_of_the_set_paper) {
    const Planes planes = paper().planes;
    const std::vector<Integer> inverses{71, 119, 78, 209};
    const std::vector<Integer> cofactors{99, 160, 95, 165};
    for (std::size_t p = 0; p < 4; ++p) {
        EXPECT_EQ(planes.inverse(p), inverses[p]);
        EXPECT_EQ(planes.ring().modulus() / planes.primes()[p] % planes.primes()[p], cofactors[p]);
    }
}

TEST(PlanesOfResidues, RING_5_is_a_bijection_for_small_primes) {
    for (const std::vector<Integer>& primes :
         std::vector<std::vector<Integer>>{{2}, {2, 3}, {3, 5, 7}, {7, 5, 3}, {2, 3, 5, 7}}) {
        const Planes planes(primes);
        std::set<Vector> seen;
        for (Integer r = 0; r < planes.ring().modulus(); ++r) {
            const Vector parts = planes.split(r);
            seen.insert(parts);
            for (std::size_t p = 0; p < parts.size(); ++p) ASSERT_EQ(parts[p], r % primes[p]);
            ASSERT_EQ(planes.join(parts), r);
        }
        EXPECT_EQ(seen.size(), planes.ring().modulus());
    }
}

TEST(PlanesOfResidues, RING_5_the_extremes_for_each_number_of_planes) {
    for (std::size_t h = 1; h <= 7; ++h) {
        const Planes planes(std::vector<Integer>(
            all_primes.begin(), all_primes.begin() + static_cast<std::ptrdiff_t>(h)));
        const Integer L = planes.ring().modulus();
        Vector largest;
        for (const Integer& p : planes.primes()) largest.push_back(p - 1);
        EXPECT_EQ(planes.split(0), Vector(h, Integer(0)));
        EXPECT_EQ(planes.split(1), Vector(h, Integer(1)));
        EXPECT_EQ(planes.split(L - 1), largest) << "-1 in every plane";
        EXPECT_EQ(planes.join(largest), L - 1);
        for (const Integer& r : Vector{0, 1, 222, 250, L / 2, (L - 1) / 2, L - 2, L - 1}) {
            if (r < L) {
                EXPECT_EQ(planes.join(planes.split(r)), r);
            }
        }
        EXPECT_EQ(planes.ring().lift(planes.join(largest)), -1);
        EXPECT_THROW(planes.split(L), PreconditionError);
        EXPECT_THROW(planes.split(-1), PreconditionError);
        for (std::size_t p = 0; p < h; ++p) {
            Vector parts(h, Integer(0));
            parts[p] = planes.primes()[p];
            EXPECT_THROW(planes.join(parts), PreconditionError) << "not below the prime";
            parts[p] = -1;
            EXPECT_THROW(planes.join(parts), PreconditionError);
        }
        EXPECT_THROW(planes.join(Vector(h + 1, Integer(0))), PreconditionError);
    }
}

RC_GTEST_PROP(PlanesOfResidues, RING_5_is_an_isomorphism_of_rings, ()) {
    const std::size_t h = *rc::gen::inRange<std::size_t>(1, 8);
    const Planes planes(std::vector<Integer>(all_primes.begin(),
                                             all_primes.begin() + static_cast<std::ptrdiff_t>(h)));
    const Ring& ring = planes.ring();
    const Vector a = ring.embed(Vector{any_signed(9), any_signed(9)});
    const Matrix W{{any_signed(1), any_signed(1)}, {any_signed(1), any_signed(1)}};
    const Vector product = ring.multiply(W, a);
    for (std::size_t p = 0; p < h; ++p) {
        const Ring field(planes.primes()[p]);
        RC_ASSERT(planes.plane(p, product) == field.multiply(W, planes.plane(p, a)));
        RC_ASSERT(planes.plane(p, ring.add(a, product)) ==
                  field.add(planes.plane(p, a), planes.plane(p, product)));
    }
    std::vector<Vector> parts;
    for (std::size_t p = 0; p < h; ++p) parts.push_back(planes.plane(p, a));
    RC_ASSERT(planes.join(parts) == a);
}

TEST(PlanesOfResidues, RING_5_other_lists_are_refused) {
    EXPECT_THROW(Planes({}), PreconditionError);
    EXPECT_THROW(Planes({251, 249}), PreconditionError) << "249 = 3 * 83";
    EXPECT_THROW(Planes({1}), PreconditionError);
    EXPECT_THROW(Planes({251, 241, 251}), PreconditionError) << "a prime that stands twice";
}

}  // namespace
}  // namespace slip::reference
