// Theorem 1 of the paper as counting: what David sees is uniform and independent of what it hides.
// Small spaces are counted whole; larger ones are sampled and put to a chi-square test.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

#include "reference/masking.hpp"
#include "reference/parameters.hpp"

namespace slip::reference {
namespace {

/// All of Z_L^d, in order.
std::vector<Vector> whole_space(int L, std::size_t d) {
    std::vector<Vector> all = {{}};
    for (std::size_t i = 0; i < d; ++i) {
        std::vector<Vector> longer;
        for (const Vector& v : all) {
            for (int a = 0; a < L; ++a) {
                longer.push_back(v);
                longer.back().emplace_back(a);
            }
        }
        all = std::move(longer);
    }
    return all;
}

/// Activations that include negative ones and ones beyond the modulus.
std::vector<Vector> activations(int L, std::size_t d) {
    std::vector<Vector> all = whole_space(L + 3, d);
    for (Vector& q : all) {
        for (Integer& q_j : q) q_j -= L / 2 + 1;
    }
    return all;
}

struct Space {
    int L;
    std::size_t d;
};

const Space small_spaces[] = {{2, 1}, {2, 3}, {3, 2}, {4, 2}, {5, 2}, {6, 1}, {15, 1}, {16, 1}};

TEST(MaskingUniformity, MASK_1_adds_the_embedded_activation_and_the_mask) {
    const Ring ring(7);
    EXPECT_EQ(mask(ring, {-1, 3, 20}, {0, 6, 1}), Vector({6, 2, 0}));
    EXPECT_THROW(mask(ring, {1, 2}, {1}), PreconditionError);
    EXPECT_THROW(mask(ring, {1}, {7}), PreconditionError) << "a mask is canonical";
}

TEST(MaskingUniformity, MASK_2_is_a_bijection_for_every_activation) {
    for (const auto& [L, d] : small_spaces) {
        const Ring ring{Integer(L)};
        const auto space = whole_space(L, d);
        for (const Vector& q : activations(L, d)) {
            std::set<Vector> images;
            for (const Vector& r : space) images.insert(mask(ring, q, r));
            ASSERT_EQ(images.size(), space.size());
            for (const Vector& x_masked : images) {
                for (const Integer& residue : x_masked) ASSERT_TRUE(ring.contains(residue));
            }
        }
    }
}

/// #{(q, x~)} over all draws, where activation number i is drawn i + 1 times.
using JointCounts = std::map<std::pair<Vector, Vector>, int>;

template <class Mask>
JointCounts joint_counts(int L, std::size_t d, const Mask& mask_with) {
    JointCounts counts;
    int weight = 0;
    for (const Vector& q : activations(L, d)) {
        ++weight;
        for (const Vector& r : whole_space(L, d)) counts[{q, mask_with(q, r)}] += weight;
    }
    return counts;
}

/// N(q, x~) N = N(q) N(x~) for every pair, and N(x~) the same for every x~ in Z_L^d.
bool is_uniform_product(const JointCounts& counts, int L, std::size_t d) {
    std::map<Vector, std::int64_t> of_q;
    std::map<Vector, std::int64_t> of_masked;
    std::int64_t all = 0;
    for (const auto& [pair, count] : counts) {
        of_q[pair.first] += count;
        of_masked[pair.second] += count;
        all += count;
    }
    const auto space = whole_space(L, d);
    for (const Vector& x_masked : space) {
        const auto size = static_cast<std::int64_t>(space.size());
        if (of_masked[x_masked] * size != all) return false;
        for (const auto& [q, count] : of_q) {
            const auto pair = counts.find({q, x_masked});
            const std::int64_t together = pair == counts.end() ? 0 : pair->second;
            if (together * all != count * of_masked[x_masked]) return false;
        }
    }
    return true;
}

TEST(MaskingUniformity, MASK_2_the_joint_law_of_activation_and_masked_value_is_a_product) {
    for (const auto& [L, d] : small_spaces) {
        const Ring ring{Integer(L)};
        const auto counts =
            joint_counts(L, d, [&](const Vector& q, const Vector& r) { return mask(ring, q, r); });
        EXPECT_TRUE(is_uniform_product(counts, L, d)) << "L = " << L << ", d = " << d;
    }
}

TEST(MaskingUniformity, MASK_2_mutants_have_no_product_law) {
    const Ring ring(5);
    const auto no_reduction = [](const Vector& q, const Vector& r) { return Vector{q[0] + r[0]}; };
    const auto multiplied = [&](const Vector& q, const Vector& r) {
        return Vector{ring.multiply(ring.embed(q[0]), r[0])};
    };
    const auto one_mask_for_two = [&](const Vector& q, const Vector& r) {
        return mask(ring, q, {r[0], r[0]});
    };
    const auto zero_left_open = [&](const Vector& q, const Vector& r) {
        return q[0] == 0 ? Vector{0} : mask(ring, q, r);
    };
    EXPECT_FALSE(is_uniform_product(joint_counts(5, 1, no_reduction), 5, 1));
    EXPECT_FALSE(is_uniform_product(joint_counts(5, 1, multiplied), 5, 1));
    EXPECT_FALSE(is_uniform_product(joint_counts(5, 2, one_mask_for_two), 5, 2));
    EXPECT_FALSE(is_uniform_product(joint_counts(5, 1, zero_left_open), 5, 1));
}

/// The statistic sum (N_i - N/c)^2 / (N/c) of c cells.
double chi_square(const std::vector<int>& cells) {
    double draws = 0;
    for (int count : cells) draws += count;
    const double expected = draws / static_cast<double>(cells.size());
    double sum = 0;
    for (int count : cells) sum += (count - expected) * (count - expected) / expected;
    return sum;
}

/// Whether the counts look uniform. Uniform counts are flagged with probability at most 1e-9:
/// by Laurent and Massart Pr[X >= f + 2 sqrt(f x) + 2 x] <= e^-x for X of f degrees of freedom
/// (the statistic is close to such an X, as each cell is to hold at least 50 draws).
/// The keys are fixed besides, so that a result never changes from run to run.
bool looks_uniform(const std::vector<int>& cells) {
    const double f = static_cast<double>(cells.size()) - 1;
    const double x = std::log(1e9);
    return chi_square(cells) < f + 2 * std::sqrt(f * x) + 2 * x;
}

Key key_of(std::uint8_t first) {
    Key key{};
    key[0] = first;
    return key;
}

/// A sampler: the first `count` residues mod L of a stream.
using DrawResidues = std::function<std::vector<int>(int L, std::size_t count)>;

std::vector<int> draw_by_sampler(int L, std::size_t count) {
    std::vector<int> residues;
    const Vector drawn = uniform_residues(Ring(Integer(L)), key_of(1), Purpose::mask, 0, count);
    for (const Integer& residue : drawn) residues.push_back(residue.convert_to<int>());
    return residues;
}

/// The mutant: the words of the sampler reduced mod L in place of rejected.
std::vector<int> draw_by_reduction(int L, std::size_t count) {
    const Sampler sampler{Ring(Integer(L))};
    Keystream stream(key_of(1), Purpose::mask, 0);
    std::vector<int> residues;
    for (std::size_t i = 0; i < count; ++i) {
        const Integer word = little_endian(stream.take(sampler.word_bytes()));
        residues.push_back((word % (1 << sampler.bits())).convert_to<int>() % L);
    }
    return residues;
}

std::vector<int> histogram(int L, const std::vector<int>& residues) {
    std::vector<int> cells(static_cast<std::size_t>(L), 0);
    for (int residue : residues) ++cells[static_cast<std::size_t>(residue)];
    return cells;
}

TEST(MaskingUniformity, RAND_3_sampled_masks_look_uniform) {
    for (int L : {2, 3, 5, 7, 11, 13, 100, 127, 200, 257}) {
        EXPECT_TRUE(looks_uniform(histogram(L, draw_by_sampler(L, 20000)))) << "L = " << L;
    }
}

TEST(MaskingUniformity, RAND_3_reduction_without_rejection_is_flagged) {
    // Not 2 and 257: 2 needs no rejection, and mod 257 only 2 of the 257 residues are too rare.
    for (int L : {3, 5, 7, 11, 13, 100, 200}) {
        EXPECT_FALSE(looks_uniform(histogram(L, draw_by_reduction(L, 20000)))) << "L = " << L;
    }
}

/// What David sees of two columns, as a histogram over Z_L x Z_L, when the activations are q_1 and
/// q_2 and each pair of masks comes from `draw_pair`.
std::vector<int> pairs_seen(
    const Ring& ring, int L, const Integer& q_1, const Integer& q_2,
    const std::function<std::pair<Vector, Vector>(std::uint64_t)>& draw_pair) {
    std::vector<int> cells(static_cast<std::size_t>(L * L), 0);
    for (std::uint64_t i = 0; i < 4000; ++i) {
        const auto [r_1, r_2] = draw_pair(i);
        const int first = mask(ring, {q_1}, r_1)[0].convert_to<int>();
        const int second = mask(ring, {q_2}, r_2)[0].convert_to<int>();
        ++cells[static_cast<std::size_t>(first * L + second)];
    }
    return cells;
}

TEST(MaskingUniformity, MASK_2_two_columns_of_one_session_are_jointly_uniform) {
    const int L = 7;
    const Ring ring(L);
    const Key key = key_of(2);
    const auto fresh = [&](std::uint64_t i) {
        return std::pair(uniform_residues(ring, key, Purpose::mask, 2 * i, 1),
                         uniform_residues(ring, key, Purpose::mask, 2 * i + 1, 1));
    };
    for (int q_2 : {0, 1, 3, -2}) {
        EXPECT_TRUE(looks_uniform(pairs_seen(ring, L, 1, q_2, fresh))) << q_2;
    }
}

TEST(MaskingUniformity, MASK_5_a_mask_used_twice_is_flagged) {
    const int L = 7;
    const Ring ring(L);
    const Key key = key_of(2);
    const auto reused = [&](std::uint64_t i) {  // the mutant
        const Vector r = uniform_residues(ring, key, Purpose::mask, i, 1);
        return std::pair(r, r);
    };
    EXPECT_FALSE(looks_uniform(pairs_seen(ring, L, 1, 3, reused)));
}

TEST(MaskingUniformity, MASK_1_masks_of_uniform_planes_are_uniform_by_exhaustion) {
    for (const std::vector<Integer>& primes :
         std::vector<std::vector<Integer>>{{3, 5}, {2, 3, 5}, {3, 5, 7}, {7, 3}}) {
        const Planes planes(primes);
        const int L = planes.ring().modulus().convert_to<int>();
        std::vector<Vector> all = {{}};  // of F_p1 x ... x F_ph
        for (const Integer& p : primes) {
            std::vector<Vector> longer;
            for (const Vector& parts : all) {
                for (Integer part = 0; part < p; ++part) {
                    longer.push_back(parts);
                    longer.back().push_back(part);
                }
            }
            all = std::move(longer);
        }
        for (int q = -L; q <= L; ++q) {
            std::map<Integer, int> seen;
            for (const Vector& parts : all) {
                ++seen[mask(planes.ring(), {q}, {planes.join(parts)})[0]];
            }
            ASSERT_EQ(seen.size(), static_cast<std::size_t>(L)) << "each residue, hence once";
        }
    }
}

TEST(MaskingUniformity, RAND_1_every_plane_has_a_stream_of_its_own) {
    const Planes planes({5, 7});
    const Vector r = uniform_residues(planes, key_of(4), Purpose::mask, 1, 7000);
    for (std::size_t p = 0; p < 2; ++p) {
        EXPECT_EQ(planes.plane(p, r),
                  uniform_residues(Ring(planes.primes()[p]), key_of(4), Purpose::mask, 1, 7000, p));
    }
    std::vector<int> cells(35, 0);
    for (const Integer& residue : r) ++cells[residue.convert_to<std::size_t>()];
    EXPECT_TRUE(looks_uniform(cells));

    // The mutant: both planes from the bytes of plane 0 (here without rejections).
    Keystream stream(key_of(4), Purpose::mask, 1);
    std::vector<int> shared(35, 0);
    for (const std::uint8_t byte : stream.take(20000)) {
        if ((byte & 7) >= 5) continue;
        const Integer residue = planes.join(Vector{byte & 7, byte & 7});
        ++shared[residue.convert_to<std::size_t>()];
    }
    EXPECT_FALSE(looks_uniform(shared));
}

TEST(MaskingUniformity, MASK_2_the_masked_residues_of_the_set_paper_look_uniform) {
    const Planes planes = paper().planes;
    std::vector<int> high(64, 0);
    std::vector<std::vector<int>> bytes;
    for (const Integer& p : planes.primes()) bytes.emplace_back(p.convert_to<std::size_t>(), 0);
    for (const Integer& r : uniform_residues(planes, key_of(4), Purpose::mask, 9, 20000)) {
        const Integer x_masked = mask(planes.ring(), {12345}, {r})[0];
        ++high[Integer(64 * x_masked / planes.ring().modulus()).convert_to<std::size_t>()];
        const Vector parts = planes.split(x_masked);
        for (std::size_t p = 0; p < 4; ++p) ++bytes[p][parts[p].convert_to<std::size_t>()];
    }
    EXPECT_TRUE(looks_uniform(high));
    for (const std::vector<int>& cells : bytes) EXPECT_TRUE(looks_uniform(cells));
}

TEST(MaskingCancels, MASK_3_and_MASK_4_for_every_mask_of_small_spaces) {
    // Every W_D q of these activations is at most 2 in magnitude, and L = 5 >= 2 * 2 + 1.
    const Ring ring(5);
    const Matrix W{{1, -1}, {0, 2}};
    for (int a : {-1, 0, 1}) {
        for (int b : {-1, 0, 1}) {
            const Vector q = {a, b};
            for (const Vector& r : whole_space(5, 2)) {
                const Vector c = cancellation(ring, W, r);
                ASSERT_EQ(c, ring.embed(W * r));
                const Vector y_masked = ring.multiply(W, mask(ring, q, r));
                ASSERT_EQ(unmask(ring, y_masked, c), W * q);
            }
        }
    }
}

RC_GTEST_PROP(MaskingCancels, MASK_4_is_exact_iff_the_output_is_in_the_centred_range, ()) {
    const Integer L = *rc::gen::inRange(2, 300);
    const Ring ring(L);
    const Vector q = {*rc::gen::inRange(-40, 41), *rc::gen::inRange(-40, 41)};
    const Matrix W{{*rc::gen::inRange(-5, 6), *rc::gen::inRange(-5, 6)}};
    const Vector r = ring.embed(Vector{*rc::gen::inRange(0, 300), *rc::gen::inRange(0, 300)});
    const Vector y_D = unmask(ring, ring.multiply(W, mask(ring, q, r)), cancellation(ring, W, r));
    const Integer y = (W * q)[0];
    const bool in_range = -(L / 2) <= y && y <= (L - 1) / 2;
    RC_ASSERT((y_D[0] == y) == in_range);
}

TEST(OneTimeMasks, MASK_5_a_mask_is_used_once_and_removed_once) {
    const Planes planes({101});
    const Ring& ring = planes.ring();
    const Matrix W{{1, 2}};
    MaskSequence sequence(planes, key_of(5));
    OneTimeMask one_time = sequence.draw(W);
    EXPECT_THROW(OneTimeMask(sequence.draw(W)).unmask(ring, {0}), PreconditionError)
        << "not before it was applied";
    const Vector x_masked = one_time.mask(ring, {3, -4});
    EXPECT_FALSE(one_time.fresh());
    EXPECT_THROW(one_time.mask(ring, {3, -4}), PreconditionError);
}

TEST(OneTimeMasks, MASK_5_a_second_removal_is_refused) {
    const Planes planes({101});
    const Ring& ring = planes.ring();
    const Matrix W{{1, 2}};
    OneTimeMask one_time = MaskSequence(planes, key_of(5)).draw(W);
    const Vector y_masked = ring.multiply(W, one_time.mask(ring, {3, -4}));
    EXPECT_EQ(one_time.unmask(ring, y_masked), Vector{-5});
    EXPECT_THROW(one_time.unmask(ring, y_masked), PreconditionError);
    EXPECT_THROW(one_time.mask(ring, {3, -4}), PreconditionError);
}

TEST(OneTimeMasks, MASK_5_an_error_spends_the_mask) {
    const Planes planes({101});
    const Ring& ring = planes.ring();
    OneTimeMask one_time = MaskSequence(planes, key_of(5)).draw(Matrix{{1, 2}});
    EXPECT_THROW(one_time.mask(ring, {3}), PreconditionError) << "a wrong length";
    EXPECT_FALSE(one_time.fresh());
    EXPECT_THROW(one_time.mask(ring, {3, -4}), PreconditionError) << "spent all the same";
}

TEST(OneTimeMasks, MASK_5_a_mask_moves_and_does_not_copy) {
    static_assert(!std::is_copy_constructible_v<OneTimeMask>);
    static_assert(!std::is_copy_assignable_v<OneTimeMask>);
    const Planes planes({101});
    const Ring& ring = planes.ring();
    OneTimeMask source = MaskSequence(planes, key_of(5)).draw(Matrix{{1}});
    OneTimeMask target = std::move(source);
    EXPECT_FALSE(source.fresh());
    EXPECT_THROW(source.mask(ring, {1}), PreconditionError);
    EXPECT_NO_THROW(target.mask(ring, {1}));
}

TEST(OneTimeMasks, MASK_5_the_index_rises_by_one_whatever_the_matrix) {
    const Planes planes = paper().planes;
    const Key key = key_of(6);
    MaskSequence sequence(planes, key);
    for (std::uint64_t index = 0; index < 6; ++index) {
        const Matrix W = index % 2 == 0 ? Matrix{{1, 2}, {3, 4}} : Matrix{{1, 0, -1}};
        EXPECT_EQ(sequence.next_index(), index);
        OneTimeMask one_time = sequence.draw(W);
        EXPECT_EQ(one_time.index(), index);
        // The masked zero token is the mask itself: the streams of its index.
        EXPECT_EQ(one_time.mask(planes.ring(), Vector(W.cols(), Integer(0))),
                  uniform_residues(planes, key, Purpose::mask, index, W.cols()));
    }
}

}  // namespace
}  // namespace slip::reference
