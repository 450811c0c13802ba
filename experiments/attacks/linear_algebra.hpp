// The decompositions that attackers need, compiled once.
#pragma once

#include <Eigen/Core>

namespace slip::attacks {

/// The X with the least |A X - B|. A has at least as many rows as columns, and full rank.
Eigen::MatrixXd least_squares(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);

/// An orthonormal basis (n x k) of the inputs that W (m x n) maps to the smallest products, the
/// smallest first: where W is David's matrix and m >= n, his estimate of the span of the hidden
/// right vectors, which row scales do not move. Those for k = n end with the largest products.
Eigen::MatrixXd smallest_inputs(const Eigen::MatrixXd& W, Eigen::Index k);

/// An orthonormal basis of the columns, which are independent.
Eigen::MatrixXd orthonormal_basis(const Eigen::MatrixXd& columns);

/// The unit vector that N, symmetric and positive, maps to the least: inverse iteration.
Eigen::VectorXd least_direction(const Eigen::MatrixXd& N);

/// N^-1 b for a symmetric positive N, of which the lower triangle is read.
Eigen::VectorXd solve_symmetric(const Eigen::MatrixXd& N, const Eigen::VectorXd& b);

}  // namespace slip::attacks
