// Ranks that leak least for the work that they cost: spec/decomposition.md, DECO-12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slip::splitting {

/// A matrix as the allocation sees it. It has every rank below min(m, n) (DECO-2).
struct RankedMatrix {
    std::vector<double> squares;  // of the min(m, n) singular values, falling, not negative
    double weight = 1;            // w, not negative
    std::uint64_t cost = 1;       // of every unit of rank, at least 1
};

/// One rank per matrix.
using RankList = std::vector<std::size_t>;

/// The beginnings of DECO-12's list of components. Of all ranks with at most the work of a
/// beginning, none leak less.
class RankAllocation {
public:
    /// Throws InternalError for squares that rise or are negative, a negative weight, a cost of 0,
    /// and if the weights of all matrices that are not zero are 0: then leakage means nothing.
    explicit RankAllocation(std::vector<RankedMatrix> matrices);

    /// The longest beginning whose work is at most `work`.
    RankList within(std::uint64_t work) const;
    /// The shortest beginning whose leakage is at most `leakage`; nothing if no ranks get there.
    std::optional<RankList> for_leakage(double leakage) const;

    /// 0 to 1: the weighted share of the squared singular values that is not kept. Each rank is
    /// below its matrix's min(m, n).
    double leakage(std::span<const std::size_t> ranks) const;
    /// sum of rank times cost.
    std::uint64_t work(std::span<const std::size_t> ranks) const;

private:
    struct Unit {
        std::size_t matrix = 0;
        double gain_per_cost = 0;
    };
    void append_units(std::size_t matrix, double scale);
    RankList beginning(std::size_t units) const;

    std::vector<RankedMatrix> matrices_;
    std::vector<std::vector<double>> left_;  // leakage of matrix i at rank k: left_[i][k]
    std::vector<Unit> units_;                // in the list's order
};

}  // namespace slip::splitting
