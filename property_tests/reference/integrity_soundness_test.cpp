// The integrity check: how many secrets accept a wrong reply, counted over all secrets of small
// fields; what a composite modulus changes; and what an unmasked protocol gives away.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "property_tests/reference/drawn_values.hpp"
#include "property_tests/reference/other_set.hpp"
#include "reference/insecure/composite_modulus.hpp"
#include "reference/insecure/naive.hpp"
#include "reference/integrity.hpp"
#include "reference/masking.hpp"
#include "reference/parameters.hpp"
#include "reference/ring.hpp"

namespace slip::reference {
namespace {

/// A fixed source of small numbers for weights, inputs and errors.
std::mt19937& generator() {
    static std::mt19937 fixed(20240229);
    return fixed;
}

int random_below(int bound) {
    return static_cast<int>(generator()() % static_cast<unsigned>(bound));
}

Matrix random_matrix(std::size_t m, std::size_t n, int L) {
    Matrix X(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) X(i, j) = random_below(L);
    }
    return X;
}

/// Calls `visit` with every matrix over Z_L of the given shape.
void for_all_matrices(int L, std::size_t m, std::size_t n,
                      const std::function<void(const Matrix&)>& visit) {
    Matrix X(m, n);
    for (;;) {
        visit(X);
        std::size_t position = 0;  // the next matrix: add one with carry
        while (position < m * n && X(position / n, position % n) == L - 1) {
            X(position / n, position % n) = 0;
            ++position;
        }
        if (position == m * n) return;
        X(position / n, position % n) += 1;
    }
}

/// Z_L = F_p1 x ... x F_ph, small enough that all secrets of the check can be tried.
struct Instance {
    Planes planes;
    std::size_t kappa;
    Matrix W_D;       // M x n
    Matrix x_masked;  // n x b
    Matrix honest;    // M x b
};

Instance random_instance(const std::vector<Integer>& primes, std::size_t M, std::size_t b,
                         std::size_t kappa) {
    const Planes planes(primes);
    const Ring& ring = planes.ring();
    const int L = ring.modulus().convert_to<int>();
    Instance instance{planes, kappa, random_matrix(M, 2, L), random_matrix(2, b, L), {}};
    instance.honest = ring.embed(instance.W_D * instance.x_masked);
    return instance;
}

/// Calls `visit` with every secret of the check: all w, in all planes.
void for_all_secrets(const Instance& instance, const std::function<void(const CheckSecret&)>& visit,
                     CheckSecret chosen = {}) {
    if (chosen.size() == instance.planes.count()) return visit(chosen);
    const Integer p = instance.planes.primes()[chosen.size()];
    for_all_matrices(p.convert_to<int>(), instance.W_D.rows(), instance.kappa,
                     [&](const Matrix& w) {
                         CheckSecret longer = chosen;
                         longer.push_back({w, precompute_s(p, w, instance.W_D)});
                         for_all_secrets(instance, visit, longer);
                     });
}

/// The share of all secrets that accept the honest reply plus E.
Rational accepting_share(const Instance& instance, const Matrix& E) {
    const Matrix reply = instance.planes.ring().embed(instance.honest + E);
    Integer accepting = 0;
    Integer all = 0;
    for_all_secrets(instance, [&](const CheckSecret& secret) {
        ++all;
        if (accepts(instance.planes, secret, instance.x_masked, reply)) ++accepting;
    });
    return {accepting, all};
}

void expect_exact(const Instance& instance, const Matrix& E) {
    ASSERT_EQ(accepting_share(instance, E),
              acceptance_probability(instance.planes, E, instance.kappa));
}

TEST(IntegritySoundness, INTEG_4_every_error_of_one_column) {
    struct Size {
        std::vector<Integer> primes;
        std::size_t M, kappa;
    };
    for (const auto& [primes, M, kappa] :
         {Size{{3}, 2, 1}, Size{{3}, 2, 2}, Size{{5}, 2, 1}, Size{{7}, 1, 2}, Size{{3, 5}, 1, 1},
          Size{{3, 5}, 1, 2}, Size{{2, 3}, 2, 1}, Size{{3, 5, 7}, 1, 1}}) {
        const Instance instance = random_instance(primes, M, 1, kappa);
        const int L = instance.planes.ring().modulus().convert_to<int>();
        for_all_matrices(L, M, 1, [&](const Matrix& E) { expect_exact(instance, E); });
    }
}

TEST(IntegritySoundness, INTEG_4_an_error_in_one_prime_only_and_in_several) {
    const Instance instance = random_instance({3, 5}, 2, 1, 1);  // L = 15
    const auto share = [&](int first, int second) {
        return accepting_share(instance, Matrix{{first}, {second}});
    };
    EXPECT_EQ(share(0, 0), 1) << "honest";
    EXPECT_EQ(share(5, 0), Rational(1, 3)) << "5 = (2, 0): wrong mod 3 only";
    EXPECT_EQ(share(0, 6), Rational(1, 5)) << "6 = (0, 1): wrong mod 5 only";
    EXPECT_EQ(share(1, 0), Rational(1, 15)) << "one residue, wrong mod both";
    EXPECT_EQ(share(5, 6), Rational(1, 15)) << "one mod 3, the other mod 5";
}

TEST(IntegritySoundness, INTEG_4_errors_of_rank_one_and_two_over_two_columns) {
    const Instance field = random_instance({3}, 3, 2, 1);
    EXPECT_EQ(accepting_share(field, {{1, 2}, {0, 0}, {2, 1}}), Rational(1, 3)) << "rank 1";
    EXPECT_EQ(accepting_share(field, {{1, 0}, {0, 2}, {0, 0}}), Rational(1, 9)) << "rank 2";
    const Instance both = random_instance({2, 3}, 2, 2, 1);
    EXPECT_EQ(accepting_share(both, {{1, 0}, {0, 3}}), Rational(1, 4 * 3)) << "2 mod 2, 1 mod 3";
    for (int repetition = 0; repetition < 40; ++repetition) {
        expect_exact(both, random_matrix(2, 2, 6));
    }
}

TEST(IntegritySoundness, INTEG_4_the_probability_of_the_set_is_at_most_the_smallest_primes) {
    const Planes planes = paper().planes;
    const Integer L = planes.ring().modulus();
    const auto probability = [&](const Matrix& E) { return acceptance_probability(planes, E, 8); };
    EXPECT_EQ(probability(Matrix(2, 1)), 1);
    EXPECT_EQ(probability({{1}, {0}}), Rational(1, pow(L, 8)));
    for (const Integer& p : planes.primes()) {
        EXPECT_EQ(probability({{0}, {L / p}}), Rational(1, pow(p, 8))) << "in the plane of " << p;
        EXPECT_EQ(probability({{L / p, 0}, {0, L / p}}), Rational(1, pow(p, 16)));
        EXPECT_LE(probability({{0}, {L / p}}), Rational(1, pow(Integer(233), 8)));
    }
    EXPECT_THROW(probability({{L}}), PreconditionError);
    EXPECT_THROW(acceptance_probability(planes, {{1}}, 0), PreconditionError);
}

/// Errors of two residues mod 3, one of each direction in which a w may be blind.
const std::vector<Matrix> directions = {{{1}, {0}}, {{0}, {1}}, {{1}, {1}}, {{1}, {2}}};

/// verdicts[w][i]: whether the secret of that number accepts the honest reply plus direction i.
std::vector<std::vector<bool>> verdicts_mod_3() {
    const Instance instance = random_instance({3}, 2, 1, 1);
    std::vector<std::vector<bool>> verdicts;
    for_all_secrets(instance, [&](const CheckSecret& secret) {
        EXPECT_TRUE(accepts(instance.planes, secret, instance.x_masked, instance.honest));
        std::vector<bool> row;
        for (const Matrix& E : directions) {
            const Matrix reply = Ring(3).embed(instance.honest + E);
            row.push_back(accepts(instance.planes, secret, instance.x_masked, reply));
        }
        verdicts.push_back(row);
    });
    return verdicts;
}

TEST(IntegritySoundness, INTEG_10_one_w_for_life_adds_up_to_at_most_Q_times_the_probability) {
    // A David who tries another direction after each reject, over all 9 w of one life.
    const auto verdicts = verdicts_mod_3();
    for (std::size_t Q = 0; Q <= directions.size(); ++Q) {
        std::size_t fooled = 0;
        for (const std::vector<bool>& verdict : verdicts) {
            bool accepted = false;
            for (std::size_t i = 0; i < Q; ++i) accepted = accepted || verdict[i];
            if (accepted) ++fooled;
        }
        EXPECT_EQ(fooled, Q == 0 ? 0 : 1 + 2 * Q) << "w = 0 and two more for each direction";
        EXPECT_LE(fooled, Q * verdicts.size() / 3);
    }
}

/// X without its last column.
Matrix without_last_column(const Matrix& X) {
    std::vector<Vector> columns;
    for (std::size_t j = 0; j + 1 < X.cols(); ++j) columns.push_back(X.column(j));
    return Matrix::from_columns(X.rows(), columns);
}

TEST(IntegritySoundness, INTEG_3_the_same_count_flags_weaker_checks) {
    // The mutants look at one combination, at one column, at one plane.
    const Instance instance = random_instance({2, 3}, 2, 2, 2);
    const Matrix E{{0, 1}, {0, 0}};  // the second column is wrong, mod 2 and mod 3
    const Matrix reply = instance.planes.ring().embed(instance.honest + E);
    int all = 0, by_one_combination = 0, by_one_column = 0, by_one_plane = 0, secrets = 0;
    for_all_secrets(instance, [&](const CheckSecret& secret) {
        CheckSecret one = secret;
        for (IntegrityKey& key : one) {
            key = {without_last_column(key.w), without_last_column(key.s)};
        }
        const auto& [planes, kappa, W_D, x_masked, honest] = instance;
        ++secrets;
        if (accepts(planes, secret, x_masked, reply)) ++all;
        if (accepts(planes, one, x_masked, reply)) ++by_one_combination;
        if (accepts(planes, secret, without_last_column(x_masked), without_last_column(reply))) {
            ++by_one_column;
        }
        if (accepts(2, secret[0], planes.plane(0, x_masked), planes.plane(0, reply))) {
            ++by_one_plane;
        }
    });
    EXPECT_EQ(Rational(all, secrets), acceptance_probability(instance.planes, E, 2));
    EXPECT_EQ(by_one_combination, 6 * all) << "six times too many";
    EXPECT_EQ(by_one_column, secrets) << "all of them";
    EXPECT_EQ(by_one_plane, 9 * all) << "nine times too many";
}

Matrix any_residues(std::size_t m, std::size_t n, const Integer& L) {
    Matrix X(m, n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            X(i, j) = Integer(*rc::gen::arbitrary<std::uint64_t>()) % L;
        }
    }
    return X;
}

RC_GTEST_PROP(IntegrityChecks, INTEG_3_honest_replies_are_accepted_and_wrong_ones_are_not, ()) {
    const ParameterSet set = *rc::gen::element(paper(), other_set());
    const Ring& ring = set.ring();
    const std::size_t M = *rc::gen::inRange<std::size_t>(1, 6);
    const std::size_t n = *rc::gen::inRange<std::size_t>(1, 6);
    const std::size_t b = *rc::gen::inRange<std::size_t>(1, 4);
    const Matrix W_D = any_matrix(M, n, 127);
    const CheckSecret secret = draw_check_secret(set.planes, any_key(), W_D, 8);
    const Matrix x_masked = any_residues(n, b, ring.modulus());
    Matrix reply = ring.embed(W_D * x_masked);
    RC_ASSERT(accepts(set.planes, secret, x_masked, reply));

    // One wrong entry, in one plane or in several: accepted with probability at most 223^-8.
    const std::size_t i = *rc::gen::inRange<std::size_t>(0, M);
    const std::size_t t = *rc::gen::inRange<std::size_t>(0, b);
    Vector parts = set.planes.split(reply(i, t));
    const std::size_t p = *rc::gen::inRange<std::size_t>(0, set.planes.count());
    parts[p] = (parts[p] + *rc::gen::inRange(1, 223)) % set.planes.primes()[p];
    if (*rc::gen::arbitrary<bool>()) parts[0] = *rc::gen::inRange(0, 223);
    RC_PRE(set.planes.join(parts) != reply(i, t));
    reply(i, t) = set.planes.join(parts);
    RC_ASSERT(!accepts(set.planes, secret, x_masked, reply));
}

RC_GTEST_PROP(IntegrityChecks, INTEG_1_a_combination_is_the_stream_of_its_plane_and_number, ()) {
    const Key seed = any_key();
    const Integer p = *rc::gen::elementOf(all_primes);
    const std::size_t plane = *rc::gen::inRange<std::size_t>(0, 7);
    const Matrix w = draw_combinations(p, seed, plane, 5, 8);
    for (std::size_t a = 0; a < 8; ++a) {
        RC_ASSERT(w.column(a) == uniform_residues(Ring(p), seed, Purpose::integrity, a, 5, plane));
    }
    RC_ASSERT(w != draw_combinations(p, seed, plane + 1, 5, 8));
}

RC_GTEST_PROP(IntegrityChecks, INTEG_1_groups_share_one_prefix, ()) {
    const Key seed = any_key();
    const Matrix large = draw_combinations(233, seed, 3, 9, 8);
    const Matrix small = draw_combinations(233, seed, 3, 4, 8);
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t a = 0; a < 8; ++a) RC_ASSERT(small(i, a) == large(i, a));
    }
}

RC_GTEST_PROP(IntegrityChecks, INTEG_2_s_is_the_product_over_the_integers_reduced, ()) {
    const Integer p = *rc::gen::element(Integer(2), Integer(101), Integer(251), Integer(223));
    const Matrix w = any_residues(4, 2, p);
    const Matrix W_D = any_matrix(4, 3, 127);
    RC_ASSERT(precompute_s(p, w, W_D) == Ring(p).embed(w.transpose() * W_D).transpose());
}

TEST(IntegrityChecks, INTEG_1_only_prime_moduli_are_taken) {
    for (int L : {4, 9, 15, 16, 21, 561, 65536}) {
        EXPECT_THROW(draw_combinations(L, Key{}, 0, 1, 1), PreconditionError) << L;
        EXPECT_THROW(precompute_s(L, Matrix{{1}}, Matrix{{1}}), PreconditionError) << L;
        EXPECT_THROW(accepts(L, {Matrix{{1}}, Matrix{{1}}}, Matrix{{1}}, Matrix{{1}}),
                     PreconditionError)
            << L;
    }
    EXPECT_NO_THROW(draw_combinations(2, Key{}, 0, 1, 1));
    EXPECT_THROW(draw_combinations(5, Key{}, 0, 0, 1), PreconditionError);
    EXPECT_THROW(draw_combinations(5, Key{}, 0, 1, 0), PreconditionError);
}

TEST(IntegrityChecks, INTEG_3_shapes_and_residues_are_checked) {
    const IntegrityKey secret{Matrix{{1}, {2}}, Matrix{{3}}};  // M = 2, n = 1, kappa = 1
    EXPECT_NO_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}, {2}}));
    EXPECT_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{1, 1}}, Matrix{{1}, {2}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{5}}, Matrix{{1}, {2}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}, {-1}}), PreconditionError);
    EXPECT_THROW(accepts(Planes({3, 5}), {secret}, Matrix{{1}}, Matrix{{1}, {2}}),
                 PreconditionError)
        << "a secret for one plane of two";
}

/// How many rho in Z_L^M accept the honest reply plus e, with the check read literally mod L.
int count_accepting_mod_any(int L, const Vector& e) {
    const std::size_t M = e.size();
    const Matrix W_D = random_matrix(M, 2, L);
    const Vector x_masked = random_matrix(2, 1, L).column(0);
    const Ring ring{Integer(L)};
    const Vector reply = ring.add(ring.multiply(W_D, x_masked), e);
    int accepting = 0;
    for_all_matrices(L, M, 1, [&](const Matrix& rho) {
        if (insecure::accepts_mod_any(L, rho.column(0), W_D, x_masked, reply)) ++accepting;
    });
    return accepting;
}

TEST(CompositeModulus, E_2_a_third_of_all_secrets_accept_a_chosen_error_mod_15) {
    EXPECT_EQ(insecure::most_accepted_error(15, 2), Vector({5, 0}));
    EXPECT_EQ(3 * count_accepting_mod_any(15, {5, 0}), 15 * 15);
    EXPECT_EQ(5 * count_accepting_mod_any(15, {3, 0}), 15 * 15);
    EXPECT_EQ(15 * count_accepting_mod_any(15, {1, 0}), 15 * 15);
}

TEST(CompositeModulus, E_2_half_of_all_secrets_accept_a_chosen_error_mod_16) {
    EXPECT_EQ(insecure::most_accepted_error(16, 2), Vector({8, 0}));
    EXPECT_EQ(2 * count_accepting_mod_any(16, {8, 0}), 16 * 16);
    EXPECT_EQ(insecure::most_accepted_error(65536, 1), Vector({32768}));
    EXPECT_EQ(2 * count_accepting_mod_any(65536, {32768}), 65536);
}

TEST(CompositeModulus, E_2_the_best_error_is_one_over_the_smallest_prime_factor) {
    for (int L : {2, 3, 4, 6, 7, 9, 10, 12, 13}) {
        const Integer p = insecure::smallest_prime_factor(L);
        int best = 0;
        for_all_matrices(L, 2, 1, [&](const Matrix& e) {
            if (e != Matrix(2, 1)) best = std::max(best, count_accepting_mod_any(L, e.column(0)));
        });
        EXPECT_EQ(best * p, L * L) << "L = " << L;
        EXPECT_EQ(count_accepting_mod_any(L, insecure::most_accepted_error(L, 2)), best);
        EXPECT_EQ(count_accepting_mod_any(L, {0, 0}), L * L) << "honest";
    }
}

TEST(NaiveInference, the_naive_protocol_gives_away_Charlies_weights) {
    const Matrix W_C = random_matrix(4, 5, 100);
    const Matrix W_D = random_matrix(4, 5, 100);
    std::vector<insecure::Observation> seen;
    for (int query = 0; query < 4; ++query) {
        seen.push_back(insecure::naive_inference(W_C, W_D, random_matrix(5, 1, 100).column(0)));
    }
    EXPECT_EQ(insecure::recover_charlies_weights(seen, W_D), std::nullopt) << "4 < n = 5";
    seen.push_back(seen.front());
    EXPECT_EQ(insecure::recover_charlies_weights(seen, W_D), std::nullopt) << "a repetition";
    seen.push_back(insecure::naive_inference(W_C, W_D, random_matrix(5, 1, 100).column(0)));
    EXPECT_EQ(insecure::recover_charlies_weights(seen, W_D), W_C);
}

TEST(NaiveInference, the_attack_needs_the_inputs_that_masking_hides) {
    // The same outputs b = W a, but beside them David has x~ = a + r in place of a.
    const Ring ring(101);
    const Matrix W_C = random_matrix(3, 3, 50);
    const Matrix W_D = random_matrix(3, 3, 50);
    std::vector<insecure::Observation> seen;
    std::vector<insecure::Observation> masked;
    for (int query = 0; query < 3; ++query) {
        seen.push_back(insecure::naive_inference(W_C, W_D, random_matrix(3, 1, 50).column(0)));
        const Vector r = random_matrix(3, 1, 101).column(0);
        masked.push_back({mask(ring, seen.back().a, r), seen.back().b});
    }
    EXPECT_EQ(insecure::recover_charlies_weights(seen, W_D), W_C);
    EXPECT_NE(insecure::recover_charlies_weights(masked, W_D), W_C);
}

}  // namespace
}  // namespace slip::reference
