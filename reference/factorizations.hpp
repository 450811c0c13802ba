// Factorizations of real matrices, by Eigen. Its templates take a compiler longer than all the rest
// of the reference: they are compiled once, in factorizations.cpp, for everybody.
#pragma once

#include <Eigen/Core>

namespace slip::reference {

/// W = U diag(sigma) V^T: columns of U and of V are orthonormal, sigma falls and is not negative.
struct Svd {
    Eigen::MatrixXd U;
    Eigen::VectorXd sigma;  // min(m, n) of them
    Eigen::MatrixXd V;
};

/// W is m x n. min(m, n) columns of U and of V, by Jacobi's rotations: exact to the last digits
/// also of small singular values.
Svd svd(const Eigen::MatrixXd& W);
/// The same with all m columns of U and all n of V.
Svd full_svd(const Eigen::MatrixXd& W);
/// sigma of svd(), sooner for large matrices and exact beside the largest value: the largest
/// eigenvalues of the symmetric matrix whose blocks off the diagonal are W and W^T.
Eigen::VectorXd singular_values(const Eigen::MatrixXd& W);
/// All n right singular vectors of W, sooner than full_svd(): the eigenvectors of W^T W, so that
/// they are as exact as the squares of the singular values are far apart beside the largest square.
Eigen::MatrixXd right_singular_vectors(const Eigen::MatrixXd& W);

/// Q (m x m, orthogonal) of W = Q R.
Eigen::MatrixXd orthogonal_factor(const Eigen::MatrixXd& W);

/// Orthonormal eigenvectors of a symmetric matrix, in columns; their eigenvalues rise.
Eigen::MatrixXd eigenvectors(const Eigen::MatrixXd& symmetric);

/// The X of least norm that minimises |A X - B|.
Eigen::MatrixXd least_squares(const Eigen::MatrixXd& A, const Eigen::MatrixXd& B);

}  // namespace slip::reference
