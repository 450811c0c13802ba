#include "reference/factorizations.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>

namespace slip::reference {

using Eigen::MatrixXd;
using Eigen::VectorXd;

Svd svd(const MatrixXd& W) {
    const Eigen::JacobiSVD<MatrixXd> found(W, Eigen::ComputeThinU | Eigen::ComputeThinV);
    return {found.matrixU(), found.singularValues(), found.matrixV()};
}

Svd full_svd(const MatrixXd& W) {
    const Eigen::JacobiSVD<MatrixXd> found(W, Eigen::ComputeFullU | Eigen::ComputeFullV);
    return {found.matrixU(), found.singularValues(), found.matrixV()};
}

VectorXd singular_values(const MatrixXd& W) {
    const Eigen::Index m = W.rows();
    const Eigen::Index n = W.cols();
    MatrixXd both = MatrixXd::Zero(m + n, m + n);
    both.topRightCorner(m, n) = W;
    both.bottomLeftCorner(n, m) = W.transpose();
    return Eigen::SelfAdjointEigenSolver<MatrixXd>(both, Eigen::EigenvaluesOnly)
        .eigenvalues()
        .reverse()
        .head(std::min(m, n));
}

MatrixXd right_singular_vectors(const MatrixXd& W) {
    return eigenvectors(W.transpose() * W).rowwise().reverse();
}

MatrixXd orthogonal_factor(const MatrixXd& W) {
    return Eigen::HouseholderQR<MatrixXd>(W).householderQ();
}

MatrixXd eigenvectors(const MatrixXd& symmetric) {
    return Eigen::SelfAdjointEigenSolver<MatrixXd>(symmetric).eigenvectors();
}

MatrixXd least_squares(const MatrixXd& A, const MatrixXd& B) {
    return A.completeOrthogonalDecomposition().solve(B);
}

}  // namespace slip::reference
