// What Charlie keeps, by strategy (DECO-8 to DECO-10), against the reference.
// test: threads
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "optimized/artifact/strategy.hpp"
#include "property_tests/split/decomposition_fixture.hpp"

namespace slip::testing {
namespace {

using namespace artifact;
using namespace splitting;

constexpr std::array strategies = {std::pair{slip::Strategy::lsc, reference::Strategy::lsc},
                                   std::pair{slip::Strategy::rcs, reference::Strategy::rcs},
                                   std::pair{slip::Strategy::norm, reference::Strategy::norm},
                                   std::pair{slip::Strategy::random, reference::Strategy::random},
                                   std::pair{slip::Strategy::fms, reference::Strategy::fms}};

ByteSource bytes_in_order(const std::vector<std::uint8_t>& bytes) {
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
    const auto chosen = choose(k, n, bytes_in_order(bytes));
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
            ++counts[choose(2, 4, bytes_in_order({first, 3, second}))];
            --counts[{}];
        }
    }
    EXPECT_EQ(counts.size(), 7u);
    for (const auto& [set, count] : counts) EXPECT_EQ(count, set.empty() ? -12 : 2);
}

TEST(Selection, DECO_9_at_the_ends) {
    const ByteSource none = bytes_in_order({});
    EXPECT_TRUE(choose(0, 5, none).empty());
    EXPECT_EQ(choose(1, 1, none), std::vector<std::size_t>{0}) << "nothing to draw";
    EXPECT_THROW(choose(2, 1, none), slip::InternalError);
}

TEST(Selection, DECO_10_streams_are_the_references_keystreams) {
    const slip::SelectionSeed seed = new_seed();
    EXPECT_NE(seed, new_seed());
    for (const std::uint64_t matrix : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0} - 7}) {
        reference::Keystream expected(seed, reference::Purpose::selection, matrix);
        const ByteSource stream = selection_stream(seed, matrix);
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
            to_reference(kept_part(strategy, weights.view(), k, bytes_in_order(bytes)), m, n);
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
            0, largest_rank(strategy, m, n) / (strategy == slip::Strategy::fms ? 1 : 2) + 1);
        const auto method = [&] { return Method{strategy, bytes_in_order(bytes)}; };
        const IntegerMatrix matrix = decompose(weights.view(), k, "w", method());
        RC_ASSERT(matrix.rank == kept_terms(strategy, k, m, n));
        expect_valid(matrix);
        RC_ASSERT(fits_64_bits(matrix, 32767));
        const auto part = kept_part(strategy, weights.view(), k, method().random);
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
                decompose(weights.view(), 3, "w", {strategy, bytes_in_order(bytes)});
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
        const IntegerMatrix whole = decompose(weights.view(), 1, "w", {slip::Strategy::fms, {}});
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
    EXPECT_EQ(unknowns_left(slip::Strategy::lsc, 50, 4096, 4096), 2500u);
    EXPECT_EQ(unknowns_left(slip::Strategy::rcs, 2, 10, 7), 10u);
    EXPECT_EQ(unknowns_left(slip::Strategy::norm, 2, 10, 7), 20u);
    EXPECT_EQ(unknowns_left(slip::Strategy::random, 2, 7, 10), 14u);
    EXPECT_EQ(unknowns_left(slip::Strategy::fms, 7, 10, 7), 70u);
    EXPECT_EQ(unknowns_left(slip::Strategy::fms, 0, 10, 7), 0u);
}

}  // namespace
}  // namespace slip::testing
