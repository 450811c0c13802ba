// Lattice masks: the ring, blocks, and noise that vanishes, each against a definition of its own,
// at toy sizes and at those of the set.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "property_tests/reference/drawn_values.hpp"
#include "reference/error.hpp"
#include "reference/lattice.hpp"
#include "reference/linear.hpp"
#include "reference/product_check.hpp"
#include "reference/session.hpp"

namespace slip::reference {
namespace {

/// A set of small blocks whose modulus is that of paper-lattice.
ParameterSet toy_set(std::size_t N, std::size_t d, unsigned eta = 2) {
    ParameterSet set = paper_lattice();
    set.name = "toy";
    set.lattice->N = N;
    set.lattice->d = d;
    set.lattice->eta = eta;
    return set;
}

Vector any_residues(const Ring& ring, std::size_t count) {
    Vector v;
    for (std::size_t i = 0; i < count; ++i) {
        v.push_back(ring.embed(Integer(*rc::gen::arbitrary<std::uint64_t>())));
    }
    return v;
}

/// An activation whose 2-norm is at most B_q: entries of at most B_q / ceil(sqrt(n)).
Vector any_activation(std::size_t n, const Integer& B_q) {
    std::size_t root = 1;
    while (root * root < n) ++root;
    const auto bound = static_cast<int>(B_q / root);
    Vector q;
    for (std::size_t j = 0; j < n; ++j) q.emplace_back(*rc::gen::inRange(-bound, bound + 1));
    return q;
}

/// Rows of at most B_w in 2-norm.
Matrix any_weights(std::size_t m, std::size_t n) { return any_matrix(m, n, 127); }

// -------------------------------------------------------------------------------------- the ring

TEST(NegacyclicRing, MASK_7_X_to_the_N_is_minus_one) {
    const NegacyclicRing R(Ring(97), 4);
    const RingElement X{0, 1, 0, 0}, X3{0, 0, 0, 1};
    EXPECT_EQ(R.multiply(X, X3), RingElement({96, 0, 0, 0}));
    EXPECT_EQ(R.multiply(X3, X3), RingElement({0, 0, 96, 0})) << "X^6 = - X^2";
    EXPECT_EQ(R.multiply({1, 2, 3, 4}, {5, 6, 7, 8}), RingElement({97 - 56, 97 - 36, 2, 60}))
        << "(1 + 2X + 3X^2 + 4X^3)(5 + 6X + 7X^2 + 8X^3), by hand";
    EXPECT_THROW(R.multiply({1, 2, 3}, X), PreconditionError);
    EXPECT_THROW(R.multiply({97, 0, 0, 0}, X), PreconditionError);
    EXPECT_THROW(NegacyclicRing(Ring(97), 0), PreconditionError);
}

/// a b as polynomials over Z, divided by X^N + 1.
Vector remainder_of_product(const Ring& ring, const Vector& a, const Vector& b) {
    const std::size_t N = a.size();
    Vector product(2 * N, Integer(0));
    for (std::size_t i = 0; i < N; ++i) {
        for (std::size_t j = 0; j < N; ++j) product[i + j] += a[i] * b[j];
    }
    for (std::size_t i = 2 * N; i-- > N;) {  // subtract product[i] X^(i-N) (X^N + 1)
        product[i - N] -= product[i];
        product[i] = 0;
    }
    product.resize(N);
    return ring.embed(product);
}

RC_GTEST_PROP(NegacyclicRing, MASK_7_a_product_is_the_remainder_of_that_of_polynomials, ()) {
    const Ring ring(*rc::gen::element<Integer>(2, 6, 251, paper_lattice().ring().modulus()));
    const auto N = *rc::gen::inRange<std::size_t>(1, 20);
    const NegacyclicRing R(ring, N);
    const Vector a = any_residues(ring, N), b = any_residues(ring, N), c = any_residues(ring, N);
    RC_ASSERT(R.multiply(a, b) == remainder_of_product(ring, a, b));
    RC_ASSERT(R.multiply(a, b) == R.multiply(b, a));
    RC_ASSERT(R.multiply(a, R.add(b, c)) == R.add(R.multiply(a, b), R.multiply(a, c)));
}

// ---------------------------------------------------------------------------------- small integers

TEST(SmallIntegers, RAND_9_every_byte_in_the_order_of_its_bits) {
    FixedBytes bytes({0b1100'0011, 0b0111'0100});
    EXPECT_EQ(small_integers(bytes, 2, 4), Vector({2, -2, -1, 1}));
    FixedBytes one_bit({0b1100'0110});
    EXPECT_EQ(small_integers(one_bit, 1, 4), Vector({-1, 1, 0, 0}));
    FixedBytes odd({0xff});
    EXPECT_EQ(small_integers(odd, 2, 1), Vector({0})) << "half a byte is left over";
    EXPECT_EQ(odd.remaining(), 0U);
    FixedBytes none(Bytes{});
    EXPECT_THROW(small_integers(none, 0, 1), PreconditionError);
    EXPECT_THROW(small_integers(none, 9, 1), PreconditionError);
}

TEST(SmallIntegers, RAND_9_is_the_centred_binomial_distribution) {
    const std::map<unsigned, std::map<Integer, int>> expected{
        {1, {{-1, 256}, {0, 512}, {1, 256}}},
        {2, {{-2, 32}, {-1, 128}, {0, 192}, {1, 128}, {2, 32}}},
        {4, {{-4, 1}, {-3, 8}, {-2, 28}, {-1, 56}, {0, 70}, {1, 56}, {2, 28}, {3, 8}, {4, 1}}},
    };
    for (const auto& [eta, counts] : expected) {
        std::map<Integer, int> found;
        for (int byte = 0; byte < 256; ++byte) {
            FixedBytes source({static_cast<std::uint8_t>(byte)});
            for (const Integer& e : small_integers(source, eta, 4 / eta)) ++found[e];
        }
        EXPECT_EQ(found, counts) << "eta = " << eta;
    }
}

// ------------------------------------------------------------------------------------------ blocks

TEST(LatticeMasks, MASK_7_T_is_expanded_row_by_row_from_the_seed) {
    const ParameterSet set = toy_set(3, 2);
    const Key seed{7};
    const RingMatrix T = public_matrix(set, seed, 5);
    ASSERT_EQ(T.size(), 5U);
    for (std::uint32_t j = 0; j < 5; ++j) {
        ASSERT_EQ(T[j].size(), 2U);
        for (std::size_t p = 0; p < set.planes.count(); ++p) {
            const Bytes input = public_input(2, PublicPurpose::masks, p, 5, j, seed);
            const Vector row = public_residues(Ring(set.planes.primes()[p]), input, 6);
            for (std::size_t a = 0; a < 6; ++a) {
                EXPECT_EQ(T[j][a / 3][a % 3] % set.planes.primes()[p], row[a]);
            }
        }
    }
    EXPECT_NE(public_matrix(set, seed, 6)[0], T[0]) << "a width of its own";
    EXPECT_NE(public_matrix(set, Key{8}, 5)[0], T[0]);
    EXPECT_THROW(public_matrix(paper(), seed, 5), PreconditionError);
}

RC_GTEST_PROP(LatticeMasks, MASK_7_W_of_a_coefficient_of_T_S_is_that_of_H_S, ()) {
    const Ring ring(*rc::gen::element<Integer>(2, 6, 251, paper_lattice().ring().modulus()));
    const auto m = *rc::gen::inRange<std::size_t>(1, 5), n = *rc::gen::inRange<std::size_t>(1, 5),
               d = *rc::gen::inRange<std::size_t>(1, 4), N = *rc::gen::inRange<std::size_t>(1, 9);
    const NegacyclicRing R(ring, N);
    const Matrix W_D = any_matrix(m, n, 127);
    RingMatrix T(n);
    std::vector<RingElement> S;
    for (std::size_t l = 0; l < d; ++l) {
        for (auto& row : T) row.push_back(any_residues(ring, N));
        S.push_back(any_residues(ring, N));
    }
    const auto TS = multiply(R, T, S), HS = multiply(R, multiply(R, W_D, T), S);
    for (std::size_t i = 0; i < N; ++i) {
        RC_ASSERT(ring.multiply(W_D, coefficient(TS, i)) == coefficient(HS, i));
    }
}

/// What is left of a mask when the coefficient of T S is taken from it.
Vector noise_of(const ParameterSet& set, const RingMatrix& T, const Key& key, std::uint64_t block,
                std::size_t i) {
    const NegacyclicRing R(set.ring(), set.lattice->N);
    const RingMatrix H = multiply(R, Matrix(1, T.size()), T);
    OneTimeMask mask = std::move(lattice_block(set, T, H, key, block).at(i));
    EXPECT_EQ(mask.index(), set.lattice->N * block + i);
    const Vector r = mask.mask(set.ring(), Vector(T.size(), 0));
    const auto TS = multiply(R, T, block_secret(set, key, block));
    return set.ring().lift(set.ring().subtract(r, coefficient(TS, i)));
}

TEST(LatticeMasks, MASK_7_the_noise_is_tau_times_the_stream_of_the_mask_index) {
    const ParameterSet set = toy_set(4, 2);
    const Key key{1, 2, 3};
    const RingMatrix T = public_matrix(set, Key{9}, 33);
    std::set<Vector> seen;
    for (std::uint64_t block : {0U, 1U, 5U}) {
        for (std::size_t i = 0; i < 4; ++i) {
            Keystream stream(key, Purpose::noise, 4 * block + i);
            Vector expected = small_integers(stream, 2, 33);
            for (Integer& e : expected) e *= set.lattice->tau;
            const Vector noise = noise_of(set, T, key, block, i);
            EXPECT_EQ(noise, expected);
            EXPECT_NE(noise, Vector(33, 0)) << "a mask without noise gives its block away";
            seen.insert(noise);
        }
    }
    EXPECT_EQ(seen.size(), 12U);
}

TEST(LatticeMasks, MASK_7_the_secret_is_the_stream_of_its_block) {
    const ParameterSet set = toy_set(5, 3, 1);
    const Key key{4};
    std::set<std::vector<RingElement>> seen;
    for (std::uint64_t block = 0; block < 8; ++block) {
        Keystream stream(key, Purpose::block_secret, block);
        const auto S = block_secret(set, key, block);
        ASSERT_EQ(S.size(), 3U);
        for (const RingElement& element : S) {
            EXPECT_EQ(element, set.ring().embed(small_integers(stream, 1, 5)));
        }
        seen.insert(S);
    }
    EXPECT_EQ(seen.size(), 8U);
}

TEST(LatticeMasks, MASK_9_a_block_serves_one_group_and_an_index_is_used_once) {
    const ParameterSet set = toy_set(4, 1);
    LatticeMasks masks(set, Key{1}, Key{2});
    const Matrix first{{1, 2, 3}}, second{{4, 5, 6}, {7, 8, 9}};
    std::vector<std::uint64_t> indices;
    for (int round = 0; round < 6; ++round) {
        indices.push_back(masks.draw(0, first).index());
        indices.push_back(masks.draw(1, second).index());
    }
    EXPECT_EQ(indices, (std::vector<std::uint64_t>{0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13}));
}

// ----------------------------------------------------------------------------------- what vanishes

RC_GTEST_PROP(LatticeMasks, MASK_8_the_product_is_that_of_the_activation_alone, ()) {
    const auto set = toy_set(*rc::gen::inRange<std::size_t>(1, 7),
                             *rc::gen::inRange<std::size_t>(1, 4), *rc::gen::inRange(1U, 3U));
    const auto m = *rc::gen::inRange<std::size_t>(1, 5), n = *rc::gen::inRange<std::size_t>(1, 40);
    const Matrix W_D = any_weights(m, n);
    const Key process = any_key(), seed = any_key();
    LatticeMasks masks(set, process, seed);
    for (std::size_t t = 0; t < 2 * set.lattice->N + 1; ++t) {
        const Vector q = any_activation(n, set.lattice->B_q);
        OneTimeMask mask = masks.draw(0, W_D);
        const Vector x_masked = mask.mask(set.ring(), q);
        RC_ASSERT(mask.unmask(set.ring(), set.ring().multiply(W_D, x_masked)) == W_D * q);
        RC_ASSERT(!mask.fresh());
    }
}

TEST(LatticeMasks, MASK_8_a_block_of_the_set_itself) {
    const ParameterSet set = paper_lattice();
    const std::size_t n = 6;
    Matrix W_D(2, n);
    Vector q;
    for (std::size_t j = 0; j < n; ++j) {
        W_D(0, j) = j % 2 == 0 ? 127 : -127;
        W_D(1, j) = static_cast<int>(j) - 3;
        q.emplace_back(j % 2 == 0 ? 1972 : -1972);  // aligned with a row, the norm within 2 of B_q
    }
    const RingMatrix T = public_matrix(set, Key{1}, n);
    const RingMatrix H = multiply(NegacyclicRing(set.ring(), 256), W_D, T);
    for (OneTimeMask& mask : lattice_block(set, T, H, Key{2}, 3)) {
        const Vector x_masked = mask.mask(set.ring(), q);
        EXPECT_EQ(mask.unmask(set.ring(), set.ring().multiply(W_D, x_masked)), W_D * q);
    }
}

/// W (q + tau e) for one row and one column of which both are of the largest size, so that nothing
/// but the bound keeps it from wrapping: W e as it stands, as a row of 1 by 1.
Vector unmasked(const ParameterSet& set, const Integer& W, const Integer& q, const Integer& W_e) {
    const Ring& ring = set.ring();
    return unmask(ring, set.lattice->tau, {ring.embed(W * q + set.lattice->tau * W_e)}, {0});
}

TEST(LatticeMasks, MASK_8_noise_at_the_bound_vanishes_and_beyond_the_modulus_does_not) {
    const ParameterSet set = paper_lattice();
    const auto& lattice = *set.lattice;
    const Integer product = lattice.B_w * lattice.B_q;
    const Integer noise = 66 * lattice.B_w / 5 + lattice.Delta;
    for (int sign : {1, -1}) {
        for (int other : {1, -1}) {
            const Integer q = sign * lattice.B_q;
            EXPECT_EQ(unmasked(set, lattice.B_w, q, other * noise), Vector({sign * product}));
        }
        const Integer wrapped = sign * (noise + 100);
        EXPECT_NE(unmasked(set, lattice.B_w, sign * lattice.B_q, wrapped),
                  Vector({sign * product}));
    }
    EXPECT_NE(unmasked(set, lattice.B_w, lattice.B_q + 1, 0), Vector({product + lattice.B_w}))
        << "a product of more than tau / 2";
}

TEST(LatticeMasks, PARAM_5_the_set_meets_its_condition_and_no_larger_one_does) {
    const ParameterSet set = paper_lattice();
    EXPECT_TRUE(noise_vanishes(*set.lattice, set.ring()));
    LatticeParameters wider = *set.lattice;
    wider.B_w += 1;
    EXPECT_FALSE(noise_vanishes(wider, set.ring())) << "2 B_w B_q exceeds tau";
    LatticeParameters longer = *set.lattice;
    longer.B_q += 1;
    EXPECT_FALSE(noise_vanishes(longer, set.ring()));
    LatticeParameters rougher = *set.lattice;
    rougher.Delta += 10;
    EXPECT_FALSE(noise_vanishes(rougher, set.ring()));
    EXPECT_FALSE(noise_vanishes(*set.lattice, paper().ring())) << "four primes are too few";
    EXPECT_EQ(gcd(set.lattice->tau, set.ring().modulus()), 1);
}

TEST(LatticeMasks, MASK_9_an_index_used_twice_gives_the_difference_of_two_activations) {
    const ParameterSet set = toy_set(4, 2);
    const Matrix W_D{{3, -5, 7}};
    const Vector q{100, -200, 300}, other{-40, 50, 60};
    LatticeMasks process(set, Key{1}, Key{2});
    LatticeMasks restored(set, Key{1}, Key{2});  // the same memory, set back
    const Vector x = process.draw(0, W_D).mask(set.ring(), q);
    const Vector y = restored.draw(0, W_D).mask(set.ring(), other);
    EXPECT_EQ(set.ring().lift(set.ring().subtract(x, y)), Vector({140, -250, 240}));
}

// ------------------------------------------------------------------------------ the check of
// products

RC_GTEST_PROP(ProductCheck, MASK_10_holds_for_the_product_and_for_no_other, ()) {
    const auto m = *rc::gen::inRange<std::size_t>(1, 6), n = *rc::gen::inRange<std::size_t>(1, 6);
    const Matrix W_D = any_weights(m, n);
    const Vector q = any_activation(n, 4832);
    const ProductCheck check = draw_product_check(any_key(), W_D);
    Vector y = W_D * q;
    RC_ASSERT(holds(check, q, y));
    const auto row = *rc::gen::inRange<std::size_t>(0, m);
    y[row] += *rc::gen::nonZero<std::int32_t>();
    RC_ASSERT(!holds(check, q, y));
}

TEST(ProductCheck, MASK_10_z_is_one_stream_of_which_groups_have_prefixes) {
    const Key seed{5};
    const Vector z = uniform_residues(Ring(product_modulus), seed, Purpose::product_check, 0, 4);
    EXPECT_EQ(draw_product_check(seed, Matrix(4, 2)).z, z);
    EXPECT_EQ(draw_product_check(seed, Matrix(2, 3)).z, Vector(z.begin(), z.begin() + 2));
    EXPECT_EQ(draw_product_check(seed, Matrix{{-1}, {2}}).zW,
              Ring(product_modulus).embed(Vector{2 * z[1] - z[0]}));
    EXPECT_THROW(holds(draw_product_check(seed, Matrix(4, 2)), {1, 2}, {0, 0, 0}),
                 PreconditionError);
}

}  // namespace
}  // namespace slip::reference
