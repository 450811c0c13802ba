#include "experiments/safety/outputs/attacker.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <map>

namespace slip::outputs {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr Index least_width = 8;    // the first singular values have gaps of their own
constexpr Index beyond_width = 64;  // how many values beyond the width are looked at

MatrixXd orthonormal(const MatrixXd& columns) {
    const Eigen::HouseholderQR<MatrixXd> qr(columns);
    return qr.householderQ() * MatrixXd::Identity(columns.rows(), columns.cols());
}

/// Without the mean of each column.
MatrixXd centred(const MatrixXd& columns) { return columns.rowwise() - columns.colwise().mean(); }

/// Eigenvectors of a symmetric matrix, the largest eigenvalue's first.
struct Eigenpairs {
    MatrixXd vectors;
    VectorXd values;
};
Eigenpairs eigenpairs(const MatrixXd& symmetric) {
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(symmetric);
    return {solver.eigenvectors().rowwise().reverse(), solver.eigenvalues().reverse()};
}

/// Orthonormal columns that nearly hold the largest left singular vectors: power iteration.
MatrixXd sketch(const MatrixXd& columns, Index size, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    MatrixXd Q = orthonormal(
        columns * MatrixXd::NullaryExpr(columns.cols(), size, [&] { return normal(random); }));
    for (int pass = 0; pass < 3; ++pass) Q = orthonormal(columns * (columns.transpose() * Q));
    return Q;
}

/// The constant vector beside the space: what columns of logits lie in.
MatrixXd with_constants(const MatrixXd& basis) {
    MatrixXd all(basis.rows(), basis.cols() + 1);
    all << basis,
        VectorXd::Constant(basis.rows(), 1 / std::sqrt(static_cast<double>(basis.rows())));
    return all;
}

/// Inputs that W maps to the largest products.
MatrixXd largest_inputs(const MatrixXd& W, Index count) {
    return eigenpairs(W.transpose() * W).vectors.leftCols(count);
}

/// Row scales up to one factor: scales W_D v lies in the space for every v of `inputs`. The sum of
/// squared distances is a quadratic form, and inverse iteration finds where it is least.
VectorXd row_scales(const MatrixXd& W_D, const MatrixXd& inputs, const MatrixXd& space) {
    const MatrixXd products = W_D * inputs;
    MatrixXd form = -(space * space.transpose());
    form.diagonal().array() += 1;
    form = form.cwiseProduct(products * products.transpose());
    form.diagonal().array() += 1e-13 * form.diagonal().mean();
    const Eigen::LLT<MatrixXd> solver(form);
    VectorXd scales = VectorXd::Ones(form.rows());
    for (int step = 0; step < 6; ++step) scales = solver.solve(scales).normalized();
    return scales;
}

double squared_cosine(const MatrixXd& found, const MatrixXd& right) {
    const double product = found.cwiseProduct(right).sum();
    const double norms = found.squaredNorm() * right.squaredNorm();
    return norms > 0 ? product * product / norms : 0;
}

using Groups = std::map<Index, std::vector<Entry>>;
Groups grouped(const std::vector<Entry>& entries, Index Entry::*by) {
    Groups groups;
    for (const Entry& entry : entries) groups[entry.*by].push_back(entry);
    return groups;
}

/// Values of a column less their mean, and the rows of `factor` that they belong to.
struct Equations {
    MatrixXd rows;
    VectorXd values;
};
Equations equations_of(const std::vector<Entry>& column, const MatrixXd& factor) {
    const auto count = static_cast<Index>(column.size());
    Equations equations{MatrixXd(count, factor.cols()), VectorXd(count)};
    for (Index i = 0; i < count; ++i) {
        const Entry& entry = column[static_cast<std::size_t>(i)];
        equations.rows.row(i) = factor.row(entry.row);
        equations.values(i) = entry.value;
    }
    equations.rows = centred(equations.rows);
    equations.values.array() -= equations.values.mean();
    return equations;
}

/// The x with the least |rows x - values|^2 + ridge |x|^2, for fewer rows than columns.
VectorXd shortest(const Equations& equations, double ridge) {
    MatrixXd gram = equations.rows * equations.rows.transpose();
    gram.diagonal().array() += ridge;
    return equations.rows.transpose() * gram.ldlt().solve(equations.values);
}

}  // namespace

Space space_of(const MatrixXd& logits, Index width, std::mt19937_64& random) {
    const MatrixXd columns = centred(logits);
    const Index size = std::min({columns.cols(), columns.rows() - 1, width + beyond_width});
    const MatrixXd Q = sketch(columns, size, random);
    const MatrixXd inner = Q.transpose() * columns;
    const Eigenpairs pairs = eigenpairs(inner * inner.transpose());
    const VectorXd singular = pairs.values.cwiseMax(0).cwiseSqrt();
    const double floor = singular(0) * 1e-9;  // below it double precision has nothing to say
    Space space{Q * pairs.vectors.leftCols(std::min(width, size)), 0, 0, 0};
    for (Index i = least_width; i < size * 9 / 10; ++i) {
        const double gap = (singular(i - 1) + floor) / (singular(i) + floor);
        if (i == width) space.gap_at_width = gap;
        if (gap > space.gap) space.gap = gap, space.found_width = i;
    }
    return space;
}

namespace {

/// Tokens and states of which all pairs are known.
struct Block {
    std::vector<Index> rows, columns;
    std::size_t least() const { return std::min(rows.size(), columns.size()); }
};

/// The tokens that `share` of the states know, and the states that know all of these.
Block block_known(const MatrixXd& known, double share) {
    Block block;
    for (Index i = 0; i < known.rows(); ++i) {
        if (known.row(i).mean() >= share) block.rows.push_back(i);
    }
    for (Index j = 0; j < known.cols(); ++j) {
        const bool all = std::all_of(block.rows.begin(), block.rows.end(),
                                     [&](Index i) { return known(i, j) == 1; });
        if (all) block.columns.push_back(j);
    }
    return block;
}

/// The one with the most of both.
Block largest_block(const MatrixXd& known) {
    Block best;
    for (const double share : {1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.6, 0.4}) {
        const Block block = block_known(known, share);
        if (block.least() > best.least()) best = block;
    }
    return best;
}

/// One token's row from the states that know it, as a combination of coordinates (states x width).
VectorXd row_from(const MatrixXd& coordinates, const VectorXd& values, const VectorXd& known) {
    std::vector<Index> at;
    for (Index j = 0; j < known.size(); ++j) {
        if (known(j) == 1) at.push_back(j);
    }
    const MatrixXd rows = coordinates(at, Eigen::all);
    return coordinates * rows.colPivHouseholderQr().solve(values(at));
}

}  // namespace

Completed completed(const std::vector<Entry>& entries, Index rows, Index columns, Index width) {
    MatrixXd values = MatrixXd::Zero(rows, columns), known = values;
    for (const Entry& entry : entries) {
        values(entry.row, entry.column) = entry.value;
        known(entry.row, entry.column) = 1;
    }
    const Block block = largest_block(known);
    if (static_cast<Index>(block.least()) <= width) return {};
    Completed result{{}, values(block.rows, block.columns), {}, block.columns};
    const MatrixXd common = centred(result.common);
    const MatrixXd coordinates = eigenpairs(common.transpose() * common).vectors.leftCols(width);
    const MatrixXd relative =
        values(Eigen::all, block.columns).rowwise() - result.common.colwise().mean();
    const MatrixXd kept = known(Eigen::all, block.columns);
    const double enough =
        std::max<double>(static_cast<double>(width), static_cast<double>(kept.cols()) / 2);
    for (Index i = 0; i < rows; ++i) {
        if (kept.row(i).sum() >= enough) result.rows.push_back(i);
    }
    result.logits.resize(static_cast<Index>(result.rows.size()), relative.cols());
    for (Index at = 0; at < result.logits.rows(); ++at) {
        const Index i = result.rows[static_cast<std::size_t>(at)];
        result.logits.row(at) =
            row_from(coordinates, relative.row(i).transpose(), kept.row(i).transpose()).transpose();
    }
    return result;
}

MatrixXd clipped(const std::vector<Entry>& entries, Index rows, Index columns) {
    MatrixXd logits = MatrixXd::Zero(rows, columns);
    for (const auto& [column, known] : grouped(entries, &Entry::column)) {
        const double least =
            std::min_element(known.begin(), known.end(), [](const Entry& a, const Entry& b) {
                return a.value < b.value;
            })->value;
        // Something above the bound, so that one entry alone counts too.
        for (const Entry& entry : known) logits(entry.row, column) = entry.value - least + 1;
    }
    return logits;
}

MatrixXd left_factor(const std::vector<Entry>& entries, Index rows, Index columns,
                     const MatrixXd& start) {
    constexpr double ridge = 1e-2;
    constexpr int passes = 12;
    const Groups by_column = grouped(entries, &Entry::column);
    const Groups by_row = grouped(entries, &Entry::row);
    MatrixXd left = start;
    MatrixXd right = MatrixXd::Zero(start.cols(), columns);
    VectorXd constant = VectorXd::Zero(columns);
    for (int pass = 0; pass < passes; ++pass) {
        for (const auto& [column, known] : by_column) {
            right.col(column) = shortest(equations_of(known, left), ridge);
            double sum = 0;
            for (const Entry& entry : known) {
                sum += entry.value - left.row(entry.row).dot(right.col(column));
            }
            constant(column) = sum / static_cast<double>(known.size());
        }
        for (const auto& [row, known] : by_row) {
            MatrixXd factors(static_cast<Index>(known.size()), start.cols());
            VectorXd values(factors.rows());
            for (Index i = 0; i < factors.rows(); ++i) {
                const Entry& entry = known[static_cast<std::size_t>(i)];
                factors.row(i) = right.col(entry.column).transpose();
                values(i) = entry.value - constant(entry.column);
            }
            MatrixXd gram = factors.transpose() * factors;
            gram.diagonal().array() += ridge;
            left.row(row) = gram.llt().solve(factors.transpose() * values).transpose();
        }
    }
    return left.topRows(rows);
}

Nearness nearness(const MatrixXd& head, const MatrixXd& basis) {
    const MatrixXd right = orthonormal(centred(head));
    const MatrixXd cosines = right.transpose() * basis;
    const VectorXd squares = eigenpairs(cosines * cosines.transpose()).values;
    return {squares.mean(), (squares.array() >= 0.9).count()};
}

double share_of_states(const MatrixXd& logits, const Space& space, const MatrixXd& davids,
                       Index rank, const MatrixXd& hidden) {
    const MatrixXd C = with_constants(space.basis);
    MatrixXd V = largest_inputs(davids, davids.cols() - rank);
    MatrixXd R;
    for (int pass = 0; pass < 3; ++pass) {
        R = row_scales(davids, V, C).asDiagonal() * davids;
        const MatrixXd outside = R - C * (C.transpose() * R);
        V = eigenpairs(-(outside.transpose() * outside)).vectors.leftCols(V.cols());
    }
    const MatrixXd found = with_constants(R * V).colPivHouseholderQr().solve(logits);
    return squared_cosine(found.topRows(V.cols()), V.transpose() * hidden);
}

double share_of_states(const std::vector<Entry>& entries, const Head& head,
                       const MatrixXd& hidden) {
    const MatrixXd R = head.row_scale.asDiagonal() * head.davids;
    MatrixXd found = MatrixXd::Zero(hidden.rows(), hidden.cols());
    const double ridge = 1e-6 * R.rowwise().squaredNorm().mean();
    for (const auto& [column, known] : grouped(entries, &Entry::column)) {
        found.col(column) = shortest(equations_of(known, R), ridge);
    }
    return squared_cosine(found, hidden);
}

}  // namespace slip::outputs
