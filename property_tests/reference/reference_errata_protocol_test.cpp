// Rows of spec/errata.md about masks, checks and fields: what the paper's text gives, and what is
// right, side by side. Test E_n_... belongs to row E-n.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "property_tests/reference/fixed_matrices.hpp"
#include "property_tests/reference/other_set.hpp"
#include "reference/attention.hpp"
#include "reference/convolution.hpp"
#include "reference/decomposition.hpp"
#include "reference/definitions.hpp"
#include "reference/insecure/composite_modulus.hpp"
#include "reference/insecure/few_noise_vectors.hpp"
#include "reference/insecure/rank_one.hpp"
#include "reference/insecure/unchecked.hpp"
#include "reference/integrity.hpp"
#include "reference/latency.hpp"
#include "reference/linear.hpp"
#include "reference/masking.hpp"
#include "reference/model.hpp"

namespace slip::reference {
namespace {

// ---- E-1

TEST(Errata, E_1_a_modulus_that_exceeds_the_product_is_not_enough) {
    // The lemma asks for L >= |W a| (its proof for >): L = 5 and W a = -1.
    const Ring ring(5);
    const Vector c = cancellation(ring, Matrix{{-1}}, {3});
    const Vector y = ring.multiply(Matrix{{-1}}, mask(ring, {1}, {3}));
    EXPECT_EQ(ring.subtract(y, c), Vector({4})) << "the paper: mod(W a, L)";
    EXPECT_EQ(unmask(ring, y, c), Vector{-1}) << "with the centred lift";
    EXPECT_EQ(ring.embed(Integer(5)), 0) << "and with equality, W a = L comes back as 0";
}

TEST(Errata, E_1_signed_values_up_to_B_need_2B_plus_1) {
    for (int B = 1; B < 20; ++B) {
        const Ring too_small(2 * B);
        EXPECT_EQ(too_small.embed(Integer(B)), too_small.embed(Integer(-B)));
        const Ring enough(2 * B + 1);
        for (int v = -B; v <= B; ++v) EXPECT_EQ(enough.lift(enough.embed(Integer(v))), v);
    }
}

TEST(Errata, E_1_the_bits_at_the_sizes_of_llms) {
    const auto bits = [](double n) { return std::log2(2 * 127 * 127 * n + 1); };
    EXPECT_NEAR(bits(4096), 27.0, 0.05);
    EXPECT_NEAR(bits(11008), 28.4, 0.05);
    EXPECT_NEAR(bits(14336), 28.8, 0.05);
    const auto wide = [](double n) { return std::log2(2 * 127 * 32767 * n + 1); };
    EXPECT_NEAR(wide(4096), 35.0, 0.05);
    EXPECT_NEAR(wide(14336), 36.8, 0.05);
}

// ---- E-2

/// The share of all rho in Z_L (M = 1) that accept an error, with the check read mod L.
Rational accepted_share(int L, const Integer& error) {
    int accepted = 0;
    for (int rho = 0; rho < L; ++rho) {
        if (insecure::accepts_mod_any(L, {rho}, Matrix{{1}}, {0}, {error})) ++accepted;
    }
    return {accepted, L};
}

TEST(Errata, E_2_a_chosen_error_passes_for_composite_moduli) {
    EXPECT_EQ(accepted_share(65536, 32768), Rational(1, 2)) << "not 1 / L";
    EXPECT_EQ(accepted_share(15, 5), Rational(1, 3)) << "not 1 / L";
    for (int error = 1; error < 17; ++error) {
        EXPECT_EQ(accepted_share(17, error), Rational(1, 17)) << "a prime";
    }
}

// ---- E-3

TEST(Errata, E_3_without_the_check_a_sensitive_matrix_is_read_in_129_queries) {
    const IntegerModel first{random_integers(128, 2, 1000, 1), random_integers(2, 4, 1000, 2),
                             random_integers(128, 4, 127, 3), std::vector<float>(128, 1.0F)};
    const IntegerModel second{random_integers(10, 4, 2000, 4), random_integers(4, 128, 1000, 5),
                              random_integers(10, 128, 127, 6), std::vector<float>(10, 1.0F)};
    insecure::UncheckedModel model(other_set().planes, first, second, Key{1});
    const Vector prompt = {3, -1, 4, -1};
    const insecure::Oracle oracle = [&](const Vector& error) { return model.infer(prompt, error); };
    EXPECT_EQ(insecure::recover_by_errors(oracle, 10, 128, 65536), integer_weights(second));
    EXPECT_EQ(model.queries(), 129U);
}

TEST(Errata, E_3_with_the_check_the_first_error_ends_the_session) {
    const std::vector<Matrix> weights = {Matrix{{1, 2}, {3, 4}}};
    DavidSession david(paper(), Digest{}, weights);
    int answers = 0;
    InProcessChannel channel(david, [&](Bytes answer) {
        if (answers++ == 1) answer[21] = answer[21] == 0 ? 1 : 0;  // plane 0 of y~_0
        return answer;
    });
    CharlieSession charlie(shapes_of(paper(), weights), Digest{},
                           prepare_checks(paper(), Key{4}, weights),
                           prepare_masks(paper(), Key{1}, weights, {{0, 1}, {0, 1}}), channel);
    charlie.hello();
    EXPECT_THROW(charlie.apply(0, Matrix{{5}, {6}}), IntegrityError);
    EXPECT_THROW(charlie.apply(0, Matrix{{5}, {6}}), SessionDeadError);
}

// ---- E-4

/// How many w in F_p^2 accept the error (1, t) for at least one t < tries.
int accepting_some(int p, int tries) {
    int accepting = 0;
    for (int number = 0; number < p * p; ++number) {
        const Matrix w{{number % p}, {number / p}};
        const IntegrityKey key{w, precompute_s(p, w, Matrix{{1}, {1}})};
        bool passed = false;
        for (int t = 0; t < tries; ++t) {
            passed = passed || accepts(p, key, Matrix{{0}}, Matrix{{1}, {t}});
        }
        if (passed) ++accepting;
    }
    return accepting;
}

TEST(Errata, E_4_retrying_under_one_w_adds_up) {
    const int p = 11;
    EXPECT_EQ(accepting_some(p, 1), p) << "one attempt: 1 / p of p^2";
    for (int tries = 1; tries <= p; ++tries) {
        EXPECT_EQ(accepting_some(p, tries), tries * (p - 1) + 1) << "near Q / p of p^2";
        EXPECT_LE(accepting_some(p, tries), tries * p) << "and never above";
    }
}

TEST(Errata, E_4_honest_replies_are_accepted_by_every_w) {
    const Matrix W_D{{2, 1}, {0, 3}};
    const Matrix x{{4}, {6}};
    for (int number = 0; number < 49; ++number) {
        const Matrix w{{number % 7}, {number / 7}};
        EXPECT_TRUE(accepts(7, {w, precompute_s(7, w, W_D)}, x, davids_product(Ring(7), W_D, x)));
    }
}

// ---- E-5

TEST(Errata, E_5_the_equation_of_case_one_may_have_no_solution) {
    // s = 7, L = 5, a = 3: mod(s, L) = 2 <= a, the paper's first case.
    const Ring ring(5);
    EXPECT_FALSE(ring.contains(3 - 7)) << "the paper: n = a - s";
    const Integer n = 3 - ring.embed(Integer(7));
    EXPECT_TRUE(ring.contains(n));
    EXPECT_EQ(mask(ring, {7}, {n}), Vector({3}));
}

TEST(Errata, E_5_the_noise_must_be_independent_of_the_activation) {
    const int L = 6;
    const Ring ring(L);
    std::map<Vector, int> joint;
    for (int s = 0; s < L; ++s) {
        for (int n = 0; n < L; ++n) ++joint[{s, mask(ring, {s}, {n})[0]}];
        const Vector dependent = {ring.embed(Integer(-s))};  // uniform too, if s is
        EXPECT_EQ(mask(ring, {s}, dependent), Vector({0})) << "uniform n, constant s_n";
    }
    EXPECT_EQ(joint.size(), static_cast<std::size_t>(L * L)) << "each pair (s, s_n) once";
}

// ---- E-6

TEST(Errata, E_6_uniform_for_each_layer_is_not_uniform_together) {
    const Ring ring(5);
    std::set<Vector> reused;
    std::set<Vector> fresh;
    std::set<Integer> second_layer;
    for (int r = 0; r < 5; ++r) {
        for (int r_next = 0; r_next < 5; ++r_next) {
            const Integer first = mask(ring, {2}, {r})[0];
            // David forges his reply; the next activation depends on what he saw.
            const Integer activation = ring.embed(first * first + 1);
            fresh.insert({first, mask(ring, {activation}, {r_next})[0]});
            reused.insert({first, mask(ring, {3}, {r})[0]});
            second_layer.insert(mask(ring, {3}, {r})[0]);
        }
    }
    EXPECT_EQ(second_layer.size(), 5U) << "one mask for two layers: each message is uniform";
    EXPECT_EQ(reused.size(), 5U) << "but 5 of 25 views occur";
    EXPECT_EQ(fresh.size(), 25U) << "a mask that is independent of the history: all of them";
}

// ---- E-7

TEST(Errata, E_7_the_cancellation_belongs_to_the_matrix_of_its_input) {
    const Ring ring(101);
    const Matrix W_1{{1, 2}, {3, 4}};
    const Matrix W_2{{5, -6}, {7, 8}};
    const Vector a = {1, -2};
    const Vector r_0 = {50, 60};
    const Vector r_1 = {70, 80};
    const Vector reply = ring.multiply(W_2, mask(ring, a, r_1));
    EXPECT_NE(unmask(ring, reply, cancellation(ring, W_1, r_0)), W_2 * a) << "c_1 in the proof";
    EXPECT_EQ(unmask(ring, reply, cancellation(ring, W_2, r_1)), W_2 * a) << "c_2 = W_2 r_1";
}

// ---- E-12

TEST(Errata, E_12_masks_of_fifty_noise_vectors_have_rank_fifty) {
    const std::size_t n = 80;
    const Integer p = (Integer(1) << 31) - 1;
    const Ring ring(p);
    const Vector q = random_integers(n, 1, 127, 14).column(0);
    insecure::FewNoiseVectors noise(ring, Key{1}, n, 50);
    std::vector<Vector> forbidden;
    std::vector<Vector> uniform;
    for (std::uint64_t message = 0; message < 60; ++message) {
        forbidden.push_back(noise.mask(q));
        uniform.push_back(mask(ring, q, uniform_residues(ring, Key{1}, Purpose::mask, message, n)));
    }
    EXPECT_EQ(insecure::rank_over_field(insecure::differences(ring, forbidden), p), 50U);
    EXPECT_EQ(insecure::rank_over_field(insecure::differences(ring, uniform), p), 59U);
}

TEST(Errata, E_12_what_is_orthogonal_to_the_noise_gives_exact_equations) {
    const std::size_t n = 80;
    const Integer p = (Integer(1) << 31) - 1;
    const Ring ring(p);
    const Vector q = random_integers(n, 1, 127, 15).column(0);
    insecure::FewNoiseVectors noise(ring, Key{2}, n, 50);
    std::vector<Vector> messages;
    for (int message = 0; message < 58; ++message) messages.push_back(noise.mask(q));
    const Matrix H = insecure::annihilator(insecure::differences(ring, messages), p);
    ASSERT_EQ(H.rows(), 30U) << "n - 50 equations";
    EXPECT_EQ(ring.multiply(H, messages[0]), ring.multiply(H, ring.embed(q)));
    EXPECT_EQ(ring.multiply(H, noise.mask(q)), ring.multiply(H, ring.embed(q))) << "a new message";
}

TEST(Errata, E_12_a_small_activation_is_found_exactly) {
    // n = 6, two noise vectors: of the 3^6 activations in {-1, 0, 1}^6 one satisfies the equations.
    const Integer p = (Integer(1) << 31) - 1;
    const Ring ring(p);
    const Vector q = {1, -1, 0, 0, 1, 1};
    insecure::FewNoiseVectors noise(ring, Key{3}, 6, 2);
    std::vector<Vector> messages;
    for (int message = 0; message < 4; ++message) messages.push_back(noise.mask(q));
    const Matrix H = insecure::annihilator(insecure::differences(ring, messages), p);
    const Vector known = ring.multiply(H, messages[0]);
    std::vector<Vector> candidates;
    for (int digits = 0; digits < 729; ++digits) {
        Vector guess;
        for (int rest = digits; guess.size() < 6; rest /= 3) guess.emplace_back(rest % 3 - 1);
        if (ring.multiply(H, ring.embed(guess)) == known) candidates.push_back(guess);
    }
    EXPECT_EQ(candidates, std::vector<Vector>({q}));
}

// ---- E-13

TEST(Errata, E_13_with_the_work_ahead_of_use_nothing_is_saved) {
    const MatrixWork work{4096, 4096, 50, 8};
    EXPECT_EQ(epsilon_online(work), Rational(58 * 8192, 4096 * 4096)) << "the paper: 2.5%";
    EXPECT_GT(epsilon_total(work), 1);
    EXPECT_EQ(epsilon_total(work) - epsilon_online(work), 1);
}

// ---- E-22

TEST(Errata, E_22_a_generator_alone_repeats_itself) {
    const Ring ring(251);
    const Key key = {9};
    const Vector mask_1 = uniform_residues(ring, key, Purpose::mask, 1, 4);
    EXPECT_EQ(mask_1, uniform_residues(ring, key, Purpose::mask, 1, 4)) << "same seed and position";
    EXPECT_NE(mask_1, uniform_residues(ring, key, Purpose::mask, 2, 4));
    EXPECT_NE(mask_1, uniform_residues(ring, key, Purpose::integrity, 1, 4));
    EXPECT_NE(mask_1, uniform_residues(ring, Key{8}, Purpose::mask, 1, 4));
}

TEST(Errata, E_22_reducing_a_word_is_not_uniform) {
    std::map<Integer, int> reduced;
    std::map<Integer, int> sampled;
    for (std::uint8_t word = 0; word < 4; ++word) {
        ++reduced[Integer(word % 3)];
        FixedBytes source({word, 0});  // a second word, for the case that the first is rejected
        const Sample sample = Sampler(Ring(3)).draw(source, 1);
        if (sample.rejected.empty()) ++sampled[sample.residues[0]];
    }
    EXPECT_EQ(reduced[0], 2) << "0 is twice as likely";
    EXPECT_EQ(sampled, (std::map<Integer, int>{{0, 1}, {1, 1}, {2, 1}}));
}

}  // namespace
}  // namespace slip::reference
