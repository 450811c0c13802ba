// Checkpoints whose weights lie on a grid (E-31): each row of W is W_D plus a combination of k
// known directions, and of all combinations the right one lies on the grid.
#include <algorithm>
#include <cmath>

#include "experiments/attacks/distance.hpp"
#include "experiments/attacks/linear_algebra.hpp"
#include "experiments/attacks/runs.hpp"
#include "experiments/attacks/split_matrix.hpp"
#include "optimized/split/coarse_grid.hpp"

namespace slip::attacks {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// The values of a row, up to its scale: -largest .. largest, or floats of a few bits of
/// significand of which the largest is `largest`.
struct Grid {
    const char* name;
    double largest;
    int significand_bits;  // 0: integers
    Index rank;
    Index block = 0;                  // entries that share a scale; 0: a row
    int least_exponent = -5;          // of E4M3's smallest normal numbers, 2^-6
    bool only_powers_of_two = false;  // as scales: floats that have none of their own

    double nearest(double x) const {
        double step = 1;
        if (significand_bits > 0) {
            int exponent = 0;
            std::frexp(x, &exponent);
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
        if (only_powers_of_two) return std::exp2(std::floor(std::log2(row.cwiseAbs().maxCoeff())));
        return largest == 1 ? row.cwiseAbs().mean() : row.cwiseAbs().maxCoeff() / largest;
    }
    /// The values nearest to `row`, which scales of `scaled` divide.
    VectorXd values(const VectorXd& row, const VectorXd& scaled) const {
        const Index size = block > 0 ? block : row.size();
        VectorXd found(row.size());
        for (Index at = 0; at < row.size(); at += size) {
            found.segment(at, size) =
                nearest(row.segment(at, size), level_of(scaled.segment(at, size)));
        }
        return found;
    }
    VectorXd values(const VectorXd& row) const { return values(row, row); }
    /// The row of the grid that is nearest to `row`, in its own units.
    VectorXd rounded(const VectorXd& row) const {
        const Index size = block > 0 ? block : row.size();
        VectorXd found = values(row);
        for (Index at = 0; at < row.size(); at += size) {
            found.segment(at, size) *= level_of(row.segment(at, size));
        }
        return found;
    }
};

constexpr Grid ternary{"ternary", 1, 0, 4};
constexpr Grid four_bits{"4 bits", 7, 0, 2};
constexpr Grid fp8{"FP8 (E4M3)", 448, 4, 4};
constexpr Grid eight_bits{"8 bits", 127, 0, 4};
constexpr Grid q8_0{"Q8_0", 127, 0, 4, 32};
constexpr Grid bf16{"BF16", 3.4e38, 8, 4, 0, -125, true};

MatrixXd on_grid(const MatrixXd& W, const Grid& grid) {
    MatrixXd result(W.rows(), W.cols());
    for (Index i = 0; i < W.rows(); ++i) {
        result.row(i) = grid.rounded(W.row(i).transpose()).transpose();
    }
    return result;
}

/// David's knowledge of one matrix, and the attack on its rows.
class GridAttack {
public:
    GridAttack(const MatrixXd& W_D, const Grid& grid) : W_D_(W_D), grid_(grid) {
        hidden_ = smallest_inputs(W_D, grid.rank);
    }

    /// The values of row i of W: alternates between the nearest grid row and the nearest
    /// combination for many levels, and keeps what fits best. Scales of blocks follow from their
    /// largest entries.
    VectorXd row(Index i) const {
        const VectorXd d = W_D_.row(i).transpose();
        if (grid_.block > 0) return row_of_blocks(d);
        double least = 30 / grid_.largest, most = 400 / grid_.largest;
        double ratio = grid_.largest == 1 ? 1.03 : 1.004;
        if (grid_.only_powers_of_two) least = 1, most = 2, ratio = 1.001;
        double best = INFINITY;
        VectorXd found = d;
        for (double level = least; level < most; level *= ratio) {
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
                found = nearest / level;
            }
        }
        return grid_.values(found);
    }

private:
    VectorXd row_of_blocks(const VectorXd& d) const {
        VectorXd w = d;
        for (int pass = 0; pass < 50; ++pass) {
            w = d + hidden_ * (hidden_.transpose() * (grid_.rounded(w) - d));
        }
        return grid_.values(w);
    }

    const MatrixXd& W_D_;
    const Grid& grid_;
    MatrixXd hidden_;
};

MatrixXd weights_on(const Setting& setting, const Grid& grid) {
    return on_grid(weights_of(setting, "model.layers.0.mlp.gate_proj"), grid);
}

Index same(const VectorXd& a, const VectorXd& b) { return (a.array() == b.array()).count(); }

/// What a split of the matrix gives away.
Outcome attack(const Setting& setting, const Grid& grid, const MatrixXd& W,
               Splitter splitter = paper_split) {
    const SplitMatrix split = splitter(W, static_cast<std::size_t>(grid.rank));
    const MatrixXd visible = split.davids_part();
    const GridAttack attacker(split.W_D, grid);
    const Index rows = setting.full ? W.rows() : grid.significand_bits > 0 ? 12 : 48;
    Index right = 0, by_rounding = 0;
    for (Index i = 0; i < rows; ++i) {
        const VectorXd w = W.row(i).transpose();
        right += same(grid.values(w), attacker.row(i));
        by_rounding += same(grid.values(w), grid.values(visible.row(i).transpose(), w));
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

/// The hidden split takes any grid: rows are rounded anew, and noise is added.
Outcome hidden(const Setting& setting, const Grid& grid) {
    return attack(setting, grid, weights_on(setting, grid), hidden_split);
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
Outcome q8_0_grid_product(const Setting& setting) { return with_detection(setting, q8_0); }
Outcome bf16_grid_product(const Setting& setting) { return with_detection(setting, bf16); }

Outcome ternary_grid_hidden(const Setting& setting) { return hidden(setting, ternary); }
Outcome four_bit_grid_hidden(const Setting& setting) { return hidden(setting, four_bits); }
Outcome fp8_grid_hidden(const Setting& setting) { return hidden(setting, fp8); }
Outcome eight_bit_grid_hidden(const Setting& setting) { return hidden(setting, eight_bits); }
Outcome q8_0_grid_hidden(const Setting& setting) { return hidden(setting, q8_0); }
Outcome bf16_grid_hidden(const Setting& setting) { return hidden(setting, bf16); }

}  // namespace slip::attacks
