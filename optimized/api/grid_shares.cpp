#include "optimized/api/grid_shares.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/import/checkpoint.hpp"
#include "optimized/split/coarse_grid.hpp"

namespace slip::api {
namespace {

using importing::Checkpoint;

Checkpoint open(const std::filesystem::path& path, const artifact::CharlieArtifact& charlie) {
    return charlie.network() ? Checkpoint(path) : Checkpoint(path, charlie.config().attention);
}

/// Whether a row is delta (2^t W_D + A B) up to rounding: half a step of W_D, and what the factors
/// of strategies that leave whole columns out may be wrong by.
bool is_first_row(std::span<const float> row, const artifact::CharlieMember& member,
                  std::span<const std::int8_t> residual) {
    const double delta = member.row_scale.front();
    const double step = std::ldexp(delta, base::parameters::residual_shift);
    double largest = 0;
    double error = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
        double rebuilt = step * residual[j];
        for (std::size_t c = 0; c < member.rank; ++c) {
            rebuilt += delta * static_cast<double>(member.a(0, c)) * member.b.row(c)[j];
        }
        largest = std::max(largest, std::abs(double{row[j]}));
        error = std::max(error, std::abs(rebuilt - double{row[j]}));
    }
    return error <= step + largest / 16;
}

}  // namespace

std::vector<double> grid_shares(const std::filesystem::path& path,
                                const artifact::CharlieArtifact& charlie,
                                const kernels::OffloadedWeights& davids) {
    const Checkpoint checkpoint = open(path, charlie);
    std::vector<double> shares;
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const artifact::CharlieGroup& group = charlie.groups()[g];
        std::size_t first_row = 0;
        for (const artifact::CharlieMember& member : group.members) {
            const std::vector<float> weights = checkpoint.matrix(member.shape, group.n);
            if (!is_first_row(std::span(weights).first(group.n), member,
                              davids[g].row(first_row))) {
                throw BadInput(path.string() + ": " + member.shape.name() +
                               " is not the matrix that was split: expected the checkpoint from "
                               "which the artifact was made");
            }
            shares.push_back(splitting::distinct_share({weights.data(), member.shape.m, group.n}));
            first_row += member.shape.m;
            checkpoint.forget_pages();
        }
    }
    return shares;
}

}  // namespace slip::api
