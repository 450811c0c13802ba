// INSECURE, for demonstration only.
#include "reference/insecure/exposed_span.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error.hpp"
#include "reference/factorizations.hpp"

namespace slip::reference::insecure {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct TernaryFit {
    double distance = std::numeric_limits<double>::infinity();  // in levels
    VectorXd row;
};

/// A row of W that is `level` times a ternary row, and d + V y.
TernaryFit fit_ternary(const VectorXd& d, const MatrixXd& V, double level) {
    constexpr int passes = 12;
    VectorXd w = d;
    VectorXd row = VectorXd::Zero(d.size());
    for (int pass = 0; pass < passes; ++pass) {
        const VectorXd nearest = (w / level).unaryExpr(
            [](double x) { return std::clamp(std::nearbyint(x), -1.0, 1.0); });
        if (pass > 0 && nearest == row) break;
        row = nearest;
        w = d + V * (V.transpose() * (level * row - d));
    }
    return {(w - level * row).norm() / level, row};
}

/// An orthonormal basis of the column space of Z, of dimension `rank`.
MatrixXd column_space(const MatrixXd& Z, Index rank) {
    return right_singular_vectors(Z.transpose()).leftCols(rank);
}

}  // namespace

MatrixXd hidden_right_span(const MatrixXd& W_D, Index k) {  // E-9
    require(W_D.rows() >= W_D.cols(), "the matrix has at least as many rows as columns");
    require(k >= 1 && k <= W_D.cols(), "k is in 1 .. n");
    return right_singular_vectors(W_D).rightCols(k);
}

MatrixXd recover_ternary(const MatrixXd& W_D, Index k) {  // E-31
    const MatrixXd V = hidden_right_span(W_D, k);
    MatrixXd T(W_D.rows(), W_D.cols());
    for (Index i = 0; i < T.rows(); ++i) {
        TernaryFit best;
        for (double level = 20; level <= 200; level += 3) {
            const TernaryFit fit = fit_ternary(W_D.row(i).transpose(), V, level);
            if (fit.distance < best.distance) best = fit;
        }
        T.row(i) = best.row.transpose();
    }
    return T;
}

VectorXd row_scales_from_logits(const MatrixXd& W_D, const MatrixXd& logits) {  // E-32
    const Index m = W_D.rows();
    const Index outside = m - W_D.cols();
    require(logits.rows() == m, "a logit for each row");
    require(outside >= 1 && logits.cols() * outside >= m - 1, "enough logits for the row scales");
    const MatrixXd P = orthogonal_factor(W_D).rightCols(outside);
    MatrixXd normal = MatrixXd::Zero(m, m);  // sum over z of (P^T diag(z))^T (P^T diag(z))
    for (const auto& z : logits.colwise()) {
        const MatrixXd equations = P.transpose() * z.asDiagonal();
        normal += equations.transpose() * equations;
    }
    const VectorXd inverse = eigenvectors(normal).col(0);
    return inverse.cwiseInverse().normalized();
}

MatrixXd inputs_without_hidden_part(const MatrixXd& R, const MatrixXd& logits, Index k) {  // E-32
    const Index n = R.cols();
    require(k >= 1 && k < n && logits.cols() >= n, "1 <= k < n <= logits");
    const MatrixXd C = column_space(logits, n);
    const MatrixXd outside = R - C * (C.transpose() * R);
    return right_singular_vectors(outside).rightCols(n - k);
}

MatrixXd fit_in_span(const MatrixXd& R, const MatrixXd& V, const MatrixXd& inputs,
                     const MatrixXd& outputs) {  // E-33
    require(V.rows() == R.cols() && inputs.rows() == R.cols() && outputs.rows() == R.rows(),
            "inputs of n and outputs of m entries");
    require(inputs.cols() == outputs.cols(), "an output for each input");
    const MatrixXd seen = (V.transpose() * inputs).transpose();  // N x k
    const MatrixXd Y = least_squares(seen, (outputs - R * inputs).transpose());
    return R + Y.transpose() * V.transpose();
}

}  // namespace slip::reference::insecure
