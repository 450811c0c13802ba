// The integrity check: how many secrets accept a wrong reply, counted over all secrets of small
// fields; what a composite modulus changes; and what an unmasked protocol gives away.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <random>
#include <vector>

#include "property_tests/reference/drawn_values.hpp"
#include "property_tests/reference/other_profile.hpp"
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

/// One small instance of the protocol: W_D, sent columns, and the honest reply.
struct Instance {
    Integer L;
    std::size_t kappa;
    Matrix W_D;
    Matrix x_masked;
    Matrix honest;
};

Instance random_instance(int L, std::size_t M, std::size_t n, std::size_t b, std::size_t kappa) {
    const Ring ring{Integer(L)};
    Instance instance{L, kappa, random_matrix(M, n, L), random_matrix(n, b, L), {}};
    instance.honest = ring.embed(instance.W_D * instance.x_masked);
    return instance;
}

/// How many rho in F_L^(M x kappa) accept the honest reply plus E.
Integer count_accepting(const Instance& instance, const Matrix& E) {
    const Ring ring(instance.L);
    const Matrix reply = ring.embed(instance.honest + E);
    Integer accepting = 0;
    for_all_matrices(
        instance.L.convert_to<int>(), instance.W_D.rows(), instance.kappa, [&](const Matrix& rho) {
            const IntegrityKey secret{rho, precompute_s(instance.L, rho, instance.W_D)};
            if (accepts(instance.L, secret, instance.x_masked, reply)) ++accepting;
        });
    return accepting;
}

TEST(IntegritySoundness, INTEG_4_every_single_coordinate_error_is_accepted_by_exactly_that_many) {
    struct Size {
        int L;
        std::size_t M, kappa;
    };
    for (const auto& [L, M, kappa] : {Size{2, 3, 2}, Size{3, 2, 2}, Size{3, 3, 1}, Size{5, 2, 1},
                                      Size{5, 3, 1}, Size{7, 2, 1}, Size{7, 1, 2}}) {
        const Instance instance = random_instance(L, M, 2, 1, kappa);
        const Integer all = pow(instance.L, static_cast<unsigned>(M * kappa));
        const Integer expected = all / pow(instance.L, static_cast<unsigned>(kappa));
        EXPECT_EQ(accepting_keys(L, M, kappa), expected);
        EXPECT_EQ(count_accepting(instance, Matrix(M, 1)), all) << "the honest reply";
        for (std::size_t i = 0; i < M; ++i) {
            for (int e = 1; e < L; ++e) {
                Matrix E(M, 1);
                E(i, 0) = e;
                ASSERT_EQ(count_accepting(instance, E), expected) << "L = " << L << ", e = " << e;
            }
        }
    }
}

TEST(IntegritySoundness, INTEG_4_every_error_of_one_column_over_a_field_of_three) {
    const Instance instance = random_instance(3, 3, 2, 1, 2);
    for_all_matrices(3, 3, 1, [&](const Matrix& E) {
        const bool honest = E == Matrix(3, 1);
        ASSERT_EQ(count_accepting(instance, E), honest ? 729 : 81);
    });
}

TEST(IntegritySoundness, INTEG_4_random_errors_in_several_coordinates) {
    for (int repetition = 0; repetition < 10; ++repetition) {
        const Instance instance = random_instance(5, 3, 4, 1, 1);
        Matrix E = random_matrix(3, 1, 5);
        if (E == Matrix(3, 1)) E(0, 0) = 1;
        ASSERT_EQ(count_accepting(instance, E), 25) << "5^3 / 5";
    }
}

TEST(IntegritySoundness, INTEG_4_errors_in_several_columns_are_no_easier) {
    const Instance instance = random_instance(3, 3, 2, 2, 1);
    const Matrix rank_one{{1, 2}, {0, 0}, {2, 1}};  // the second column is twice the first
    const Matrix rank_two{{1, 0}, {0, 2}, {0, 0}};
    EXPECT_EQ(count_accepting(instance, rank_one), 9) << "3^(3 - 1)";
    EXPECT_EQ(count_accepting(instance, rank_two), 3) << "3^(3 - 2)";
}

/// Errors of two residues mod 3, one of each direction in which a secret may be blind.
const std::vector<Matrix> directions = {{{1}, {0}}, {{0}, {1}}, {{1}, {1}}, {{1}, {2}}};

/// verdicts[rho][i]: whether the secret of that number accepts the honest reply plus direction i.
std::vector<std::vector<bool>> verdicts_mod_3() {
    const Instance instance = random_instance(3, 2, 2, 1, 1);
    std::vector<std::vector<bool>> verdicts;
    for_all_matrices(3, 2, 1, [&](const Matrix& rho) {
        const IntegrityKey secret{rho, precompute_s(3, rho, instance.W_D)};
        EXPECT_TRUE(accepts(3, secret, instance.x_masked, instance.honest));
        std::vector<bool> row;
        for (const Matrix& E : directions) {
            const Matrix reply = Ring(3).embed(instance.honest + E);
            row.push_back(accepts(3, secret, instance.x_masked, reply));
        }
        verdicts.push_back(row);
    });
    return verdicts;
}

/// Whether a David who tries another direction after each reject has a wrong reply accepted, if
/// Charlie sends nothing after the Q-th reject. Session i has the secret rhos[i].
bool fools(const std::vector<std::vector<bool>>& verdicts, const std::vector<std::size_t>& rhos,
           std::size_t Q) {
    for (std::size_t rejects = 0; rejects < Q; ++rejects) {
        if (verdicts[rhos[rejects]][rejects]) return true;
    }
    return false;
}

TEST(IntegritySoundness, INTEG_10_sessions_with_fresh_secrets_add_up_to_less_than_Q_over_L) {
    const auto verdicts = verdicts_mod_3();
    std::vector<int> fooled(5);
    for (std::size_t secrets = 0; secrets < 9 * 9 * 9 * 9; ++secrets) {  // all of four sessions
        const std::vector<std::size_t> rhos = {secrets % 9, secrets / 9 % 9, secrets / 81 % 9,
                                               secrets / 729};
        for (std::size_t Q = 0; Q <= 4; ++Q) fooled[Q] += fools(verdicts, rhos, Q) ? 1 : 0;
    }
    // Q independent sessions, 1/3 each: 1 - (2/3)^Q of 6561, and never above Q/3.
    EXPECT_EQ(fooled, (std::vector<int>{0, 2187, 3645, 4617, 5265}));
    for (int Q = 0; Q <= 4; ++Q) EXPECT_LE(fooled[static_cast<std::size_t>(Q)], Q * 6561 / 3);
}

TEST(IntegritySoundness, INTEG_10_one_secret_for_all_sessions_accepts_some_error_always) {
    const auto verdicts = verdicts_mod_3();
    for (std::size_t rho = 0; rho < 9; ++rho) {
        EXPECT_TRUE(fools(verdicts, {rho, rho, rho, rho}, 4)) << "rho of number " << rho;
    }
}

TEST(IntegritySoundness, INTEG_3_the_same_count_flags_weaker_checks) {
    // The mutants look at one repetition, at one column, or at nothing.
    const Instance instance = random_instance(3, 2, 2, 2, 2);
    const Matrix E{{0, 1}, {0, 0}};  // the second column is wrong
    const Matrix reply = Ring(3).embed(instance.honest + E);
    const auto first_column = [](const Matrix& X) {
        return Matrix::from_columns(X.rows(), {X.column(0)});
    };
    const auto first_row = [](const Matrix& X) {
        Matrix row(1, X.cols());
        for (std::size_t j = 0; j < X.cols(); ++j) row(0, j) = X(0, j);
        return row;
    };
    Integer by_all = 0;
    Integer by_one_repetition = 0;
    Integer by_one_column = 0;
    for_all_matrices(3, 2, 2, [&](const Matrix& rho) {
        const IntegrityKey secret{rho, precompute_s(3, rho, instance.W_D)};
        const IntegrityKey one{first_row(rho.transpose()).transpose(),
                               first_row(secret.s.transpose()).transpose()};
        if (accepts(3, secret, instance.x_masked, reply)) ++by_all;
        if (accepts(3, one, instance.x_masked, reply)) ++by_one_repetition;
        if (accepts(3, secret, first_column(instance.x_masked), first_column(reply))) {
            ++by_one_column;
        }
    });
    EXPECT_EQ(by_all, accepting_keys(3, 2, 2));
    EXPECT_EQ(by_one_repetition, 27) << "3 times too many";
    EXPECT_EQ(by_one_column, 81) << "all of them";
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
    const Profile profile = *rc::gen::element(p31(), other_profile());
    const Integer& L = profile.modulus;
    const Ring ring(L);
    const std::size_t M = *rc::gen::inRange<std::size_t>(1, 6);
    const std::size_t n = *rc::gen::inRange<std::size_t>(1, 6);
    const std::size_t b = *rc::gen::inRange<std::size_t>(1, 4);
    Matrix W_D(M, n);
    for (std::size_t i = 0; i < M; ++i) {
        for (std::size_t j = 0; j < n; ++j) W_D(i, j) = *rc::gen::inRange(-127, 128);
    }
    const IntegrityKey secret = draw_integrity_key(L, any_key(), 3, W_D, profile.repetitions);
    const Matrix x_masked = any_residues(n, b, L);
    Matrix reply = ring.embed(W_D * x_masked);
    RC_ASSERT(accepts(L, secret, x_masked, reply));

    // One wrong entry: accepted with probability L^-kappa, less than 2^-60.
    Integer& entry =
        reply(*rc::gen::inRange<std::size_t>(0, M), *rc::gen::inRange<std::size_t>(0, b));
    entry = ring.add(entry, 1 + Integer(*rc::gen::arbitrary<std::uint32_t>()) % (L - 1));
    RC_ASSERT(!accepts(L, secret, x_masked, reply));
}

RC_GTEST_PROP(IntegrityChecks, INTEG_1_rho_is_the_stream_of_its_group_row_by_row, ()) {
    const Integer L = p31().modulus;
    const Key key = any_key();
    const Matrix rho = draw_rho(L, key, 5, 3, 2);
    const Vector stream = uniform_residues(Ring(L), key, Tag::integrity, 5, 6);
    RC_ASSERT(rho ==
              (Matrix{{stream[0], stream[1]}, {stream[2], stream[3]}, {stream[4], stream[5]}}));
    RC_ASSERT(rho != draw_rho(L, key, 6, 3, 2));
}

RC_GTEST_PROP(IntegrityChecks, INTEG_2_s_is_the_product_over_the_integers_reduced, ()) {
    const Integer L =
        *rc::gen::element(Integer(2), Integer(101), p31().modulus, other_profile().modulus);
    const Matrix rho = any_residues(4, 2, L);
    Matrix W_D(4, 3);
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 3; ++j) W_D(i, j) = *rc::gen::inRange(-127, 128);
    }
    RC_ASSERT(precompute_s(L, rho, W_D) == Ring(L).embed(rho.transpose() * W_D).transpose());
}

TEST(IntegrityChecks, INTEG_1_only_prime_moduli_are_taken) {
    for (int L : {4, 9, 15, 16, 21, 561, 65536}) {
        EXPECT_THROW(draw_rho(L, Key{}, 0, 1, 1), PreconditionError) << L;
        EXPECT_THROW(precompute_s(L, Matrix{{1}}, Matrix{{1}}), PreconditionError) << L;
        EXPECT_THROW(accepts(L, {Matrix{{1}}, Matrix{{1}}}, Matrix{{1}}, Matrix{{1}}),
                     PreconditionError)
            << L;
    }
    EXPECT_NO_THROW(draw_rho(2, Key{}, 0, 1, 1));
    EXPECT_THROW(draw_rho(5, Key{}, 0, 0, 1), PreconditionError);
    EXPECT_THROW(draw_rho(5, Key{}, 0, 1, 0), PreconditionError);
}

TEST(IntegrityChecks, INTEG_3_shapes_and_residues_are_checked) {
    const IntegrityKey secret{Matrix{{1}, {2}}, Matrix{{3}}};  // M = 2, n = 1, kappa = 1
    EXPECT_NO_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}, {2}}));
    EXPECT_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{1, 1}}, Matrix{{1}, {2}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{5}}, Matrix{{1}, {2}}), PreconditionError);
    EXPECT_THROW(accepts(5, secret, Matrix{{1}}, Matrix{{1}, {-1}}), PreconditionError);
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

TEST(CompositeModulus, INTEG_8_a_third_of_all_secrets_accept_a_chosen_error_mod_15) {
    EXPECT_EQ(insecure::most_accepted_error(15, 2), Vector({5, 0}));
    EXPECT_EQ(3 * count_accepting_mod_any(15, {5, 0}), 15 * 15);
    EXPECT_EQ(5 * count_accepting_mod_any(15, {3, 0}), 15 * 15);
    EXPECT_EQ(15 * count_accepting_mod_any(15, {1, 0}), 15 * 15);
}

TEST(CompositeModulus, INTEG_8_half_of_all_secrets_accept_a_chosen_error_mod_16) {
    EXPECT_EQ(insecure::most_accepted_error(16, 2), Vector({8, 0}));
    EXPECT_EQ(2 * count_accepting_mod_any(16, {8, 0}), 16 * 16);
    EXPECT_EQ(insecure::most_accepted_error(65536, 1), Vector({32768}));
    EXPECT_EQ(2 * count_accepting_mod_any(65536, {32768}), 65536);
}

TEST(CompositeModulus, INTEG_8_the_best_error_is_one_over_the_smallest_prime_factor) {
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
