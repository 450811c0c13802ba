// Plans from measurements: spec/decomposition.md, DECO-12.
#include "slip/planning.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/split/rank_allocation.hpp"

namespace slip {
namespace {

using splitting::RankAllocation;
using splitting::RankedMatrix;
using splitting::RankList;

double weight_of(const MeasuredMatrix& matrix, const std::vector<double>& bypass_losses) {
    if (bypass_losses.empty()) return 1;
    if (matrix.block >= bypass_losses.size()) {
        throw BadInput("the measurements have no bypass loss of block " +
                       std::to_string(matrix.block));
    }
    return std::max(bypass_losses[matrix.block], 0.0);
}

RankAllocation allocation_for(const CheckpointMeasurements& measurements) {
    std::vector<RankedMatrix> matrices;
    bool counts = false;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        matrices.push_back({matrix.squared_singular_values,
                            weight_of(matrix, measurements.bypass_losses), matrix.work_per_rank});
        const RankedMatrix& added = matrices.back();
        counts = counts || (added.weight > 0 && !added.squares.empty() && added.squares[0] > 0);
    }
    if (!counts) {
        throw BadInput(measurements.bypass_losses.empty()
                           ? "every matrix of the blocks is zero: there is nothing to plan"
                           : "the text's loss does not rise without any of the blocks: expected a "
                             "text that the model predicts well");
    }
    return RankAllocation(std::move(matrices));
}

std::size_t largest_rank(const MeasuredMatrix& matrix) {
    return std::max<std::size_t>(matrix.squared_singular_values.size(), 1) - 1;
}

/// What a plan keeps nothing of is not in it (DECO-6).
Plan plan_from(const CheckpointMeasurements& measurements, const RankList& ranks) {
    Plan plan;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const MeasuredMatrix& matrix = measurements.matrices[i];
        if (ranks[i] > 0) plan.push_back({matrix.block, matrix.layer_type, ranks[i]});
    }
    if (plan.empty()) {
        throw BadInput("a plan for this target keeps nothing: David would hold the whole model");
    }
    return plan;
}

void require_share(const char* name, double value) {
    if (value >= 0 && value <= 1) return;
    throw BadInput(std::string(name) + " " + std::to_string(value) +
                   ": expected a number from 0 to 1");
}

std::uint64_t work_of_uniform(const CheckpointMeasurements& measurements, std::size_t rank) {
    std::uint64_t work = 0;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        work += std::min(rank, largest_rank(matrix)) * matrix.work_per_rank;
    }
    return work;
}

double offload_at(std::uint64_t work, const CheckpointMeasurements& measurements) {
    return 1 - static_cast<double>(work) / static_cast<double>(measurements.multiplications);
}

/// The most work that leaves David this share, whichever way the quotient is rounded.
std::uint64_t work_at(double offload, const CheckpointMeasurements& measurements) {
    const double most = (1 - offload) * static_cast<double>(measurements.multiplications);
    auto work = static_cast<std::uint64_t>(most) + 1;
    while (work > 0 && offload_at(work, measurements) < offload) --work;
    return work;
}

using LayerName = std::pair<std::size_t, std::string>;

RankList ranks_in(const CheckpointMeasurements& measurements, const Plan& plan) {
    std::map<LayerName, std::size_t> places;
    for (std::size_t i = 0; i < measurements.matrices.size(); ++i) {
        places[{measurements.matrices[i].block, measurements.matrices[i].layer_type}] = i;
    }
    RankList ranks(measurements.matrices.size(), 0);
    std::vector<bool> named(ranks.size(), false);
    for (const PlanTriplet& triplet : plan) {
        const std::string block = triplet.block ? std::to_string(*triplet.block) : "null";
        const std::string name = "[" + block + ", \"" + triplet.layer_type + "\"]";
        const auto found =
            triplet.block ? places.find({*triplet.block, triplet.layer_type}) : places.end();
        if (found == places.end()) {
            throw BadInput("the plan names " + name + ", which was not measured");
        }
        if (named[found->second]) throw BadInput("the plan names " + name + " twice");
        named[found->second] = true;
        ranks[found->second] =
            std::min(triplet.rank, largest_rank(measurements.matrices[found->second]));
    }
    return ranks;
}

}  // namespace

Plan plan_for_offload(const CheckpointMeasurements& measurements, double offload) {
    require_share("offload", offload);
    return plan_from(measurements,
                     allocation_for(measurements).within(work_at(offload, measurements)));
}

Plan plan_for_leakage(const CheckpointMeasurements& measurements, double leakage) {
    require_share("leakage", leakage);
    const RankAllocation allocation = allocation_for(measurements);
    if (const auto ranks = allocation.for_leakage(leakage)) return plan_from(measurements, *ranks);
    const double least = allocation.leakage(allocation.within(UINT64_MAX));
    throw BadInput("leakage " + std::to_string(leakage) +
                   ": no plan leaks so little; the least is " + std::to_string(least));
}

Plan plan_for_uniform_work(const CheckpointMeasurements& measurements, std::size_t rank) {
    return plan_from(measurements,
                     allocation_for(measurements).within(work_of_uniform(measurements, rank)));
}

Plan uniform_plan(const CheckpointMeasurements& measurements, std::size_t rank) {
    RankList ranks;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        ranks.push_back(std::min(rank, largest_rank(matrix)));
    }
    return plan_from(measurements, ranks);
}

std::size_t uniform_rank(const CheckpointMeasurements& measurements, std::uint64_t work) {
    std::size_t largest = 0;
    for (const MeasuredMatrix& matrix : measurements.matrices) {
        largest = std::max(largest, largest_rank(matrix));
    }
    std::size_t rank = 0;
    while (rank < largest && work_of_uniform(measurements, rank) < work) ++rank;
    return rank;
}

PlanFigures figures_of(const CheckpointMeasurements& measurements, const Plan& plan) {
    const RankAllocation allocation = allocation_for(measurements);
    const RankList ranks = ranks_in(measurements, plan);
    PlanFigures figures;
    figures.work = allocation.work(ranks);
    figures.offload = offload_at(figures.work, measurements);
    figures.leakage = allocation.leakage(ranks);
    figures.charlie = measurements.charlie_at_rank_0 + figures.work;
    figures.whole = static_cast<std::size_t>(std::count(ranks.begin(), ranks.end(), 0));
    return figures;
}

}  // namespace slip
