// Checkpoints whose weights lie on a grid (E-31): each row of W is W_D plus a combination of k
// known directions, and of all combinations the right one lies on the grid.
#include <algorithm>
#include <cmath>

#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/measure.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/split/coarse_grid.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The values of a row, up to its scale: -largest .. largest, or floats with so many bits of
/// significand of which the largest is `largest`.
struct Grid {
    const char* name;
    double largest;
    int significand_bits;  // 0: integers
    Index rank;

    double nearest(double x) const {
        double step = 1;
        if (significand_bits > 0) {
            int exponent = 0;
            std::frexp(x, &exponent);
            constexpr int least_exponent = -5;  // of E4M3's smallest normal numbers, 2^-6
            step = std::ldexp(1, std::max(exponent, least_exponent) - significand_bits);
        }
        return std::clamp(step * std::nearbyint(x / step), -largest, largest);
    }
    VectorXd nearest(const VectorXd& row, double level) const {
        return row.unaryExpr([&](double x) { return nearest(x / level); });
    }
    /// The level for a row of which `largest_entry` is the greatest magnitude. Ternary grids have
    /// the mean magnitude, as their training does.
    double level_of(const VectorXd& row) const {
        return largest == 1 ? row.cwiseAbs().mean() : row.cwiseAbs().maxCoeff() / largest;
    }
};

constexpr Grid ternary{"ternary", 1, 0, 4};
constexpr Grid four_bits{"4 bits", 7, 0, 2};
constexpr Grid fp8{"FP8 (E4M3)", 448, 4, 4};
constexpr Grid eight_bits{"8 bits", 127, 0, 4};

MatrixXd on_grid(const MatrixXd& W, const Grid& grid) {
    MatrixXd result(W.rows(), W.cols());
    for (Index i = 0; i < W.rows(); ++i) {
        const double level = grid.level_of(W.row(i).transpose());
        result.row(i) = level * grid.nearest(W.row(i).transpose(), level).transpose();
    }
    return result;
}

/// David's knowledge of one matrix, and the attack on its rows.
class GridAttack {
public:
    GridAttack(const MatrixXd& W_D, const Grid& grid) : W_D_(W_D), grid_(grid) {
        hidden_ = smallest_inputs(W_D, grid.rank);
    }

    /// Row i of W up to a factor: alternates between the nearest grid row and the nearest
    /// combination for many levels, and keeps what fits best.
    VectorXd row(Index i) const {
        const VectorXd d = W_D_.row(i).transpose();
        const double least = 30 / grid_.largest, most = 400 / grid_.largest;
        double best = INFINITY;
        VectorXd found = d;
        for (double level = least; level < most; level *= grid_.largest == 1 ? 1.03 : 1.004) {
            VectorXd w = d, nearest;
            for (int pass = 0; pass < 12; ++pass) {
                const VectorXd next = level * grid_.nearest(w, level);
                if (pass > 0 && next == nearest) break;
                nearest = next;
                w = d + hidden_ * (hidden_.transpose() * (nearest - d));
            }
            const double distance = (w - nearest).norm() / level;
            if (distance < best) {
                best = distance;
                found = nearest;
            }
        }
        return found;
    }

private:
    const MatrixXd& W_D_;
    const Grid& grid_;
    MatrixXd hidden_;
};

MatrixXd weights_on(const Setting& setting, const Grid& grid) {
    return on_grid(weights_of(setting, "model.layers.0.mlp.gate_proj"), grid);
}

Index same(const VectorXd& a, const VectorXd& b) { return (a.array() == b.array()).count(); }

/// What a split of the matrix gives away.
Outcome attack(const Setting& setting, const Grid& grid, const MatrixXd& W) {
    const SplitMatrix split = split_matrix(W, static_cast<std::size_t>(grid.rank));
    const MatrixXd visible = split.davids_part();
    const GridAttack attacker(split.W_D, grid);
    const Index rows = setting.full ? W.rows() : grid.significand_bits > 0 ? 12 : 48;
    Index right = 0, by_rounding = 0;
    for (Index i = 0; i < rows; ++i) {
        const VectorXd w = W.row(i).transpose();
        const VectorXd found = attacker.row(i);
        const VectorXd values = grid.nearest(w, grid.level_of(w));
        const VectorXd rounded = grid.nearest(visible.row(i).transpose(), grid.level_of(w));
        right += same(values, grid.nearest(found, grid.level_of(found)));
        by_rounding += same(values, rounded);
    }
    const auto entries = static_cast<double>(rows * W.cols());
    return {1 - static_cast<double>(right) / entries, 0.5, static_cast<std::uint64_t>(rows),
            std::string(grid.name) + ", k = " + std::to_string(grid.rank) + ", " +
                figure(100 * splitting::distinct_share(view_of(W.cast<float>()))) +
                " % of neighbours differ; rounding W_D at the true levels leaves " +
                figure(1 - static_cast<double>(by_rounding) / entries) + " wrong"};
}

Outcome without_detection(const Setting& setting, const Grid& grid) {
    return attack(setting, grid, weights_on(setting, grid));
}

Outcome with_detection(const Setting& setting, const Grid& grid) {
    const MatrixXd W = weights_on(setting, grid);
    try {
        splitting::require_fine_grid(view_of(W.cast<float>()), grid.name);
    } catch (const BadInput&) {
        return {1, 0.5, 1, "the split is refused"};
    }
    return attack(setting, grid, W);
}

}  // namespace

Outcome ternary_grid_twin(const Setting& setting) { return without_detection(setting, ternary); }
Outcome ternary_grid_product(const Setting& setting) { return with_detection(setting, ternary); }
Outcome four_bit_grid_twin(const Setting& setting) { return without_detection(setting, four_bits); }
Outcome four_bit_grid_product(const Setting& setting) { return with_detection(setting, four_bits); }
Outcome fp8_grid_product(const Setting& setting) { return with_detection(setting, fp8); }
Outcome eight_bit_grid_product(const Setting& setting) {
    return with_detection(setting, eight_bits);
}

}  // namespace slip::attacks
