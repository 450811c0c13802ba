// W -> W_int = 2^t W_D + A B in optimized/ against the reference. Singular vectors differ between
// libraries, so the reference is given the components that optimized/ found, and must then agree to
// the bit; the components are judged by how well they approximate W (Eckart-Young).
#include "optimized/split/decomposition.hpp"
#include "optimized/artifact/strategy.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/kernels/contracts.hpp"
#include "reference/decomposition.hpp"
#include "reference/encoding.hpp"
#include "reference/factorizations.hpp"
#include "reference/integer_model.hpp"

namespace {

using slip::Components;
using slip::IntegerMatrix;
using slip::MatrixView;
namespace reference = slip::reference;
using Eigen::Index;
using Sizes = std::initializer_list<std::size_t>;

/// A float matrix with its shape.
struct Weights {
    std::size_t m = 0;
    std::size_t n = 0;
    std::vector<float> values;

    MatrixView<const float> view() const { return {values.data(), m, n}; }
    Eigen::MatrixXd real() const {
        Eigen::MatrixXd W(static_cast<Index>(m), static_cast<Index>(n));
        for (std::size_t i = 0; i < m * n; ++i) {
            W(static_cast<Index>(i / n), static_cast<Index>(i % n)) =
                static_cast<double>(values[i]);
        }
        return W;
    }
};

Weights random_weights(std::size_t m, std::size_t n, std::mt19937_64& random, float scale = 0.1f) {
    std::normal_distribution<float> normal(0.0f, scale);
    Weights weights{m, n, std::vector<float>(m * n)};
    for (float& value : weights.values) value = normal(random);
    return weights;
}

/// A matrix of rank at most `rank`, up to the rounding of its entries to float.
Weights low_rank_weights(std::size_t m, std::size_t n, std::size_t rank, std::mt19937_64& random) {
    const Weights left = random_weights(m, rank, random, 1.0f);
    const Weights right = random_weights(rank, n, random, 1.0f);
    Weights product{m, n, std::vector<float>(m * n, 0.0f)};
    for (std::size_t i = 0; i < m * n; ++i) {
        for (std::size_t c = 0; c < rank; ++c) {
            product.values[i] += left.values[i / n * rank + c] * right.values[c * n + i % n];
        }
    }
    return product;
}

reference::SingularComponents to_reference(const Components& top, std::size_t m, std::size_t n) {
    const auto k = static_cast<Index>(top.sigma.size());
    reference::SingularComponents result{Eigen::MatrixXd(static_cast<Index>(m), k),
                                         Eigen::VectorXd(k),
                                         Eigen::MatrixXd(static_cast<Index>(n), k)};
    for (Index c = 0; c < k; ++c) {
        const auto component = static_cast<std::size_t>(c);
        result.s(c) = top.sigma[component];
        for (std::size_t i = 0; i < m; ++i) {
            result.U(static_cast<Index>(i), c) = top.u[i * top.sigma.size() + component];
        }
        for (std::size_t j = 0; j < n; ++j) {
            result.V(static_cast<Index>(j), c) = top.v[component * n + j];
        }
    }
    return result;
}

template <class T>
reference::Matrix to_matrix(const std::vector<T>& values, std::size_t rows, std::size_t cols) {
    reference::Matrix result(rows, cols);
    for (std::size_t i = 0; i < rows * cols; ++i) result(i / cols, i % cols) = values[i];
    return result;
}

reference::IntegerModel to_reference(const IntegerMatrix& matrix) {
    return {to_matrix(matrix.a, matrix.m, matrix.rank), to_matrix(matrix.b, matrix.rank, matrix.n),
            to_matrix(matrix.residual, matrix.m, matrix.n), matrix.row_scale};
}

std::vector<std::int64_t> integer_weights(const IntegerMatrix& matrix) {
    return slip::integer_weights({matrix.residual.data(), matrix.m, matrix.n},
                                 {matrix.a.data(), matrix.m, matrix.rank},
                                 {matrix.b.data(), matrix.rank, matrix.n});
}

/// diag(delta) W_int - W.
Eigen::MatrixXd error_of(const IntegerMatrix& matrix, const Weights& weights) {
    const std::vector<std::int64_t> integers = integer_weights(matrix);
    Eigen::MatrixXd error = weights.real();
    for (std::size_t i = 0; i < integers.size(); ++i) {
        error(static_cast<Index>(i / matrix.n), static_cast<Index>(i % matrix.n)) -=
            static_cast<double>(integers[i]) * static_cast<double>(matrix.row_scale[i / matrix.n]);
    }
    return -error;
}

/// What rounding may add to an entry of row i: half a step of W_D, and |A B - a b| <= (|A| +
/// 2^e |b|) / 2 a component, for a = A and b = B before rounding.
double rounding_of_row(const IntegerMatrix& matrix, std::size_t i) {
    std::uint64_t largest = 0;
    double factors = 0;
    for (std::size_t c = 0; c < matrix.rank; ++c) {
        const std::int64_t a = std::abs(std::int64_t{matrix.a[i * matrix.rank + c]});
        largest = std::max(largest, static_cast<std::uint64_t>(a));
        factors += static_cast<double>(a);
    }
    const unsigned exponent = slip::kernels::row_exponent(largest);
    factors += std::ldexp(2047.5, static_cast<int>(exponent)) * static_cast<double>(matrix.rank);
    return static_cast<double>(matrix.row_scale[i]) * (0x1p15 + factors / 2) * (1 + 1e-6);
}

double spectral_norm(const Eigen::MatrixXd& matrix) {
    return Eigen::BDCSVD<Eigen::MatrixXd>(matrix).singularValues()(0);
}

/// The widths of PARAM-2, and what every other test relies on.
void expect_valid(const IntegerMatrix& matrix) {
    EXPECT_NO_THROW(reference::require_valid(to_reference(matrix)));
    for (const float scale : matrix.row_scale) {
        EXPECT_GE(scale, FLT_MIN);
        EXPECT_TRUE(std::isfinite(scale));
    }
    EXPECT_TRUE(slip::fits_64_bits(matrix, 127));
}

// --- DECO-1, DECO-3
// ------------------------------------------------------------------------------

RC_GTEST_PROP(Decomposition, DECO_1_DECO_3_equals_the_reference_to_the_bit, (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(1, 25);
    const auto n = *rc::gen::inRange<std::size_t>(1, 25);
    // From half the rank on, so little is left of a row that the floor of DECO-4 may act.
    const auto k = *rc::gen::inRange<std::size_t>(0, std::min(m, n) / 2 + 1);
    std::mt19937_64 random(seed);
    const Weights weights = random_weights(m, n, random);
    const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
    const Components top = slip::top_singular_components(weights.view(), k);
    RC_ASSERT(to_reference(matrix) == reference::encode(weights.real(), to_reference(top, m, n)));

    const reference::Matrix W_int = reference::integer_weights(to_reference(matrix));
    RC_ASSERT(to_matrix(integer_weights(matrix), m, n) == W_int);
    RC_ASSERT(slip::fits_64_bits(matrix, 32767) == reference::fits_64_bits({W_int}, 32767));
}

RC_GTEST_PROP(Decomposition, DECO_3_PARAM_2_weights_of_4_bits_equal_the_reference_to_the_bit,
              (std::uint64_t seed)) {
    const auto m = *rc::gen::inRange<std::size_t>(1, 25);
    const auto n = *rc::gen::inRange<std::size_t>(1, 25);
    const auto k = *rc::gen::inRange<std::size_t>(0, std::min(m, n) / 2 + 1);
    std::mt19937_64 random(seed);
    const Weights weights = random_weights(m, n, random);
    const slip::Method method{slip::Strategy::lsc, {}, 4};
    const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w", method);
    const Components top = slip::top_singular_components(weights.view(), k);
    RC_ASSERT(to_reference(matrix) ==
              reference::encode(weights.real(), to_reference(top, m, n), 7));
    for (const int weight : matrix.residual) RC_ASSERT(std::abs(weight) <= 7);
    RC_ASSERT(slip::fits_64_bits(matrix, 127));
}

/// Without a low rank part an entry is off by half a step, the row's largest / 14, and
/// roundings.
TEST(Decomposition, DECO_3_an_entry_of_4_bits_is_off_by_half_a_step) {
    std::mt19937_64 random(12);
    const Weights weights = random_weights(20, 30, random);
    for (const unsigned bits : {4U, 8U}) {
        const slip::Method method{slip::Strategy::lsc, {}, bits};
        const IntegerMatrix matrix = slip::decompose(weights.view(), 0, "w", method);
        const int largest = bits == 4 ? 7 : 127;
        const Eigen::MatrixXd W = weights.real();
        for (Eigen::Index i = 0; i < W.rows(); ++i) {
            const auto row = static_cast<std::size_t>(i);
            const double scale = double{matrix.row_scale[row]} * 0x1p16;
            const double half_step = W.row(i).cwiseAbs().maxCoeff() / (2 * largest);
            int found = 0;
            for (Eigen::Index j = 0; j < W.cols(); ++j) {
                const int weight = matrix.residual[row * 30 + static_cast<std::size_t>(j)];
                found = std::max(found, std::abs(weight));
                EXPECT_LE(std::abs(W(i, j) - scale * weight), half_step * (1 + 0x1p-20));
            }
            EXPECT_EQ(found, W.row(i).isZero(0) ? 0 : largest) << "row " << i;
        }
    }
    EXPECT_THROW(slip::decompose(weights.view(), 0, "w", {slip::Strategy::lsc, {}, 5}),
                 slip::InternalError);
}

TEST(Decomposition, DECO_1_integer_weights_at_the_ends_of_every_range) {
    constexpr std::int32_t a = 2047 << 20;
    const std::vector<std::int8_t> residual = {127, -127, 0, 127, -127, 1};
    const std::vector<std::int32_t> left = {a, -a, a, a};      // 2 x 2
    const std::vector<std::int16_t> right = {2047,  -2047, 0,  // 2 x 3
                                             -2047, -2047, 1};
    const auto integers =
        slip::integer_weights({residual.data(), 2, 3}, {left.data(), 2, 2}, {right.data(), 2, 3});
    const reference::IntegerModel model{
        to_matrix(left, 2, 2), to_matrix(right, 2, 3), to_matrix(residual, 2, 3), {1.0f, 1.0f}};
    EXPECT_EQ(to_matrix(integers, 2, 3), reference::integer_weights(model));
}

TEST(Decomposition, is_deterministic) {
    std::mt19937_64 random(11);
    for (const std::size_t side : Sizes{40, 300}) {  // both ways to find components
        const Weights weights = random_weights(side, side + 8, random);
        const IntegerMatrix first = slip::decompose(weights.view(), 6, "w");
        const IntegerMatrix second = slip::decompose(weights.view(), 6, "w");
        EXPECT_EQ(first.a, second.a);
        EXPECT_EQ(first.b, second.b);
        EXPECT_EQ(first.residual, second.residual);
        EXPECT_EQ(first.row_scale, second.row_scale);
    }
}

// --- DECO-2
// --------------------------------------------------------------------------------------

/// ||W - U_k S_k V_k^T|| = s_{k+1}, the least that rank k allows.
void expect_best_approximation(const Weights& weights, std::size_t k) {
    const Eigen::MatrixXd W = weights.real();
    const Eigen::VectorXd sigma = Eigen::BDCSVD<Eigen::MatrixXd>(W).singularValues();
    const auto top =
        to_reference(slip::top_singular_components(weights.view(), k), weights.m, weights.n);
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

/// W = U diag(sigma) V^T, rounded to float, with random singular vectors.
Weights weights_of_spectrum(std::size_t m, std::size_t n, const Eigen::VectorXd& sigma,
                            std::mt19937_64& random) {
    const auto basis = [&](std::size_t rows) {
        const Eigen::HouseholderQR<Eigen::MatrixXd> qr(
            random_weights(rows, static_cast<std::size_t>(sigma.size()), random).real());
        return Eigen::MatrixXd(qr.householderQ() *
                               Eigen::MatrixXd::Identity(static_cast<Index>(rows), sigma.size()));
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
        const Eigen::VectorXd sigma = Eigen::BDCSVD<Eigen::MatrixXd>(W).singularValues();
        for (const std::size_t k : Sizes{1, 16, 50}) {
            const auto top =
                to_reference(slip::top_singular_components(weights.view(), k), 420, 500);
            const Eigen::MatrixXd R = W - top.U * top.s.asDiagonal() * top.V.transpose();
            const Eigen::VectorXd rest = sigma.tail(r - static_cast<Index>(k));
            const double rounding = 1e-14 * sigma.squaredNorm();
            const double slack = 1 + slip::approximation_slack;
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
        const Components alone = slip::top_singular_components(weights.view(), 9, 1);
        const IntegerMatrix rounded = slip::decompose(weights.view(), 9, "w", {}, 1);
        for (const std::size_t threads : Sizes{2, 3, 8}) {
            const Components shared = slip::top_singular_components(weights.view(), 9, threads);
            EXPECT_EQ(shared.u, alone.u);
            EXPECT_EQ(shared.sigma, alone.sigma);
            EXPECT_EQ(shared.v, alone.v);
            EXPECT_EQ(to_reference(slip::decompose(weights.view(), 9, "w", {}, threads)),
                      to_reference(rounded));
        }
    }
}

TEST(ParallelFor, makes_each_call_once_and_passes_a_failure_on) {
    for (const std::size_t threads : Sizes{1, 2, 9}) {
        std::vector<int> calls(100);
        slip::parallel_for(threads, calls.size(), [&](std::size_t i) { ++calls[i]; });
        EXPECT_EQ(calls, std::vector<int>(100, 1));
        slip::parallel_for(threads, 0, [](std::size_t) { ADD_FAILURE(); });
        const auto fail = [](std::size_t i) {
            if (i == 7) throw slip::BadInput("seven");
        };
        EXPECT_THROW(slip::parallel_for(threads, 100, fail), slip::BadInput);
    }
}

/// Pruned rows: fewer singular values than rows, and a v_c for each component all the same.
TEST(TopComponents, DECO_2_zero_rows_of_a_wide_matrix) {
    std::mt19937_64 random(26);
    Weights weights = random_weights(12, 20, random);
    std::fill_n(weights.values.begin(), 5 * 20, 0.0f);
    for (const std::size_t k : Sizes{7, 8, 11, 12}) expect_best_approximation(weights, k);
    expect_valid(slip::decompose(weights.view(), 11, "w"));
}

TEST(SingularComponents, DECO_2_any_of_them_are_those_of_the_whole_decomposition) {
    std::mt19937_64 random(27);
    for (const auto& [m, n] : {std::pair{20, 33}, {33, 20}}) {
        const auto rows = static_cast<std::size_t>(m);
        const auto cols = static_cast<std::size_t>(n);
        const Weights weights = random_weights(rows, cols, random);
        const Eigen::JacobiSVD<Eigen::MatrixXd> svd(weights.real(),
                                                    Eigen::ComputeThinU | Eigen::ComputeThinV);
        const std::vector<std::size_t> numbers = {0, 4, 5, 19};
        const auto some =
            to_reference(slip::singular_components(weights.view(), numbers), rows, cols);
        for (Index c = 0; c < 4; ++c) {
            const auto number = static_cast<Index>(numbers[static_cast<std::size_t>(c)]);
            EXPECT_NEAR(some.s(c), svd.singularValues()(number), 1e-12);
            // The sign of a pair of singular vectors is free.
            const Eigen::MatrixXd term = some.U.col(c) * some.V.col(c).transpose();
            const Eigen::MatrixXd expected =
                svd.matrixU().col(number) * svd.matrixV().col(number).transpose();
            EXPECT_LE((term - expected).cwiseAbs().maxCoeff(), 1e-9);
        }
        EXPECT_THROW(slip::singular_components(weights.view(), {20}), slip::InternalError);
    }
}

// --- DECO-8 to DECO-10: what Charlie keeps, by strategy
// ------------------------------------------

constexpr std::array strategies = {std::pair{slip::Strategy::lsc, reference::Strategy::lsc},
                                   std::pair{slip::Strategy::rcs, reference::Strategy::rcs},
                                   std::pair{slip::Strategy::norm, reference::Strategy::norm},
                                   std::pair{slip::Strategy::random, reference::Strategy::random},
                                   std::pair{slip::Strategy::fms, reference::Strategy::fms}};

slip::ByteSource bytes_in_order(const std::vector<std::uint8_t>& bytes) {
    return [bytes, used = std::size_t{0}]() mutable { return bytes.at(used++); };
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::mt19937_64& random) {
    std::vector<std::uint8_t> bytes(count);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
}

RC_GTEST_PROP(Selection, DECO_9_equals_the_reference_on_the_same_bytes, (std::uint64_t seed)) {
    std::mt19937_64 random(seed);
    const auto n = *rc::gen::inRange<std::size_t>(1, 700);
    const auto k = *rc::gen::inRange<std::size_t>(0, n + 1);
    const auto bytes = random_bytes(20 * k + 200, random);
    reference::FixedBytes source(bytes);
    const auto chosen = slip::choose(k, n, bytes_in_order(bytes));
    RC_ASSERT(chosen == reference::choose(k, n, source));
    RC_ASSERT(chosen.size() == k && std::is_sorted(chosen.begin(), chosen.end()));
    RC_ASSERT(std::adjacent_find(chosen.begin(), chosen.end()) == chosen.end());
    RC_ASSERT((chosen.empty() || chosen.back() < n));  // one operand: RapidCheck takes || apart
}

/// All words of the two draws of 2 from 4, so no set is more likely than another: 6 sets; the
/// first draw takes a value of 4 (2 bits), the second one of 3 (2 bits, 3 rejected).
TEST(Selection, DECO_9_every_set_is_equally_likely) {
    std::map<std::vector<std::size_t>, int> counts;
    for (std::uint8_t first = 0; first < 4; ++first) {
        for (std::uint8_t second = 0; second < 3; ++second) {
            ++counts[slip::choose(2, 4, bytes_in_order({first, 3, second}))];
            --counts[{}];
        }
    }
    EXPECT_EQ(counts.size(), 7u);
    for (const auto& [set, count] : counts) EXPECT_EQ(count, set.empty() ? -12 : 2);
}

TEST(Selection, DECO_9_at_the_ends) {
    const slip::ByteSource none = bytes_in_order({});
    EXPECT_TRUE(slip::choose(0, 5, none).empty());
    EXPECT_EQ(slip::choose(1, 1, none), std::vector<std::size_t>{0}) << "nothing to draw";
    EXPECT_THROW(slip::choose(2, 1, none), slip::InternalError);
}

TEST(Selection, DECO_10_streams_are_the_references_keystreams) {
    const slip::SelectionSeed seed = slip::new_selection_seed();
    EXPECT_NE(seed, slip::new_selection_seed());
    for (const std::uint64_t matrix : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0} - 7}) {
        reference::Keystream expected(seed, reference::Tag::selection, matrix);
        const slip::ByteSource stream = slip::selection_stream(seed, matrix);
        for (const std::uint8_t byte : expected.take(3000)) ASSERT_EQ(stream(), byte);
    }
}

RC_GTEST_PROP(Strategies, DECO_8_the_kept_part_is_the_references, (std::uint64_t seed)) {
    std::mt19937_64 random(seed);
    const auto m = *rc::gen::inRange<std::size_t>(1, 20);
    const auto n = *rc::gen::inRange<std::size_t>(1, 20);
    Weights weights = random_weights(m, n, random);
    // A row of zeros; equal columns.
    if (seed % 3 == 0) std::fill_n(weights.values.begin(), n, 0.0f);
    if (seed % 5 == 0) std::fill(weights.values.begin(), weights.values.end(), 0.5f);
    const auto bytes = random_bytes(500, random);
    for (const auto& [strategy, expected] : strategies) {
        const auto k = *rc::gen::inRange<std::size_t>(0, std::min(m, n));
        reference::FixedBytes source(bytes);
        const auto kept =
            to_reference(slip::kept_part(strategy, weights.view(), k, bytes_in_order(bytes)), m, n);
        const auto wanted =
            reference::kept_part(expected, weights.real(), static_cast<int>(k), source);
        RC_ASSERT(kept.s.size() == wanted.s.size());
        if (kept.s.size() == 0) continue;
        RC_ASSERT((kept.s - wanted.s).cwiseAbs().maxCoeff() <= 1e-6);
        if (strategy == slip::Strategy::lsc || strategy == slip::Strategy::rcs) continue;
        RC_ASSERT(kept.U == wanted.U && kept.V == wanted.V);
    }
}

/// Charlie's part is an integer product of that rank, and the identity and the widths hold.
RC_GTEST_PROP(Strategies, DECO_1_DECO_8_each_gives_an_integer_model, (std::uint64_t seed)) {
    std::mt19937_64 random(seed);
    const auto m = *rc::gen::inRange<std::size_t>(1, 25);
    const auto n = *rc::gen::inRange<std::size_t>(1, 25);
    const Weights weights = random_weights(m, n, random);
    const auto bytes = random_bytes(500, random);
    for (const auto& [strategy, unused] : strategies) {
        const auto k = *rc::gen::inRange<std::size_t>(
            0, slip::largest_rank(strategy, m, n) / (strategy == slip::Strategy::fms ? 1 : 2) + 1);
        const auto method = [&] { return slip::Method{strategy, bytes_in_order(bytes)}; };
        const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w", method());
        RC_ASSERT(matrix.rank == slip::kept_terms(strategy, k, m, n));
        expect_valid(matrix);
        RC_ASSERT(slip::fits_64_bits(matrix, 32767));
        const auto part = slip::kept_part(strategy, weights.view(), k, method().random);
        RC_ASSERT(to_reference(matrix) ==
                  reference::encode(weights.real(), to_reference(part, m, n)));
        const Eigen::MatrixXd error = error_of(matrix, weights);
        for (std::size_t i = 0; i < m; ++i) {
            const double largest = error.row(static_cast<Index>(i)).cwiseAbs().maxCoeff();
            RC_ASSERT(largest <= rounding_of_row(matrix, i));
        }
    }
}

TEST(Strategies, DECO_8_columns_and_whole_matrices_leave_nothing_of_themselves) {
    std::mt19937_64 random(28);
    const auto bytes = random_bytes(500, random);
    for (const auto& [m, n] : {std::pair{20, 30}, {30, 20}}) {
        const auto rows = static_cast<std::size_t>(m);
        const auto cols = static_cast<std::size_t>(n);
        Weights weights = random_weights(rows, cols, random);
        for (std::size_t i = 0; i < rows; ++i) {
            for (const std::size_t j : Sizes{3, 7, 11}) weights.values[i * cols + j] *= 10;
        }
        for (const auto strategy : {slip::Strategy::norm, slip::Strategy::random}) {
            const IntegerMatrix matrix =
                slip::decompose(weights.view(), 3, "w", {strategy, bytes_in_order(bytes)});
            std::vector<std::size_t> zero;
            for (std::size_t j = 0; j < cols; ++j) {
                bool all = true;
                for (std::size_t i = 0; i < rows; ++i) all &= matrix.residual[i * cols + j] == 0;
                if (all) zero.push_back(j);
            }
            EXPECT_EQ(zero.size(), 3u);
            if (strategy == slip::Strategy::norm) {
                EXPECT_EQ(zero, (std::vector<std::size_t>{3, 7, 11}));
            }
        }
        const IntegerMatrix whole =
            slip::decompose(weights.view(), 1, "w", {slip::Strategy::fms, {}});
        EXPECT_EQ(whole.residual, std::vector<std::int8_t>(rows * cols, 0));
        const double largest = weights.real().cwiseAbs().maxCoeff();
        EXPECT_LE(error_of(whole, weights).cwiseAbs().maxCoeff(), largest / 2000);
    }
}

TEST(Strategies, DECO_8_names_and_what_David_sees) {
    for (const auto& [strategy, unused] : strategies) {
        EXPECT_EQ(slip::strategy_named(slip::name_of(strategy)), strategy);
    }
    EXPECT_EQ(slip::strategy_named("LSC"), std::nullopt);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::lsc, 50, 4096, 4096), 2500u);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::rcs, 2, 10, 7), 10u);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::norm, 2, 10, 7), 20u);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::random, 2, 7, 10), 14u);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::fms, 7, 10, 7), 70u);
    EXPECT_EQ(slip::unknowns_left(slip::Strategy::fms, 0, 10, 7), 0u);
}

// --- how close the integer model is to W
// ---------------------------------------------------------

TEST(Decomposition, DECO_3_error_is_half_a_step_and_the_factors_rounding) {
    std::mt19937_64 random(15);
    for (const std::size_t k : Sizes{0, 1, 8, 31}) {
        const Weights weights = random_weights(48, 64, random);
        const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
        expect_valid(matrix);
        const Eigen::MatrixXd error = error_of(matrix, weights);
        for (std::size_t i = 0; i < matrix.m; ++i) {
            const Index row = static_cast<Index>(i);
            EXPECT_LE(error.row(row).cwiseAbs().maxCoeff(), rounding_of_row(matrix, i)) << i;
            // The largest residual of an ordinary row takes the whole range of int8.
            std::int32_t largest = 0;
            for (std::size_t j = 0; j < matrix.n; ++j) {
                largest = std::max(largest, std::abs(std::int32_t{matrix.residual[i * 64 + j]}));
            }
            EXPECT_EQ(largest, 127);
        }
    }
}

/// Rounding errors of W_D are spread evenly over a step: mean 0, mean square step^2 / 12.
TEST(Decomposition, DECO_3_error_statistics) {
    std::mt19937_64 random(16);
    const Weights weights = random_weights(96, 128, random);
    const IntegerMatrix matrix = slip::decompose(weights.view(), 10, "w");
    Eigen::MatrixXd error = error_of(matrix, weights);
    for (Index i = 0; i < error.rows(); ++i) {
        error.row(i) /= static_cast<double>(matrix.row_scale[static_cast<std::size_t>(i)]) * 0x1p16;
    }
    EXPECT_NEAR(error.mean(), 0.0, 0.02);
    EXPECT_NEAR(error.squaredNorm() * 12 / static_cast<double>(error.size()), 1.0, 0.05);
}

/// What Charlie keeps after rounding is still, but for rounding, the best that rank k allows.
TEST(Decomposition, DECO_2_DECO_3_rounded_factors_keep_the_gap) {
    std::mt19937_64 random(17);
    const Weights weights = random_weights(80, 60, random);
    const Eigen::VectorXd sigma = Eigen::BDCSVD<Eigen::MatrixXd>(weights.real()).singularValues();
    for (const std::size_t k : Sizes{1, 7, 30}) {
        IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
        matrix.residual.assign(matrix.residual.size(), 0);  // W_int = W_C
        const double gap = spectral_norm(error_of(matrix, weights));
        EXPECT_NEAR(gap, sigma(static_cast<Index>(k)), 1e-3 * sigma(0));
    }
}

// --- DECO-4 and other edges
// ----------------------------------------------------------------------

TEST(Decomposition, DECO_2_rank_zero_has_no_factors) {
    std::mt19937_64 random(18);
    const IntegerMatrix matrix = slip::decompose(random_weights(5, 7, random).view(), 0, "w");
    expect_valid(matrix);
    EXPECT_TRUE(matrix.a.empty() && matrix.b.empty());
    for (std::size_t i = 0; i < 35; ++i) {
        EXPECT_EQ(integer_weights(matrix)[i], matrix.residual[i] * (std::int64_t{1} << 16));
    }
}

TEST(Decomposition, DECO_4_zero_rows_have_scale_one_and_no_weights) {
    std::mt19937_64 random(19);
    Weights weights = random_weights(6, 8, random);
    std::fill_n(weights.values.begin() + 2 * 8, 8, 0.0f);
    for (const std::size_t k : Sizes{0, 3}) {
        const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
        expect_valid(matrix);
        EXPECT_EQ(matrix.row_scale[2], 1.0f);
        for (std::size_t j = 0; j < 8; ++j) {
            EXPECT_EQ(matrix.residual[2 * 8 + j], 0);
            EXPECT_EQ(integer_weights(matrix)[2 * 8 + j], 0);
        }
        for (std::size_t c = 0; c < k; ++c) EXPECT_EQ(matrix.a[2 * k + c], 0);
    }
    const Weights zero{4, 4, std::vector<float>(16, 0.0f)};
    const IntegerMatrix matrix = slip::decompose(zero.view(), 2, "w");
    expect_valid(matrix);
    EXPECT_EQ(matrix.row_scale, std::vector<float>(4, 1.0f));
    EXPECT_EQ(integer_weights(matrix), std::vector<std::int64_t>(16, 0));
}

/// Nothing, or next to nothing, is left of these after their components are taken out; without
/// a floor on the row scale A would not have an exponent and products would not fit 64 bits.
TEST(Decomposition, DECO_4_ENC_5_rows_without_a_residual) {
    std::mt19937_64 random(20);
    std::vector<std::pair<Weights, std::size_t>> cases;
    cases.emplace_back(Weights{6, 9, std::vector<float>(54, 0.3f)}, 1);  // constant rows
    cases.emplace_back(low_rank_weights(30, 40, 2, random), 2);
    cases.emplace_back(low_rank_weights(30, 40, 2, random), 5);
    cases.emplace_back(random_weights(12, 12, random), 11);  // all but the last component
    Weights identity{8, 8, std::vector<float>(64, 0.0f)};    // one-hot rows
    for (std::size_t i = 0; i < 8; ++i) identity.values[i * 9] = 1.0f;
    cases.emplace_back(identity, 7);
    for (const auto& [weights, k] : cases) {
        const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
        expect_valid(matrix);
        // Whatever qa_max ENC-3 gives.
        EXPECT_TRUE(slip::fits_64_bits(matrix, 32767));
        const double largest = weights.real().cwiseAbs().maxCoeff();
        EXPECT_LE(error_of(matrix, weights).cwiseAbs().maxCoeff(), largest / 500) << k;
    }
}

TEST(Decomposition, DECO_4_tiny_and_huge_magnitudes) {
    std::mt19937_64 random(21);
    for (const float scale : {1e-44f, 1e-38f, 1e-30f, 1e-12f, 1e12f, 1e30f, 5e37f}) {
        const Weights weights = random_weights(10, 14, random, scale);
        for (const std::size_t k : Sizes{0, 3, 9}) {
            const IntegerMatrix matrix = slip::decompose(weights.view(), k, "w");
            expect_valid(matrix);
            const double error = error_of(matrix, weights).cwiseAbs().maxCoeff();
            // A row scale of at least FLT_MIN leaves a step of W_D of 2^16 FLT_MIN.
            EXPECT_LE(error, weights.real().cwiseAbs().maxCoeff() / 100 + 0x1p16 * FLT_MIN)
                << scale;
        }
    }
    // Rows of very different size in one matrix: each row has its own scale.
    Weights mixed = random_weights(4, 16, random);
    for (std::size_t j = 0; j < 16; ++j) mixed.values[j] *= 1e-20f;
    for (std::size_t j = 16; j < 32; ++j) mixed.values[j] *= 1e20f;
    for (const std::size_t k : Sizes{0, 2}) {
        const IntegerMatrix matrix = slip::decompose(mixed.view(), k, "w");
        expect_valid(matrix);
    }
}

TEST(Decomposition, DECO_5_not_finite_is_refused_and_named) {
    std::mt19937_64 random(22);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
        Weights weights = random_weights(4, 5, random);
        weights.values[13] = bad;
        try {
            slip::decompose(weights.view(), 2, "model.layers.7.q_proj");
            ADD_FAILURE() << "accepted";
        } catch (const slip::BadInput& error) {
            EXPECT_NE(std::string(error.what()).find("model.layers.7.q_proj"), std::string::npos);
        }
    }
}

TEST(Decomposition, ranks_and_shapes_outside_the_contract_are_defects) {
    std::mt19937_64 random(23);
    const Weights weights = random_weights(4, 5, random);
    EXPECT_THROW(slip::decompose(weights.view(), 4, "w"), slip::InternalError);
    EXPECT_THROW(slip::top_singular_components(weights.view(), 5), slip::InternalError);
    EXPECT_THROW(slip::decompose({nullptr, 0, 3}, 0, "w"), slip::InternalError);
}

}  // namespace
