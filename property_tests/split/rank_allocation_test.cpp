// Planned ranks (DECO-12) against a search through all of them.
#include "optimized/split/rank_allocation.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "optimized/base/error.hpp"

namespace slip::testing {
namespace {

using namespace splitting;
constexpr double rounding = 1e-12;
using Matrices = std::vector<RankedMatrix>;

/// A number from least to most, all of them as likely from the first case on.
rc::Gen<int> any_of(int least, int most) {
    return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(least, most + 1));
}

/// Few enough that all ranks can be tried. The first matrix counts, so that leakage is defined.
/// `costs` is the range of what a unit of rank costs.
Matrices draw_matrices(int least_cost, int largest_cost) {
    Matrices matrices(static_cast<std::size_t>(*any_of(1, 4)));
    for (RankedMatrix& matrix : matrices) {
        auto squares = *rc::gen::container<std::vector<int>>(
            static_cast<std::size_t>(*any_of(1, 5)), any_of(0, 20));
        std::sort(squares.begin(), squares.end(), std::greater<>());
        matrix.squares.assign(squares.begin(), squares.end());
        matrix.weight = *any_of(0, 6) / 2.0;
        matrix.cost = static_cast<std::uint64_t>(*any_of(least_cost, largest_cost));
    }
    matrices.front().squares.front() += 1;
    matrices.front().weight += 1;
    return matrices;
}

/// DECO-12, as it is written.
double leakage_of(const Matrices& matrices, const RankList& ranks) {
    double sum = 0;
    double weights = 0;
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        const std::vector<double>& squares = matrices[i].squares;
        const double total = std::accumulate(squares.begin(), squares.end(), 0.0);
        if (total == 0) continue;
        double left = 0;
        for (std::size_t c = ranks[i]; c < squares.size(); ++c) left += squares[c];
        sum += matrices[i].weight * left / total;
        weights += matrices[i].weight;
    }
    return sum / weights;
}

std::uint64_t work_of(const Matrices& matrices, const RankList& ranks) {
    std::uint64_t work = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) work += ranks[i] * matrices[i].cost;
    return work;
}

/// Calls use(ranks) for all ranks below min(m, n).
void for_all_ranks(const Matrices& matrices, const std::function<void(const RankList&)>& use) {
    RankList ranks(matrices.size(), 0);
    while (true) {
        use(ranks);
        std::size_t i = 0;
        for (; i < ranks.size() && ranks[i] + 1 == matrices[i].squares.size(); ++i) ranks[i] = 0;
        if (i == ranks.size()) return;
        ++ranks[i];
    }
}

std::uint64_t work_of_all(const Matrices& matrices) {
    std::uint64_t work = 0;
    for (const RankedMatrix& matrix : matrices) work += (matrix.squares.size() - 1) * matrix.cost;
    return work;
}

/// At index w the least leakage of all ranks whose work is at most w.
std::vector<double> least_leakages(const Matrices& matrices) {
    std::vector<double> least(work_of_all(matrices) + 1, std::numeric_limits<double>::infinity());
    for_all_ranks(matrices, [&](const RankList& ranks) {
        double& of_work = least[work_of(matrices, ranks)];
        of_work = std::min(of_work, leakage_of(matrices, ranks));
    });
    std::partial_sum(least.begin(), least.end(), least.begin(),
                     [](double a, double b) { return std::min(a, b); });
    return least;
}

/// The largest gain of one more unit of rank, 0 if none is left.
double largest_next_gain(const Matrices& matrices, RankList ranks) {
    const double now = leakage_of(matrices, ranks);
    double largest = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        if (ranks[i] + 1 == matrices[i].squares.size()) continue;
        ++ranks[i];
        largest = std::max(largest, now - leakage_of(matrices, ranks));
        --ranks[i];
    }
    return largest;
}

RC_GTEST_PROP(RankAllocation, DECO_12_leakage_and_work_are_the_clauses, ()) {
    const Matrices matrices = draw_matrices(1, 5);
    const RankAllocation allocation(matrices);
    for_all_ranks(matrices, [&](const RankList& ranks) {
        RC_ASSERT(std::abs(allocation.leakage(ranks) - leakage_of(matrices, ranks)) < rounding);
        RC_ASSERT(allocation.work(ranks) == work_of(matrices, ranks));
    });
}

RC_GTEST_PROP(RankAllocation, DECO_12_no_ranks_of_as_much_work_leak_less, ()) {
    const Matrices matrices = draw_matrices(1, 5);
    const std::vector<double> least = least_leakages(matrices);
    const RankAllocation allocation(matrices);
    for (std::uint64_t most = 0; most < least.size(); ++most) {
        const RankList ranks = allocation.within(most);
        const std::uint64_t work = work_of(matrices, ranks);
        const double leakage = leakage_of(matrices, ranks);
        RC_ASSERT(work <= most);
        RC_ASSERT(leakage <= least[work] + rounding);
        // The next component did not fit, so what is better for `most` gains less than it does.
        RC_ASSERT(leakage <= least[most] + largest_next_gain(matrices, ranks) + rounding);
    }
    RC_ASSERT(leakage_of(matrices, allocation.within(UINT64_MAX)) <= least.back() + rounding);
}

/// Where every unit costs the same, nothing is left over that a better plan could use.
RC_GTEST_PROP(RankAllocation, DECO_12_equal_costs_give_the_best_ranks_for_any_work, ()) {
    const int cost = *any_of(1, 4);
    const Matrices matrices = draw_matrices(cost, cost);
    const std::vector<double> least = least_leakages(matrices);
    const RankAllocation allocation(matrices);
    for (std::uint64_t most = 0; most < least.size(); ++most) {
        const RankList ranks = allocation.within(most);
        RC_ASSERT(work_of(matrices, ranks) <= most);
        RC_ASSERT(leakage_of(matrices, ranks) <= least[most] + rounding);
    }
}

RC_GTEST_PROP(RankAllocation, DECO_12_the_shortest_beginning_that_leaks_so_little, ()) {
    const Matrices matrices = draw_matrices(1, 5);
    const double wanted = *any_of(0, 64) / 64.0;
    const std::vector<double> least = least_leakages(matrices);
    const RankAllocation allocation(matrices);

    const auto ranks = allocation.for_leakage(wanted);

    if (!ranks) {
        RC_ASSERT(least.back() > wanted - rounding);
        return;
    }
    const std::uint64_t work = work_of(matrices, *ranks);
    RC_ASSERT(leakage_of(matrices, *ranks) <= wanted + rounding);
    RC_ASSERT(leakage_of(matrices, *ranks) <= least[work] + rounding);
    if (work == 0) return;
    RC_ASSERT(allocation.leakage(allocation.within(work - 1)) > wanted);
}

/// A component that gains more may cost more than it is worth, and a large one may not count.
TEST(RankAllocation, DECO_12_gain_is_weighed_by_cost_and_by_weight) {
    const RankAllocation by_cost({{{6, 1}, 1, 10}, {{5, 5}, 1, 1}});
    EXPECT_EQ(by_cost.within(10), (RankList{0, 1}));
    EXPECT_EQ(by_cost.within(11), (RankList{1, 1}));
    const RankAllocation by_weight({{{9, 1}, 0.1, 1}, {{5, 5}, 1, 1}, {{9, 1}, 0, 1}});
    EXPECT_EQ(by_weight.within(1), (RankList{0, 1, 0}));
    EXPECT_EQ(by_weight.within(100), (RankList{1, 1, 0}));  // what gains nothing is not kept
}

TEST(RankAllocation, DECO_12_a_leakage_that_is_met_exactly) {
    const RankAllocation allocation({{{4, 4, 4, 4}, 1, 1}});
    EXPECT_EQ(allocation.for_leakage(1), RankList{0});
    EXPECT_EQ(allocation.for_leakage(0.5), RankList{2});
    EXPECT_EQ(allocation.for_leakage(0.25), RankList{3});
    EXPECT_EQ(allocation.for_leakage(0.24), std::nullopt);
}

/// Among equal components the first matrix's is chosen.
TEST(RankAllocation, DECO_12_equal_components) {
    const RankAllocation allocation({{{2, 2, 2}, 1, 3}, {{2, 2, 2}, 1, 3}});
    EXPECT_EQ(allocation.within(8), (RankList{2, 0}));
    EXPECT_EQ(allocation.within(9), (RankList{2, 1}));
}

TEST(RankAllocation, DECO_12_what_has_no_meaning_is_refused) {
    EXPECT_THROW(RankAllocation({{{1, 2}, 1, 1}}), InternalError);
    EXPECT_THROW(RankAllocation({{{1, -1}, 1, 1}}), InternalError);
    EXPECT_THROW(RankAllocation({{{}, 1, 1}}), InternalError);
    EXPECT_THROW(RankAllocation({{{1}, -1, 1}}), InternalError);
    EXPECT_THROW(RankAllocation({{{1}, 1, 0}}), InternalError);
    EXPECT_THROW(RankAllocation({{{0, 0}, 1, 1}, {{1}, 0, 1}}), InternalError);
    EXPECT_THROW(RankAllocation({{{1, 1}, 1, 1}}).leakage(RankList{2}), InternalError);
    EXPECT_THROW(RankAllocation({{{1, 1}, 1, 1}}).work(RankList{}), InternalError);
}

}  // namespace
}  // namespace slip::testing
