// The components that Charlie keeps (DECO-2): as close to W as their number allows, whatever the
// spectrum, and the same for every number of threads.
// test: alone, calculates
// links: slip_split slip_reference
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "property_tests/split/decomposition_fixture.hpp"

namespace slip::testing {
namespace {

using namespace splitting;

/// ||W - U_k S_k V_k^T|| = s_{k+1}, the least that rank k allows.
void expect_best_approximation(const Weights& weights, std::size_t k) {
    const Eigen::MatrixXd W = weights.real();
    const Eigen::VectorXd sigma = reference::singular_values(W);
    const auto top = to_reference(top_singular_components(weights.view(), k), weights.m, weights.n);
    const auto rank = static_cast<Index>(k);
    const double tolerance = 1e-9 * std::max(sigma(0), DBL_MIN);
    EXPECT_LE((top.s - sigma.head(rank)).cwiseAbs().maxCoeff(), tolerance);
    const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(rank, rank);
    EXPECT_LE((top.V.transpose() * top.V - identity).cwiseAbs().maxCoeff(), 1e-9);
    const Eigen::MatrixXd W_C = top.U * top.s.asDiagonal() * top.V.transpose();
    const double best = rank < sigma.size() ? sigma(rank) : 0.0;
    EXPECT_LE(spectral_norm(W - W_C), best + tolerance);
}

TEST(TopComponents, DECO_2_complete_decomposition_is_best) {
    std::mt19937_64 random(12);
    for (const auto& [m, n] : {std::pair{1, 1}, {1, 9}, {9, 1}, {12, 30}, {30, 12}, {64, 64}}) {
        const Weights weights =
            random_weights(static_cast<std::size_t>(m), static_cast<std::size_t>(n), random);
        for (const std::size_t k :
             {std::size_t{1}, std::min(weights.m, weights.n) / 2, std::min(weights.m, weights.n)}) {
            if (k > 0) expect_best_approximation(weights, k);
        }
    }
}

TEST(TopComponents, DECO_2_iteration_is_best) {
    std::mt19937_64 random(13);
    expect_best_approximation(random_weights(260, 300, random), 5);
    expect_best_approximation(random_weights(300, 260, random), 30);
}

/// Where squaring W or the iteration fails: fewer components than asked for, none, or equal
/// ones.
TEST(TopComponents, DECO_2_deficient_and_degenerate_matrices) {
    std::mt19937_64 random(14);
    expect_best_approximation(low_rank_weights(300, 280, 3, random), 5);
    expect_best_approximation({280, 280, std::vector<float>(280 * 280, 0.0f)}, 3);
    expect_best_approximation({280, 280, std::vector<float>(280 * 280, 0.25f)}, 3);
    Weights identity{280, 280, std::vector<float>(280 * 280, 0.0f)};
    for (std::size_t i = 0; i < 280; ++i) identity.values[i * 281] = 2.0f;
    expect_best_approximation(identity, 4);
}

TEST(SquaredSingularValues, DECO_12_all_of_them_fall_and_are_the_spectrum) {
    std::mt19937_64 random(15);
    for (const auto& [m, n] : {std::pair{1, 1}, {1, 9}, {9, 1}, {12, 30}, {130, 70}, {64, 64}}) {
        const Weights weights =
            random_weights(static_cast<std::size_t>(m), static_cast<std::size_t>(n), random);
        const Eigen::VectorXd sigma = reference::singular_values(weights.real());
        const std::vector<double> squares = squared_singular_values(weights.view(), 2);
        ASSERT_EQ(squares.size(), std::min(weights.m, weights.n));
        EXPECT_TRUE(std::is_sorted(squares.rbegin(), squares.rend()));
        for (std::size_t c = 0; c < squares.size(); ++c) {
            const double expected = sigma(static_cast<Index>(c)) * sigma(static_cast<Index>(c));
            EXPECT_NEAR(squares[c], expected, 1e-12 * sigma(0) * sigma(0));
        }
    }
    const Weights deficient = low_rank_weights(40, 30, 3, random);
    EXPECT_GE(squared_singular_values(deficient.view()).back(), 0);
    const Weights zero{3, 2, std::vector<float>(6, 0.0f)};
    EXPECT_EQ(squared_singular_values(zero.view()), (std::vector<double>{0, 0}));
}

/// W = U diag(sigma) V^T, rounded to float, with random singular vectors.
Weights weights_of_spectrum(std::size_t m, std::size_t n, const Eigen::VectorXd& sigma,
                            std::mt19937_64& random) {
    const auto basis = [&](std::size_t rows) {
        const Weights any = random_weights(rows, static_cast<std::size_t>(sigma.size()), random);
        return Eigen::MatrixXd(reference::orthogonal_factor(any.real()).leftCols(sigma.size()));
    };
    const Eigen::MatrixXd U = basis(m);
    const Eigen::MatrixXd W = U * sigma.asDiagonal() * basis(n).transpose();
    Weights weights{m, n, {}};
    for (const double entry : W.transpose().reshaped()) {
        weights.values.push_back(static_cast<float>(entry));
    }
    return weights;
}

/// What the iteration promises: squared norms of W - W_C within a factor of the least possible.
TEST(TopComponents, DECO_2_iteration_keeps_its_promise_on_any_spectrum) {
    std::mt19937_64 random(24);
    constexpr Index r = 420;
    const auto index = Eigen::ArrayXd::LinSpaced(r, 0, r - 1);
    const std::vector<Eigen::VectorXd> spectra = {
        (1 + index).inverse().matrix(),  // a power law
        (1 + index).rsqrt().matrix(),    // a slow one
        (-0.3 * index).exp().matrix(),   // falls below rounding
        (2 - index / r).matrix(),        // no gap anywhere
        (index / 4).floor().matrix().array().inverse().cwiseMin(2).matrix(),  // four of each
        Eigen::VectorXd::Ones(r)};                                            // nothing to prefer
    for (const Eigen::VectorXd& spectrum : spectra) {
        const Weights weights = weights_of_spectrum(420, 500, spectrum, random);
        const Eigen::MatrixXd W = weights.real();
        const Eigen::VectorXd sigma = reference::singular_values(W);
        for (const std::size_t k : Sizes{1, 16, 50}) {
            const auto top = to_reference(top_singular_components(weights.view(), k), 420, 500);
            const Eigen::MatrixXd R = W - top.U * top.s.asDiagonal() * top.V.transpose();
            const Eigen::VectorXd rest = sigma.tail(r - static_cast<Index>(k));
            const double rounding = 1e-14 * sigma.squaredNorm();
            const double slack = 1 + approximation_slack;
            EXPECT_LE(R.squaredNorm(), slack * rest.squaredNorm() + rounding);
            EXPECT_LE(std::pow(spectral_norm(R), 2), slack * rest(0) * rest(0) + rounding);
            EXPECT_LE(
                (top.V.transpose() * top.V - Eigen::MatrixXd::Identity(top.s.size(), top.s.size()))
                    .cwiseAbs()
                    .maxCoeff(),
                1e-12);
        }
    }
}

TEST(TopComponents, the_number_of_threads_changes_no_bit) {
    std::mt19937_64 random(25);
    for (const auto& [m, n] : {std::pair{300, 700}, {700, 300}, {90, 200}}) {
        const Weights weights =
            random_weights(static_cast<std::size_t>(m), static_cast<std::size_t>(n), random);
        const Components alone = top_singular_components(weights.view(), 9, 1);
        const IntegerMatrix rounded = decompose(weights.view(), 9, "w", {}, 1);
        for (const std::size_t threads : Sizes{2, 3, 8}) {
            const Components shared = top_singular_components(weights.view(), 9, threads);
            EXPECT_EQ(shared.u, alone.u);
            EXPECT_EQ(shared.sigma, alone.sigma);
            EXPECT_EQ(shared.v, alone.v);
            EXPECT_EQ(to_reference(decompose(weights.view(), 9, "w", {}, threads)),
                      to_reference(rounded));
        }
    }
}

/// Pruned rows: fewer singular values than rows, and a v_c for each component all the same.
TEST(TopComponents, DECO_2_zero_rows_of_a_wide_matrix) {
    std::mt19937_64 random(26);
    Weights weights = random_weights(12, 20, random);
    std::fill_n(weights.values.begin(), 5 * 20, 0.0f);
    for (const std::size_t k : Sizes{7, 8, 11, 12}) expect_best_approximation(weights, k);
    expect_valid(decompose(weights.view(), 11, "w"));
}

TEST(SingularComponents, DECO_2_any_of_them_are_those_of_the_whole_decomposition) {
    std::mt19937_64 random(27);
    for (const auto& [m, n] : {std::pair{20, 33}, {33, 20}}) {
        const auto rows = static_cast<std::size_t>(m);
        const auto cols = static_cast<std::size_t>(n);
        const Weights weights = random_weights(rows, cols, random);
        const reference::Svd all = reference::svd(weights.real());
        const std::vector<std::size_t> numbers = {0, 4, 5, 19};
        const auto some = to_reference(singular_components(weights.view(), numbers), rows, cols);
        for (Index c = 0; c < 4; ++c) {
            const auto number = static_cast<Index>(numbers[static_cast<std::size_t>(c)]);
            EXPECT_NEAR(some.s(c), all.sigma(number), 1e-12);
            // The sign of a pair of singular vectors is free.
            const Eigen::MatrixXd term = some.U.col(c) * some.V.col(c).transpose();
            const Eigen::MatrixXd expected = all.U.col(number) * all.V.col(number).transpose();
            EXPECT_LE((term - expected).cwiseAbs().maxCoeff(), 1e-9);
        }
        EXPECT_THROW(singular_components(weights.view(), {20}), slip::InternalError);
    }
}

}  // namespace
}  // namespace slip::testing
