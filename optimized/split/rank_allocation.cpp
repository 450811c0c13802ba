#include "optimized/split/rank_allocation.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "optimized/base/error.hpp"

namespace slip::splitting {
namespace {

using base::require;

/// sum_{c > k} squares[c] for k = 0, 1, ..., the smallest added up first.
std::vector<double> tails(const std::vector<double>& squares) {
    std::vector<double> sums(squares.size());
    std::partial_sum(squares.rbegin(), squares.rend(), sums.rbegin());
    return sums;
}

void require_usable(const RankedMatrix& matrix) {
    const std::vector<double>& squares = matrix.squares;
    require(!squares.empty() && squares.back() >= 0 &&
                std::is_sorted(squares.begin(), squares.end(), std::greater<>()),
            "RankAllocation: squared singular values must fall and not be negative");
    require(matrix.weight >= 0 && matrix.cost >= 1,
            "RankAllocation: a weight must not be negative, a cost not 0");
}

}  // namespace

// DECO-12. A component's gain falls within its matrix and its cost does not change, so sorting by
// gain per cost never puts a component before a larger one of the same matrix.
RankAllocation::RankAllocation(std::vector<RankedMatrix> matrices)
    : matrices_(std::move(matrices)) {
    double weights = 0;
    for (const RankedMatrix& matrix : matrices_) {
        require_usable(matrix);
        left_.push_back(tails(matrix.squares));
        if (left_.back().front() > 0) weights += matrix.weight;
    }
    require(weights > 0, "RankAllocation: every weight is 0");
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
        const double total = left_[i].front();
        const double scale = total > 0 ? matrices_[i].weight / weights / total : 0;
        for (double& left : left_[i]) left *= scale;
        append_units(i, scale);
    }
    std::stable_sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) {
        return a.gain_per_cost > b.gain_per_cost;
    });
}

/// Every component but the last, which no rank keeps (DECO-2), and those that gain nothing.
void RankAllocation::append_units(std::size_t matrix, double scale) {
    const RankedMatrix& own = matrices_[matrix];
    for (std::size_t c = 0; c + 1 < own.squares.size(); ++c) {
        const double gain = scale * own.squares[c];
        if (gain > 0) units_.push_back({matrix, gain / static_cast<double>(own.cost)});
    }
}

RankList RankAllocation::beginning(std::size_t units) const {
    RankList ranks(matrices_.size(), 0);
    for (std::size_t u = 0; u < units; ++u) ++ranks[units_[u].matrix];
    return ranks;
}

RankList RankAllocation::within(std::uint64_t work) const {
    std::size_t units = 0;
    for (; units < units_.size(); ++units) {
        const std::uint64_t cost = matrices_[units_[units].matrix].cost;
        if (cost > work) break;
        work -= cost;
    }
    return beginning(units);
}

std::optional<RankList> RankAllocation::for_leakage(double wanted) const {
    std::size_t enough = units_.size();
    if (leakage(beginning(enough)) > wanted) return std::nullopt;
    std::size_t short_of = 0;  // no beginning before this one is long enough
    while (short_of < enough) {
        const std::size_t middle = short_of + (enough - short_of) / 2;
        if (leakage(beginning(middle)) <= wanted) {
            enough = middle;
        } else {
            short_of = middle + 1;
        }
    }
    return beginning(enough);
}

double RankAllocation::leakage(std::span<const std::size_t> ranks) const {
    require(ranks.size() == matrices_.size(), "RankAllocation: one rank per matrix");
    double sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        require(ranks[i] < left_[i].size(), "RankAllocation: a rank is not below min(m, n)");
        sum += left_[i][ranks[i]];
    }
    return sum;
}

std::uint64_t RankAllocation::work(std::span<const std::size_t> ranks) const {
    require(ranks.size() == matrices_.size(), "RankAllocation: one rank per matrix");
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += ranks[i] * matrices_[i].cost;
    return sum;
}

}  // namespace slip::splitting
